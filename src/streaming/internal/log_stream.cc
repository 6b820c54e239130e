// SPDX-License-Identifier: Apache-2.0
#include "streaming/internal/log_stream.h"

#include <atomic>
#include <utility>

namespace dray::streaming::internal {
namespace {

class LogStream final : public apiserver::StreamSource {
 public:
  LogStream(const std::string& path, const container::LogOptions& options, AskRunning still_running)
      : reader_(path, options), still_running_(std::move(still_running)) {}

  void Start(std::function<void()> wake) override { wake_ = std::move(wake); }

  State Pull(std::vector<apiserver::Bytes>& out) override {
    // Asked before reading: what a container wrote before it ended is read after that is known.
    const bool may_grow = still_running_ && !*ended_;
    std::string text;
    const auto more = reader_.Read(text);
    if (!text.empty()) out.push_back(std::make_shared<const std::string>(std::move(text)));
    if (!more.ok() || reader_.ended()) return State::kEnd;
    if (*more) return State::kMore;
    if (!may_grow) return State::kEnd;
    if (!asking_->exchange(true)) {
      still_running_([ended = ended_, asking = asking_, wake = wake_](bool running) {
        *asking = false;
        if (running) return;
        *ended = true;
        wake();
      });
    }
    return State::kWait;
  }
  bool Finite() const override { return !still_running_; }

 private:
  container::LogReader reader_;
  const AskRunning still_running_;
  std::function<void()> wake_;
  // Shared with questions that are under way.
  const std::shared_ptr<std::atomic<bool>> ended_ = std::make_shared<std::atomic<bool>>(false);
  const std::shared_ptr<std::atomic<bool>> asking_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace

std::unique_ptr<apiserver::StreamSource> MakeLogStream(const std::string& path,
                                                       const container::LogOptions& options,
                                                       AskRunning still_running) {
  return std::make_unique<LogStream>(path, options, std::move(still_running));
}

}  // namespace dray::streaming::internal
