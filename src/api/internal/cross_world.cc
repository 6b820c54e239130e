// SPDX-License-Identifier: Apache-2.0
#include "api/internal/cross_world.h"

#include <algorithm>
#include <map>
#include <utility>

#include "api/job.h"
#include "api/workloads.h"
#include "base/edit_distance.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

constexpr std::size_t kMostNamesInHint = 5;
// About a quarter of a second.
constexpr std::size_t kMostCompared = 500'000;

std::string HintOf(std::string_view word, std::vector<std::string_view> names,
                   std::string_view what) {
  std::ranges::sort(names);  // they come from hash sets, and the answer must not depend on that
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.empty()) return "";
  if (const auto closest = base::ClosestMatch(word, names)) {
    return fmt::format("did you mean \"{}\"?", *closest);
  }
  std::string list;
  const std::size_t shown = std::min(names.size(), kMostNamesInHint);
  for (std::size_t i = 0; i < shown; ++i) {
    list += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > shown) list += fmt::format(" and {} more", names.size() - shown);
  return fmt::format("{}: {}", what, list);
}

base::FieldPath DevicesPath(bool is_template) {
  const base::FieldPath spec("spec");
  return is_template ? spec / "spec" / "devices" : spec / "devices";
}

}  // namespace

bool GivenPool::IsComplete() const {
  return std::ranges::all_of(current, [&](const Given<ResourceSlice>& slice) {
    return slice.object->spec.pool.resource_slice_count ==
           static_cast<std::int64_t>(current.size());
  });
}

World::World(std::span<const Object> given) : objects(given) {
  std::vector<Given<ResourceSlice>> slices;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const Object& object = objects[i];
    if (const auto* device_class = object.As<DeviceClass>()) {
      classes.push_back({i, device_class});
      class_names.insert(device_class->metadata.name);
    } else if (const auto* rule = object.As<DeviceTaintRule>()) {
      taint_rules.push_back({i, rule});
    } else if (const auto* slice = object.As<ResourceSlice>()) {
      slices.push_back({i, slice});
    } else if (const auto* claim = object.As<ResourceClaim>()) {
      claims.push_back(
          {i, NamespaceOf(object), claim->metadata.name, false, &claim->spec, DevicesPath(false)});
    } else if (const auto* claim_template = object.As<ResourceClaimTemplate>()) {
      claims.push_back({i, NamespaceOf(object), claim_template->metadata.name, true,
                        &claim_template->spec.spec, DevicesPath(true)});
    } else if (const auto* node = object.As<Node>()) {
      nodes.push_back({i, node});
    } else if (const auto* name_space = object.As<Namespace>()) {
      namespaces.emplace(name_space->metadata.name, Given<Namespace>{i, name_space});
    } else {
      AddPod(i);
    }
  }
  for (const GivenClaim& claim : claims) {
    ClaimsByName& by_name = claim.is_template ? templates_by_name : claims_by_name;
    by_name.emplace(NamespacedName(claim.namespace_, claim.name), &claim);
    namespaces_with_claims.insert(claim.namespace_);
  }
  AddSlices(std::move(slices));
}

void World::AddPod(std::size_t index) {
  const Object& object = objects[index];
  const base::FieldPath spec("spec");
  const auto add_template = [&](const PodTemplateSpec& pod) {
    pods.push_back({index, NamespaceOf(object), &pod.spec, spec / "template" / "spec", nullptr});
  };
  if (const auto* pod = object.As<Pod>()) {
    pods.push_back({index, NamespaceOf(object), &pod->spec, spec, &pod->status});
  } else if (const auto* deployment = object.As<Deployment>()) {
    add_template(deployment->spec.template_);
  } else if (const auto* replica_set = object.As<ReplicaSet>()) {
    add_template(replica_set->spec.template_);
  } else if (const auto* job = object.As<Job>()) {
    add_template(job->spec.template_);
  }
}

void World::AddSlices(std::vector<Given<ResourceSlice>> slices) {
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> by_key;
  for (const Given<ResourceSlice>& slice : slices) {
    const ResourceSliceSpec& spec = slice.object->spec;
    AddAttributes(*slice.object);
    const auto [it, added] = by_key.try_emplace({spec.driver, spec.pool.name}, pools.size());
    if (added) {
      pools.push_back({.driver = spec.driver,
                       .name = spec.pool.name,
                       .generation = spec.pool.generation,
                       .current = {},
                       .stale = {}});
    }
    GivenPool& pool = pools[it->second];
    if (spec.pool.generation > pool.generation) {
      pool.generation = spec.pool.generation;
      pool.stale.insert(pool.stale.end(), pool.current.begin(), pool.current.end());
      pool.current.clear();
    }
    (spec.pool.generation == pool.generation ? pool.current : pool.stale).push_back(slice);
  }
}

void World::AddAttributes(const ResourceSlice& slice) {
  if (!slice.spec.devices) return;
  for (const Device& device : *slice.spec.devices) {
    has_devices = true;
    AddCapacities(slice, device);
    for (const auto& [key, value] : device.attributes) {
      const std::string_view name(key);
      const bool qualified = name.find('/') != std::string_view::npos;
      std::string full =
          qualified ? std::string(name) : fmt::format("{}/{}", slice.spec.driver, name);
      if (attributes.contains(full)) continue;
      attributes_by_id.emplace(full.substr(full.rfind('/') + 1), full);
      attributes.insert(std::move(full));
    }
  }
}

void World::AddCapacities(const ResourceSlice& slice, const Device& device) {
  const std::string& driver = slice.spec.driver;
  if (!drivers.contains(driver)) drivers.insert(driver);
  for (const auto& [key, capacity] : device.capacity) {
    const std::string_view name(key);
    if (capacity_names.contains(name)) continue;
    capacity_names.insert(std::string(name));
    if (name.find('/') == std::string_view::npos) {
      capacity_names.insert(QualifiedCapacity(name, driver));
    } else if (name.starts_with(driver) && name.substr(driver.size()).starts_with('/')) {
      capacity_names.insert(std::string(name.substr(driver.size() + 1)));
    }
  }
}

std::string QualifiedCapacity(std::string_view name, std::string_view driver) {
  return name.find('/') == std::string_view::npos ? fmt::format("{}/{}", driver, name)
                                                  : std::string(name);
}

base::FieldPath ResultPath(std::size_t result) {
  return (base::FieldPath("status") / "allocation" / "devices" / "results").Index(result);
}

std::string NamespaceOf(const Object& object) {
  if (!object.kind().namespaced) return "";
  const std::string& given = object.metadata().namespace_;
  return given.empty() ? "default" : given;
}

std::string NamespacedName(std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}", ns, name);
}

bool World::MayCompare(std::size_t names) const {
  if (compared_ + names > kMostCompared && compared_ > 0) return false;
  compared_ += names;
  steps += names;
  return true;
}

std::string HintAmong(const World& world, std::string_view word, const base::StringSet& names,
                      std::string_view what) {
  const std::string key = fmt::format("{} {}", fmt::ptr(&names), word);
  if (const auto known = world.hints.find(key); known != world.hints.end()) return known->second;
  const std::vector<std::string_view> all(names.begin(), names.end());
  std::string hint = HintAmong(world, word, all, what);
  world.hints.emplace(key, hint);
  return hint;
}

std::string HintAmong(const World& world, std::string_view word,
                      std::vector<std::string_view> names, std::string_view what) {
  if (!world.MayCompare(names.size())) return "";
  return HintOf(word, std::move(names), what);
}

}  // namespace dray::api::internal
