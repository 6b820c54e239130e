// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/changes.h"

namespace dray::scheduler {
namespace {

using Kind = PodChange::Kind;

bool HoldsNode(const api::Pod* pod) {
  if (pod == nullptr) return false;
  if (pod->status.phase == api::kPodSucceeded || pod->status.phase == api::kPodFailed) return false;
  return !pod->spec.node_name.empty() || !pod->status.nominated_node_name.empty();
}

bool Same(const api::Pod& a, const api::Pod& b) {
  return a.metadata.uid == b.metadata.uid && a.metadata.name == b.metadata.name &&
         a.metadata.namespace_ == b.metadata.namespace_;
}

}  // namespace

PodChange ReadPodChange(const PodInfo& waiting, const api::Change& change, const api::Object* old) {
  const api::Pod* object = change.object.As<api::Pod>();
  if (object == nullptr) return {};
  const bool deleted = change.kind == api::Change::Kind::kDeleted;
  const api::Pod* after = deleted ? nullptr : object;
  const api::Pod* before = old == nullptr ? nullptr : old->As<api::Pod>();
  if (deleted && before == nullptr) before = object;
  if (Same(*waiting.pod, *object)) return {Kind::kOwn, before, after};
  const bool held = HoldsNode(before);
  const bool holds = HoldsNode(after);
  if (held && holds) return {Kind::kChanged, before, after};
  if (held) return {Kind::kGone, before, nullptr};
  if (holds) return {Kind::kPlaced, nullptr, after};
  return {};
}

NodeChange ReadNodeChange(const api::Change& change, const api::Object* old) {
  const api::Node* object = change.object.As<api::Node>();
  if (object == nullptr) return {};
  if (change.kind == api::Change::Kind::kDeleted) return {object, nullptr};
  return {old == nullptr ? nullptr : old->As<api::Node>(), object};
}

}  // namespace dray::scheduler
