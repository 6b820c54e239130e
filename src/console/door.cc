// SPDX-License-Identifier: Apache-2.0
#include "console/door.h"

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "base/status.h"
#include "console/desk.h"
#include "fmt/format.h"
#include "openssl/rand.h"

namespace dray::console {
namespace {

constexpr double kMostWrong = 20;        // wrong tokens at once
constexpr double kWrongPerSecond = 2.0;  // are forgiven

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

bool IsUnder(std::string_view path, std::string_view root) {
  return path == root || (path.starts_with(root) && path[root.size()] == '/');
}

// How often the header is there: which of two counts is a matter of who reads.
std::size_t CountOf(const apiserver::Headers& headers, std::string_view name) {
  const auto same = [&](std::string_view other) {
    return std::ranges::equal(name, other, [](char a, char b) {
      return std::tolower(static_cast<unsigned char>(a)) ==
             std::tolower(static_cast<unsigned char>(b));
    });
  };
  return static_cast<std::size_t>(
      std::ranges::count_if(headers.list, [&](const auto& header) { return same(header.first); }));
}

bool SpeaksForAnother(const apiserver::Headers& headers) {
  return std::ranges::any_of(headers.list, [](const auto& header) {
    return absl::StartsWithIgnoreCase(base::ToAbsl(header.first), "impersonate-");
  });
}

}  // namespace

std::string NewToken() {
  std::array<unsigned char, 32> bytes{};
  // Without randomness there is no secret, and nothing may be served.
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) std::abort();
  std::string text;
  absl::WebSafeBase64Escape(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), &text);
  while (text.ends_with('=')) text.pop_back();
  return text;
}

bool SameSecret(std::string_view a, std::string_view b) {
  // The length of what is known is no secret.
  if (a.size() != b.size()) return false;
  volatile unsigned char different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    different = static_cast<unsigned char>(
        different | (static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i])));
  }
  return different == 0;
}

apiserver::Response JsonAnswer(int code, std::string body) {
  apiserver::Response response;
  response.status = code;
  response.headers.Add("Content-Type", "application/json");
  response.body = std::make_shared<const std::string>(std::move(body));
  return response;
}

apiserver::Response Failure(int code, std::string_view reason, std::string_view message) {
  return JsonAnswer(code, Refusal(code, reason, message).json);
}

void Door::AddHeaders(apiserver::Response& response, bool data) {
  response.headers.Add("Content-Security-Policy", std::string(kPolicy));
  response.headers.Add("X-Content-Type-Options", "nosniff");
  response.headers.Add("X-Frame-Options", "DENY");
  response.headers.Add("Referrer-Policy", "no-referrer");
  response.headers.Add("Cross-Origin-Opener-Policy", "same-origin");
  response.headers.Add("Cross-Origin-Resource-Policy", "same-origin");
  response.headers.Add("Cache-Control", data ? "no-store" : "no-cache");
}

bool Door::IsPage(std::string_view path) {
  constexpr std::string_view kApiRoot = "/console/api";
  return path == "/" || (IsUnder(path, kRoot) && !IsUnder(path, kApiRoot));
}

bool Door::TooMany(double now) {
  const base::MutexLock lock(mutex_);
  wrong_ = std::max(0.0, wrong_ - (now - wrong_at_) * kWrongPerSecond);
  wrong_at_ = now;
  if (wrong_ >= kMostWrong) return true;
  wrong_ += 1;
  return false;
}

std::optional<apiserver::Response> Door::Refuse(const apiserver::Request& request, double now) {
  // Before anything else: a page of another name that was pointed here, which the browser takes for
  // that one's.
  if (!options_.hosts.empty()) {
    const std::string_view host = request.headers.Find("Host");
    if (CountOf(request.headers, "Host") != 1 ||
        std::ranges::find(options_.hosts, host) == options_.hosts.end()) {
      return Failure(421, "MisdirectedRequest",
                     fmt::format("this console is at {}", fmt::join(options_.hosts, ", ")));
    }
  }
  if (!apiserver::IsNormalPath(request.path)) {
    return Failure(404, "NotFound", "there is nothing at this path");
  }
  if (CountOf(request.headers, "Origin") > 0) {
    const std::string own = fmt::format("{}://{}", options_.scheme, request.headers.Find("Host"));
    if (CountOf(request.headers, "Origin") != 1 || request.headers.Find("Origin") != own) {
      return Failure(403, "Forbidden", "the console takes requests from its own page only");
    }
  }
  const std::string_view site = request.headers.Find("Sec-Fetch-Site");
  const bool page = IsPage(request.path);
  // A link on another page may lead here; what it leads to is a page without data.
  const bool link = page && request.headers.Find("Sec-Fetch-Mode") == "navigate";
  if (!site.empty() && site != "same-origin" && site != "none" && !link) {
    return Failure(403, "Forbidden", "the console takes requests from its own page only");
  }
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (page) {
    if (reads) return std::nullopt;
    return Failure(405, "MethodNotAllowed", "only GET and HEAD are possible here");
  }
  if (!reads && request.method != "POST" && request.method != "DELETE") {
    return Failure(405, "MethodNotAllowed", "only GET, HEAD, POST and DELETE are possible here");
  }
  if (!options_.token.empty()) {
    constexpr std::string_view kBearer = "Bearer ";
    const std::string_view shown = request.headers.Find("Authorization");
    const bool right = CountOf(request.headers, "Authorization") == 1 &&
                       shown.starts_with(kBearer) &&
                       SameSecret(shown.substr(kBearer.size()), options_.token);
    if (!right) {
      // Who shows nothing does not guess.
      if (!shown.empty() && TooMany(now)) {
        return Failure(429, "TooManyRequests", "too many wrong tokens; try again in a while");
      }
      return Failure(401, "Unauthorized",
                     "the token is missing or wrong: open the address that 'dray console' prints");
    }
  } else if (request.user.anonymous()) {
    return Failure(401, "Unauthorized", "log in with a bearer token or a client certificate");
  }
  // Another page cannot send it without being asked first, and nobody is told yes.
  if (request.headers.Find("X-Dray-Console") != "1") {
    return Failure(403, "Forbidden", "requests need the header X-Dray-Console: 1");
  }
  // To pass over the wish would show what the one who asks may see instead of what the other one may.
  if (SpeaksForAnother(request.headers)) {
    return Failure(
        400, "BadRequest",
        "the console shows what the one who is logged in may see: it has no Impersonate- "
        "headers");
  }
  if (request.method == "POST") {
    std::string_view type = request.headers.Find("Content-Type");
    type = type.substr(0, type.find(';'));
    while (type.ends_with(' ')) type.remove_suffix(1);
    if (type != "application/json") {
      return Failure(415, "UnsupportedMediaType", "the body must be application/json");
    }
  }
  return std::nullopt;
}

}  // namespace dray::console
