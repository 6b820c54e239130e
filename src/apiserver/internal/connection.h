// SPDX-License-Identifier: Apache-2.0
//
// One client's connection, as its I/O thread and the server see it. Which protocol is spoken on it
// comes out of the handshake.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <memory>

namespace dray::apiserver::internal {

class IoThread;

// Lives on its I/O thread, from its start to Close; the thread's list of connections owns it.
class Connection {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  virtual ~Connection() = default;
  virtual void OnTick(TimePoint now) = 0;
  // Ends when it can: at once if idle, else after its responses; streams now.
  virtual void Drain() = 0;
  virtual void Close() = 0;
};

// Begins with the handshake, on the thread of `io`.
void StartConnection(const std::shared_ptr<IoThread>& io, boost::asio::ip::tcp::socket socket);

}  // namespace dray::apiserver::internal
