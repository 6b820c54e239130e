// SPDX-License-Identifier: Apache-2.0
//
// Stage: what everything in one run shares: time, dice, what may go wrong, and what did.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/pod.h"
#include "base/uuid.h"
#include "model/dice.h"
#include "system/kernel.h"

namespace dray::system {

// How often what goes wrong; nothing of it happens while rates are 0. Times are means.
struct Faults {
  // Of each request.
  double lost_request = 0;  // it does not arrive, and the connection breaks
  double lost_answer = 0;   // it is done, and the connection breaks
  double doubled = 0;       // it is done, the connection breaks, and it is sent once more
  double late = 0;          // it, or its answer, takes seconds
  // Of each connection, by time.
  Nanos freeze_every{0};  // a client's connections take bytes, and nothing arrives any more
  Nanos watch_cut_every{0};
  Nanos watch_frozen_every{0};
  double watch_late = 0;  // of each line of a watch: it and what follows take seconds
  // Of the server.
  Nanos kill_every{0};
  double kill_at_write = 0;  // of each write to the disk
  double disk_full = 0;
  double disk_broken = 0;
  double unreadable = 0;  // of each start: some objects were left by another version
  // Of schedulers at the other end of a wire.
  Nanos kill_scheduler_every{0};
  Nanos lease_black_hole_every{0};
  Nanos end_scheduler_every{
      0};  // it ends as it is told to, gives its lease back, and is started again
  // It stands still, as on a machine that is suspended, for longer than its lease is good for, and goes on.
  Nanos stand_still_every{0};
  double stands_still_at_lease = 0;  // of each request about the lease: right before it is sent
  // Of each claim that a scheduler reserves for a pod which is on no node yet: somebody deletes the pod at that
  // moment, and where processes are killed one may be, too.
  double deleted_when_reserved = 0;
  // Of wall clocks.
  Nanos clock_jump_every{0};
};

// Faults that are put in on purpose, each where a rule of the house is broken, to see that they are
// found.
struct Planted {
  bool unknown_is_failure = false;    // a write whose answer is lost counts as not done
  bool leads_while_waiting = false;   // time stands still for who waits for its lease
  bool unreadable_is_absent = false;  // what cannot be read is taken for gone
  bool quota_unchecked = false;       // charges overwrite each other
  bool misses_news = false;           // a scheduler does not take in all that its watch tells
  bool keeps_devices = false;         // a pod that is not bound is taken out, and its devices stay
  bool any() const {
    return unknown_is_failure || leads_while_waiting || unreadable_is_absent || quota_unchecked ||
           misses_news || keeps_devices;
  }
};

// One thread.
struct Stage {
  explicit Stage(std::uint64_t seed) : dice(seed), random(seed) {}

  Kernel kernel;
  model::Dice dice;
  base::SeededRandomSource random;
  Faults faults;
  Planted planted;
  std::size_t history = 100'000;  // changes that a store remembers
  bool groups = false;            // pods come in groups, too, and are sent away for devices
  bool rich = false;              // see Town
  bool overlapping = false;       // deciders in the server wait for each write
  // Since when nothing goes wrong and nobody wants anything else any more.
  std::optional<Nanos> calm_since;
  bool tracing = false;

  // What is wrong, in the order of being found.
  std::vector<std::string> findings;
  // A claim is reserved for that pod, and somebody wants to delete it.
  std::function<void(const api::Pod& pod)> on_reserved;
  // How often what has happened, by name.
  std::map<std::string, std::uint64_t> counts;
  // Of everything that was told: two runs with the same seed have the same.
  std::uint64_t hash = 0xcbf29ce484222325U;

  void Find(std::string text);
  void Count(const char* what) { ++counts[what]; }
  void Trace(std::string_view who, std::string_view what);
  bool Chance(double p) { return p > 0 && dice.Chance(p); }
  // About so long: from a tenth of it to thrice as long, the longer the rarer.
  Nanos About(Nanos mean);
  Nanos Between(Nanos least, Nanos most);
};

}  // namespace dray::system
