// SPDX-License-Identifier: Apache-2.0
//
// Tokens by which a machine joins: "abcdef.0123456789abcdef", kept in Secrets of kube-system. Whoever
// has one may ask for a certificate of a node, and hardly anything else.
//
// Spec: Kubernetes, "Authenticating with Bootstrap Tokens".
#pragma once

#include <optional>
#include <string_view>

#include "apiserver/authentication.h"
#include "base/clock.h"
#include "registry/objects.h"

namespace dray::registry {

// Thread-safe.
class BootstrapTokens final : public apiserver::TokenReader {
 public:
  // Both outlive it.
  BootstrapTokens(const Objects& objects, const base::Clock& clock)
      : objects_(objects), clock_(clock) {}

  std::optional<apiserver::User> Read(std::string_view token) const override;

 private:
  const Objects& objects_;
  const base::Clock& clock_;
};

}  // namespace dray::registry
