// SPDX-License-Identifier: Apache-2.0
//
// The port of a process beside the API server: health, metrics, and its configuration. As
// kube-scheduler's: TLS always, and who may read what is the API server's to say.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/certificates.h"
#include "base/status.h"
#include "client/kubeconfig.h"

namespace dray::plane {

inline constexpr std::uint16_t kSchedulerPort = 10259;

struct ServingOptions {
  std::string name = "dray-scheduler";  // of a certificate that is made at start
  std::string address = "0.0.0.0";
  std::uint16_t port = kSchedulerPort;  // 0: a free one
  // PEM. Both empty: made at start, signed by nobody that anybody knows.
  apiserver::KeyPair certificate;
  // Asked now and then for the certificate as it is now, from a thread of its own; null: it stays as it is. One that
  // cannot be read or used is told in the log, and the one before stays.
  std::function<StatusOr<apiserver::KeyPair>()> reload = nullptr;
  std::chrono::milliseconds reload_every = std::chrono::seconds(10);
  bool http2 = true;
  std::size_t max_streams = 250;  // of a connection of HTTP/2
  // PEM: who signs clients. Empty: whom the API server says (kube-system/extension-apiserver-
  // authentication), as far as that may be read; else clients show tokens.
  std::string client_authority;
  bool skip_lookup = false;  // nobody is asked for it
  // Paths that anybody may read, exactly these; one that ends with '*', all that begin so.
  std::vector<std::string> always_allow = {"/healthz", "/readyz", "/livez"};
  // How long answers of the API server hold.
  std::chrono::nanoseconds token_kept = std::chrono::seconds(10);
  std::chrono::nanoseconds allowed_kept = std::chrono::seconds(10);
  std::chrono::nanoseconds denied_kept = std::chrono::seconds(10);
  // As whom the API server is asked about others; nothing: as the scheduler itself.
  std::optional<client::ServerAccess> authentication;
  std::optional<client::ServerAccess> authorization;
};

}  // namespace dray::plane
