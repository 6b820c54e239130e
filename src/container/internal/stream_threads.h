// SPDX-License-Identifier: Apache-2.0
//
// A thread for each command that runs in a container while somebody listens.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "container/internal/exec_stream.h"

namespace dray::container::internal {

// Thread-safe.
class StreamThreads {
 public:
  ~StreamThreads() { End(); }

  // False: it is too late. Threads that have ended are joined when another begins.
  bool Start(std::shared_ptr<StreamInput> input, std::function<void()> run) {
    const base::MutexLock lock(mutex_);
    if (ended_) return false;
    for (auto stream = streams_.begin(); stream != streams_.end();) {
      if (*stream->ended) {
        stream->thread.join();
        stream = streams_.erase(stream);
      } else {
        ++stream;
      }
    }
    Stream& stream = streams_.emplace_back();
    stream.input = std::move(input);
    stream.ended = std::make_shared<std::atomic<bool>>(false);
    stream.thread = std::thread([run = std::move(run), ended = stream.ended] {
      run();
      *ended = true;
    });
    return true;
  }

  // Abandons all and waits for them; none begins after that.
  void End() {
    std::list<Stream> streams;
    {
      const base::MutexLock lock(mutex_);
      ended_ = true;
      streams.swap(streams_);
    }
    for (Stream& stream : streams) stream.input->Abandon();
    for (Stream& stream : streams) stream.thread.join();
  }

 private:
  struct Stream {
    std::thread thread;
    std::shared_ptr<StreamInput> input;
    std::shared_ptr<std::atomic<bool>> ended;
  };

  base::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::list<Stream> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::container::internal
