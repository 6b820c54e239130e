// SPDX-License-Identifier: Apache-2.0
//
// HttpClient: requests to one server over kept connections, and streams of lines on their own.
// HTTP/2 where TLS agrees on it, one connection for all; else HTTP/1.1. Calls wait, each until a deadline.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "client/kubeconfig.h"

namespace dray::client {

struct HttpRequest {
  std::string method = "GET";
  std::string target;  // path and query, encoded
  std::string body = {};
  std::string content_type = "application/json";
  std::string accept = "application/json";
};

struct HttpResponse {
  int status = 0;
  std::string body;
  std::optional<std::chrono::seconds> retry_after;
};

struct HttpOptions {
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds request_timeout{60'000};  // from the first byte to the last
  std::size_t max_response_bytes = 1u << 30;
  std::size_t max_line_bytes = 64u << 20;
  bool http2 = true;  // is offered to servers with TLS
  // Of a connection of HTTP/2 nothing was heard for so long: it is asked whether it is there, and has so long to answer.
  std::chrono::milliseconds ping_after{30'000};
  std::chrono::milliseconds ping_timeout{15'000};
  std::size_t max_idle_connections = 64;
  std::chrono::milliseconds max_idle{60'000};
  // Answers "too many requests" that are waited out, each for as long as the server says, at most
  // the given time.
  int throttled_tries = 5;
  std::chrono::milliseconds longest_throttle{10'000};
  // Asked right before a request that may change something is sent, each time it is; false: it is
  // not. From several threads.
  std::function<bool()> may_write = nullptr;
  // What we call ourselves. Kubernetes takes what stands before the '/' for the manager of fields
  // where a request names none. One line of text.
  std::string user_agent = "dray";
  // So many requests a second, and so many at once; 0: as many as one likes. Streams are not counted.
  double qps = 0;
  int burst = 0;
  // Told of every request that was sent; `status` 0: no whole answer came. From several threads.
  std::function<void(const HttpRequest& request, int status, std::chrono::nanoseconds took)>
      on_answer = nullptr;
};

// A response that goes on. One thread, but for Cancel.
class LineStream {
 public:
  virtual ~LineStream() = default;
  // The next line, without its end. False: the server has ended the stream.
  virtual StatusOr<bool> Next(std::string& line) = 0;
  // Next fails, now and from then on. Any thread.
  virtual void Cancel() = 0;
};

// Thread-safe.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  // Connects to nobody yet. kInvalidArgument: the URL or a certificate cannot be used.
  static StatusOr<std::unique_ptr<HttpClient>> Create(const ServerAccess& access,
                                                      HttpOptions options = {});

  // What the server answers, whatever it is. An error: nothing whole was received. kUnavailable: it
  // could not be reached, or what was asked changes nothing; kUnauthenticated: its certificate is
  // not trusted; kUnknown: it was sent something that may change something, and whether it did
  // that is not known; kFailedPrecondition: it may not be sent. A request that may be sent twice
  // is, when a kept connection turns out to be broken; any is that the server says it has not looked at.
  virtual StatusOr<HttpResponse> Send(const HttpRequest& request) = 0;

  // A response with status 200, as lines; any other status is an error that FailureOf makes of it.
  // The whole stream ends after `longest`, and as soon as no byte has come for `silence`
  // (kDeadlineExceeded): somebody between us and the server may keep a connection that leads nowhere.
  virtual StatusOr<std::shared_ptr<LineStream>> Open(const HttpRequest& request,
                                                     std::chrono::milliseconds longest,
                                                     std::chrono::milliseconds silence) = 0;

  // Everything that waits fails with kCancelled, now and from then on.
  virtual void Close() = 0;
};

// The error that a response with a status of 400 or more tells: what the server says in a Status
// object (rest/api_error.h), else what the number means.
Status FailureOf(const HttpResponse& response);

}  // namespace dray::client
