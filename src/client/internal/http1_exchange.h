// SPDX-License-Identifier: Apache-2.0
//
// Requests and answers of HTTP/1.1: one at a time on a connection, or one that goes on and has it for itself.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "client/http_client.h"
#include "client/internal/socket.h"

namespace dray::client::internal {

struct Http1Connection {
  std::shared_ptr<Socket> socket;
  boost::beast::flat_buffer buffer;
  std::chrono::steady_clock::time_point idle_since;
  std::uint64_t version = 0;  // of the credentials that it was made with
};

struct Http1Limits {
  std::chrono::milliseconds head_within;  // of a stream; the whole of an answer
  std::size_t max_bytes;                  // of an answer that does not go on
  std::size_t max_line_bytes;
};

// Sends the text of a request and reads its answer. `keep`: the connection can be used again.
StatusOr<HttpResponse> ExchangeHttp1(Http1Connection& connection, const std::string& text,
                                     const Http1Limits& limits, bool& keep);

// The same for an answer that goes on, if it is a 200; `refusal` is any other.
struct Http1Opened {
  HttpResponse refusal;
  std::shared_ptr<LineStream> stream;  // null: refused
};
StatusOr<Http1Opened> OpenHttp1(Http1Connection connection, const std::string& text,
                                const Http1Limits& limits, std::chrono::milliseconds longest,
                                std::chrono::milliseconds silence);

}  // namespace dray::client::internal
