// SPDX-License-Identifier: Apache-2.0
//
// Faults: what happens to a site, by dice: processes are killed, ended, frozen and slowed down, wires are
// cut, delayed, frozen and lose answers, etcd forgets its history. Each ends after a while.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/dice.h"
#include "parts/etcd_truth.h"
#include "parts/site.h"

namespace dray::parts {

// One thread, the one that tends the site.
class Faults {
 public:
  Faults(Site& site, const EtcdTruth& truth, std::uint64_t seed);

  // Begins and ends what is due. Every few hundredths of a second.
  void Step();
  // Ends all, and begins nothing any more.
  void EndAll();
  // How many of each sort.
  const std::map<std::string, int>& counts() const { return counts_; }

 private:
  using Moment = std::chrono::steady_clock::time_point;
  using Millis = std::chrono::milliseconds;
  struct Active {
    std::string what;
    Moment until;
    bool majority = false;  // takes a member of etcd away
    std::function<void()> during = nullptr;
    std::function<void()> end = nullptr;
  };
  void Begin();
  Millis Time();
  void Kill(Child& child);
  void Freeze(Child& child, Millis time);
  void Slow(Child& child, Millis time);
  void OnWires(std::string_view which, Millis time);
  void Compact();
  void Add(std::string_view sort, std::string what, Active active);
  // Whether one more member of etcd may be away.
  bool MayTakeMember();
  bool MembersAway() const;

  Site& site_;
  const EtcdTruth& truth_;
  model::Dice dice_;
  Moment next_;
  std::vector<Active> active_;
  std::map<std::string, int> counts_;
};

}  // namespace dray::parts
