// SPDX-License-Identifier: Apache-2.0
//
// FieldSet: a set of fields of an object: who manages what (metadata.managedFields). A tree whose
// edges are written as on the wire:
//
//   f:labels                a field of a struct or a key of a map
//   k:{"name":"gpu"}        the item of a list with these key fields
//   v:"example.com/hold"    the item of a set with this value
//
// Spec: Kubernetes's FieldsV1. `.` in the JSON says that a path is itself in the set while some
// below it are, too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace dray::rest {

// A value. Children are sorted by name; none of them is empty. Thread-compatible.
class FieldSet {
 public:
  struct Child;

  bool member() const { return member_; }
  const std::vector<Child>& children() const { return children_; }
  // Neither this path nor any below.
  bool empty() const { return !member_ && children_.empty(); }
  // Null when no path goes there.
  const FieldSet* Find(std::string_view element) const;

  void Insert() { member_ = true; }
  // The set below an element, made when needed. Whoever makes one puts something into it.
  FieldSet& At(std::string element);

  // Everything below an element, and the element itself.
  void Erase(std::string_view element);

  void Add(const FieldSet& other);
  void Subtract(const FieldSet& other);
  FieldSet Intersect(const FieldSet& other) const;

  // {"f:spec":{"f:count":{}}}
  std::string ToJson() const;
  static StatusOr<FieldSet> Parse(std::string_view json);

  // Each path in the set, as conflicts name them: .spec.containers[name="a"].image
  std::vector<std::string> Paths() const;

  friend bool operator==(const FieldSet&, const FieldSet&) = default;

 private:
  void AppendJson(std::string& out) const;
  void AppendPaths(const std::string& prefix, std::vector<std::string>& out) const;

  bool member_ = false;
  std::vector<Child> children_;
};

struct FieldSet::Child {
  std::string element;
  FieldSet set;
  friend bool operator==(const Child&, const Child&) = default;
};

}  // namespace dray::rest
