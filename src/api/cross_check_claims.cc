// SPDX-License-Identifier: Apache-2.0
//
// Cross-checks of claims and claim templates against classes and devices.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "api/internal/cross_world.h"
#include "base/edit_distance.h"
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

bool Covers(const DeviceConstraint& constraint, const Alternative& alternative) {
  if (constraint.requests.empty()) return true;
  return std::ranges::any_of(constraint.requests, [&](const std::string& name) {
    return name == alternative.request ||
           (!alternative.subrequest.empty() && name == alternative.subrequest);
  });
}

bool Derives(const Alternative& alternative, std::string_view attribute) {
  return std::ranges::find(*alternative.derived, attribute, &DeviceDerivedAttribute::name) !=
         alternative.derived->end();
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

bool IsUsed(const GivenClaim& claim, const Alternative& alternative, std::string_view name) {
  return std::ranges::any_of(
      claim.spec->devices.constraints, [&](const DeviceConstraint& constraint) {
        return Covers(constraint, alternative) &&
               std::ranges::any_of(UsesOf(constraint),
                                   [&](const Use& use) { return *use.attribute == name; });
      });
}

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
        "request \"{}\" does not derive \"{}\", and no given device has an attribute of that name",
        request, name);
    finding.hint = "derive it in every request that the constraint covers";
    findings.push_back(std::move(finding));
    return;
  }
  if (qualified) {
    finding.message = fmt::format("no given device has the attribute \"{}\"", name);
  } else {
    finding.message = fmt::format(
        "\"{}\" has no domain, and no request that the constraint covers derives an attribute of "
        "that name",
        name);
  }
  const auto closest = base::ClosestMatch(name, derived);
  if (closest && *closest != name) {
    finding.hint = fmt::format("did you mean the derived attribute \"{}\"?", *closest);
  } else if (const auto it = world.attributes_by_id.find(id); it != world.attributes_by_id.end()) {
    finding.hint = fmt::format("did you mean \"{}\"?", it->second);
  } else if (qualified) {
    const std::vector<std::string_view> names(world.attributes.begin(), world.attributes.end());
    finding.hint = HintAmong(name, names, "the given devices have");
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
      const std::vector<std::string_view> names(world.class_names.begin(), world.class_names.end());
      findings.push_back({.object = claim.index,
                          .path = alternative.path / "deviceClassName",
                          .severity = Severity::kError,
                          .reason = "UnknownDeviceClass",
                          .message = fmt::format("there is no DeviceClass \"{}\"", name),
                          .hint = HintAmong(name, names, "given classes")});
    }
  }
}

// docs/decisions.md, "derived attribute no constraint uses": accepted, but surely not meant.
void CheckDerivedAttributesAreUsed(const World& world, Findings& findings) {
  for (const GivenClaim& claim : world.claims) {
    for (const Alternative& alternative : AlternativesOf(claim)) {
      for (std::size_t i = 0; i < alternative.derived->size(); ++i) {
        const std::string& name = (*alternative.derived)[i].name;
        if (name.empty() || IsUsed(claim, alternative, name)) continue;
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
    const std::vector<Alternative> alternatives = AlternativesOf(claim);
    const auto& constraints = claim.spec->devices.constraints;
    for (std::size_t i = 0; i < constraints.size(); ++i) {
      const base::FieldPath path = (claim.path / "constraints").Index(i);
      for (const Use& use : UsesOf(constraints[i])) {
        const auto takes_it_from_device = [&](const Alternative& alternative) {
          return Covers(constraints[i], alternative) && !Derives(alternative, *use.attribute);
        };
        const auto derives_it = [&](const Alternative& alternative) {
          return Covers(constraints[i], alternative) && Derives(alternative, *use.attribute);
        };
        if (use.attribute->empty()) continue;
        const auto from_device = std::ranges::find_if(alternatives, takes_it_from_device);
        if (from_device == alternatives.end()) continue;
        CheckUse(world, claim, use, from_device->request,
                 std::ranges::any_of(alternatives, derives_it), DerivedNames(alternatives), path,
                 findings);
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
