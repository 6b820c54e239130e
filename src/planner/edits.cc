// SPDX-License-Identifier: Apache-2.0
#include "planner/edits.h"

#include <algorithm>
#include <set>
#include <utility>

#include "api/job.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "api/stateful_set.h"
#include "api/workloads.h"
#include "fmt/format.h"

namespace dray::planner {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool Is(const api::Object& object, const api::KindInfo& kind, std::string_view namespace_,
        std::string_view name) {
  return object.kind().hub == kind.hub && object.metadata().name == name &&
         (!kind.namespaced || object.metadata().namespace_ == namespace_);
}

Status NoSuch(const api::KindInfo& kind, std::string_view namespace_, std::string_view name) {
  return base::MakeStatus(StatusCode::kNotFound,
                          fmt::format("there is no {} {}/{}", kind.kind, namespace_, name));
}

struct Name {
  std::string kind;
  std::string namespace_;
  std::string name;
  friend auto operator<=>(const Name&, const Name&) = default;
};

// What the pods used alone, nobody uses any more.
void FreeClaims(std::vector<api::Object>& objects, const std::set<Name>& gone) {
  for (api::Object& object : objects) {
    const auto* claim = object.As<api::ResourceClaim>();
    if (claim == nullptr || claim->status.reserved_for.empty()) continue;
    const auto left = [&](const api::ResourceClaimConsumerReference& user) {
      return user.api_group.empty() && user.resource == "pods" &&
             gone.contains({"Pod", claim->metadata.namespace_, user.name});
    };
    if (std::ranges::none_of(claim->status.reserved_for, left)) continue;
    auto& changed = *object.Mutable<api::ResourceClaim>();
    std::erase_if(changed.status.reserved_for, [&](const auto& user) {
      return user.api_group.empty() && user.resource == "pods" &&
             gone.contains({"Pod", changed.metadata.namespace_, user.name});
    });
    if (!changed.status.reserved_for.empty()) continue;
    changed.status.allocation.reset();
    changed.status.devices.clear();
  }
}

void RemoveAll(std::vector<api::Object>& objects, std::set<Name> gone) {
  const auto owned = [&](const api::Object& object) {
    const std::string& space = object.metadata().namespace_;
    return std::ranges::any_of(object.metadata().owner_references, [&](const auto& owner) {
      return owner.controller.value_or(false) && gone.contains({owner.kind, space, owner.name});
    });
  };
  const auto name_of = [](const api::Object& object) {
    return Name{std::string(object.kind().kind), object.metadata().namespace_,
                object.metadata().name};
  };
  // Owners are rarely more than three deep.
  for (bool more = true; more;) {
    more = false;
    for (const api::Object& object : objects) {
      if (owned(object)) more |= gone.insert(name_of(object)).second;
    }
  }
  std::erase_if(objects, [&](const api::Object& object) { return gone.contains(name_of(object)); });
  FreeClaims(objects, gone);
}

}  // namespace

const api::KindInfo* KindCalled(std::string_view word) {
  const std::string wanted = Lower(word);
  if (wanted == "claim" || wanted == "claims") {
    return &api::HubKind(api::TypeInfoOf<api::ResourceClaim>());
  }
  for (const api::KindInfo& kind : api::Kinds()) {
    if (&api::HubKind(*kind.hub) != &kind) continue;
    if (wanted == kind.plural || wanted == Lower(kind.kind)) return &kind;
  }
  return nullptr;
}

Status RemoveObject(std::vector<api::Object>& objects, const api::KindInfo& kind,
                    std::string_view namespace_, std::string_view name) {
  const auto it = std::ranges::find_if(
      objects, [&](const api::Object& object) { return Is(object, kind, namespace_, name); });
  if (it == objects.end()) return NoSuch(kind, namespace_, name);
  RemoveAll(objects, {{std::string(kind.kind), it->metadata().namespace_, it->metadata().name}});
  return {};
}

Status ScaleObject(std::vector<api::Object>& objects, const api::KindInfo& kind,
                   std::string_view namespace_, std::string_view name, std::int64_t count) {
  const auto it = std::ranges::find_if(
      objects, [&](const api::Object& object) { return Is(object, kind, namespace_, name); });
  if (it == objects.end()) return NoSuch(kind, namespace_, name);
  const auto number = static_cast<std::int32_t>(count);
  if (auto* deployment = it->Mutable<api::Deployment>()) {
    deployment->spec.replicas = number;
  } else if (auto* set = it->Mutable<api::ReplicaSet>()) {
    set->spec.replicas = number;
  } else if (auto* stateful = it->Mutable<api::StatefulSet>()) {
    stateful->spec.replicas = number;
  } else if (auto* job = it->Mutable<api::Job>()) {
    job->spec.parallelism = number;
  } else {
    return base::InvalidArgument(
        fmt::format("the number of replicas of a {} cannot be changed", kind.kind));
  }
  return {};
}

StatusOr<std::vector<std::string>> AddNodesLike(std::vector<api::Object>& objects,
                                                std::string_view like, std::int64_t count) {
  const api::Object* given = nullptr;
  std::set<std::string> nodes;
  std::vector<api::Object> slices;
  for (const api::Object& object : objects) {
    if (object.As<api::Node>() != nullptr) {
      nodes.insert(object.metadata().name);
      if (object.metadata().name == like) given = &object;
    }
    const auto* slice = object.As<api::ResourceSlice>();
    if (slice != nullptr && slice->spec.node_name == like) slices.push_back(object);
  }
  if (given == nullptr) {
    return base::MakeStatus(StatusCode::kNotFound, fmt::format("node {} not found", like));
  }
  const api::Object node = *given;
  const auto anew = [](api::Object& object, std::string name) {
    api::ObjectMeta& metadata = object.MutableMetadata();
    metadata.name = std::move(name);
    metadata.uid.clear();
    metadata.resource_version.clear();
    metadata.owner_references.clear();
  };
  std::vector<std::string> names;
  for (std::int64_t i = 0, next = 0; i < count; ++i) {
    std::string name;
    do {
      name = fmt::format("{}-new-{}", like, next++);
    } while (!nodes.insert(name).second);
    api::Object copy = node;
    anew(copy, name);
    auto& labels = copy.MutableMetadata().labels;
    if (labels.Find(api::kHostnameLabel) != nullptr) labels[api::kHostnameLabel] = name;
    auto& made = *copy.Mutable<api::Node>();
    made.spec.unschedulable = false;
    std::erase_if(made.spec.taints,
                  [](const api::Taint& taint) { return taint.key == api::kUnschedulableTaint; });
    objects.push_back(std::move(copy));
    for (const api::Object& of : slices) {
      api::Object slice = of;
      anew(slice, fmt::format("{}-{}", of.metadata().name, name));
      auto& spec = slice.Mutable<api::ResourceSlice>()->spec;
      spec.node_name = name;
      spec.pool.name = spec.pool.name == like ? name : fmt::format("{}-{}", spec.pool.name, name);
      objects.push_back(std::move(slice));
    }
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace dray::planner
