// SPDX-License-Identifier: Apache-2.0
//
// Usage: what a fleet is used for at one moment, and how that was before.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "fleet/fleet.h"

namespace dray::fleet {

struct ClassSample {
  std::string name;
  std::int64_t devices = 0;
  double used = 0;           // whole devices, and the fullest capacity of shared ones
  std::int64_t blocked = 0;  // nobody's, and not to be had: counters, groups, taints, bad health
  // Of what is free, the share that the typical request cannot have: the free devices of a node
  // are of use in whole multiples of what it asks for.
  double fragmentation = 0;
  std::int64_t typical_count = 1;
};

struct UsageSample {
  std::int64_t at = 0;       // seconds since 1970
  std::int64_t pending = 0;  // pods
  std::int64_t oldest = 0;   // seconds that the pod has waited which has waited longest
  std::int64_t running = 0;  // pods that have a node and are not over
  // Seconds from creation to node, of pods of the last ten minutes and of all that still wait.
  std::optional<double> wait_p50;
  std::optional<double> wait_p99;
  std::vector<ClassSample> classes;  // by name
};

UsageSample Measure(const Fleet& fleet, base::Time now);

// Ten seconds apart for an hour, five minutes apart for a week. Thread-compatible.
class History {
 public:
  static constexpr std::int64_t kFine = 10;
  static constexpr std::int64_t kCoarse = 300;
  static constexpr std::size_t kMostFine = 361;
  static constexpr std::size_t kMostCoarse = 2017;

  explicit History(base::Time since) : since_(since) {}
  // Whether it is time for another one.
  bool Due(base::Time now) const;
  void Add(UsageSample sample);
  // `GET history`; nothing: there is no such range.
  std::optional<std::string> Json(std::string_view range, base::Time now) const;
  std::size_t samples() const { return fine_.size() + coarse_.size(); }

 private:
  const base::Time since_;
  std::deque<UsageSample> fine_;
  std::deque<UsageSample> coarse_;
};

}  // namespace dray::fleet
