// SPDX-License-Identifier: Apache-2.0
//
// core/v1 Namespace.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_table.h"
#include "api/meta.h"
#include "api/values.h"
#include "base/time.h"

namespace dray::api {

inline constexpr std::string_view kNamespaceActive = "Active";
inline constexpr std::string_view kNamespaceTerminating = "Terminating";
// In the spec: what is in the namespace has to go first.
inline constexpr std::string_view kNamespaceFinalizer = "kubernetes";

struct NamespaceSpec {
  std::vector<std::string> finalizers;
  UnknownFields unknown;
  friend bool operator==(const NamespaceSpec&, const NamespaceSpec&) = default;
};
const StructInfo& InfoOf(const NamespaceSpec*);

struct NamespaceCondition {
  std::string type;
  std::string status;
  std::optional<base::Time> last_transition_time;
  std::string reason;
  std::string message;
  UnknownFields unknown;
  friend bool operator==(const NamespaceCondition&, const NamespaceCondition&) = default;
};
const StructInfo& InfoOf(const NamespaceCondition*);

struct NamespaceStatus {
  std::string phase;  // Active, Terminating
  std::vector<NamespaceCondition> conditions;
  UnknownFields unknown;
  friend bool operator==(const NamespaceStatus&, const NamespaceStatus&) = default;
};
const StructInfo& InfoOf(const NamespaceStatus*);

struct Namespace {
  ObjectMeta metadata;
  NamespaceSpec spec;
  NamespaceStatus status;
  UnknownFields unknown;
  friend bool operator==(const Namespace&, const Namespace&) = default;
};
const StructInfo& InfoOf(const Namespace*);

}  // namespace dray::api
