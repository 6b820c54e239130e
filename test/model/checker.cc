// SPDX-License-Identifier: Apache-2.0
//
// The checker's door: which request each result is for, and whether each got its number.
#include "model/checker.h"

#include <algorithm>

#include "model/abort.h"
#include "model/checker_internal.h"

namespace dray::model {
namespace checker {
namespace {

std::optional<RequestView> FindView(const api::ResourceClaim& claim, const std::string& name) {
  for (const api::DeviceRequest& request : claim.spec.devices.requests) {
    for (const RequestView& view : AlternativesOf(request)) {
      if (view.full_name() == name) return view;
    }
  }
  return std::nullopt;
}

// The uses of all claims; what names no request or no device is complained about and left out.
std::vector<Use> UsesOf(const Instance& instance, const std::map<PoolId, View>& pools,
                        const std::vector<api::AllocationResult>& results,
                        std::vector<std::string>& complaints) {
  std::vector<Use> uses;
  for (std::size_t claim = 0; claim < results.size(); ++claim) {
    const auto& devices = results[claim].devices.results;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      Use use{.claim = claim, .index = i, .result = &devices[i]};
      const auto view = FindView(instance.claims[claim], devices[i].request);
      const auto pool = pools.find({devices[i].driver, devices[i].pool});
      if (!view) {
        complaints.push_back(use.where() + ": no such request");
        continue;
      }
      use.view = *view;
      if (pool == pools.end() || !pool->second.usable) {
        complaints.push_back(use.where() + ": its pool cannot be used: " +
                             (pool == pools.end() ? "not on this node" : pool->second.why_not));
        continue;
      }
      use.pool = &pool->second;
      const View::Found found = pool->second.Find(devices[i].device);
      if (found.device == nullptr) {
        complaints.push_back(use.where() + ": no such device");
        continue;
      }
      use.slice = found.slice;
      use.device = found.device;
      use.shareable = instance.features.consumable_capacity &&
                      found.device->allow_multiple_allocations.value_or(false);
      uses.push_back(std::move(use));
    }
  }
  return uses;
}

void CheckNumber(const Context& context, const RequestView& view, const std::set<DeviceId>& ids,
                 std::size_t number) {
  if (ids.size() != number) {
    context.Complain(fmt::format("request {} has a device twice", view.full_name()));
  }
  if (view.mode == api::kAllocationModeAll) {
    if (ids.empty() || ids != AllOf(context, view)) {
      context.Complain(fmt::format("request {} does not have all devices", view.full_name()));
    }
  } else if (static_cast<std::int64_t>(number) != std::max<std::int64_t>(view.count, 0)) {
    context.Complain(
        fmt::format("request {} has {} devices, not {}", view.full_name(), number, view.count));
  }
}

void CheckNumbers(const Context& context, std::size_t claim) {
  for (const auto& request : context.instance.claims[claim].spec.devices.requests) {
    std::map<std::string, std::set<DeviceId>> by_alternative;
    std::map<std::string, std::size_t> numbers;
    const std::vector<RequestView> views = AlternativesOf(request);
    for (const Use& use : context.uses) {
      if (use.claim != claim || use.view.name != request.name) continue;
      by_alternative[use.view.full_name()].insert(use.id());
      ++numbers[use.view.full_name()];
    }
    if (by_alternative.size() > 1) {
      context.Complain(fmt::format("request {} mixes alternatives", request.name));
    } else if (by_alternative.empty()) {
      if (std::ranges::none_of(views, [](const RequestView& view) {
            return view.mode != api::kAllocationModeAll && view.count <= 0;
          })) {
        context.Complain(fmt::format("request {} got nothing", request.name));
      }
    } else {
      for (const RequestView& view : views) {
        const auto ids = by_alternative.find(view.full_name());
        if (ids != by_alternative.end()) {
          CheckNumber(context, view, ids->second, numbers[view.full_name()]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace checker

std::vector<std::string> CheckAllocation(const Instance& instance,
                                         const std::vector<api::AllocationResult>& results) {
  using namespace checker;
  if (results.size() != instance.claims.size()) {
    return {fmt::format("{} results for {} claims", results.size(), instance.claims.size())};
  }
  std::vector<std::string> complaints;
  try {
    const std::map<PoolId, View> pools = ViewsOf(instance);
    const std::vector<Use> uses = UsesOf(instance, pools, results, complaints);
    Expressions expressions;
    const Context context{instance, pools, uses, expressions, complaints};
    for (std::size_t claim = 0; claim < results.size(); ++claim) {
      if (results[claim].devices.results.size() > api::kAllocationResultsMaxSize) {
        context.Complain(fmt::format("claim {} has too many devices", claim));
      }
      CheckNumbers(context, claim);
      CheckConstraints(context, claim);
      CheckStatus(context, claim, results[claim]);
    }
    CheckDevices(context);
    CheckExclusivity(context);
    CheckCapacity(context);
    CheckCounters(context);
    CheckGroups(context);
    CheckTaints(context);
  } catch (const Abort& abort) {
    complaints.push_back("cannot be judged: " + abort.text);
  }
  return complaints;
}

}  // namespace dray::model
