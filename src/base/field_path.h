// SPDX-License-Identifier: Apache-2.0
//
// FieldPath: where in an object something is, as Kubernetes writes it:
// spec.devices.requests[0].exactly.count, with map keys in brackets
// (attributes[gpu.example.com/model]).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dray::base {

// An immutable value; Child, Index and Key make longer paths that share their beginning. Cheap to
// copy, rendered only when somebody reads it. The empty path is the object itself. Thread-safe.
class FieldPath {
 public:
  struct Field {
    std::string name;
    friend bool operator==(const Field&, const Field&) = default;
  };
  struct MapKey {
    std::string key;
    friend bool operator==(const MapKey&, const MapKey&) = default;
  };
  using Segment = std::variant<Field, std::size_t, MapKey>;

  FieldPath() = default;
  explicit FieldPath(std::string_view first_field);

  FieldPath Child(std::string_view name) const;
  FieldPath Index(std::size_t index) const;
  FieldPath Key(std::string_view key) const;
  friend FieldPath operator/(const FieldPath& path, std::string_view name) {
    return path.Child(name);
  }

  bool empty() const { return tail_ == nullptr; }
  // The path without its last segment; the empty path's parent is empty.
  FieldPath Parent() const;
  std::vector<Segment> Segments() const;
  std::string ToString() const;

  friend bool operator==(const FieldPath& a, const FieldPath& b);

 private:
  struct Node {
    std::shared_ptr<const Node> parent;
    Segment segment;
  };
  explicit FieldPath(std::shared_ptr<const Node> tail) : tail_(std::move(tail)) {}
  FieldPath Append(Segment segment) const;

  std::shared_ptr<const Node> tail_;
};

}  // namespace dray::base
