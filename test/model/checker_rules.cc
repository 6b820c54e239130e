// SPDX-License-Identifier: Apache-2.0
//
// Devices one by one, who else has them, taints and constraints.
#include <algorithm>

#include "model/checker_internal.h"

namespace dray::model::checker {
namespace {

bool Covered(const api::DeviceConstraint& constraint, const RequestView& view) {
  const auto names = [&](const std::string& name) {
    return name == view.name || name == view.full_name();
  };
  return constraint.requests.empty() || std::ranges::any_of(constraint.requests, names);
}

// Values as texts with their type before them; scalars alone when lists are off.
std::vector<std::string> Values(const api::DeviceAttribute& a, bool lists) {
  std::vector<std::string> values;
  const auto add = [&](char type, const auto& value) {
    values.push_back(fmt::format("{}:{}", type, value));
  };
  const auto from = [&](const auto& ints, const auto& bools, const auto& strings,
                        const auto& versions) {
    if (ints) std::ranges::for_each(*ints, [&](auto value) { add('i', value); });
    if (bools) std::ranges::for_each(*bools, [&](const auto& item) { add('b', item.value); });
    if (strings) std::ranges::for_each(*strings, [&](const auto& value) { add('s', value); });
    if (versions) std::ranges::for_each(*versions, [&](const auto& value) { add('v', value); });
  };
  if (lists) {
    const api::AttributeLists& l = a.Lists();
    from(l.int_values, l.bool_values, l.string_values, l.version_values);
    if (l.list_value) {
      from(l.list_value->int_value, l.list_value->bool_value, l.list_value->string_value,
           l.list_value->version_value);
    }
  }
  if (a.int_value) add('i', *a.int_value);
  if (a.bool_value) add('b', *a.bool_value);
  if (a.string_value) add('s', a.string_value->view());
  if (a.version_value) add('v', a.version_value->view());
  return values;
}

std::optional<api::DeviceAttribute> Attribute(const Context& context, const Use& use,
                                              const std::string& name) {
  const std::string* derived = nullptr;
  for (const auto& d : *use.view.derived) {
    if (d.name == name && context.instance.features.derived_attributes) derived = &d.expression;
  }
  if (derived != nullptr) {
    return context.expressions.Derive(*derived, use.result->driver, *use.device);
  }
  const std::string prefix = use.result->driver + "/";
  const api::DeviceAttribute* found = use.device->attributes.Find(name);
  if (found == nullptr && name.starts_with(prefix)) {
    found = use.device->attributes.Find(name.substr(prefix.size()));
  }
  if (found == nullptr && name.find('/') == std::string::npos) {
    found = use.device->attributes.Find(prefix + name);
  }
  if (found == nullptr) return std::nullopt;
  return *found;
}

bool AllMatch(const std::vector<std::vector<std::string>>& values, bool lists) {
  if (values.size() == 1) return !lists || !values[0].empty();
  return std::ranges::any_of(values.front(), [&](const std::string& value) {
    return std::ranges::all_of(
        values, [&](const auto& other) { return std::ranges::find(other, value) != other.end(); });
  });
}

bool AllDistinct(const std::vector<std::vector<std::string>>& values, bool lists) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty() && (lists || i > 0)) return false;
    const std::set<std::string> mine(values[i].begin(), values[i].end());
    for (const std::string& value : mine) {
      if (!seen.insert(value).second) return false;
    }
  }
  return true;
}

bool Covers(const api::DeviceToleration& t, const api::DeviceTaint& taint) {
  const bool same_value =
      t.operator_ == "Exists" ||
      ((t.operator_.empty() || t.operator_ == "Equal") && t.value == taint.value);
  return same_value && (t.key.empty() || t.key == taint.key) &&
         (t.effect.empty() || t.effect == taint.effect);
}

}  // namespace

void CheckDevices(const Context& context) {
  const Features& features = context.instance.features;
  const auto& declared = context.instance.node.status.declared_features;
  for (const Use& use : context.uses) {
    if (const auto why = NotACandidate(context, use.view, *use.slice, *use.device)) {
      context.Complain(fmt::format("{}: {}", use.where(), *why));
    }
    if (!use.device->consumes_counters.empty() && !features.partitionable_devices) {
      context.Complain(use.where() + ": consumes counters, which are off");
    }
    if (!use.slice->spec.skip_node_operations.empty() &&
        (!features.optional_node_operations ||
         std::ranges::count(declared, "DRAOptionalNodeOperations") == 0)) {
      context.Complain(use.where() + ": needs optional node operations");
    }
  }
}

void CheckExclusivity(const Context& context) {
  for (const Held& held : HeldOf(context.instance)) {
    for (const Use& use : context.uses) {
      if (use.id() != held.id || use.view.admin_access) continue;
      if (!held.share || !use.shareable) context.Complain(use.where() + ": is taken");
    }
  }
  for (std::size_t i = 0; i < context.uses.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Use& use = context.uses[i];
      const Use& earlier = context.uses[j];
      if (use.id() != earlier.id() || use.shareable) continue;
      if (!use.view.admin_access || use.claim == earlier.claim) {
        context.Complain(fmt::format("{}: given away by {}", use.where(), earlier.where()));
      }
    }
  }
}

void CheckTaints(const Context& context) {
  if (!context.instance.features.device_taints) return;
  for (const Use& use : context.uses) {
    std::vector<api::DeviceTaint> taints = use.device->taints;
    for (const api::DeviceTaintRule& rule : context.instance.taint_rules) {
      const auto* s = rule.spec.device_selector.get();
      if (s != nullptr && s->driver.value_or(use.result->driver) == use.result->driver &&
          s->pool.value_or(use.result->pool) == use.result->pool &&
          s->device.value_or(use.result->device) == use.result->device) {
        taints.push_back(rule.spec.taint);
      }
    }
    for (const api::DeviceTaint& taint : taints) {
      const bool matters = taint.effect == "NoSchedule" || taint.effect == "NoExecute";
      if (matters && std::ranges::none_of(*use.view.tolerations, [&](const auto& toleration) {
            return Covers(toleration, taint);
          })) {
        context.Complain(fmt::format("{}: taint {} is not tolerated", use.where(), taint.key));
      }
    }
  }
}

void CheckConstraint(const Context& context, std::size_t claim,
                     const api::DeviceConstraint& constraint, const std::string& name, bool match) {
  const bool lists = context.instance.features.list_type_attributes;
  std::vector<std::vector<std::string>> values;
  for (const Use& use : context.uses) {
    if (use.claim != claim || !Covered(constraint, use.view)) continue;
    const auto attribute = Attribute(context, use, name);
    if (!attribute) {
      context.Complain(fmt::format("{}: no attribute {}", use.where(), name));
      return;
    }
    values.push_back(Values(*attribute, lists));
  }
  if (values.empty()) return;
  if (match ? !AllMatch(values, lists) : !AllDistinct(values, lists)) {
    context.Complain(fmt::format("claim {}: values of {} are not as they should be", claim, name));
  }
}

// One with both attributes, which somebody stored before it was refused, holds both.
void CheckConstraints(const Context& context, std::size_t claim) {
  for (const auto& constraint : context.instance.claims[claim].spec.devices.constraints) {
    if (constraint.match_attribute) {
      CheckConstraint(context, claim, constraint, *constraint.match_attribute, true);
    }
    if (constraint.distinct_attribute) {
      CheckConstraint(context, claim, constraint, *constraint.distinct_attribute, false);
    }
  }
}

}  // namespace dray::model::checker
