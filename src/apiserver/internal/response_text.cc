// SPDX-License-Identifier: Apache-2.0
#include "apiserver/internal/response_text.h"

#include <boost/beast/http/status.hpp>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "base/status.h"
#include "fmt/format.h"

namespace dray::apiserver::internal {
namespace {

// A line break inside of a header would let whoever chose its value write headers of their own.
bool IsSafe(std::string_view text) { return text.find_first_of("\r\n\0") == text.npos; }

bool IsTheServers(std::string_view name) {
  for (const std::string_view own : {"Content-Length", "Transfer-Encoding", "Connection", "Date"}) {
    if (absl::EqualsIgnoreCase(base::ToAbsl(name), base::ToAbsl(own))) return true;
  }
  return false;
}

std::string DateText(std::time_t now) {
  std::tm utc = {};
  ::gmtime_r(&now, &utc);
  char date[64];
  return {date, std::strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &utc)};
}

}  // namespace

std::string HeadText(const Response& response, Framing framing, bool keep_alive, std::time_t now) {
  const auto reason = boost::beast::http::obsolete_reason(
      boost::beast::http::int_to_status(static_cast<unsigned>(response.status)));
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", response.status,
                                 std::string_view(reason.data(), reason.size()));
  text += fmt::format("Date: {}\r\n", DateText(now));
  for (const auto& [name, value] : response.headers.list) {
    if (IsTheServers(name) || !IsSafe(name) || !IsSafe(value)) continue;
    text.append(name).append(": ").append(value).append("\r\n");
  }
  if (framing == Framing::kLength) {
    text += fmt::format("Content-Length: {}\r\n", response.body ? response.body->size() : 0);
  } else if (framing == Framing::kChunked) {
    text += "Transfer-Encoding: chunked\r\n";
  }
  if (framing == Framing::kUpgrade) return text + "Connection: Upgrade\r\n\r\n";
  text += keep_alive ? "\r\n" : "Connection: close\r\n\r\n";
  return text;
}

std::vector<std::pair<std::string, std::string>> HeadFields(const Response& response,
                                                            std::time_t now) {
  std::vector<std::pair<std::string, std::string>> fields = {
      {":status", fmt::to_string(response.status)}, {"date", DateText(now)}};
  for (const auto& [name, value] : response.headers.list) {
    // What speaks of the connection does not belong into an answer of HTTP/2.
    const bool hop = absl::EqualsIgnoreCase(base::ToAbsl(name), "Upgrade") ||
                     absl::EqualsIgnoreCase(base::ToAbsl(name), "Keep-Alive");
    if (IsTheServers(name) || hop || !IsSafe(name) || !IsSafe(value)) continue;
    fields.emplace_back(absl::AsciiStrToLower(name), value);
  }
  const bool has_body = !response.stream && response.status != 204 && response.status != 304;
  if (has_body) {
    fields.emplace_back("content-length",
                        fmt::to_string(response.body ? response.body->size() : 0));
  }
  return fields;
}

Response StatusResponse(int code, std::string_view reason, std::string_view message) {
  Response response{.status = code};
  response.headers.Add("Content-Type", "application/json");
  response.body = std::make_shared<const std::string>(fmt::format(
      R"({{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"{}","reason":"{}","code":{}}})"
      "\n",
      message, reason, code));
  return response;
}

}  // namespace dray::apiserver::internal
