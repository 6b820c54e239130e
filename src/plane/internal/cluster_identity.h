// SPDX-License-Identifier: Apache-2.0
//
// What servers that share a store must have in common: the authority that signs clients, and the key
// that signs tokens. Two that had not would each turn away whom the other lets in.
#pragma once

#include <string>

#include "base/status.h"
#include "store/store.h"

namespace dray::plane::internal {

struct ClusterIdentity {
  std::string authority;  // the certificate, PEM
  std::string tokens;     // the public keys, as /openid/v1/jwks shows them
};

// Writes it where nobody has yet. kFailedPrecondition: the store is another cluster's; says what to
// copy from where. Of a store that this process has alone nothing is asked: there one may begin anew.
Status CheckIdentity(store::Store& store, const ClusterIdentity& ours);

}  // namespace dray::plane::internal
