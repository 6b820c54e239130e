// SPDX-License-Identifier: Apache-2.0
//
// Volumes: claims, volumes and classes of storage, as far as they decide where a pod can run. Kinds
// that are described (api/described_kinds.h): what matters of an object is read once, when it comes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "api/event.h"
#include "api/meta.h"
#include "api/node.h"
#include "api/node_selector.h"
#include "api/pod.h"
#include "api/volume.h"
#include "base/quantity.h"
#include "base/string_map.h"

namespace dray::scheduler {

// What a provisioner is told, and what controllers say of a claim and a volume.
inline constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";
inline constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed";
inline constexpr std::string_view kBoundByController = "pv.kubernetes.io/bound-by-controller";
// Of a class that makes no volumes.
inline constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";

struct VolumePhase {
  std::string phase;
};

struct VolumeClaim {
  api::ObjectMeta metadata;
  api::PersistentVolumeClaimSpec spec;
  VolumePhase status;
  std::shared_ptr<const api::Object> object;  // whole, for who writes it

  // By both sides; nothing is left to be decided.
  bool bound() const {
    return !spec.volume_name.empty() && metadata.annotations.contains(kBindCompleted);
  }
  // As it names it, or as one did before there was a field for it. Empty: none.
  std::string_view class_name() const;
  std::string_view selected_node() const;
  base::Quantity size() const;
};

struct VolumeNodeAffinity {
  api::Box<api::NodeSelector> required;
};
struct CsiSource {
  std::string driver;
  std::string volume_handle;
};
struct PersistentVolumeSpec {
  api::Map<base::Quantity> capacity;
  std::vector<std::string> access_modes;
  api::Box<api::ObjectReference> claim_ref;
  std::string storage_class_name;
  std::optional<std::string> volume_mode;
  std::optional<std::string> volume_attributes_class_name;
  api::Box<VolumeNodeAffinity> node_affinity;
  api::Box<CsiSource> csi;
};
struct PersistentVolume {
  api::ObjectMeta metadata;
  PersistentVolumeSpec spec;
  VolumePhase status;
  std::shared_ptr<const api::Object> object;

  std::string_view class_name() const;
  base::Quantity size() const;
  bool IsFor(const VolumeClaim& claim) const;
  // Whether what is on the node can use it.
  bool ReachableFrom(const api::Node& node) const;
};

struct TopologyLabel {
  std::string key;
  std::vector<std::string> values;
};
struct TopologyTerm {
  std::vector<TopologyLabel> match_label_expressions;
};
struct StorageClass {
  api::ObjectMeta metadata;
  std::string provisioner;
  std::optional<std::string> volume_binding_mode;
  std::vector<TopologyTerm> allowed_topologies;

  bool waits_for_consumer() const { return volume_binding_mode == "WaitForFirstConsumer"; }
  bool AllowsOn(const api::Node& node) const;
};

struct CsiAllocatable {
  std::optional<std::int32_t> count;
};
struct CsiNodeDriver {
  std::string name;
  api::Box<CsiAllocatable> allocatable;
};
struct CsiNodeSpec {
  std::vector<CsiNodeDriver> drivers;
};
struct CsiNode {
  api::ObjectMeta metadata;
  CsiNodeSpec spec;
};
struct CsiDriverSpec {
  std::optional<bool> storage_capacity;
};
struct CsiDriver {
  api::ObjectMeta metadata;
  CsiDriverSpec spec;
};
struct StorageCapacity {
  api::ObjectMeta metadata;
  api::Box<api::LabelSelector> node_topology;
  std::string storage_class_name;
  std::optional<base::Quantity> capacity;
  std::optional<base::Quantity> maximum_volume_size;
};

// The claim that a volume of a pod is: the one that it names, or the one that is made for it.
// Empty: it is no claim.
std::string VolumeClaimName(const api::Pod& pod, const api::Volume& volume);

// One thread changes it; see World.
class Volumes {
 public:
  // The kinds that it looks at, for whoever watches.
  static std::vector<const api::KindInfo*> Kinds();
  static bool Concerns(const api::Object& object);

  // False: it is of another kind.
  bool Apply(const api::Change& change);

  // Null when there is none.
  std::shared_ptr<const VolumeClaim> FindClaim(std::string_view namespace_,
                                               std::string_view name) const;
  std::shared_ptr<const PersistentVolume> FindVolume(std::string_view name) const;
  const StorageClass* FindClass(std::string_view name) const;
  // By name, so that of equal ones the same is taken each time.
  std::vector<std::shared_ptr<const PersistentVolume>> OfClass(std::string_view class_name) const;
  // How many volumes of the driver the node can have. Nothing: as many as one likes.
  std::optional<std::int32_t> LimitOn(std::string_view node, std::string_view driver) const;
  // Whether the driver of the class has room for the claim where the node is, as far as it tells.
  bool HasRoom(const StorageClass& storage_class, const VolumeClaim& claim,
               const api::Node& node) const;

 private:
  base::StringMap<std::shared_ptr<const VolumeClaim>> claims_;  // by "namespace/name"
  std::map<std::string, std::shared_ptr<const PersistentVolume>, std::less<>> volumes_;
  base::StringMap<StorageClass> classes_;
  base::StringMap<CsiNode> nodes_;
  base::StringMap<CsiDriver> drivers_;
  base::StringMap<StorageCapacity> capacities_;  // by "namespace/name"
};

}  // namespace dray::scheduler
