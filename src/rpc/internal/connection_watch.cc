// SPDX-License-Identifier: Apache-2.0
#include "rpc/internal/connection_watch.h"

#include <chrono>
#include <utility>

namespace dray::rpc::internal {

void ConnectionThread::Serve() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
    // Not ok: nothing has changed for a while. Looking is cheap.
    ConnectionWatch::Look(
        queue_, std::unique_ptr<ConnectionWatch::Tag>(static_cast<ConnectionWatch::Tag*>(tag)));
  }
}

ConnectionThread::~ConnectionThread() {
  queue_.Shutdown();
  thread_.join();
}

void ConnectionWatch::Look(grpc::CompletionQueue& queue, std::unique_ptr<Tag> tag) {
  State& state = **tag;
  const base::MutexLock lock(state.mutex);
  if (state.channel == nullptr) return;
  // An idle channel is asked to connect.
  const grpc_connectivity_state seen = state.channel->GetState(true);
  const bool connected = seen == GRPC_CHANNEL_READY;
  if (connected != state.connected) {
    state.connected = connected;
    state.tell(connected);
  }
  // A channel that is destroyed ends the wait; the deadline is for the case that it does not.
  const auto deadline = std::chrono::system_clock::now() + std::chrono::seconds(5);
  state.channel->NotifyOnStateChange(seen, deadline, &queue, tag.release());
}

ConnectionWatch::ConnectionWatch(std::shared_ptr<ConnectionThread> thread,
                                 std::shared_ptr<grpc::Channel> channel,
                                 std::function<void(bool)> tell)
    : thread_(std::move(thread)), state_(std::make_shared<State>()) {
  {
    const base::MutexLock lock(state_->mutex);
    state_->channel = std::move(channel);
    state_->tell = std::move(tell);
  }
  Look(thread_->queue_, std::make_unique<Tag>(state_));
}

ConnectionWatch::~ConnectionWatch() {
  const base::MutexLock lock(state_->mutex);
  state_->channel = nullptr;
  state_->tell = nullptr;
}

}  // namespace dray::rpc::internal
