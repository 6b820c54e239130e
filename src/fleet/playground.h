// SPDX-License-Identifier: Apache-2.0
//
// Playground: an expression on all devices of a fleet, piece by piece: who asks may stop between
// two pieces, and the fleet may change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "cel/device_trial.h"
#include "fleet/fleet.h"

namespace dray::fleet {

// One thread at a time.
class Playground {
 public:
  Playground(std::string expression, bool derived);

  // At most so many evaluations. False: it was the last piece. Devices that nothing tells apart
  // but what the expression does not read are evaluated once.
  bool Step(const Fleet& fleet, std::size_t evaluations);
  // The answer of `POST cel`.
  std::string Json(const Fleet& fleet) const;

 private:
  struct Failure {
    std::string hint;
    std::vector<Id> examples;
    std::size_t devices = 0;
  };
  struct Value {
    std::string type;
    std::vector<Id> examples;
    std::size_t devices = 0;
  };
  void Take(Id id, const cel::DeviceTrial& trial);

  const std::string expression_;
  const cel::Purpose purpose_;
  const cel::Review review_;
  bool by_shape_ = false;         // nothing is read that devices of one shape could differ in
  std::vector<std::string> own_;  // attributes that are read: own ones are not in shapes
  Id next_ = 0;
  std::uint64_t revision_ = 0;
  absl::flat_hash_map<Id, cel::DeviceTrial> shapes_;
  std::vector<std::uint8_t> match_;
  std::vector<std::uint8_t> error_;
  std::size_t matches_ = 0;
  std::size_t no_matches_ = 0;
  std::size_t errors_ = 0;
  std::uint64_t cost_ = 0;
  std::map<std::string, Failure> failures_;
  std::map<std::string, Value> values_;
};

}  // namespace dray::fleet
