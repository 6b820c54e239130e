// SPDX-License-Identifier: Apache-2.0
//
// ConnectionWatch: keeps a channel connected and says when it is. gRPC tells of changes by completion
// queues alone, so one thread waits for those of all channels.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>

#include <functional>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace dray::rpc::internal {

// The thread; shared by all watches. Its last owner must not be a function that it calls.
// Thread-safe.
class ConnectionThread {
 public:
  ConnectionThread() : thread_([this] { Serve(); }) {}
  ~ConnectionThread();
  ConnectionThread(const ConnectionThread&) = delete;
  ConnectionThread& operator=(const ConnectionThread&) = delete;

 private:
  friend class ConnectionWatch;
  void Serve();

  grpc::CompletionQueue queue_;
  std::thread thread_;
};

// Thread-safe; nobody is told anything after its destructor, which must not be called by who is told.
class ConnectionWatch {
 public:
  // Tells of each change, one at a time, from the thread. Not connected until told otherwise.
  ConnectionWatch(std::shared_ptr<ConnectionThread> thread, std::shared_ptr<grpc::Channel> channel,
                  std::function<void(bool)> tell);
  ~ConnectionWatch();
  ConnectionWatch(const ConnectionWatch&) = delete;
  ConnectionWatch& operator=(const ConnectionWatch&) = delete;

 private:
  friend class ConnectionThread;
  // What the thread knows of a watch; it outlives the watch until gRPC has let go.
  struct State {
    base::Mutex mutex;
    std::shared_ptr<grpc::Channel> channel ABSL_GUARDED_BY(mutex);  // null: the watch is gone
    std::function<void(bool)> tell ABSL_GUARDED_BY(mutex);
    bool connected ABSL_GUARDED_BY(mutex) = false;
  };
  using Tag = std::shared_ptr<State>;
  // Tells what has changed and waits for the next change. `tag` is gRPC's until it happens.
  static void Look(grpc::CompletionQueue& queue, std::unique_ptr<Tag> tag);

  const std::shared_ptr<ConnectionThread> thread_;
  const Tag state_;
};

}  // namespace dray::rpc::internal
