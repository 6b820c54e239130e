// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>

#include "logs/line_writer.h"

namespace dray::logs {
namespace {

constexpr int kLookEvery = 50;  // milliseconds

class FdOutput final : public Output {
 public:
  explicit FdOutput(int fd) : fd_(fd) {}

  Status Write(std::string_view lines) override {
    if (fd_ < 0) return base::Unavailable("there is nothing to log to");
    while (!lines.empty()) {
      pollfd ready{.fd = fd_, .events = POLLOUT, .revents = 0};
      const int found = ::poll(&ready, 1, kLookEvery);
      if (found < 0 && errno != EINTR) return Failed("poll");
      if (found <= 0) {
        if (give_up_) return base::Unavailable("nobody reads what is logged");
        continue;
      }
      // A pipe that can be written to takes so much without waiting.
      const std::size_t size = std::min<std::size_t>(lines.size(), PIPE_BUF);
      const ssize_t written = ::write(fd_, lines.data(), size);
      if (written < 0 && errno != EINTR && errno != EAGAIN) return Failed("write");
      if (written > 0) lines.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }

  void GiveUp() override { give_up_ = true; }

 private:
  static Status Failed(std::string_view call) {
    return base::Unavailable(std::string(call) + ": " + std::strerror(errno));
  }

  const int fd_;
  std::atomic<bool> give_up_ = false;
};

}  // namespace

std::unique_ptr<Output> MakeFdOutput(int fd) { return std::make_unique<FdOutput>(fd); }

}  // namespace dray::logs
