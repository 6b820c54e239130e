// SPDX-License-Identifier: Apache-2.0
#include "api/strategy.h"

#include "api/internal/described_kinds.h"
#include "api/internal/strategies.h"
#include "base/check.h"

namespace dray::api {
namespace {

// Calls `prepare` with the objects as T's if they are. Whether they are.
template <typename T>
bool Create(Object& object, const StrategyOptions& options) {
  T* value = object.Mutable<T>();
  if (value == nullptr) return false;
  internal::PrepareForCreate(*value, options);
  return true;
}
template <typename T>
bool Update(Object& object, const Object& old, const StrategyOptions& options) {
  T* value = object.Mutable<T>();
  if (value == nullptr) return false;
  internal::PrepareForUpdate(*value, *old.As<T>(), options);
  return true;
}
template <typename T>
bool StatusUpdate(Object& object, const Object& old, const StrategyOptions& options) {
  T* value = object.Mutable<T>();
  if (value == nullptr) return false;
  internal::PrepareForStatusUpdate(*value, *old.As<T>(), options);
  return true;
}

}  // namespace

namespace internal {

void ResetMetadataForStatus(ObjectMeta& metadata, const ObjectMeta& old) {
  metadata.deletion_timestamp = old.deletion_timestamp;
  metadata.generation = old.generation;
  metadata.self_link = old.self_link;
  metadata.labels = old.labels;
  metadata.annotations = old.annotations;
  metadata.finalizers = old.finalizers;
  metadata.owner_references = old.owner_references;
}

}  // namespace internal

bool CarriesStatus(const Object& object) {
  const StructInfo& info = object.kind().type->fields();
  const int index = info.Find("status");
  if (index < 0) return false;
  const FieldInfo& field = info.fields[static_cast<std::size_t>(index)];
  const void* value = field.Get(object.data());
  return value != nullptr && !IsEmptyValue(*field.type, value);
}

void PrepareForCreate(Object& object, const StrategyOptions& options) {
  if (internal::IsDescribed(object)) return internal::PrepareDescribedForCreate(object);
  Create<ResourceClaim>(object, options) || Create<ResourceClaimTemplate>(object, options) ||
      Create<ResourceSlice>(object, options) || Create<DeviceClass>(object, options) ||
      Create<DeviceTaintRule>(object, options) ||
      Create<ResourcePoolStatusRequest>(object, options) || Create<Pod>(object, options) ||
      Create<ReplicaSet>(object, options) || Create<Deployment>(object, options) ||
      Create<Job>(object, options) || Create<DaemonSet>(object, options) ||
      Create<StatefulSet>(object, options) || Create<CronJob>(object, options) ||
      Create<PodDisruptionBudget>(object, options) || Create<PodGroup>(object, options) ||
      Create<Workload>(object, options);
}

void PrepareForUpdate(Object& object, const Object& old, const StrategyOptions& options) {
  DRAY_CHECK(object.kind().hub == old.kind().hub, "an update changes the kind");
  if (internal::IsDescribed(object)) return internal::PrepareDescribedForUpdate(object, old);
  Update<ResourceClaim>(object, old, options) ||
      Update<ResourceClaimTemplate>(object, old, options) ||
      Update<ResourceSlice>(object, old, options) || Update<DeviceClass>(object, old, options) ||
      Update<DeviceTaintRule>(object, old, options) ||
      Update<ResourcePoolStatusRequest>(object, old, options) ||
      Update<Pod>(object, old, options) || Update<ReplicaSet>(object, old, options) ||
      Update<Deployment>(object, old, options) || Update<Job>(object, old, options) ||
      Update<DaemonSet>(object, old, options) || Update<StatefulSet>(object, old, options) ||
      Update<CronJob>(object, old, options) || Update<PodDisruptionBudget>(object, old, options) ||
      Update<PodGroup>(object, old, options) || Update<Workload>(object, old, options);
}

void PrepareForStatusUpdate(Object& object, const Object& old, const StrategyOptions& options) {
  DRAY_CHECK(object.kind().hub == old.kind().hub, "an update changes the kind");
  StatusUpdate<ResourceClaim>(object, old, options) ||
      StatusUpdate<DeviceTaintRule>(object, old, options) ||
      StatusUpdate<Pod>(object, old, options) ||
      StatusUpdate<ResourcePoolStatusRequest>(object, old, options) ||
      StatusUpdate<CertificateSigningRequest>(object, old, options) ||
      StatusUpdate<PodGroup>(object, old, options);
}

std::vector<std::string> WarningsFor(const Object& object) {
  if (const auto* slice = object.As<ResourceSlice>()) return internal::WarningsFor(*slice);
  return {};
}

}  // namespace dray::api
