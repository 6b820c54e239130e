// SPDX-License-Identifier: Apache-2.0
//
// For tests: unix sockets whose other end is no gRPC server, or stands in front of one.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace dray::rpc {

inline sockaddr_un UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path);
  return address;
}

inline int ListenOn(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = UnixAddress(path);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(fd, 64) != 0) {
    std::abort();
  }
  return fd;
}

// Accepts, and hands each connection to `serve` on a thread of its own, together with whether the test
// is over.
class SocketServer {
 public:
  using Serve = std::function<void(int fd, const std::atomic<bool>& over)>;
  SocketServer(const std::string& path, Serve serve) : listening_(ListenOn(path)) {
    accepting_ = std::thread([this, serve = std::move(serve)] {
      while (!over_) {
        pollfd ready{.fd = listening_, .events = POLLIN};
        if (poll(&ready, 1, 20) <= 0) continue;
        const int fd = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0) continue;
        ++accepted_;
        serving_.emplace_back([this, serve, fd] {
          serve(fd, over_);
          close(fd);
        });
      }
    });
  }
  ~SocketServer() {
    over_ = true;
    accepting_.join();
    for (std::thread& thread : serving_) thread.join();
    close(listening_);
  }
  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;

  int accepted() const { return accepted_; }

 private:
  const int listening_;
  std::atomic<bool> over_ = false;
  std::atomic<int> accepted_ = 0;
  std::vector<std::thread> serving_;  // of the accepting thread, until that is over
  std::thread accepting_;
};

// Says nothing, and reads nothing.
inline void Silence(int, const std::atomic<bool>& over) {
  while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

// Says what no HTTP/2 server would, without end.
inline void Babble(int fd, const std::atomic<bool>& over) {
  const std::string text(4096, 'x');
  while (!over) {
    if (send(fd, text.data(), text.size(), MSG_NOSIGNAL) <= 0) return;
  }
}

// Passes everything on to the socket at `path`, both ways.
inline SocketServer::Serve PassOnTo(std::string path) {
  return [path = std::move(path)](int client, const std::atomic<bool>& over) {
    const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = UnixAddress(path);
    if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      close(server);
      return;
    }
    bool open = true;
    while (open && !over) {
      std::array<pollfd, 2> ends = {pollfd{.fd = client, .events = POLLIN},
                                    pollfd{.fd = server, .events = POLLIN}};
      if (poll(ends.data(), ends.size(), 20) <= 0) continue;
      for (std::size_t i = 0; i < ends.size(); ++i) {
        if (ends[i].revents == 0) continue;
        std::array<char, 16384> bytes;
        const ssize_t got = read(ends[i].fd, bytes.data(), bytes.size());
        open =
            open && got > 0 &&
            send(ends[1 - i].fd, bytes.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
      }
    }
    close(server);
  };
}

}  // namespace dray::rpc
