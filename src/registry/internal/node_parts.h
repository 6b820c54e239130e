// SPDX-License-Identifier: Apache-2.0
//
// Parts of a pod that its node answers for.
#pragma once

#include "registry/internal/exchange.h"
#include "registry/node_door.h"
#include "registry/route.h"

namespace dray::registry::internal {

// pods/log, pods/exec, pods/attach.
bool IsNodePart(const Route& route);
// Of these, whether it is a process: to join one is to create something, however it is asked for.
bool RunsSomething(const Route& route);
// `door` null: there is no way to any node.
void HandleNodePart(const ExchangePtr& exchange, NodeDoor* door);

}  // namespace dray::registry::internal
