// SPDX-License-Identifier: Apache-2.0
//
// For tests: a proxy on loopback between a store and a member of etcd, or between members, that cuts,
// refuses, delays, or goes quiet.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace dray::store {

class TcpProxy {
 public:
  // `target`: host:port.
  explicit TcpProxy(std::string target);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  const std::string& address() const { return address_; }
  // Every connection ends now.
  void Cut();
  // Nobody gets a connection while it refuses.
  void Refuse(bool refuse);
  // Connections stay, new ones are taken, and nothing goes through: half open.
  void Freeze(bool freeze) { frozen_ = freeze; }
  // Of every piece, each way.
  void Delay(std::chrono::milliseconds delay) { delay_ms_ = delay.count(); }
  // Answers are lost: what the client sends goes through, what comes back does not.
  void DropAnswers(bool drop) { drop_answers_ = drop; }
  std::size_t connections() const;
  // Until no client has a connection any more that was cut: what it sends then has not been sent. False:
  // it takes too long.
  bool AwaitNoticed() const;

 private:
  struct Connection;
  void Accept();
  void Pump(const std::shared_ptr<Connection>& connection, bool answers);
  bool Listen();

  const std::string target_;
  std::string address_;
  int port_ = 0;
  std::atomic<bool> frozen_ = false;
  std::atomic<bool> drop_answers_ = false;
  std::atomic<std::int64_t> delay_ms_ = 0;
  std::atomic<bool> stopping_ = false;
  mutable base::Mutex mutex_;
  int listener_ ABSL_GUARDED_BY(mutex_) = -1;
  std::vector<std::shared_ptr<Connection>> connections_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> pumps_ ABSL_GUARDED_BY(mutex_);
  std::thread accepting_;
};

}  // namespace dray::store
