// SPDX-License-Identifier: Apache-2.0
#include "apiserver/internal/io_thread.h"

#include <chrono>
#include <vector>

#include "apiserver/internal/connection.h"

namespace dray::apiserver::internal {

IoThread::IoThread(std::shared_ptr<Shared> shared)
    : shared_(std::move(shared)), work_(context_.get_executor()), ticker_(context_) {}

void IoThread::Start() {
  Tick();
  thread_ = std::thread([this] { context_.run(); });
}

void IoThread::Stop() {
  Post([this] {
    stopping_ = true;
    ticker_.cancel();
    work_.reset();
    const std::vector<std::shared_ptr<Connection>> open(connections_.begin(), connections_.end());
    for (const auto& connection : open) connection->Close();
  });
  if (thread_.joinable()) thread_.join();
  {
    const base::MutexLock lock(mutex_);
    ended_ = true;
  }
  // What was posted in between holds connections, which hold this.
  context_.restart();
  context_.poll();
}

// One timer for all: deadlines and ticks need no precision, and connections are many.
void IoThread::Tick() {
  ticker_.expires_after(shared_->options.resolution);
  ticker_.async_wait([this](const boost::system::error_code& error) {
    // The cancellation comes too late for a timer that has just fired.
    if (error || stopping_) return;
    const auto now = std::chrono::steady_clock::now();
    const std::vector<std::shared_ptr<Connection>> open(connections_.begin(), connections_.end());
    for (const auto& connection : open) connection->OnTick(now);
    Tick();
  });
}

}  // namespace dray::apiserver::internal
