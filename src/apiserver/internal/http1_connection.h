// SPDX-License-Identifier: Apache-2.0
//
// HTTP/1.1, and the handshake that comes before any protocol: reads requests, hands them over,
// writes what is sent, one request at a time. Bytes of later requests wait.
#pragma once

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/http.h"
#include "apiserver/internal/admission.h"
#include "apiserver/internal/connection.h"
#include "apiserver/internal/io_thread.h"
#include "apiserver/internal/response_text.h"
#include "apiserver/internal/transport.h"

namespace dray::apiserver::internal {

class Http1Connection final : public Connection,
                              public std::enable_shared_from_this<Http1Connection> {
 public:
  Http1Connection(std::shared_ptr<IoThread> io, boost::asio::ip::tcp::socket socket);
  ~Http1Connection() override;

  void Start();
  void OnTick(TimePoint now) override;
  // The answer to the request that is being handled.
  void OnResponse(Response response);
  // The stream may have more.
  void OnWake();
  void Drain() override;
  void Close() override;

 private:
  enum class State : unsigned char {
    kHandshake,
    kReading,    // a request, or waiting for one
    kHandling,   // the handler has it
    kWriting,    // a response, or a part of a stream
    kWaiting,    // for a stream to have more
    kLingering,  // all is said; the client may still be sending
    kClosed,
  };
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void OnReadable();
  void OnWritable();
  void WaitReadable();
  void WaitWritable();
  void SetDeadline(std::chrono::milliseconds timeout);

  void Handshake();
  // The client would rather speak HTTP/2: another connection takes this one's place.
  void GiveUpForHttp2();
  void ReadRequest();
  // Whether a whole request was found in what has been read, or the connection ends.
  bool Parse();
  // Looks at the headers before the body is read. False: refused.
  bool CheckHead();
  void HandleRequest();
  // Answers without the handler, then ends the connection: what follows cannot be trusted.
  void Refuse(const HeadFault& fault);

  void Queue(std::string text);
  void Flush();
  void OnFlushed();
  void Pull();
  void WatchForEnd();
  // Gives the stream what the client has said. False: it is full.
  bool GiveReceived();
  void NextRequest();
  void Linger();

  const std::shared_ptr<IoThread> io_;
  Transport transport_;
  State state_ = State::kHandshake;
  TimePoint deadline_ = TimePoint::max();
  TimePoint give_up_ = TimePoint::max();  // on a stream that is full, of a client that has ended
  bool waiting_readable_ = false;
  bool waiting_writable_ = false;

  std::string in_;  // read and not yet parsed
  std::optional<Parser> parser_;
  std::size_t head_bytes_ = 0;
  TimePoint began_;  // the request
  Request request_;
  std::size_t charged_ = 0;  // of Shared::receiving_bytes
  bool keep_alive_ = true;
  bool is_head_ = false;
  unsigned version_ = 11;

  std::deque<Bytes> out_;
  std::size_t out_offset_ = 0;  // of out_.front()
  std::unique_ptr<StreamSource> source_;
  StreamSource::State source_state_ = StreamSource::State::kWait;
  bool chunked_ = false;
  bool upgraded_ = false;
  bool woken_ = false;
  std::chrono::milliseconds tick_{0};
  TimePoint next_tick_ = TimePoint::max();
};

}  // namespace dray::apiserver::internal
