// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/signals.h"

#include <ctime>

namespace dray::cli::internal {
namespace {

constexpr timespec kLook{.tv_sec = 0, .tv_nsec = 250'000'000};

}  // namespace

EndSignals::EndSignals() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool EndSignals::Came() const { return sigtimedwait(&signals_, nullptr, &kLook) > 0; }

}  // namespace dray::cli::internal
