// SPDX-License-Identifier: Apache-2.0
#include "allocator/result.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "fmt/format.h"

namespace dray::allocator {
namespace {

using inventory::DeviceRow;
using inventory::Dictionary;
using inventory::NodeChoice;
using inventory::NodeDevice;

std::string Text(const Dictionary& dictionary, inventory::NameId name) {
  return std::string(dictionary.View(name));
}

api::DeviceRequestAllocationResult ResultOf(const Attempt& attempt, const PlacedDevice& placed,
                                            ShareIds& share_ids) {
  const inventory::Features& features = attempt.plan().features();
  const inventory::NodeDevices& devices = attempt.devices();
  Dictionary& dictionary = devices.dictionary();
  const Alternative& alternative = attempt.plan().alternatives()[placed.alternative];
  const NodeDevice& device = devices.devices()[placed.device];
  const inventory::PoolOnNode& pool = devices.pools()[device.pool];

  api::DeviceRequestAllocationResult result;
  result.request = alternative.result_name;
  result.driver = Text(dictionary, pool.driver);
  result.pool = Text(dictionary, pool.name);
  result.device = Text(dictionary, device.row->name);
  if (alternative.admin) result.admin_access = true;
  result.tolerations.assign(alternative.tolerations.begin(), alternative.tolerations.end());
  if (features.device_binding_and_status &&
      device.row->conditions != inventory::ConditionsId::kNone) {
    const inventory::Conditions& conditions = dictionary.At(device.row->conditions);
    result.binding_conditions = conditions.binding;
    result.binding_failure_conditions = conditions.binding_failure;
  }
  if (attempt.multi(placed.device)) {
    result.share_id = share_ids.Next();
    const Consumption consumption = ConsumptionOf(alternative, *device.slice, *device.row,
                                                  features.fractional_capacity_range, dictionary);
    const auto entries = device.slice->capacities(*device.row);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      result.consumed_capacity[dictionary.View(entries[i].name)] = consumption.amounts[i];
    }
  }
  const auto skipped = device.slice->skip_node_operations();
  result.skip_node_operations.assign(skipped.begin(), skipped.end());
  // A snapshot for every set that the device draws on, with none where it declares none: what it
  // was placed with is then known for good, whatever the driver publishes later. [differs] KEP-5963
  // leaves the field out where no set has groups. docs/decisions.md #60.
  if (features.compatibility_groups) {
    for (const inventory::SetConsumption& use : dictionary.At(device.row->consumption)) {
      auto& groups = result.compatibility_groups[dictionary.View(use.counter_set)];
      groups.reserve(dictionary.At(use.groups).size());
      for (const inventory::NameId group : dictionary.At(use.groups)) {
        groups.push_back(Text(dictionary, group));
      }
      std::ranges::sort(groups);
    }
  }
  return result;
}

// The class's configuration, once per class, with the requests that use it; then the claim's.
std::vector<api::DeviceAllocationConfiguration> ConfigOf(const Plan& plan, const ClaimPlan& claim,
                                                         std::span<const std::uint32_t> chosen) {
  struct Seen {
    const api::DeviceClass* device_class = nullptr;
    std::size_t first = 0;
    std::size_t count = 0;
  };
  std::vector<api::DeviceAllocationConfiguration> config;
  absl::InlinedVector<Seen, 8> seen;
  for (std::uint32_t r = 0; r < claim.requests; ++r) {
    const Alternative& alternative = plan.alternatives()[chosen[claim.first_request + r]];
    const api::DeviceClass* device_class = alternative.device_class.get();
    const auto known = std::ranges::find_if(seen, [&](const Seen& other) {
      return other.device_class->metadata.name == device_class->metadata.name;
    });
    if (known != seen.end()) {
      for (std::size_t i = 0; i < known->count; ++i) {
        config[known->first + i].requests.push_back(alternative.result_name);
      }
      continue;
    }
    seen.push_back({device_class, config.size(), device_class->spec.config.size()});
    for (const api::DeviceClassConfiguration& entry : device_class->spec.config) {
      api::DeviceAllocationConfiguration& added = config.emplace_back();
      added.source = api::kConfigSourceClass;
      added.requests = {alternative.result_name};
      added.opaque = entry.opaque;
    }
  }

  // Whether `name` is that of a request, or of the alternative that was chosen for it.
  const auto names = [&](const std::string& name, std::uint32_t request) {
    return name == plan.requests()[claim.first_request + request].request->name ||
           name == plan.alternatives()[chosen[claim.first_request + request]].result_name;
  };
  for (const api::DeviceClaimConfiguration& entry : claim.claim->spec.devices.config) {
    const auto concerns = [&](const std::string& name) {
      for (std::uint32_t r = 0; r < claim.requests; ++r) {
        if (names(name, r)) return true;
      }
      return false;
    };
    if (!entry.requests.empty() && std::ranges::none_of(entry.requests, concerns)) continue;
    api::DeviceAllocationConfiguration& added = config.emplace_back();
    added.source = api::kConfigSourceClaim;
    added.requests = entry.requests;
    added.opaque = entry.opaque;
  }

  // An entry that covers every request of the claim lists none, which means all of them.
  for (api::DeviceAllocationConfiguration& entry : config) {
    bool all = true;
    for (std::uint32_t r = 0; r < claim.requests && all; ++r) {
      all = std::ranges::any_of(entry.requests,
                                [&](const std::string& name) { return names(name, r); });
    }
    if (all) entry.requests.clear();
  }
  return config;
}

bool SameRequirement(const api::NodeSelectorRequirement& a, const api::NodeSelectorRequirement& b) {
  if (a.key != b.key || a.operator_ != b.operator_) return false;
  std::vector<std::string> mine = a.values;
  std::vector<std::string> theirs = b.values;
  std::ranges::sort(mine);
  std::ranges::sort(theirs);
  return mine == theirs;
}

void Merge(const std::vector<api::NodeSelectorRequirement>& from,
           std::vector<api::NodeSelectorRequirement>& into) {
  for (const api::NodeSelectorRequirement& requirement : from) {
    if (std::ranges::none_of(
            into, [&](const auto& other) { return SameRequirement(other, requirement); })) {
      into.push_back(requirement);
    }
  }
}

// The nodes from which all devices of a claim can be used. Nothing: from every node.
StatusOr<std::optional<api::NodeSelector>> NodesOf(const Attempt& attempt,
                                                   std::span<const PlacedDevice> placed,
                                                   std::string_view node) {
  const inventory::NodeDevices& devices = attempt.devices();
  const Dictionary& dictionary = devices.dictionary();
  api::NodeSelectorTerm merged;
  for (const PlacedDevice& one : placed) {
    const NodeDevice& device = devices.devices()[one.device];
    const NodeChoice& nodes = device.slice->per_device_node_selection()
                                  ? device.slice->choice(*device.row)
                                  : device.slice->node_choice();
    if (nodes.has_node || device.row->binds_to_node) {
      api::NodeSelector only;
      api::NodeSelectorRequirement& name =
          only.node_selector_terms.emplace_back().match_fields.emplace_back();
      name.key = "metadata.name";
      name.operator_ = "In";
      name.values = {std::string(node)};
      return only;
    }
    if (nodes.all_nodes || nodes.selector == inventory::SelectionId::kNone) continue;
    const auto& terms = dictionary.At(nodes.selector).node_selector_terms;
    if (terms.size() != 1) {
      return base::InvalidArgument(
          fmt::format("device {}: its node selector has {} terms, one is what an allocation can "
                      "carry",
                      dictionary.View(device.row->name), terms.size()));
    }
    Merge(terms.front().match_fields, merged.match_fields);
    Merge(terms.front().match_expressions, merged.match_expressions);
  }
  if (merged.match_fields.empty() && merged.match_expressions.empty()) return std::nullopt;
  api::NodeSelector selector;
  selector.node_selector_terms.push_back(std::move(merged));
  return selector;
}

}  // namespace

StatusOr<std::vector<api::AllocationResult>> BuildResults(const Attempt& attempt,
                                                          std::span<const PlacedDevice> placed,
                                                          std::span<const std::uint32_t> chosen,
                                                          ShareIds& share_ids) {
  const Plan& plan = attempt.plan();
  std::vector<api::AllocationResult> results;
  results.reserve(plan.claims().size());
  std::size_t next = 0;
  for (std::size_t c = 0; c < plan.claims().size(); ++c) {
    const ClaimPlan& claim = plan.claims()[c];
    api::AllocationResult& result = results.emplace_back();
    const std::uint32_t first = claim.requests == 0 ? 0 : plan.requests(claim).front().first;
    const std::uint32_t end =
        claim.requests == 0 ? 0
                            : plan.requests(claim).back().first + plan.requests(claim).back().count;
    const std::size_t begin = next;
    result.devices.results.reserve(static_cast<std::size_t>(std::ranges::count_if(
        placed.subspan(begin),
        [&](const PlacedDevice& c) { return c.alternative >= first && c.alternative < end; })));
    while (next < placed.size() && placed[next].alternative >= first &&
           placed[next].alternative < end) {
      result.devices.results.push_back(ResultOf(attempt, placed[next], share_ids));
      ++next;
    }
    result.devices.config = ConfigOf(plan, claim, chosen);
    const std::string_view scope = attempt.scope(c).node;
    const std::string_view node = scope.empty() ? attempt.devices().node_name() : scope;
    DRAY_ASSIGN_OR_RETURN(auto nodes, NodesOf(attempt, placed.subspan(begin, next - begin), node));
    if (nodes) result.node_selector = *std::move(nodes);
  }
  return results;
}

}  // namespace dray::allocator
