// SPDX-License-Identifier: Apache-2.0
//
// Http2Session: the client's side of an HTTP/2 connection as bytes that come and bytes that go. Frames, their
// compression and flow control are nghttp2's; this is what has come of each request, and what a server may not do.
// Knows no socket, no thread and no time.
#pragma once

#include <nghttp2/nghttp2.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dray::client::internal {

using HeadFields = std::vector<std::pair<std::string, std::string>>;

struct Http2Limits {
  std::size_t max_header_bytes = 64u << 10;  // of an answer, trailers included
  std::int32_t stream_window =
      4 << 20;  // that a server may send before it is taken; 64 KiB at least
  std::int32_t connection_window = 16 << 20;
};

// One request and what has come of it.
struct Http2Exchange {
  int status = 0;  // 0: no answer has begun
  std::optional<std::chrono::seconds> retry_after;
  std::string body;      // what has come and was not taken yet
  bool written = false;  // at least its head is among the bytes that go
  bool over = false;     // nothing more comes
  bool whole = false;    // and the server has said that this was all
  bool refused = false;  // the server says that it has not looked at it, or it was never sent
  bool wants_http1 = false;
  std::string fault;  // what the server did wrong; over

  bool streaming = false;  // room is made when something is taken, not when it comes
  std::size_t max_body = 0;
  std::size_t head_bytes = 0;
  bool head_done = false;
  bool open = true;     // in the library
  std::string request;  // the body that goes
  std::function<bool()> may_send;
  std::size_t request_sent = 0;
};

// One thread at a time.
class Http2Session {
 public:
  explicit Http2Session(const Http2Limits& limits);
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  // Begins a request; 0: it cannot be, the connection is coming to its end. With `streaming` the body of the answer
  // is as long as it likes, and waits for Take; otherwise it may have `max_body` bytes. `may_send` is asked when it is
  // its turn: a server that takes few requests at a time lets others wait. If it may not be sent any more, it is
  // refused. Null: it may.
  std::int32_t Submit(const HeadFields& head, std::string body, bool streaming,
                      std::size_t max_body, std::function<bool()> may_send = nullptr);
  // Null: there is none, or it was dropped.
  Http2Exchange* Find(std::int32_t id);
  // What has come of the body of a streaming one; makes room for as much.
  std::string Take(std::int32_t id);
  // Nobody wants to know any more. The server is told if it is not over.
  void Drop(std::int32_t id);
  void Ping();

  // What the server has sent. False: it cannot be gone on with.
  bool Receive(std::string_view bytes);
  // Appends what is to be sent, until `out` has `enough` bytes or there is no more. False: as Receive.
  bool Produce(std::string& out, std::size_t enough);
  // The requests of which there is news since the last call: all there is of a streaming one, the end of others.
  std::vector<std::int32_t> TakeNews() { return std::exchange(news_, {}); }

  // The server will look at no new requests.
  bool leaving() const { return leaving_; }
  // Nothing more can come or go.
  bool over() const;
  std::size_t open() const { return open_; }
  // Requests that the server takes at a time.
  std::size_t limit() const;

 private:
  static Http2Session& Of(void* user) { return *static_cast<Http2Session*>(user); }
  static nghttp2_session_callbacks* MakeCallbacks();
  int OnHeader(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  void OnFrame(const nghttp2_frame& frame);
  void OnData(std::int32_t id, std::string_view piece);
  void OnClose(std::int32_t id, std::uint32_t error);
  void End(std::int32_t id, Http2Exchange& exchange);

  const Http2Limits limits_;
  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, std::unique_ptr<Http2Exchange>> exchanges_;
  std::vector<std::int32_t> news_;
  std::size_t open_ = 0;  // also those that were dropped, until the library is done with them
  bool leaving_ = false;
  bool settled_ = false;  // the server has told its settings
};

}  // namespace dray::client::internal
