// SPDX-License-Identifier: Apache-2.0
//
// A server with TLS, and what its clients show.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "apiserver/handler_for_test.h"
#include "apiserver/http2_client_for_test.h"
#include "base/clock.h"

namespace dray::apiserver {

class Http2ServerTest : public ServerTest {
 protected:
  void StartTls(HandleFn handle, ServerOptions options = {}) {
    options.tls = TlsOptions{.server = server_pair_, .client_authority = authority_.certificate};
    Start(std::move(handle), options);
  }
  // Of ann, who is known, or of nobody.
  ClientTls Tls(bool known = true) const {
    return {.authority = authority_.certificate,
            .client = known ? std::optional(client_pair_) : std::nullopt};
  }

 private:
  static KeyPair Sign(const KeyPair& authority, const CertificateSpec& spec) {
    return *MakeCertificate(authority, spec, base::SystemClock().Now());
  }

  const KeyPair authority_ =
      *MakeAuthority("test", base::SystemClock().Now(), std::chrono::hours(24));
  const KeyPair server_pair_ = Sign(authority_, {.use = CertificateSpec::Use::kServer,
                                                 .common_name = "server",
                                                 .hosts = {"localhost", "127.0.0.1"}});
  const KeyPair client_pair_ = Sign(authority_, {.common_name = "ann"});
};

}  // namespace dray::apiserver
