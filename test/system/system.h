// SPDX-License-Identifier: Apache-2.0
//
// The whole system in one run: a server with its controllers, schedulers, users, a disk and a wire,
// all of which go wrong; everything from one seed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "system/stage.h"

namespace dray::system {

// What goes wrong in a run, and who decides.
struct Profile {
  const char* name;
  Faults faults;
  int remote_schedulers = 0;  // 0: the scheduler is in the server's process
  bool changes_devices = false;
  bool groups = false;       // and who is important sends others away for devices
  bool rich = false;         // see Town
  bool overlapping = false;  // deciders in the server wait for their writes, which overlap
  // Changes that the store remembers: a watch that falls behind more than that begins with a list.
  std::size_t history = 100'000;
  Nanos time = std::chrono::seconds(40);
};
// By turns, so that neighbouring seeds are of different kinds.
const std::vector<Profile>& Profiles();
const Profile& ProfileOf(std::uint64_t seed);
const Profile* FindProfile(std::string_view name);

struct RunOptions {
  std::uint64_t seed = 1;
  const Profile* profile = nullptr;  // null: the seed says
  Planted planted;
  bool trace = false;
};

struct RunReport {
  std::string profile;
  std::vector<std::string> findings;
  std::map<std::string, std::uint64_t> counts;
  std::uint64_t events = 0;
  std::uint64_t hash = 0;  // of everything that happened
  Nanos time{0};           // simulated
};

RunReport Simulate(const RunOptions& options);

// What to type to see the run again.
std::string Replay(std::uint64_t seed);

}  // namespace dray::system
