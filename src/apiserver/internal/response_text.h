// SPDX-License-Identifier: Apache-2.0
//
// Responses as bytes, and those that the server gives itself, before a handler is asked.
#pragma once

#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/http.h"

namespace dray::apiserver::internal {

// How the end of a body is told.
enum class Framing : unsigned char {
  kNone,     // there cannot be one: 204, 304
  kLength,   // Content-Length
  kChunked,  // a stream
  kClose,    // a stream to an HTTP/1.0 client: the connection ends
  kUpgrade,  // 101: what follows is another protocol
};

// Status line and headers, up to the empty line.
std::string HeadText(const Response& response, Framing framing, bool keep_alive, std::time_t now);

// The same for HTTP/2: fields, names in lower case, the status first. A body that is there has its
// length told.
std::vector<std::pair<std::string, std::string>> HeadFields(const Response& response,
                                                            std::time_t now);

// A Status object of Kubernetes. `message` needs no escaping in JSON.
Response StatusResponse(int code, std::string_view reason, std::string_view message);

}  // namespace dray::apiserver::internal
