// SPDX-License-Identifier: Apache-2.0
//
// Kinds that a text describes: their fields with types, protobuf numbers, list semantics, defaults,
// rules and words. Objects of such a kind are Records; the description becomes the field tables
// that everything else works with. Nobody here does anything with these kinds but store, validate
// and show them, so that one needs no code of its own.
//
//   kind storage.k8s.io/v1 StorageClass storageclasses cluster short=sc : What volumes are made of.
//   column Provisioner provisioner : Who makes the volumes.
//   2 provisioner string always required : Who makes the volumes.
//   4 reclaimPolicy string? default=Delete one-of=Delete,Retain : What happens to a volume that ...
//   8 allowedTopologies []TopologySelectorTerm : Where volumes may be.
//
//   struct TopologySelectorTerm : A place.
//   1 matchLabelExpressions []TopologySelectorLabelRequirement : ...
//
// A line is a kind, a struct, a column of its table, a field (which begins with its protobuf number;
// 2.1 is field 1 of a message around it that JSON does not show, 2.2.1 of two), or blank. `metadata` is not
// written: every kind begins with it. After " : " come the words of `kubectl explain`.
//
// Types: string, bool, int32, int64, quantity, time, microtime, intorstring, raw, bytes, a struct of
// the same text or one of those that others have (LabelSelector, ObjectReference, ...); T? for what
// tells unset from zero, []T, map[T].
//
// Words after a kind: namespaced or cluster; status (has a status subresource); generation (counts
// its wishes); short=a,b; all (is shown by `kubectl get all`).
// Words after a type: always (written when empty, too), keys=a,b or set (what items are to each
// other), merge=KEY or merge=- (where a strategic merge patch differs from that), retain, atomic,
// required, immutable, default=X, one-of=A,B, min=N, max=N, form=F, most=N (items).
// Words after a column's path: as=FORM, none=TEXT, wide.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "api/field_table.h"
#include "api/kinds.h"

namespace dray::api {

// What holds of the value of a field.
struct FieldRules {
  bool required = false;
  bool immutable = false;
  std::vector<std::string_view> one_of = {};
  std::string_view standard = {};  // what it is when it is not said
  std::string_view form = {};      // of a text: see described_validation.cc
  std::optional<std::int64_t> min = {};
  std::optional<std::int64_t> max = {};
  std::optional<std::size_t> most = {};  // items
};

struct TableColumn {
  std::string_view name;
  std::string_view path;  // spec.type
  std::string_view as;    // how a value is shown; empty: as it is
  std::string_view none;  // what stands for nothing
  bool wide = false;
  std::string_view doc;
};

// What is known of a kind besides its fields.
struct KindTraits {
  std::vector<std::string_view> short_names = {};
  bool in_all = false;
  bool status = false;
  bool generation = false;
  std::vector<TableColumn> columns = {};
};

// Of all descriptions. A description that makes no sense ends the process: it is ours.
std::span<const KindInfo> DescribedKinds();

// One text's; for tests. They live for as long as the process.
std::span<const KindInfo> KindsDescribedBy(std::string_view text);

}  // namespace dray::api
