// SPDX-License-Identifier: Apache-2.0
#include "api/meta.h"

#include <algorithm>

namespace dray::api {

const StructInfo& InfoOf(const OwnerReference*) {
  using T = OwnerReference;
  static const StructInfo info =
      Struct<T>("OwnerReference",
                {
                    Field<&T::api_version>("apiVersion", {.presence = Presence::kAlways}),
                    Field<&T::kind>("kind", {.presence = Presence::kAlways}),
                    Field<&T::name>("name", {.presence = Presence::kAlways}),
                    Field<&T::uid>("uid", {.presence = Presence::kAlways}),
                    Field<&T::controller>("controller"),
                    Field<&T::block_owner_deletion>("blockOwnerDeletion"),
                },
                {.atomic = true});
  return info;
}

const StructInfo& InfoOf(const ManagedFieldsEntry*) {
  using T = ManagedFieldsEntry;
  static const StructInfo info =
      Struct<T>("ManagedFieldsEntry", {
                                          Field<&T::manager>("manager"),
                                          Field<&T::operation>("operation"),
                                          Field<&T::api_version>("apiVersion"),
                                          Field<&T::time>("time"),
                                          Field<&T::fields_type>("fieldsType"),
                                          Field<&T::fields_v1>("fieldsV1"),
                                          Field<&T::subresource>("subresource"),
                                      });
  return info;
}

const StructInfo& InfoOf(const ObjectMeta*) {
  using T = ObjectMeta;
  static const StructInfo info = Struct<T>(
      "ObjectMeta",
      {
          Field<&T::name>("name"),
          Field<&T::generate_name>("generateName"),
          Field<&T::namespace_>("namespace"),
          Field<&T::self_link>("selfLink"),
          Field<&T::uid>("uid"),
          Field<&T::resource_version>("resourceVersion"),
          Field<&T::generation>("generation"),
          Field<&T::creation_timestamp>("creationTimestamp"),
          Field<&T::deletion_timestamp>("deletionTimestamp"),
          Field<&T::deletion_grace_period_seconds>("deletionGracePeriodSeconds"),
          Field<&T::labels>("labels"),
          Field<&T::annotations>("annotations"),
          Field<&T::owner_references>("ownerReferences", {.list = ListKind::kMap, .keys = "uid"}),
          Field<&T::finalizers>("finalizers", {.list = ListKind::kSet}),
          Field<&T::managed_fields>("managedFields"),
      });
  return info;
}

void KeepServerFields(ObjectMeta& metadata, const ObjectMeta& old) {
  metadata.generation = old.generation;
  if (metadata.uid.empty()) metadata.uid = old.uid;
  if (old.creation_timestamp) metadata.creation_timestamp = old.creation_timestamp;
  if (old.deletion_timestamp) metadata.deletion_timestamp = old.deletion_timestamp;
  if (!metadata.deletion_grace_period_seconds) {
    metadata.deletion_grace_period_seconds = old.deletion_grace_period_seconds;
  }
}

const OwnerReference* FindController(const ObjectMeta& metadata) {
  const auto it = std::ranges::find_if(metadata.owner_references, [](const OwnerReference& owner) {
    return owner.controller.value_or(false);
  });
  return it == metadata.owner_references.end() ? nullptr : &*it;
}

const StructInfo& InfoOf(const ListMeta*) {
  using T = ListMeta;
  static const StructInfo info =
      Struct<T>("ListMeta", {
                                Field<&T::self_link>("selfLink"),
                                Field<&T::resource_version>("resourceVersion"),
                                Field<&T::continue_token>("continue"),
                                Field<&T::remaining_item_count>("remainingItemCount"),
                            });
  return info;
}

const StructInfo& InfoOf(const Condition*) {
  using T = Condition;
  static const StructInfo info = Struct<T>(
      "Condition",
      {
          Field<&T::type>("type", {.presence = Presence::kAlways}),
          Field<&T::status>("status", {.presence = Presence::kAlways}),
          Field<&T::observed_generation>("observedGeneration"),
          Field<&T::last_transition_time>("lastTransitionTime", {.presence = Presence::kAlways}),
          Field<&T::reason>("reason", {.presence = Presence::kAlways}),
          Field<&T::message>("message", {.presence = Presence::kAlways}),
      });
  return info;
}

const StructInfo& InfoOf(const LabelSelectorRequirement*) {
  using T = LabelSelectorRequirement;
  static const StructInfo info =
      Struct<T>("LabelSelectorRequirement",
                {
                    Field<&T::key>("key", {.presence = Presence::kAlways}),
                    Field<&T::operator_>("operator", {.presence = Presence::kAlways}),
                    Field<&T::values>("values"),
                });
  return info;
}

const StructInfo& InfoOf(const LabelSelector*) {
  using T = LabelSelector;
  static const StructInfo info = Struct<T>("LabelSelector",
                                           {
                                               Field<&T::match_labels>("matchLabels"),
                                               Field<&T::match_expressions>("matchExpressions"),
                                           },
                                           {.atomic = true});
  return info;
}

}  // namespace dray::api
