// SPDX-License-Identifier: Apache-2.0
//
// Policies: which of the devices that a request could have are tried first. One row each, which is
// all that anybody knows of one: the search asks it for an order, flags and files for its name.
//
// To add a policy: its value, a file with its order like best_fit.cc, and its row in policy.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dray::allocator {

class Attempt;
class State;
struct Candidates;

enum class Policy : std::uint8_t {
  kFirstFit,  // what Kubernetes would choose
  kBestFit,   // tight places first, so that large ones stay whole
  // Where those that come later keep most room, by what pods have asked for so far: for nodes as
  // well as devices. Who chooses nodes says which devices (DevicePreference); else as best fit.
  kFragmentation,
};

// An order of devices from elsewhere: by what is known beyond one node and one plan.
class DevicePreference {
 public:
  // As PolicyRow::order.
  virtual std::vector<std::uint32_t> Order(const Attempt& attempt, const State& state,
                                           const Candidates& candidates) const = 0;

 protected:
  ~DevicePreference() = default;
};

struct PolicyRow {
  Policy policy;
  std::string_view name;  // as users write it
  // The candidates of an alternative, faulty ones included, in the order of trying. Null: the order
  // of NodeDevices.
  std::vector<std::uint32_t> (*order)(const Attempt& attempt, const State& state,
                                      const Candidates& candidates);
};

// By Policy; the first is what is meant when nobody says.
std::span<const PolicyRow> Policies();
const PolicyRow& RowOf(Policy policy);

std::optional<Policy> FindPolicy(std::string_view name);
// All names with this between them: "first-fit or best-fit".
std::string PolicyNames(std::string_view between);

}  // namespace dray::allocator
