// SPDX-License-Identifier: Apache-2.0
//
// SliceWipes: deletes the ResourceSlices of drivers that nobody can reach, so that no pod is sent here
// for devices that nobody would prepare.
//
// Spec: docs/spec/node.md section 5.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/status.h"
#include "logs/log.h"
#include "node/loop.h"

namespace dray::node {

// Deletes the slices of this node: of the driver, or of all drivers when it is empty. None there: OK.
// Called on the loop; answers come on it, never from inside the call.
class SliceWiper {
 public:
  virtual ~SliceWiper() = default;
  virtual void Wipe(const std::string& driver, std::function<void(Status)> done) = 0;
};

// On the loop's thread alone.
class SliceWipes {
 public:
  static constexpr std::chrono::seconds kDelay{30};
  static constexpr std::chrono::seconds kFirstRetry{1};
  static constexpr std::chrono::minutes kLongestRetry{5};
  static constexpr int kMostTries = 100;

  // Both outlive it. `random` gives numbers from 0 to 1.
  SliceWipes(Loop& loop, SliceWiper& wiper, logs::Logger log, std::function<double()> random);

  // At the start of the agent: no driver has registered yet.
  void WipeAll() { Begin("", std::chrono::nanoseconds(0)); }
  // Whether the driver can be reached, told whenever that may have changed. Wipes what is unusable
  // for kDelay.
  void SetUsable(const std::string& driver, bool usable);

  bool Pending(const std::string& driver) const { return wipes_.contains(driver); }

 private:
  struct Wipe {
    Loop::Timer timer;
    int tries = 0;
    std::chrono::nanoseconds retry = kFirstRetry;
    std::uint64_t number = 0;  // an answer to one that was cancelled is for nobody
  };
  void Begin(const std::string& driver, std::chrono::nanoseconds delay);
  void Try(const std::string& driver);
  void Tried(const std::string& driver, std::uint64_t number, const Status& status);

  Loop& loop_;
  SliceWiper& wiper_;
  const logs::Logger log_;
  const std::function<double()> random_;
  std::map<std::string, Wipe> wipes_;  // those that are due some time, or under way
  std::uint64_t begun_ = 0;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace dray::node
