// SPDX-License-Identifier: Apache-2.0
#include "scheduler/volumes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/json.h"
#include "base/check.h"
#include "scheduler/plugins/selection.h"

namespace dray::scheduler {
namespace {

using api::Field;
using api::StructInfo;

constexpr std::string_view kStorage = "storage";
// Before there was a field for it.
constexpr std::string_view kOldClass = "volume.beta.kubernetes.io/storage-class";

}  // namespace

const StructInfo& InfoOf(const VolumePhase*) {
  static const StructInfo info =
      api::Struct<VolumePhase>("VolumePhase", {Field<&VolumePhase::phase>("phase")});
  return info;
}
const StructInfo& InfoOf(const VolumeClaim*) {
  using T = VolumeClaim;
  static const StructInfo info = api::Struct<T>(
      "VolumeClaim",
      {Field<&T::metadata>("metadata"), Field<&T::spec>("spec"), Field<&T::status>("status")});
  return info;
}
const StructInfo& InfoOf(const VolumeNodeAffinity*) {
  static const StructInfo info = api::Struct<VolumeNodeAffinity>(
      "VolumeNodeAffinity", {Field<&VolumeNodeAffinity::required>("required")});
  return info;
}
const StructInfo& InfoOf(const CsiSource*) {
  static const StructInfo info = api::Struct<CsiSource>(
      "CsiSource",
      {Field<&CsiSource::driver>("driver"), Field<&CsiSource::volume_handle>("volumeHandle")});
  return info;
}
const StructInfo& InfoOf(const PersistentVolumeSpec*) {
  using T = PersistentVolumeSpec;
  static const StructInfo info = api::Struct<T>(
      "PersistentVolumeSpec",
      {Field<&T::capacity>("capacity"), Field<&T::access_modes>("accessModes"),
       Field<&T::claim_ref>("claimRef"), Field<&T::storage_class_name>("storageClassName"),
       Field<&T::volume_mode>("volumeMode"),
       Field<&T::volume_attributes_class_name>("volumeAttributesClassName"),
       Field<&T::node_affinity>("nodeAffinity"), Field<&T::csi>("csi")});
  return info;
}
const StructInfo& InfoOf(const PersistentVolume*) {
  using T = PersistentVolume;
  static const StructInfo info = api::Struct<T>(
      "PersistentVolume",
      {Field<&T::metadata>("metadata"), Field<&T::spec>("spec"), Field<&T::status>("status")});
  return info;
}
const StructInfo& InfoOf(const TopologyLabel*) {
  static const StructInfo info = api::Struct<TopologyLabel>(
      "TopologyLabel",
      {Field<&TopologyLabel::key>("key"), Field<&TopologyLabel::values>("values")});
  return info;
}
const StructInfo& InfoOf(const TopologyTerm*) {
  static const StructInfo info = api::Struct<TopologyTerm>(
      "TopologyTerm", {Field<&TopologyTerm::match_label_expressions>("matchLabelExpressions")});
  return info;
}
const StructInfo& InfoOf(const StorageClass*) {
  using T = StorageClass;
  static const StructInfo info = api::Struct<T>(
      "StorageClass", {Field<&T::metadata>("metadata"), Field<&T::provisioner>("provisioner"),
                       Field<&T::volume_binding_mode>("volumeBindingMode"),
                       Field<&T::allowed_topologies>("allowedTopologies")});
  return info;
}
const StructInfo& InfoOf(const CsiAllocatable*) {
  static const StructInfo info =
      api::Struct<CsiAllocatable>("CsiAllocatable", {Field<&CsiAllocatable::count>("count")});
  return info;
}
const StructInfo& InfoOf(const CsiNodeDriver*) {
  using T = CsiNodeDriver;
  static const StructInfo info = api::Struct<T>(
      "CsiNodeDriver", {Field<&T::name>("name"), Field<&T::allocatable>("allocatable")});
  return info;
}
const StructInfo& InfoOf(const CsiNodeSpec*) {
  static const StructInfo info =
      api::Struct<CsiNodeSpec>("CsiNodeSpec", {Field<&CsiNodeSpec::drivers>("drivers")});
  return info;
}
const StructInfo& InfoOf(const CsiNode*) {
  static const StructInfo info = api::Struct<CsiNode>(
      "CsiNode", {Field<&CsiNode::metadata>("metadata"), Field<&CsiNode::spec>("spec")});
  return info;
}
const StructInfo& InfoOf(const CsiDriverSpec*) {
  static const StructInfo info = api::Struct<CsiDriverSpec>(
      "CsiDriverSpec", {Field<&CsiDriverSpec::storage_capacity>("storageCapacity")});
  return info;
}
const StructInfo& InfoOf(const CsiDriver*) {
  static const StructInfo info = api::Struct<CsiDriver>(
      "CsiDriver", {Field<&CsiDriver::metadata>("metadata"), Field<&CsiDriver::spec>("spec")});
  return info;
}
const StructInfo& InfoOf(const StorageCapacity*) {
  using T = StorageCapacity;
  static const StructInfo info = api::Struct<T>(
      "StorageCapacity",
      {Field<&T::metadata>("metadata"), Field<&T::node_topology>("nodeTopology"),
       Field<&T::storage_class_name>("storageClassName"), Field<&T::capacity>("capacity"),
       Field<&T::maximum_volume_size>("maximumVolumeSize")});
  return info;
}

namespace {

struct KindRow {
  std::string_view version;
  std::string_view kind;
};
constexpr std::array<KindRow, 6> kKinds = {{{"v1", "PersistentVolumeClaim"},
                                            {"v1", "PersistentVolume"},
                                            {"storage.k8s.io/v1", "StorageClass"},
                                            {"storage.k8s.io/v1", "CSINode"},
                                            {"storage.k8s.io/v1", "CSIDriver"},
                                            {"storage.k8s.io/v1", "CSIStorageCapacity"}}};
enum : std::size_t { kClaim, kVolume, kClass, kCsiNode, kCsiDriver, kCapacity };

// Which of the rows; none: kKinds.size().
std::size_t RowOf(const api::Object& object) {
  static const std::vector<const api::KindInfo*> kinds = Volumes::Kinds();
  std::size_t row = 0;
  while (row < kinds.size() && kinds[row]->hub != object.kind().hub) ++row;
  return row;
}

// What could not be read of an object that a server has is nothing that anybody could decide on.
template <typename T>
T Read(const api::Object& object) {
  api::JsonDecoder decoder;
  auto read = decoder.Decode<T>(object.ToJson());
  if (!read.ok()) {
    T nothing;
    nothing.metadata = object.metadata();
    return nothing;
  }
  return *std::move(read);
}

template <typename T>
void Put(base::StringMap<T>& map, const std::string& key, const api::Change& change) {
  if (change.kind == api::Change::Kind::kDeleted) {
    map.erase(key);
  } else {
    map.insert_or_assign(key, Read<T>(change.object));
  }
}

template <typename T>
std::shared_ptr<const T> Whole(const api::Object& object) {
  auto read = std::make_shared<T>(Read<T>(object));
  read->object = std::make_shared<const api::Object>(object);
  return read;
}

template <typename Annotations>
std::string_view ValueOf(const Annotations& annotations, std::string_view key) {
  const std::string* found = annotations.Find(key);
  return found == nullptr ? std::string_view() : std::string_view(*found);
}

base::Quantity StorageIn(const api::Map<base::Quantity>& amounts) {
  const base::Quantity* found = amounts.Find(kStorage);
  return found == nullptr ? base::Quantity() : *found;
}

bool Meets(const TopologyTerm& term, const api::Node& node) {
  return std::ranges::all_of(term.match_label_expressions, [&](const TopologyLabel& label) {
    const std::string* value = node.metadata.labels.Find(label.key);
    return value != nullptr && std::ranges::find(label.values, *value) != label.values.end();
  });
}

}  // namespace

std::string_view VolumeClaim::class_name() const {
  if (const auto old = ValueOf(metadata.annotations, kOldClass); !old.empty()) return old;
  return spec.storage_class_name ? std::string_view(*spec.storage_class_name) : std::string_view();
}
std::string_view VolumeClaim::selected_node() const {
  return ValueOf(metadata.annotations, kSelectedNode);
}
base::Quantity VolumeClaim::size() const { return StorageIn(spec.resources.requests); }

std::string_view PersistentVolume::class_name() const {
  if (const auto old = ValueOf(metadata.annotations, kOldClass); !old.empty()) return old;
  return spec.storage_class_name;
}
base::Quantity PersistentVolume::size() const { return StorageIn(spec.capacity); }

bool PersistentVolume::IsFor(const VolumeClaim& claim) const {
  if (!spec.claim_ref) return false;
  const api::ObjectReference& ref = *spec.claim_ref;
  return ref.name == claim.metadata.name && ref.namespace_ == claim.metadata.namespace_ &&
         (ref.uid.empty() || ref.uid == claim.metadata.uid);
}

bool PersistentVolume::ReachableFrom(const api::Node& node) const {
  if (!spec.node_affinity || !spec.node_affinity->required) return true;
  return std::ranges::any_of(
      spec.node_affinity->required->node_selector_terms,
      [&](const api::NodeSelectorTerm& term) { return Matches(term, node); });
}

bool StorageClass::AllowsOn(const api::Node& node) const {
  return allowed_topologies.empty() ||
         std::ranges::any_of(allowed_topologies,
                             [&](const TopologyTerm& term) { return Meets(term, node); });
}

std::string VolumeClaimName(const api::Pod& pod, const api::Volume& volume) {
  if (volume.persistent_volume_claim) return volume.persistent_volume_claim->claim_name;
  if (volume.ephemeral) return pod.metadata.name + "-" + volume.name;
  return {};
}

std::vector<const api::KindInfo*> Volumes::Kinds() {
  std::vector<const api::KindInfo*> kinds;
  for (const KindRow& row : kKinds) {
    kinds.push_back(api::FindKind(row.version, row.kind));
    DRAY_CHECK(kinds.back() != nullptr, row.kind);
  }
  return kinds;
}

bool Volumes::Concerns(const api::Object& object) { return RowOf(object) < kKinds.size(); }

bool Volumes::Apply(const api::Change& change) {
  const api::Object& object = change.object;
  const bool gone = change.kind == api::Change::Kind::kDeleted;
  const std::string& name = object.metadata().name;
  const std::string key = object.metadata().namespace_ + "/" + name;
  switch (RowOf(object)) {
    case kClaim:
      gone ? static_cast<void>(claims_.erase(key))
           : static_cast<void>(claims_.insert_or_assign(key, Whole<VolumeClaim>(object)));
      return true;
    case kVolume:
      gone ? static_cast<void>(volumes_.erase(name))
           : static_cast<void>(volumes_.insert_or_assign(name, Whole<PersistentVolume>(object)));
      return true;
    case kClass:
      Put(classes_, name, change);
      return true;
    case kCsiNode:
      Put(nodes_, name, change);
      return true;
    case kCsiDriver:
      Put(drivers_, name, change);
      return true;
    case kCapacity:
      Put(capacities_, key, change);
      return true;
    default:
      return false;
  }
}

std::shared_ptr<const VolumeClaim> Volumes::FindClaim(std::string_view namespace_,
                                                      std::string_view name) const {
  std::string key(namespace_);
  const auto found = claims_.find(key.append("/").append(name));
  return found == claims_.end() ? nullptr : found->second;
}

std::shared_ptr<const PersistentVolume> Volumes::FindVolume(std::string_view name) const {
  const auto found = volumes_.find(name);
  return found == volumes_.end() ? nullptr : found->second;
}

const StorageClass* Volumes::FindClass(std::string_view name) const {
  const auto found = classes_.find(name);
  return found == classes_.end() ? nullptr : &found->second;
}

std::vector<std::shared_ptr<const PersistentVolume>> Volumes::OfClass(
    std::string_view class_name) const {
  std::vector<std::shared_ptr<const PersistentVolume>> found;
  for (const auto& [name, volume] : volumes_) {
    if (volume->class_name() == class_name) found.push_back(volume);
  }
  return found;
}

std::optional<std::int32_t> Volumes::LimitOn(std::string_view node, std::string_view driver) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return std::nullopt;
  const auto& drivers = found->second.spec.drivers;
  const auto row = std::ranges::find(drivers, driver, &CsiNodeDriver::name);
  if (row == drivers.end() || !row->allocatable) return std::nullopt;
  return row->allocatable->count;
}

bool Volumes::HasRoom(const StorageClass& storage_class, const VolumeClaim& claim,
                      const api::Node& node) const {
  const auto driver = drivers_.find(storage_class.provisioner);
  if (driver == drivers_.end() || !driver->second.spec.storage_capacity.value_or(false)) {
    return true;
  }
  const base::Quantity size = claim.size();
  return std::ranges::any_of(capacities_, [&](const auto& entry) {
    const StorageCapacity& there = entry.second;
    const auto& most = there.maximum_volume_size ? there.maximum_volume_size : there.capacity;
    return there.storage_class_name == storage_class.metadata.name && most && *most >= size &&
           there.node_topology && Matches(*there.node_topology, node.metadata.labels);
  });
}

}  // namespace dray::scheduler
