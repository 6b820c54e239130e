// SPDX-License-Identifier: Apache-2.0
//
// Asking a program who we are, as a kubeconfig's `exec` says.
//
// Spec: client.authentication.k8s.io/v1 and v1beta1, ExecCredential.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "client/kubeconfig.h"

namespace dray::client::internal {

struct ExecCredential {
  std::string token;
  std::string certificate;  // with `key`, PEM
  std::string key;
  std::optional<base::Time> expires;  // none: it holds for as long as this process
};

// Runs the program and waits for it; what it says on standard error, people see. kUnauthenticated:
// it cannot be run, it failed, or what it says cannot be used; the message names it.
StatusOr<ExecCredential> AskPlugin(const ExecPlugin& plugin);

// What a program has said, of the version that it was asked for.
StatusOr<ExecCredential> ReadCredential(std::string_view json, const std::string& api_version);

}  // namespace dray::client::internal
