// SPDX-License-Identifier: Apache-2.0
//
// For tests: policies from YAML, and a world of a few objects.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/strategy.h"
#include "base/time.h"
#include "policy/admission.h"
#include "policy/policy_spec.h"
#include "testing/objects_from.h"

namespace dray::policy {

// One object, with defaults.
inline api::Object ObjectFrom(std::string_view yaml) {
  std::vector<api::Object> objects = testing::ObjectsFrom(yaml);
  api::SetDefaults(objects.front(), base::Time());
  return std::move(objects.front());
}

// A policy with this spec (indented by two), which looks at all writes of config maps and slices
// unless it says otherwise.
inline PolicySpec SpecFrom(std::string_view spec) {
  std::string text =
      "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\n"
      "metadata: {name: p}\nspec:\n";
  text += spec;
  if (spec.find("matchConstraints") == spec.npos) {
    text +=
        "  matchConstraints:\n    resourceRules:\n    - {apiGroups: ['', resource.k8s.io], "
        "apiVersions: [v1], operations: ['*'], resources: [configmaps, resourceslices]}\n";
  }
  return PolicySpec::Read(ObjectFrom(text));
}

inline BindingSpec BindingFrom(std::string_view spec) {
  return BindingSpec::Read(ObjectFrom(
      "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\n"
      "metadata: {name: b}\nspec:\n  policyName: p\n" +
      std::string(spec)));
}

class Somebody final : public api::Authorizer {
 public:
  api::AuthorizationDecision Authorize(const api::AuthorizationRequest& request) const override {
    ++asked;
    last = request;
    const bool allowed = request.verb == "get" && request.user.name == "ann";
    return {.allowed = allowed, .reason = allowed ? "" : "only ann may get"};
  }
  mutable int asked = 0;
  mutable api::AuthorizationRequest last;
};

class SmallWorld final : public World {
 public:
  void Add(std::string_view yaml) { objects.push_back(ObjectFrom(yaml)); }

  StatusOr<api::Object> Namespace(std::string_view name) const override {
    for (const api::Object& object : objects) {
      if (object.kind().kind == "Namespace" && object.metadata().name == name) return object;
    }
    return base::NotFound("namespaces \"" + std::string(name) + "\" not found");
  }
  const api::KindInfo* FindKind(std::string_view api_version,
                                std::string_view kind) const override {
    return api::FindKind(api_version, kind);
  }
  StatusOr<std::optional<api::Object>> Find(const api::KindInfo& kind, std::string_view namespace_,
                                            std::string_view name) const override {
    for (const api::Object& object : objects) {
      if (object.kind().hub == kind.hub && object.metadata().namespace_ == namespace_ &&
          object.metadata().name == name) {
        return std::optional(object);
      }
    }
    return std::optional<api::Object>();
  }
  StatusOr<std::vector<api::Object>> Select(const api::KindInfo& kind, std::string_view namespace_,
                                            const api::LabelMatcher& labels) const override {
    std::vector<api::Object> chosen;
    for (const api::Object& object : objects) {
      if (object.kind().hub == kind.hub && object.metadata().namespace_ == namespace_ &&
          labels.Matches(object.metadata().labels)) {
        chosen.push_back(object);
      }
    }
    return chosen;
  }
  const api::Authorizer& authorizer() const override { return somebody; }

  std::vector<api::Object> objects;
  Somebody somebody;
};

// A write of an object by ann.
class Writing {
 public:
  explicit Writing(std::string_view next, std::string_view old = {}) {
    if (!next.empty()) next_ = ObjectFrom(next);
    if (!old.empty()) old_ = ObjectFrom(old);
    const api::Object& any = next_ ? *next_ : *old_;
    request.operation = !next_ ? kDelete : !old_ ? kCreate : kUpdate;
    request.version = Version::Of(any.kind());
    request.name = any.metadata().name;
    request.namespace_ = any.metadata().namespace_;
    request.user = &user;
    request.object = next_ ? &*next_ : nullptr;
    request.old_object = old_ ? &*old_ : nullptr;
    for (const api::KindInfo& kind : api::Kinds()) {
      if (kind.hub == any.kind().hub) request.equivalents.push_back(&kind);
    }
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

  api::UserInfo user{.name = "ann", .groups = {"team"}, .extra = {}, .uid = "u1"};
  Request request;

 private:
  std::optional<api::Object> next_;
  std::optional<api::Object> old_;
};

inline constexpr std::string_view kMap =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: ns, labels: {a: b}}\n"
    "data: {size: '3'}\n";

}  // namespace dray::policy
