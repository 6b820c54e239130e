// SPDX-License-Identifier: Apache-2.0
//
// The server of a CRI runtime that streams, as far as tests need one: it takes one connection and
// does with it what the test says.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "base/check.h"
#include "files/files.h"
#include "fmt/format.h"
#include "spdy/frames.h"

namespace dray::container {

// The server's end of a connection. One thread.
class StreamPeer {
 public:
  explicit StreamPeer(files::Fd socket) : socket_(std::move(socket)) {}

  // The head of the request.
  std::string ReadHead() {
    std::string head;
    while (head.find("\r\n\r\n") == head.npos && Receive(head)) {
    }
    const std::size_t end = head.find("\r\n\r\n");
    if (end == head.npos) return head;
    reader_.Add(std::string_view(head).substr(end + 4));
    return head.substr(0, end);
  }
  void Write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  void Agree() {
    Write(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
        "X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n");
  }
  // Nothing: the client is gone.
  std::optional<spdy::Frame> Next() {
    while (true) {
      auto frame = reader_.Next();
      if (!frame.ok()) return std::nullopt;
      if (frame->has_value()) return **std::move(frame);
      std::string bytes;
      if (!Receive(bytes)) return std::nullopt;
      reader_.Add(bytes);
    }
  }
  // Takes this many streams, by their type.
  std::map<std::string, std::uint32_t> TakeStreams(std::size_t count) {
    std::map<std::string, std::uint32_t> streams;
    while (streams.size() < count) {
      const auto frame = Next();
      if (!frame) break;
      if (frame->kind != spdy::Frame::Kind::kSynStream) continue;
      streams[std::string(spdy::Find(frame->headers, "streamtype"))] = frame->stream;
      headers = frame->headers;
      Write(writer.SynReply(frame->stream));
    }
    return streams;
  }

  spdy::FrameWriter writer;
  spdy::Headers headers;  // of the last stream

 private:
  bool Receive(std::string& bytes) {
    char buffer[4096];
    const ssize_t n = ::recv(socket_.get(), buffer, sizeof(buffer), 0);
    if (n <= 0) return false;
    bytes.append(buffer, static_cast<std::size_t>(n));
    return true;
  }

  files::Fd socket_;
  spdy::FrameReader reader_;
};

class StreamServer {
 public:
  explicit StreamServer(std::function<void(StreamPeer&)> serve)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* where = reinterpret_cast<sockaddr*>(&address);
    DRAY_CHECK(::bind(listener_.get(), where, size) == 0 && ::listen(listener_.get(), 4) == 0 &&
               ::getsockname(listener_.get(), where, &size) == 0);
    url_ = fmt::format("http://127.0.0.1:{}/exec/token", ntohs(address.sin_port));
    thread_ = std::thread([this, serve = std::move(serve)] {
      files::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket.valid()) return;
      StreamPeer peer(std::move(socket));
      serve(peer);
    });
  }
  ~StreamServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  const std::string& url() const { return url_; }

 private:
  files::Fd listener_;
  std::string url_;
  std::thread thread_;
};

}  // namespace dray::container
