// SPDX-License-Identifier: Apache-2.0
//
// Impersonation: a request that is made for somebody else. Its sender names them in the headers
// Impersonate-User, -Group, -Uid and -Extra-<key>, and must be allowed the verb "impersonate" on
// each of them; from then on the request is theirs, with their rights and not the sender's.
//
// Spec: Kubernetes, "User impersonation"; docs/decisions.md rows 390 and 391.
#pragma once

#include "api/authorization.h"
#include "apiserver/http.h"
#include "base/status.h"

namespace dray::registry {

// Makes `request.user` the one that the request is made for and `request.sender` the one who sent
// it; a request without such headers stays as it is. Forbidden when the sender may not speak for
// them, BadRequest when the headers do not name one user.
Status Impersonate(apiserver::Request& request, const api::Authorizer& authorizer);

// As authorization knows them.
api::UserInfo InfoOf(const apiserver::User& user);

}  // namespace dray::registry
