// SPDX-License-Identifier: Apache-2.0
#include "node/slice_wiper.h"

#include <algorithm>
#include <utility>

namespace dray::node {

SliceWipes::SliceWipes(Loop& loop, SliceWiper& wiper, logs::Logger log,
                       std::function<double()> random)
    : loop_(loop), wiper_(wiper), log_(log), random_(std::move(random)) {}

void SliceWipes::SetUsable(const std::string& driver, bool usable) {
  if (usable) {
    wipes_.erase(driver);
  } else if (!wipes_.contains(driver)) {
    Begin(driver, kDelay);
  }
}

void SliceWipes::Begin(const std::string& driver, std::chrono::nanoseconds delay) {
  Wipe& wipe = wipes_[driver];
  wipe.number = ++begun_;
  wipe.timer = loop_.After(delay, [this, driver] { Try(driver); });
}

void SliceWipes::Try(const std::string& driver) {
  const std::uint64_t number = wipes_.at(driver).number;
  ++wipes_.at(driver).tries;
  wiper_.Wipe(driver, [this, alive = std::weak_ptr(alive_), driver, number](const Status& status) {
    if (alive.lock() != nullptr) Tried(driver, number, status);
  });
}

void SliceWipes::Tried(const std::string& driver, std::uint64_t number, const Status& status) {
  const auto found = wipes_.find(driver);
  if (found == wipes_.end() || found->second.number != number) return;
  Wipe& wipe = found->second;
  if (status.ok()) {
    log_.Info(0, "ResourceSlices deleted", {{"driver", driver.empty() ? "<all>" : driver}});
    // Nothing more to do until it is usable and unusable again.
    wipes_.erase(found);
    return;
  }
  if (wipe.tries >= kMostTries) {
    log_.Error("ResourceSlices could not be deleted, given up",
               {{"driver", driver}, {"error", base::Message(status)}});
    wipes_.erase(found);
    return;
  }
  log_.Warning("ResourceSlices could not be deleted, retrying",
               {{"driver", driver}, {"error", base::Message(status)}});
  // Agents that lost the same server do not all come back at the same time.
  const auto jitter = std::chrono::nanoseconds(
      static_cast<std::int64_t>(static_cast<double>(wipe.retry.count()) * 0.2 * random_()));
  wipe.timer = loop_.After(wipe.retry + jitter, [this, driver] { Try(driver); });
  wipe.retry = std::min<std::chrono::nanoseconds>(wipe.retry * 2, kLongestRetry);
}

}  // namespace dray::node
