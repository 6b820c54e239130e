// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <set>
#include <utility>

#include "api/device_class.h"
#include "api/node_selector.h"
#include "api/pool_status_request.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "fmt/format.h"
#include "rest/internal/printers.h"

namespace dray::rest::internal {
namespace {

// Lists longer than this are cut: a table is read in lines.
constexpr std::size_t kShownItems = 3;

std::string Shortened(std::vector<std::string> items) {
  const std::size_t more = items.size() > kShownItems ? items.size() - kShownItems : 0;
  items.resize(items.size() - more);
  std::string text = Joined(items);
  if (more > 0) text += fmt::format(" + {} more", more);
  return OrNone(text);
}

std::string ClaimState(const api::ResourceClaim& claim) {
  const bool deleted = claim.metadata.deletion_timestamp.has_value();
  std::vector<std::string> states;
  if (deleted) states.emplace_back("deleted");
  if (claim.status.allocation.has_value()) {
    states.emplace_back("allocated");
    if (!claim.status.reserved_for.empty()) states.emplace_back("reserved");
  } else if (!deleted) {
    states.emplace_back("pending");
  }
  return Joined(states);
}

std::string ClaimDevices(const api::ResourceClaim& claim) {
  if (!claim.status.allocation.has_value()) return "<none>";
  std::vector<std::string> devices;
  for (const auto& result : claim.status.allocation->devices.results) {
    devices.push_back(fmt::format("{}/{}", result.pool, result.device));
  }
  return Shortened(std::move(devices));
}

// An allocation is for nodes that a selector picks; mostly for one, by its name.
std::string ClaimNode(const api::ResourceClaim& claim) {
  if (!claim.status.allocation.has_value()) return "<none>";
  const auto& allocation = *claim.status.allocation;
  if (!allocation.node_selector.has_value()) return "<all>";
  const auto& terms = allocation.node_selector->node_selector_terms;
  for (const auto& term : terms) {
    for (const auto& field : term.match_fields) {
      const bool one =
          terms.size() == 1 && field.key == "metadata.name" && field.values.size() == 1;
      if (one) return field.values.front();
    }
  }
  return "<selector>";
}

std::string ClaimUsers(const api::ResourceClaim& claim) {
  std::vector<std::string> users;
  for (const auto& user : claim.status.reserved_for) {
    users.push_back(fmt::format("{}/{}", user.resource, user.name));
  }
  return Shortened(std::move(users));
}

std::string SliceNode(const api::ResourceSliceSpec& spec) {
  if (spec.node_name) return *spec.node_name;
  if (spec.all_nodes.value_or(false)) return "<all>";
  if (spec.per_device_node_selection.value_or(false)) return "<by device>";
  return spec.node_selector.has_value() ? "<selector>" : "<unset>";
}

std::string TaintText(const api::DeviceTaintRule& rule) {
  const auto& taint = rule.spec.taint;
  return taint.value.empty() ? fmt::format("{}:{}", taint.key, taint.effect)
                             : fmt::format("{}={}:{}", taint.key, taint.value, taint.effect);
}

}  // namespace

Printer ClaimPrinter() {
  return {{kNameColumn,
           {.name = "State", .description = "pending, allocated, reserved, deleted."},
           {.name = "Devices", .description = "What is allocated, as pool/device."},
           {.name = "Node", .description = "Where it can be used."},
           {.name = "Reserved By", .description = "Who uses it."},
           kAgeColumn},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const api::ResourceClaim& claim = *object.As<api::ResourceClaim>();
            return {claim.metadata.name, ClaimState(claim), ClaimDevices(claim),
                    ClaimNode(claim),    ClaimUsers(claim), AgeOf(object, context)};
          }};
}

Printer SlicePrinter() {
  return {{kNameColumn,
           {.name = "Node", .description = "Where the devices can be used."},
           {.name = "Driver", .description = "The driver that publishes them."},
           {.name = "Pool", .description = "The pool that the slice is part of."},
           {.name = "Devices", .type = "integer", .description = "How many there are."},
           {.name = "Free",
            .description = "Number of devices that can be allocated: not allocated, or shared and "
                           "with some of each capacity left."},
           kAgeColumn},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const api::ResourceSlice& slice = *object.As<api::ResourceSlice>();
            const auto free = context.free_devices ? context.free_devices(slice) : std::nullopt;
            const auto devices = slice.spec.devices ? slice.spec.devices->size() : 0;
            return {slice.metadata.name,
                    SliceNode(slice.spec),
                    slice.spec.driver,
                    slice.spec.pool.name,
                    static_cast<std::int64_t>(devices),
                    free ? fmt::format("{}", *free) : std::string("<unknown>"),
                    AgeOf(object, context)};
          }};
}

Printer TaintRulePrinter() {
  return {{kNameColumn, {.name = "Taint", .description = "What selected devices get."}, kAgeColumn},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            return {object.metadata().name, TaintText(*object.As<api::DeviceTaintRule>()),
                    AgeOf(object, context)};
          }};
}

// As Kubernetes's; sums over all pools of the answer.
Printer PoolStatusRequestPrinter() {
  return {{kNameColumn,
           {.name = "Driver", .description = "The driver whose pools are asked about."},
           {.name = "Total", .description = "How many devices the pools have."},
           {.name = "Available", .description = "How many are left."},
           {.name = "Allocated", .description = "How many claims have."},
           {.name = "Unavailable", .description = "How many are left that are tainted."},
           {.name = "Errors", .description = "Pools of which something could not be counted."},
           {.name = "Pools", .type = "integer", .description = "How many pools there are."},
           {.name = "Status", .description = "Whether there is an answer."},
           {.name = "Completed", .description = "How long ago it was given."}},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const auto& request = *object.As<api::ResourcePoolStatusRequest>();
            std::string state = "Pending";
            std::string completed = "<none>";
            std::vector<std::string> sums(5, "-");
            std::int64_t pools = 0;
            if (request.status) {
              const api::ResourcePoolStatusRequestStatus& status = *request.status;
              pools = status.pool_count.value_or(0);
              for (const api::Condition& condition : status.conditions) {
                if (condition.status != "True") continue;
                if (condition.type == api::kPoolStatusComplete) {
                  completed = Since(condition.last_transition_time, context.now);
                } else if (condition.type != api::kPoolStatusFailed) {
                  continue;
                }
                state = condition.type;
                break;
              }
              const auto told = static_cast<std::int64_t>(status.pools.size());
              if (state == api::kPoolStatusComplete && pools > told) {
                state = fmt::format("Complete ({}/{} pools)", told, pools);
              }
              if (state != api::kPoolStatusFailed) {
                std::array<std::int64_t, 5> counts = {};
                for (const api::PoolStatus& pool : status.pools) {
                  counts[0] += pool.total_devices.value_or(0);
                  counts[1] += pool.available_devices.value_or(0);
                  counts[2] += pool.allocated_devices.value_or(0);
                  counts[3] += pool.unavailable_devices.value_or(0);
                  counts[4] += pool.validation_error ? 1 : 0;
                }
                for (std::size_t i = 0; i < counts.size(); ++i)
                  sums[i] = fmt::format("{}", counts[i]);
              }
            }
            return {request.metadata.name,
                    request.spec.driver,
                    sums[0],
                    sums[1],
                    sums[2],
                    sums[3],
                    sums[4],
                    pools,
                    state,
                    completed};
          }};
}

}  // namespace dray::rest::internal
