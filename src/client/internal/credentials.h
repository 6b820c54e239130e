// SPDX-License-Identifier: Apache-2.0
//
// Credentials: what requests show of who sends them, kept up to date: tokens in files are read again,
// programs that know are asked again before what they said runs out.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "client/internal/exec_plugin.h"
#include "client/internal/socket.h"
#include "client/kubeconfig.h"

namespace dray::client::internal {

// Thread-safe. Calls may wait for a program.
class Credentials {
 public:
  // kInvalidArgument: certificate, key, authority or token cannot be used. Asks nobody yet.
  static StatusOr<std::unique_ptr<Credentials>> Create(const ServerAccess& access);

  struct Shown {
    std::string header;            // "Authorization: ...\r\n", or nothing
    std::shared_ptr<SSL_CTX> tls;  // null: plain
    std::uint64_t version = 0;     // another one when the certificate is another
  };
  StatusOr<Shown> Show();
  // A server does not believe what was shown; whether it makes sense to ask again.
  bool Refused(const Shown& shown);

 private:
  explicit Credentials(ServerAccess access) : access_(std::move(access)) {}
  Status ReadToken() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status AskProgram() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool ByProgram() const;

  const ServerAccess access_;
  const base::SystemClock clock_;
  base::Mutex mutex_;
  std::string header_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<SSL_CTX> tls_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<std::chrono::nanoseconds> read_at_ ABSL_GUARDED_BY(mutex_);  // the file
  std::optional<ExecCredential> told_ ABSL_GUARDED_BY(mutex_);               // by the program
};

}  // namespace dray::client::internal
