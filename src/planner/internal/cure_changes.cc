// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/cure_changes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "api/node.h"
#include "controllers/object_key.h"
#include "fmt/format.h"
#include "planner/internal/outcomes.h"
#include "scheduler/pod_info.h"

namespace dray::planner::internal {
namespace {

using controllers::KindOf;
using PoolName = std::pair<std::string, std::string>;  // driver, pool

// A name that nothing of the kind has.
std::string NewName(const Trial& trial, const api::KindInfo& kind, std::string stem) {
  std::string name = stem;
  for (int i = 2; trial.Find(kind, "", name) != nullptr; ++i) name = fmt::format("{}-{}", stem, i);
  return name;
}

// Pools of devices that the node can use.
std::set<PoolName> PoolsOf(const Trial& trial, const std::string& node) {
  std::set<PoolName> pools;
  for (const api::Object* object : trial.List(KindOf<api::ResourceSlice>())) {
    const auto& spec = object->As<api::ResourceSlice>()->spec;
    if (!spec.node_name || *spec.node_name == node) pools.emplace(spec.driver, spec.pool.name);
  }
  return pools;
}

bool UsedByPods(const api::ResourceClaim& claim) {
  return std::ranges::any_of(claim.status.reserved_for,
                             [](const auto& user) { return user.resource == "pods"; });
}

const api::Device* FindDevice(const Trial& trial, const allocator::DeviceName& name) {
  for (const api::Object* object : trial.List(KindOf<api::ResourceSlice>())) {
    const auto& spec = object->As<api::ResourceSlice>()->spec;
    if (spec.driver != name.driver || spec.pool.name != name.pool || !spec.devices) continue;
    const auto found = std::ranges::find(*spec.devices, name.device, &api::Device::name);
    if (found != spec.devices->end()) return &*found;
  }
  return nullptr;
}

// Of each term: any of them is enough.
void RequireNode(api::Pod& pod, std::string_view how, const std::string& node) {
  if (!pod.spec.affinity.has_value()) pod.spec.affinity.emplace();
  auto& affinity = pod.spec.affinity->node_affinity;
  if (!affinity.has_value()) affinity.emplace();
  if (!affinity->required.has_value()) affinity->required.emplace();
  auto& terms = affinity->required->node_selector_terms;
  if (terms.empty()) terms.emplace_back();
  for (api::NodeSelectorTerm& term : terms) {
    term.match_fields.push_back(
        {.key = "metadata.name", .operator_ = std::string(how), .values = {node}});
  }
}

}  // namespace

std::vector<Occupant> OccupantsOf(const Trial& trial, const std::string& node, bool pods) {
  const std::set<PoolName> pools = PoolsOf(trial, node);
  std::map<Occupant, std::string> found;
  for (const api::Object* object : trial.List(KindOf<api::ResourceClaim>())) {
    const auto& claim = *object->As<api::ResourceClaim>();
    if (!claim.status.allocation) continue;
    std::string devices;
    for (const auto& result : claim.status.allocation->devices.results) {
      if (!pools.contains({result.driver, result.pool})) continue;
      devices.append(devices.empty() ? "" : ", ").append(result.device);
    }
    if (devices.empty()) continue;
    const auto add = [&](bool pod, const std::string& name) {
      std::string& all = found[{.pod = pod, .namespace_ = claim.metadata.namespace_, .name = name}];
      all.append(all.empty() ? "" : ", ").append(devices);
    };
    if (!UsedByPods(claim)) add(false, claim.metadata.name);
    for (const auto& user : claim.status.reserved_for) {
      if (user.resource == "pods") add(true, user.name);
    }
  }
  if (pods) {
    for (const api::Object* object : trial.List(KindOf<api::Pod>())) {
      const auto& pod = *object->As<api::Pod>();
      if (pod.spec.node_name != node || scheduler::IsTerminated(pod)) continue;
      found[{.namespace_ = pod.metadata.namespace_, .name = pod.metadata.name}];
    }
  }
  std::vector<Occupant> occupants;
  for (auto& [occupant, devices] : found) {
    occupants.push_back(occupant);
    occupants.back().devices = std::move(devices);
  }
  return occupants;
}

Changes Without(const Trial& trial, const std::vector<Occupant>& occupants) {
  Changes changes;
  std::set<std::string> pods;
  std::set<std::string> claims;
  for (const Occupant& occupant : occupants) {
    (occupant.pod ? pods : claims).insert(KeyOf(occupant.namespace_, occupant.name));
    changes.gone.push_back({occupant.pod ? &KindOf<api::Pod>() : &KindOf<api::ResourceClaim>(),
                            occupant.namespace_, occupant.name});
  }
  for (const api::Object* object : trial.List(KindOf<api::ResourceClaim>())) {
    const api::ObjectMeta& metadata = object->metadata();
    const auto leaves = [&](const auto& user) {
      return user.resource == "pods" && pods.contains(KeyOf(metadata.namespace_, user.name));
    };
    const auto& users = object->As<api::ResourceClaim>()->status.reserved_for;
    if (claims.contains(KeyOf(metadata)) || std::ranges::none_of(users, leaves)) continue;
    const api::OwnerReference* owner = api::FindController(metadata);
    if (owner != nullptr && owner->kind == "Pod" &&
        pods.contains(KeyOf(metadata.namespace_, owner->name))) {
      changes.gone.push_back({&object->kind(), metadata.namespace_, metadata.name});
      continue;
    }
    api::Object freed = *object;
    auto& status = freed.Mutable<api::ResourceClaim>()->status;
    std::erase_if(status.reserved_for, leaves);
    if (status.reserved_for.empty()) {
      status.allocation.reset();
      status.devices.clear();
    }
    changes.put.push_back(std::move(freed));
  }
  return changes;
}

Changes OneMoreNode(const Trial& trial, const std::string& node) {
  Changes changes;
  const api::Object* given = trial.Find(KindOf<api::Node>(), "", node);
  if (given == nullptr) return changes;
  const std::string name = NewName(trial, KindOf<api::Node>(), node + "-more");
  const auto anew = [](api::Object& object, const std::string& called) {
    api::ObjectMeta& metadata = object.MutableMetadata();
    metadata.name = called;
    metadata.uid.clear();
    metadata.resource_version.clear();
    metadata.owner_references.clear();
  };
  api::Object copy = *given;
  anew(copy, name);
  api::ObjectMeta& metadata = copy.MutableMetadata();
  if (metadata.labels.Find(api::kHostnameLabel) != nullptr) {
    metadata.labels[api::kHostnameLabel] = name;
  }
  changes.put.push_back(std::move(copy));
  for (const api::Object* object : trial.List(KindOf<api::ResourceSlice>())) {
    if (object->As<api::ResourceSlice>()->spec.node_name != node) continue;
    api::Object slice = *object;
    anew(slice, NewName(trial, object->kind(), object->metadata().name + "-more"));
    auto& spec = slice.Mutable<api::ResourceSlice>()->spec;
    spec.node_name = name;
    spec.pool.name = spec.pool.name == node ? name : spec.pool.name + "-more";
    changes.put.push_back(std::move(slice));
  }
  return changes;
}

std::optional<api::Object> MoreDevices(const Trial& trial, const std::string& node,
                                       const allocator::DeviceName& like, std::int64_t count) {
  constexpr std::int64_t kMost = 64;  // of a slice: more is no advice for anybody
  const api::Device* device = FindDevice(trial, like);
  if (device == nullptr || count < 1 || count > kMost) return std::nullopt;
  api::ResourceSlice slice;
  slice.metadata.name = NewName(trial, KindOf<api::ResourceSlice>(), node + "-more-devices");
  slice.spec.driver = like.driver;
  slice.spec.node_name = node;
  slice.spec.pool = {.name = slice.metadata.name, .generation = 1, .resource_slice_count = 1};
  auto& devices = slice.spec.devices.emplace();
  for (std::int64_t i = 0; i < count; ++i) {
    api::Device& copy = devices.emplace_back(*device);
    copy.name = fmt::format("more-{}", i);
    copy.consumes_counters.clear();
    copy.taints.clear();
    copy.node_name.reset();
    copy.node_selector.reset();
    copy.all_nodes.reset();
  }
  return api::Object::Of(std::move(slice));
}

RequestFields FieldsOf(api::ResourceClaim& claim, std::string_view alternative) {
  const auto slash = alternative.find('/');
  for (api::DeviceRequest& request : claim.spec.devices.requests) {
    if (request.name != alternative.substr(0, slash)) continue;
    const auto fields = [](auto& asked) {
      return RequestFields{&asked.device_class_name, &asked.selectors,
                           &asked.allocation_mode,   &asked.count,
                           &asked.tolerations,       &asked.capacity};
    };
    if (slash == std::string_view::npos) {
      return request.exactly.has_value() ? fields(*request.exactly) : RequestFields();
    }
    const auto sub = std::ranges::find(request.first_available, alternative.substr(slash + 1),
                                       &api::DeviceSubRequest::name);
    return sub == request.first_available.end() ? RequestFields() : fields(*sub);
  }
  return {};
}

void Pin(api::Pod& pod, const std::string& node) { RequireNode(pod, "In", node); }
void Shun(api::Pod& pod, const std::string& node) { RequireNode(pod, "NotIn", node); }

TaintText ParseTaint(std::string_view text) {
  const auto colon = text.rfind(':');
  const std::string_view key = text.substr(0, colon);
  return {std::string(key.substr(0, key.find('='))),
          colon == std::string_view::npos ? "" : std::string(text.substr(colon + 1))};
}

}  // namespace dray::planner::internal
