// SPDX-License-Identifier: Apache-2.0
//
// What a move does to objects: a pod loses its node and its devices, and asks for a place again, as
// the pod that is made in its stead would.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/kinds.h"
#include "planner/internal/sandbox.h"

namespace dray::planner::internal {

// The pod before it had a node. Claims that were made for it keep their names.
api::Object Unplaced(const api::Object& pod);
// Nobody has it.
api::Object Unallocated(const api::Object& claim);

// The pod is gone, and its claims, which are its own, have no devices.
void TakeOff(Sandbox& sandbox, const api::Object& pod);
// The pod, which is Unplaced, is tried on this node. Whether it is there then; else it is in nobody's
// way until the next UndoTo, which whoever calls does.
bool PlaceOn(Sandbox& sandbox, const api::Object& pod, const std::string& node);
// On any but these. Where it is then.
std::optional<std::string> PlaceAnywhere(Sandbox& sandbox, const api::Object& pod,
                                         const std::set<std::string>& but);

// The same to a list of objects: pods of these keys ("namespace/name") are Unplaced, and may go only
// to the node that stands beside them.
void Move(const std::map<std::string, std::string>& to, std::vector<api::Object>& objects);

}  // namespace dray::planner::internal
