// SPDX-License-Identifier: Apache-2.0
//
// What is written into a claim's status. Spec: docs/spec/allocator.md 12.
#include <algorithm>
#include <map>
#include <set>

#include "fmt/format.h"
#include "model/abort.h"
#include "model/plan.h"

namespace dray::model {
namespace {

api::DeviceRequestAllocationResult DeviceResult(const Instance& instance, const Choice& choice,
                                                const Candidate& candidate, int& shares) {
  const RequestView& view = choice.alternative->view;
  const api::Device& device = *candidate.device;
  api::DeviceRequestAllocationResult result;
  result.request = view.full_name();
  result.driver = candidate.id.driver;
  result.pool = candidate.id.pool;
  result.device = candidate.id.device;
  if (view.admin_access) result.admin_access = true;
  result.tolerations = *view.tolerations;
  result.skip_node_operations = candidate.slice->spec.skip_node_operations;
  if (instance.features.device_binding_and_status) {
    result.binding_conditions = device.binding_conditions;
    result.binding_failure_conditions = device.binding_failure_conditions;
  }
  if (choice.shared) {
    result.share_id = fmt::format("00000000-0000-4000-9000-{:012}", ++shares);
    for (const auto& [name, amount] : choice.consumed) result.consumed_capacity[name] = amount;
  }
  if (instance.features.compatibility_groups) {
    for (const auto& use : device.consumes_counters) {
      // None is remembered too: the driver may declare some later.
      auto& groups = result.compatibility_groups[use.counter_set];
      groups = use.compatibility_groups;
      std::ranges::sort(groups);
    }
  }
  return result;
}

bool Lists(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Whether an entry's names reach a request: by its name or that of the chosen alternative.
bool Reaches(const std::vector<std::string>& names, const Alternative& chosen) {
  return Lists(names, chosen.view.name) ||
         (!chosen.view.sub.empty() && Lists(names, chosen.view.full_name()));
}

std::vector<api::DeviceAllocationConfiguration> Config(const ClaimPlan& plan) {
  std::vector<const Alternative*> chosen;
  for (std::size_t i = 0; i < plan.requests.size(); ++i) {
    chosen.push_back(&plan.requests[i].alternatives[plan.chosen[i]]);
  }
  std::vector<api::DeviceAllocationConfiguration> config;
  std::map<std::string, std::pair<std::size_t, std::size_t>> by_class;
  for (const Alternative* request : chosen) {
    const api::DeviceClass& c = *request->device_class;
    const auto [at, first_use] =
        by_class.emplace(c.metadata.name, std::pair(config.size(), config.size()));
    if (first_use) {
      for (const api::DeviceClassConfiguration& entry : c.spec.config) {
        config.push_back({.source = std::string(api::kConfigSourceClass), .opaque = entry.opaque});
      }
      at->second.second = config.size();
    }
    for (std::size_t i = at->second.first; i < at->second.second; ++i) {
      config[i].requests.push_back(request->view.full_name());
    }
  }
  for (const api::DeviceClaimConfiguration& entry : plan.claim->spec.devices.config) {
    const bool wanted =
        entry.requests.empty() || std::ranges::any_of(chosen, [&](const Alternative* request) {
          return Reaches(entry.requests, *request);
        });
    if (!wanted) continue;
    config.push_back({.source = std::string(api::kConfigSourceClaim),
                      .requests = entry.requests,
                      .opaque = entry.opaque});
  }
  for (auto& entry : config) {
    if (std::ranges::all_of(chosen, [&](const Alternative* request) {
          return Reaches(entry.requests, *request);
        })) {
      entry.requests.clear();
    }
  }
  return config;
}

using Requirements = std::vector<api::NodeSelectorRequirement>;

void AddNew(Requirements& to, const Requirements& from) {
  const auto key = [](const api::NodeSelectorRequirement& r) {
    return std::tuple(r.key, r.operator_, std::set<std::string>(r.values.begin(), r.values.end()));
  };
  for (const auto& requirement : from) {
    const bool known =
        std::ranges::any_of(to, [&](const auto& r) { return key(r) == key(requirement); });
    if (!known) to.push_back(requirement);
  }
}

api::Box<api::NodeSelector> Selector(const Instance& instance,
                                     const std::vector<const Candidate*>& devices) {
  api::NodeSelectorTerm term;
  for (const Candidate* candidate : devices) {
    const api::ResourceSliceSpec& slice = candidate->slice->spec;
    const bool per_device = slice.per_device_node_selection.value_or(false);
    const bool named =
        per_device ? candidate->device->node_name.has_value() : slice.node_name.has_value();
    if (named || candidate->device->binds_to_node.value_or(false)) {
      term = {};
      term.match_fields.push_back(
          {.key = "metadata.name", .operator_ = "In", .values = {instance.node.metadata.name}});
      break;
    }
    const api::NodeSelector* selector =
        per_device ? candidate->device->node_selector.get() : slice.node_selector.get();
    if (selector == nullptr || selector->node_selector_terms.empty()) continue;
    if (selector->node_selector_terms.size() > 1) {
      throw Abort{fmt::format("slice {}: a node selector with {} terms",
                              candidate->slice->metadata.name,
                              selector->node_selector_terms.size())};
    }
    AddNew(term.match_fields, selector->node_selector_terms[0].match_fields);
    AddNew(term.match_expressions, selector->node_selector_terms[0].match_expressions);
  }
  if (term.match_fields.empty() && term.match_expressions.empty()) return {};
  api::NodeSelector selector;
  selector.node_selector_terms.push_back(std::move(term));
  return selector;
}

}  // namespace

api::AllocationResult BuildResult(const Instance& instance, const ClaimPlan& plan,
                                  const std::vector<Candidate>& candidates,
                                  const std::vector<const Choice*>& choices, int& shares) {
  api::AllocationResult result;
  std::vector<const Candidate*> devices;
  for (const Choice* choice : choices) {
    devices.push_back(&candidates[choice->candidate]);
    result.devices.results.push_back(DeviceResult(instance, *choice, *devices.back(), shares));
  }
  result.devices.config = Config(plan);
  result.node_selector = Selector(instance, devices);
  return result;
}

}  // namespace dray::model
