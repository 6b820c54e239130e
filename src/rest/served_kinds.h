// SPDX-License-Identifier: Apache-2.0
//
// ServedKinds: what a server serves at a moment: the kinds that are built in, and those that were
// defined by then. A snapshot: it never changes, and the next one is another; whoever answers a
// request asks one snapshot from beginning to end.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/gates.h"
#include "api/kinds.h"
#include "rest/tree.h"

namespace dray::rest {

// A part of a resource that has a path of its own: pods/binding.
struct Subresource {
  std::string_view name;        // a constant
  std::string_view kind;        // of what is sent and answered; empty: the resource's own
  std::string_view verbs;       // comma separated
  std::string_view group = {};  // of `kind`, when it is another one
  std::string_view version = {};
};

struct ResourceInfo {
  std::string singular;
  std::string_view verbs;  // comma separated, a constant
  std::vector<std::string> short_names = {};
  std::vector<std::string> categories = {};
  std::vector<Subresource> subresources = {};
};

struct ServedKind {
  const api::KindInfo* kind = nullptr;
  ResourceInfo resource;
  // Of a kind that was defined: its schema in OpenAPI's terms, for both versions of those documents.
  std::shared_ptr<const DocumentNode> schema_v3 = nullptr;
  std::shared_ptr<const DocumentNode> schema_v2 = nullptr;
};

// Every verb that resources have, and those of a status.
inline constexpr std::string_view kAllVerbs =
    "create,delete,deletecollection,get,list,patch,update,watch";
inline constexpr std::string_view kStatusVerbs = "get,patch,update";

// Thread-safe: immutable.
class ServedKinds {
 public:
  // What is served when nothing was defined and all gates are on.
  static const ServedKinds& BuiltIn();
  // The kinds that are built in and whose gate is on (null: all), and what is added, in this order:
  // the first version of a group is the preferred one.
  explicit ServedKinds(std::vector<ServedKind> added, const api::FeatureGates* gates = nullptr);
  ServedKinds(const ServedKinds&) = delete;
  ServedKinds& operator=(const ServedKinds&) = delete;

  // In the order of the tables.
  std::span<const ServedKind> all() const { return all_; }
  // Null when it is not served.
  const ServedKind* Find(const api::KindInfo& kind) const;
  const ServedKind* FindResource(std::string_view group, std::string_view version,
                                 std::string_view plural) const;
  // Null when the kind is not served, or has no such part.
  const Subresource* FindSubresource(const api::KindInfo& kind, std::string_view name) const;

 private:
  std::vector<ServedKind> all_;
  std::vector<const ServedKind*> by_resource_;  // sorted by plural, group, version
};

}  // namespace dray::rest
