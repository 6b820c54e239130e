// SPDX-License-Identifier: Apache-2.0
//
// coordination.k8s.io/v1 Lease: who leads, which node is alive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/field_table.h"
#include "api/meta.h"
#include "api/values.h"

namespace dray::api {

struct LeaseSpec {
  std::optional<std::string> holder_identity;  // unset or empty: free
  std::optional<std::int32_t> lease_duration_seconds;
  std::optional<MicroTime> acquire_time;
  std::optional<MicroTime> renew_time;
  std::optional<std::int32_t> lease_transitions;
  std::optional<std::string> strategy;
  std::optional<std::string> preferred_holder;
  UnknownFields unknown;
  friend bool operator==(const LeaseSpec&, const LeaseSpec&) = default;
};
const StructInfo& InfoOf(const LeaseSpec*);

struct Lease {
  ObjectMeta metadata;
  LeaseSpec spec;
  UnknownFields unknown;
  friend bool operator==(const Lease&, const Lease&) = default;
};
const StructInfo& InfoOf(const Lease*);

}  // namespace dray::api
