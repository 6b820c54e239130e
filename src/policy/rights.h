// SPDX-License-Identifier: Apache-2.0
//
// `authorizer` in expressions: what somebody may do, asked step by step.
//
//   authorizer.group('apps').resource('deployments').namespace('a').check('update').allowed()
//   authorizer.path('/healthz').check('get').allowed()
//   authorizer.serviceAccount('ns', 'name').group('')...
#pragma once

#include "api/authorization.h"
#include "cel/arena.h"
#include "cel/value.h"
#include "policy/request.h"

namespace dray::policy {

// Everything outlives the value, which lies in the arena.
cel::Value AuthorizerFor(cel::Arena& arena, const api::Authorizer& authorizer,
                         const api::UserInfo& user);
// authorizer.requestResource: what the request itself is about.
cel::Value RequestResourceFor(cel::Arena& arena, const api::Authorizer& authorizer,
                              const Request& request);

}  // namespace dray::policy
