// SPDX-License-Identifier: Apache-2.0
//
// The given objects sorted for the cross-checks: by kind, by pool, by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/cross_check.h"
#include "api/device_class.h"
#include "api/kinds.h"
#include "api/namespace.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/field_path.h"
#include "base/string_map.h"

namespace dray::api::internal {

// An object and its place in the input.
template <typename T>
struct Given {
  std::size_t index;
  const T* object;
};

// A claim's spec, be it a claim's own or a template's.
struct GivenClaim {
  std::size_t index;
  std::string namespace_;
  std::string name;
  bool is_template;
  const ResourceClaimSpec* spec;
  base::FieldPath path;  // of spec.devices
};

// A pod, or the pods that a workload would make.
struct GivenPod {
  std::size_t index;
  std::string namespace_;
  const PodSpec* spec;
  base::FieldPath path;     // of the spec
  const PodStatus* status;  // null for a workload's template
};

// The slices of one driver and pool. `current` are those of the highest generation.
struct GivenPool {
  std::string driver;
  std::string name;
  std::int64_t generation = 0;
  std::vector<Given<ResourceSlice>> current;
  std::vector<Given<ResourceSlice>> stale;

  // As many slices as they all say that there are: only then can something be called missing.
  bool IsComplete() const;
};

// Where claims of a kind live: by "namespace/name".
using ClaimsByName = base::StringMap<const GivenClaim*>;

struct World {
  explicit World(std::span<const Object> objects);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  std::span<const Object> objects;
  std::vector<Given<DeviceClass>> classes;
  std::vector<Given<DeviceTaintRule>> taint_rules;
  std::vector<Given<Node>> nodes;
  std::vector<GivenClaim> claims;  // claims and templates
  std::vector<GivenPod> pods;      // and what makes pods
  std::vector<GivenPool> pools;    // in order of appearance

  base::StringSet class_names;
  base::StringMap<Given<Namespace>> namespaces;
  ClaimsByName claims_by_name;
  ClaimsByName templates_by_name;
  base::StringSet namespaces_with_claims;  // or templates
  // Qualified names of all attributes of all devices; a bare name stands in its driver's domain.
  base::StringSet attributes;
  // Bare attribute names -> the first qualified one that ends in it.
  base::StringMap<std::string> attributes_by_id;
  // Every name by which a request may mean a capacity of some device: with its driver's domain and
  // without, if that is its domain (docs/decisions.md, "capacity names in a request").
  base::StringSet capacity_names;
  base::StringSet drivers;  // that have devices
  bool has_devices = false;

  // What the checks that are not obviously linear have looked at.
  mutable std::uint64_t steps = 0;
  // Whether a word may be compared with so many names to say what was probably meant. Thousands of findings
  // about thousands of names are told without that in the end.
  bool MayCompare(std::size_t names) const;
  mutable base::StringMap<std::string> hints;  // that were found, by names and word

 private:
  void AddPod(std::size_t index);
  void AddSlices(std::vector<Given<ResourceSlice>> slices);
  void AddAttributes(const ResourceSlice& slice);
  void AddCapacities(const ResourceSlice& slice, const Device& device);

  mutable std::size_t compared_ = 0;  // names
};

// "default" when the object's kind has namespaces and none is given.
std::string NamespaceOf(const Object& object);
// "ns/name"
std::string NamespacedName(std::string_view ns, std::string_view name);
// A capacity's name with its domain, which is the driver's if it has none.
std::string QualifiedCapacity(std::string_view name, std::string_view driver);
// status.allocation.devices.results[i]
base::FieldPath ResultPath(std::size_t result);
// `did you mean "x"?`, else `given are "a", "b"` (or "and 3 more"); empty when nothing is given, or when
// enough has been compared.
std::string HintAmong(const World& world, std::string_view word,
                      std::vector<std::string_view> names, std::string_view what);
// Of names that are the world's: what is found once is remembered.
std::string HintAmong(const World& world, std::string_view word, const base::StringSet& names,
                      std::string_view what);

using Findings = std::vector<CrossFinding>;

// The checks, by subject; each is one row of the table in cross_check.cc.
void CheckNamesAreUnique(const World& world, Findings& findings);

// cross_check_claims.cc
void CheckDeviceClassesExist(const World& world, Findings& findings);
void CheckDerivedAttributesAreUsed(const World& world, Findings& findings);
void CheckConstraintAttributesExist(const World& world, Findings& findings);
void CheckAdminAccessNamespaces(const World& world, Findings& findings);

// cross_check_capacity.cc
void CheckCapacitiesExist(const World& world, Findings& findings);
void CheckConsumedCapacity(const World& world, Findings& findings);

// cross_check_allocations.cc
void CheckAllocations(const World& world, Findings& findings);

// cross_check_resources.cc
void CheckExtendedResourcesExist(const World& world, Findings& findings);

// cross_check_pods.cc
void CheckPodClaimsExist(const World& world, Findings& findings);
void CheckContainerClaims(const World& world, Findings& findings);
void CheckImplicitResourcesExist(const World& world, Findings& findings);
void CheckExtendedResourceStatus(const World& world, Findings& findings);

// cross_check_pools.cc
void CheckPoolsAreComplete(const World& world, Findings& findings);
void CheckStaleSlices(const World& world, Findings& findings);
void CheckDeviceNamesInPool(const World& world, Findings& findings);
void CheckCounterSetNamesInPool(const World& world, Findings& findings);
void CheckConsumedCounters(const World& world, Findings& findings);

// cross_check_classes.cc
void CheckExtendedResourceNames(const World& world, Findings& findings);
void CheckImplicitResourceNames(const World& world, Findings& findings);
void CheckTaintRulesSelect(const World& world, Findings& findings);

}  // namespace dray::api::internal
