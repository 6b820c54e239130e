// SPDX-License-Identifier: Apache-2.0
//
// Cross-checks of claims and claim templates against classes and devices.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/internal/cross_world.h"
#include "base/edit_distance.h"
#include "base/string_map.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

// One alternative of a request: `exactly`, or an entry of `firstAvailable`.
struct Alternative {
  std::string_view request;
  std::string subrequest;  // "request/sub"; empty for `exactly`
  const std::string* device_class_name;
  const std::vector<DeviceDerivedAttribute>* derived;
  base::FieldPath path;
};

std::vector<Alternative> AlternativesOf(const GivenClaim& claim) {
  std::vector<Alternative> alternatives;
  const auto& requests = claim.spec->devices.requests;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const DeviceRequest& request = requests[i];
    const base::FieldPath path = (claim.path / "requests").Index(i);
    if (request.exactly) {
      alternatives.push_back({request.name, "", &request.exactly->device_class_name,
                              &request.exactly->derived_attributes, path / "exactly"});
    }
    for (std::size_t j = 0; j < request.first_available.size(); ++j) {
      const DeviceSubRequest& sub = request.first_available[j];
      alternatives.push_back({request.name, fmt::format("{}/{}", request.name, sub.name),
                              &sub.device_class_name, &sub.derived_attributes,
                              (path / "firstAvailable").Index(j)});
    }
  }
  return alternatives;
}

std::vector<std::string_view> DerivedNames(const std::vector<Alternative>& alternatives) {
  std::vector<std::string_view> names;
  for (const Alternative& alternative : alternatives) {
    for (const DeviceDerivedAttribute& attribute : *alternative.derived) {
      names.push_back(attribute.name);
    }
  }
  return names;
}

// The attributes that a constraint speaks of, with their fields' names.
struct Use {
  std::string_view field;
  const std::string* attribute;
};
std::vector<Use> UsesOf(const DeviceConstraint& constraint) {
  std::vector<Use> uses;
  if (constraint.match_attribute) uses.push_back({"matchAttribute", &*constraint.match_attribute});
  if (constraint.distinct_attribute) {
    uses.push_back({"distinctAttribute", &*constraint.distinct_attribute});
  }
  return uses;
}

// Which alternatives of a claim a constraint covers, and which of them derive what. Everything is looked at once, however
// many constraints and requests there are.
class Covered {
 public:
  Covered(const World& world, const std::vector<Alternative>& alternatives) : world_(world) {
    for (std::size_t i = 0; i < alternatives.size(); ++i) {
      Add("", i, alternatives[i]);
      Add(alternatives[i].request, i, alternatives[i]);
      if (!alternatives[i].subrequest.empty()) Add(alternatives[i].subrequest, i, alternatives[i]);
    }
  }

  struct Answer {
    // The first covered alternative that does not derive it.
    std::optional<std::size_t> from_device;
    bool derived = false;  // by any
  };
  Answer Ask(const DeviceConstraint& constraint, std::string_view attribute) {
    if (constraint.requests.empty()) return AskOne("", attribute);
    Answer answer;
    for (const std::string& name : constraint.requests) {
      const Answer one = AskOne(name, attribute);
      answer.derived = answer.derived || one.derived;
      if (one.from_device && (!answer.from_device || *one.from_device < *answer.from_device)) {
        answer.from_device = one.from_device;
      }
    }
    return answer;
  }

 private:
  // What one name in a constraint stands for: a request, a subrequest, or, empty, all.
  struct Scope {
    std::vector<std::size_t> alternatives;
    // By attribute: who derives it, as indices of `alternatives`, in their order.
    base::StringMap<std::vector<std::size_t>> derived_by;
    base::StringMap<Answer> answers;
  };

  void Add(std::string_view name, std::size_t index, const Alternative& alternative) {
    Scope& scope = scopes_[std::string(name)];
    const std::size_t position = scope.alternatives.size();
    scope.alternatives.push_back(index);
    for (const DeviceDerivedAttribute& attribute : *alternative.derived) {
      ++world_.steps;
      std::vector<std::size_t>& by = scope.derived_by[attribute.name];
      if (by.empty() || by.back() != position) by.push_back(position);
    }
  }

  Answer AskOne(std::string_view name, std::string_view attribute) {
    ++world_.steps;
    const auto found = scopes_.find(name);
    if (found == scopes_.end()) return {};
    Scope& scope = found->second;
    const auto [known, added] = scope.answers.try_emplace(std::string(attribute));
    if (!added) return known->second;
    Answer& answer = known->second;
    const auto by = scope.derived_by.find(attribute);
    answer.derived = by != scope.derived_by.end();
    std::size_t position = 0;
    while (answer.derived && position < by->second.size() && by->second[position] == position) {
      ++world_.steps;
      ++position;
    }
    if (position < scope.alternatives.size()) answer.from_device = scope.alternatives[position];
    return answer;
  }

  const World& world_;
  base::StringMap<Scope> scopes_;
};

// What the constraints of a claim compare, and for whom.
class Compared {
 public:
  Compared(const World& world, const GivenClaim& claim) : world_(world) {
    for (const DeviceConstraint& constraint : claim.spec->devices.constraints) {
      for (const Use& use : UsesOf(constraint)) {
        For& whom = by_attribute_[*use.attribute];
        whom.all = whom.all || constraint.requests.empty();
        world_.steps += 1 + constraint.requests.size();
        whom.requests.insert(constraint.requests.begin(), constraint.requests.end());
      }
    }
  }
  bool Has(const Alternative& alternative, std::string_view name) const {
    ++world_.steps;
    const auto found = by_attribute_.find(name);
    if (found == by_attribute_.end()) return false;
    const For& whom = found->second;
    return whom.all || whom.requests.contains(alternative.request) ||
           (!alternative.subrequest.empty() && whom.requests.contains(alternative.subrequest));
  }

 private:
  struct For {
    bool all = false;
    base::StringSet requests;
  };
  const World& world_;
  base::StringMap<For> by_attribute_;
};

// What keeps the attribute from ever being found on a device of `request`, which does not derive
// it, or nothing. `derived_by_another`: by a request that the constraint covers, too.
void CheckUse(const World& world, const GivenClaim& claim, const Use& use, std::string_view request,
              bool derived_by_another, const std::vector<std::string_view>& derived,
              const base::FieldPath& path, Findings& findings) {
  const std::string& name = *use.attribute;
  const bool qualified = name.find('/') != std::string::npos;
  const std::string id = name.substr(name.rfind('/') + 1);
  // Without a domain it is the one of the device's driver.
  const bool published =
      qualified ? world.attributes.contains(name) : world.attributes_by_id.contains(id);
  if ((qualified || derived_by_another) && (!world.has_devices || published)) return;
  CrossFinding finding{
      .object = claim.index,
      .path = path / use.field,
      .severity = qualified || derived_by_another ? Severity::kWarning : Severity::kError,
      .reason = "UnknownAttribute",
      .message = {},
      .hint = {}};
  if (derived_by_another) {
    finding.message = fmt::format(
        "request \"{}\" does not derive \"{}\", and no device in the input has an attribute of "
        "that name",
        request, name);
    finding.hint = "derive it in every request that the constraint covers";
    findings.push_back(std::move(finding));
    return;
  }
  if (qualified) {
    finding.message = fmt::format("no device in the input has the attribute \"{}\"", name);
  } else {
    finding.message = fmt::format(
        "\"{}\" has no domain, and no request that the constraint covers derives an attribute of "
        "that name",
        name);
  }
  const auto closest =
      world.MayCompare(derived.size()) ? base::ClosestMatch(name, derived) : std::nullopt;
  if (closest && *closest != name) {
    finding.hint = fmt::format("did you mean the derived attribute \"{}\"?", *closest);
  } else if (const auto it = world.attributes_by_id.find(id); it != world.attributes_by_id.end()) {
    finding.hint = fmt::format("did you mean \"{}\"?", it->second);
  } else if (qualified) {
    finding.hint = HintAmong(world, name, world.attributes, "the devices in the input have");
  } else {
    finding.hint = fmt::format("write it with its driver's domain, as in gpu.example.com/{}", id);
  }
  findings.push_back(std::move(finding));
}

}  // namespace

void CheckDeviceClassesExist(const World& world, Findings& findings) {
  if (world.classes.empty()) return;
  for (const GivenClaim& claim : world.claims) {
    for (const Alternative& alternative : AlternativesOf(claim)) {
      const std::string& name = *alternative.device_class_name;
      if (name.empty() || world.class_names.contains(name)) continue;
      findings.push_back(
          {.object = claim.index,
           .path = alternative.path / "deviceClassName",
           .severity = Severity::kError,
           .reason = "UnknownDeviceClass",
           .message = fmt::format("there is no DeviceClass \"{}\"", name),
           .hint = HintAmong(world, name, world.class_names, "classes in the input")});
    }
  }
}

// docs/decisions.md, "derived attribute no constraint uses": accepted, but surely not meant.
void CheckDerivedAttributesAreUsed(const World& world, Findings& findings) {
  for (const GivenClaim& claim : world.claims) {
    const Compared compared(world, claim);
    for (const Alternative& alternative : AlternativesOf(claim)) {
      for (std::size_t i = 0; i < alternative.derived->size(); ++i) {
        const std::string& name = (*alternative.derived)[i].name;
        if (name.empty() || compared.Has(alternative, name)) continue;
        findings.push_back(
            {.object = claim.index,
             .path = (alternative.path / "derivedAttributes").Index(i) / "name",
             .severity = Severity::kWarning,
             .reason = "UnusedDerivedAttribute",
             .message = fmt::format(
                 "no constraint that covers request \"{}\" uses the derived attribute \"{}\"",
                 alternative.request, name),
             .hint = "name it in a matchAttribute or distinctAttribute; Kubernetes refuses "
                     "a claim with an unused one"});
      }
    }
  }
}

void CheckConstraintAttributesExist(const World& world, Findings& findings) {
  for (const GivenClaim& claim : world.claims) {
    const auto& constraints = claim.spec->devices.constraints;
    if (constraints.empty()) continue;
    const std::vector<Alternative> alternatives = AlternativesOf(claim);
    const std::vector<std::string_view> derived = DerivedNames(alternatives);
    Covered covered(world, alternatives);
    for (std::size_t i = 0; i < constraints.size(); ++i) {
      const base::FieldPath path = (claim.path / "constraints").Index(i);
      for (const Use& use : UsesOf(constraints[i])) {
        if (use.attribute->empty()) continue;
        const Covered::Answer answer = covered.Ask(constraints[i], *use.attribute);
        if (!answer.from_device) continue;
        CheckUse(world, claim, use, alternatives[*answer.from_device].request, answer.derived,
                 derived, path, findings);
      }
    }
  }
}

// A server looks the namespace up when the claim comes in (KEP-5018).
void CheckAdminAccessNamespaces(const World& world, Findings& findings) {
  for (const GivenClaim& claim : world.claims) {
    const auto it = world.namespaces.find(claim.namespace_);
    if (it == world.namespaces.end()) continue;
    const auto* label = it->second.object->metadata.labels.Find(kAdminAccessLabel);
    if (label != nullptr && *label == "true") continue;
    const auto& requests = claim.spec->devices.requests;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (!requests[i].exactly || !requests[i].exactly->admin_access.value_or(false)) continue;
      findings.push_back(
          {.object = claim.index,
           .path = (claim.path / "requests").Index(i) / "exactly" / "adminAccess",
           .severity = Severity::kError,
           .reason = "AdminAccessForbidden",
           .message = fmt::format("namespace \"{}\" does not allow admin access", claim.namespace_),
           .hint = fmt::format("it needs the label {}: \"true\"", kAdminAccessLabel),
           .related = it->second.index});
    }
  }
}

}  // namespace dray::api::internal
