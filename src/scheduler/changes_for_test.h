// SPDX-License-Identifier: Apache-2.0
//
// For tests: changes of a cluster, as watches tell them.
#pragma once

#include <utility>

#include "api/cluster.h"
#include "api/kinds.h"

namespace dray::scheduler {

template <typename T>
api::Change Added(T object) {
  return {api::Change::Kind::kAdded, api::Object::Of(std::move(object))};
}
template <typename T>
api::Change Updated(T object) {
  return {api::Change::Kind::kUpdated, api::Object::Of(std::move(object))};
}
template <typename T>
api::Change Deleted(T object) {
  return {api::Change::Kind::kDeleted, api::Object::Of(std::move(object))};
}

}  // namespace dray::scheduler
