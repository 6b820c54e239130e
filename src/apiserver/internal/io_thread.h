// SPDX-License-Identifier: Apache-2.0
//
// One thread with its event loop and the connections that live on it.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>

#include "apiserver/internal/openssl.h"
#include "apiserver/server.h"
#include "base/mutex.h"

namespace dray::apiserver::internal {

class Connection;

// What all connections share. Thread-safe.
struct Shared {
  ServerOptions options;
  Handler* handler = nullptr;
  const Authenticator* authenticator = nullptr;
  // For a connection that begins; null: plain.
  std::shared_ptr<SSL_CTX> Tls() const {
    const base::MutexLock lock(mutex);
    return tls;
  }
  mutable base::Mutex mutex;
  std::shared_ptr<SSL_CTX> tls ABSL_GUARDED_BY(mutex);

  std::atomic<bool> draining = false;
  std::atomic<std::size_t> connections = 0;
  std::atomic<std::size_t> receiving_bytes = 0;
  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<std::uint64_t> refused = 0;
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> malformed = 0;
  std::atomic<std::uint64_t> timed_out = 0;
};

// Kept alive by its connections, so that a late answer finds it.
class IoThread : public std::enable_shared_from_this<IoThread> {
 public:
  explicit IoThread(std::shared_ptr<Shared> shared);

  void Start();
  // Closes all connections and waits for the thread.
  void Stop();
  // From any thread. After the end nothing happens.
  template <typename F>
  void Post(F f) {
    const base::MutexLock lock(mutex_);
    if (!ended_) boost::asio::post(context_, std::move(f));
  }

  // The rest is for the thread itself.
  boost::asio::io_context& context() { return context_; }
  Shared& shared() { return *shared_; }
  bool stopping() const { return stopping_; }
  std::unordered_set<std::shared_ptr<Connection>>& connections() { return connections_; }
  // For reading and gathering; holds nothing between two events.
  std::string& scratch() { return scratch_; }

 private:
  void Tick();

  const std::shared_ptr<Shared> shared_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer ticker_;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  std::string scratch_;
  bool stopping_ = false;
  std::thread thread_;
  base::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace dray::apiserver::internal
