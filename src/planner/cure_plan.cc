// SPDX-License-Identifier: Apache-2.0
#include "planner/cure_plan.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "api/json.h"
#include "api/json_tree.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/yaml_text.h"
#include "fmt/format.h"

namespace dray::planner {
namespace {

using api::DocumentNode;
using api::json::Entry;
using api::json::List;
using api::json::Map;
using api::json::Number;
using api::json::String;

template <typename T>
const T* FindIn(const std::vector<api::Object>& objects, const api::ObjectMeta& like) {
  for (const api::Object& object : objects) {
    const T* found = object.As<T>();
    if (found != nullptr && found->metadata.name == like.name &&
        found->metadata.namespace_ == like.namespace_) {
      return found;
    }
  }
  return nullptr;
}

std::string KeyOf(std::string_view kind, const api::ObjectMeta& metadata) {
  return fmt::format("{}/{}/{}", kind, metadata.namespace_, metadata.name);
}

// What a server adds is left away, so that the text can be put anew.
std::string YamlOf(const api::Object& object) {
  api::Object shown = object;
  api::ObjectMeta& metadata = shown.MutableMetadata();
  metadata.uid.clear();
  metadata.resource_version.clear();
  metadata.creation_timestamp.reset();
  metadata.managed_fields.clear();
  std::vector<api::Diagnostic> none;
  return fmt::format("---\n{}", api::ToYaml(api::ParseJson(shown.ToJson(), none)));
}

// Whether it differs from what is there; if something is there, that is to go first.
template <typename T>
bool IsNews(const T& put, std::string_view kind, const std::vector<api::Object>& objects,
            std::vector<std::string>& gone) {
  const T* before = FindIn<T>(objects, put.metadata);
  if (before == nullptr) return true;
  if (before->spec == put.spec) return false;
  gone.push_back(KeyOf(kind, put.metadata));
  return true;
}

}  // namespace

DocumentNode PlanOf(const Cure& cure, const std::vector<api::Object>& objects) {
  std::vector<std::string> gone;
  std::string manifests;
  std::optional<std::string> like;
  for (const ObjectRef& ref : cure.changes.gone) {
    // Claims that were made for pods go with them.
    const bool pod = ref.kind->kind == "Pod";
    if (!pod && cure.kind != CureKind::kDeleteClaim) continue;
    gone.push_back(fmt::format("{}/{}/{}", pod ? "pod" : "claim", ref.namespace_, ref.name));
  }
  for (const api::Object& put : cure.changes.put) {
    // Pods that leave, or go later, leave claims behind that are nobody's: they follow by themselves.
    if (cure.kind == CureKind::kWaitFor || cure.kind == CureKind::kGoFirst) break;
    if (cure.new_node) {
      constexpr std::string_view kMore = "-more";
      const std::string& name = put.metadata().name;
      if (put.As<api::Node>() != nullptr) like = name.substr(0, name.rfind(kMore));
      continue;
    }
    if (const auto* claim = put.As<api::ResourceClaim>()) {
      if (!IsNews(*claim, "claim", objects, gone)) continue;
    } else if (const auto* pod = put.As<api::Pod>()) {
      if (!IsNews(*pod, "pod", objects, gone)) continue;
    }
    manifests += YamlOf(put);
  }
  std::vector<Entry> entries;
  if (!manifests.empty()) entries.push_back({"manifests", String(manifests)});
  if (!gone.empty()) {
    std::vector<DocumentNode> list;
    for (const std::string& name : gone) list.push_back(String(name));
    entries.push_back({"delete", List(std::move(list))});
  }
  if (like) {
    entries.push_back({"nodes", List({Map({{"like", String(*like)}, {"count", Number(1)}})})});
  }
  return Map(std::move(entries));
}

}  // namespace dray::planner
