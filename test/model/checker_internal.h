// SPDX-License-Identifier: Apache-2.0
//
// The parts of the checker. Not for others.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "model/expressions.h"
#include "model/instance.h"
#include "model/requests.h"

namespace dray::model::checker {

// A pool as the node sees it.
struct View {
  bool usable = false;
  std::string why_not;
  std::vector<const api::ResourceSlice*> near;  // with devices for the node, by name
  std::vector<const api::ResourceSlice*> far;   // the pool's other slices with devices
  std::map<std::string, std::map<std::string, base::Quantity>> counters;

  struct Found {
    const api::ResourceSlice* slice = nullptr;
    const api::Device* device = nullptr;
  };
  Found Find(std::string_view name) const;
};
using PoolId = std::pair<std::string, std::string>;
// Every pool of which the node sees something that is not outdated.
std::map<PoolId, View> ViewsOf(const Instance& instance);

// One device of an answer.
struct Use {
  std::size_t claim = 0;
  std::size_t index = 0;  // among the claim's results
  const api::DeviceRequestAllocationResult* result = nullptr;
  RequestView view;
  const View* pool = nullptr;
  const api::ResourceSlice* slice = nullptr;
  const api::Device* device = nullptr;
  bool shareable = false;  // and the feature is on

  DeviceId id() const { return {result->driver, result->pool, result->device}; }
  std::string where() const {
    return fmt::format("claim {} result {} ({} for {})", claim, index, result->device,
                       result->request);
  }
};

struct Context {
  const Instance& instance;
  const std::map<PoolId, View>& pools;
  const std::vector<Use>& uses;  // of all claims, in order
  Expressions& expressions;
  std::vector<std::string>& complaints;

  void Complain(std::string text) const { complaints.push_back(std::move(text)); }
};

// Results of allocated claims that hold something, with the device's id.
struct Held {
  DeviceId id;
  const api::DeviceRequestAllocationResult* result = nullptr;
  bool share = false;
};
std::vector<Held> HeldOf(const Instance& instance);

// Why a device could never serve a (sub)request, or nothing.
std::optional<std::string> NotACandidate(const Context& context, const RequestView& view,
                                         const api::ResourceSlice& slice,
                                         const api::Device& device);
// Which devices mode All is about.
std::set<DeviceId> AllOf(const Context& context, const RequestView& view);

// What is right for one capacity of a device, regardless of what is left of it.
bool RightAmount(const base::Quantity* asked, const api::DeviceCapacity& capacity,
                 const base::Quantity& amount, bool fractional);
// The amount that is right, or nothing when there is none.
std::optional<base::Quantity> LeastAmount(const base::Quantity* asked,
                                          const api::DeviceCapacity& capacity, bool fractional);
// The amounts of a request by the device's names; nothing when the device lacks one.
std::optional<std::map<std::string, base::Quantity>> AskedOf(
    const api::CapacityRequirements* request, std::string_view driver, const api::Device& device);

void CheckDevices(const Context& context);      // each for itself
void CheckExclusivity(const Context& context);  // who has what already
void CheckCapacity(const Context& context);
void CheckCounters(const Context& context);
void CheckGroups(const Context& context);
void CheckTaints(const Context& context);
void CheckConstraints(const Context& context, std::size_t claim);
void CheckStatus(const Context& context, std::size_t claim, const api::AllocationResult& result);

}  // namespace dray::model::checker
