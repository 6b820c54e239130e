// SPDX-License-Identifier: Apache-2.0
//
// What is written beside the devices: fields of the results, configuration, node selector.
#include <algorithm>

#include "model/checker_internal.h"

namespace dray::model::checker {
namespace {

void CheckFields(const Context& context, const Use& use) {
  const Features& features = context.instance.features;
  const api::DeviceRequestAllocationResult& got = *use.result;
  const auto same = [&](bool right, std::string_view what) {
    if (!right) context.Complain(fmt::format("{}: {} is not right", use.where(), what));
  };
  same(got.admin_access == (use.view.admin_access ? std::optional(true) : std::nullopt),
       "adminAccess");
  same(got.tolerations == *use.view.tolerations, "tolerations");
  same(got.skip_node_operations == use.slice->spec.skip_node_operations, "skipNodeOperations");
  same(got.share_id.has_value() == use.shareable, "shareID");
  const bool binding = features.device_binding_and_status;
  same(got.binding_conditions ==
           (binding ? use.device->binding_conditions : std::vector<std::string>()),
       "bindingConditions");
  same(got.binding_failure_conditions ==
           (binding ? use.device->binding_failure_conditions : std::vector<std::string>()),
       "bindingFailureConditions");
  // Groups on every set that it draws on, none too.
  std::size_t recorded = 0;
  for (const auto& counters : use.device->consumes_counters) {
    if (!features.compatibility_groups) continue;
    const auto* snapshot = got.compatibility_groups.Find(counters.counter_set);
    auto groups = counters.compatibility_groups;
    std::ranges::sort(groups);
    same(snapshot != nullptr && *snapshot == groups, "compatibilityGroups");
    ++recorded;
  }
  same(got.compatibility_groups.size() == recorded, "compatibilityGroups");
}

// The chosen alternative of each request, or nothing where the answer does not tell.
std::optional<std::vector<RequestView>> ChosenOf(const Context& context, std::size_t claim) {
  std::vector<RequestView> chosen;
  for (const auto& request : context.instance.claims[claim].spec.devices.requests) {
    const auto used = std::ranges::find_if(context.uses, [&](const Use& use) {
      return use.claim == claim && use.view.name == request.name;
    });
    const std::vector<RequestView> views = AlternativesOf(request);
    if (used != context.uses.end()) {
      chosen.push_back(used->view);
    } else if (views.size() == 1) {
      chosen.push_back(views.front());
    } else {
      return std::nullopt;
    }
  }
  return chosen;
}

void CheckConfig(const Context& context, std::size_t claim, const api::AllocationResult& result) {
  const auto chosen = ChosenOf(context, claim);
  if (!chosen) return;
  const auto reaches = [](const std::vector<std::string>& names, const RequestView& view) {
    return std::ranges::any_of(names, [&](const std::string& name) {
      return name == view.name || name == view.full_name();
    });
  };
  std::vector<api::DeviceAllocationConfiguration> want;
  std::set<std::string> classes;
  for (const RequestView& view : *chosen) {
    if (!classes.insert(view.class_name).second) continue;
    std::vector<std::string> users;
    for (const RequestView& other : *chosen) {
      if (other.class_name == view.class_name) users.push_back(other.full_name());
    }
    for (const api::DeviceClass& c : context.instance.classes) {
      if (c.metadata.name != view.class_name) continue;
      for (const auto& entry : c.spec.config) {
        want.push_back({.source = "FromClass", .requests = users, .opaque = entry.opaque});
      }
    }
  }
  for (const auto& entry : context.instance.claims[claim].spec.devices.config) {
    const bool used = std::ranges::any_of(
        *chosen, [&](const RequestView& view) { return reaches(entry.requests, view); });
    if (!entry.requests.empty() && !used) continue;
    want.push_back({.source = "FromClaim", .requests = entry.requests, .opaque = entry.opaque});
  }
  for (auto& entry : want) {
    if (std::ranges::all_of(
            *chosen, [&](const RequestView& view) { return reaches(entry.requests, view); })) {
      entry.requests.clear();
    }
  }
  if (want != result.devices.config) {
    context.Complain(fmt::format("claim {}: the configuration is not right", claim));
  }
}

std::set<std::string> Texts(std::string_view kind,
                            const std::vector<api::NodeSelectorRequirement>& requirements) {
  std::set<std::string> texts;
  for (const auto& r : requirements) {
    std::string text = fmt::format("{} {} {}", kind, r.key, r.operator_);
    for (const std::string& value : std::set<std::string>(r.values.begin(), r.values.end())) {
      text += " " + value;
    }
    texts.insert(text);
  }
  return texts;
}

std::set<std::string> Texts(const api::NodeSelectorTerm& term) {
  std::set<std::string> texts = Texts("label", term.match_expressions);
  texts.merge(Texts("field", term.match_fields));
  return texts;
}

void CheckSelector(const Context& context, std::size_t claim, const api::AllocationResult& result) {
  std::set<std::string> want;
  bool local = false;
  for (const Use& use : context.uses) {
    if (use.claim != claim) continue;
    const bool own = use.slice->spec.per_device_node_selection == true;
    local = local || use.device->binds_to_node == true ||
            (own ? use.device->node_name.has_value() : use.slice->spec.node_name.has_value());
    const auto& selector = own ? use.device->node_selector : use.slice->spec.node_selector;
    if (!selector) continue;
    for (const auto& term : selector->node_selector_terms) want.merge(Texts(term));
  }
  if (local) want = {"field metadata.name In " + context.instance.node.metadata.name};
  std::set<std::string> got;
  if (result.node_selector) {
    if (result.node_selector->node_selector_terms.size() != 1) {
      context.Complain(fmt::format("claim {}: a node selector wants one term", claim));
      return;
    }
    got = Texts(result.node_selector->node_selector_terms[0]);
  }
  if (want != got) context.Complain(fmt::format("claim {}: the node selector is not right", claim));
}

}  // namespace

void CheckStatus(const Context& context, std::size_t claim, const api::AllocationResult& result) {
  std::set<std::string> shares;
  for (const Use& use : context.uses) {
    if (use.claim != claim) continue;
    CheckFields(context, use);
    if (use.result->share_id && !shares.insert(*use.result->share_id).second) {
      context.Complain(use.where() + ": a share that another result has");
    }
  }
  CheckConfig(context, claim, result);
  CheckSelector(context, claim, result);
}

}  // namespace dray::model::checker
