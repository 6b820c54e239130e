// SPDX-License-Identifier: Apache-2.0
#include "client/http_client.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.h"
#include "base/mutex.h"
#include "client/internal/impersonation.h"
#include "client/internal/socket.h"
#include "client/internal/text_file.h"
#include "fmt/format.h"
#include "rest/api_error.h"

namespace dray::client {
namespace {

namespace http = boost::beast::http;
using internal::Deadline;
using internal::Endpoint;
using internal::Socket;
using std::chrono::steady_clock;

constexpr std::size_t kMaxHeaderBytes = 64u << 10;
// How much of an answer that is no Status is shown.
constexpr std::size_t kShownBytes = 200;
// Tokens in files are replaced well before they end.
constexpr std::chrono::seconds kTokenKept{60};

struct Connection {
  std::shared_ptr<Socket> socket;
  boost::beast::flat_buffer buffer;
  steady_clock::time_point idle_since;
};

using Parser = http::response_parser<http::string_body>;

std::optional<std::chrono::seconds> RetryAfter(const Parser& parser) {
  const auto text = parser.get()["Retry-After"];
  int seconds = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || seconds < 0) return std::nullopt;
  return std::chrono::seconds(seconds);
}

Status Broken(const boost::system::error_code& error) {
  return base::Unavailable(fmt::format("the connection failed: {}", error.message()));
}

// Reads a response, or the rest of one. Beast looks at its own limit for requests only.
StatusOr<HttpResponse> ReadWhole(Connection& connection, Parser& parser, std::size_t max_bytes) {
  const auto too_large = [&] {
    return base::Unavailable(fmt::format("an answer must have at most {} bytes", max_bytes));
  };
  boost::system::error_code error;
  if (!parser.is_header_done()) {
    http::read_header(*connection.socket, connection.buffer, parser, error);
  }
  if (!error && parser.content_length().value_or(0) > max_bytes) return too_large();
  parser.eager(true);
  while (!error && !parser.is_done()) {
    http::read_some(*connection.socket, connection.buffer, parser, error);
    if (parser.get().body().size() > max_bytes) return too_large();
  }
  if (error) return Broken(error);
  return HttpResponse{static_cast<int>(parser.get().result_int()), std::move(parser.get().body()),
                      RetryAfter(parser)};
}

class Stream final : public LineStream {
 public:
  Stream(Connection connection, std::unique_ptr<Parser> parser, std::size_t max_line, Deadline end,
         std::chrono::milliseconds silence)
      : connection_(std::move(connection)),
        parser_(std::move(parser)),
        max_line_(max_line),
        end_(end),
        silence_(silence) {
    // Piece by piece: an eager parser hands nothing out before the next piece has begun.
    parser_->eager(false);
  }

  StatusOr<bool> Next(std::string& line) override {
    for (;;) {
      std::string& text = parser_->get().body();
      const std::size_t end = text.find('\n', searched_);
      if (end != std::string::npos) {
        line.assign(text, taken_, end - taken_);
        taken_ = end + 1;
        searched_ = taken_;
        return true;
      }
      // What was handed out makes room for what comes.
      text.erase(0, taken_);
      taken_ = 0;
      searched_ = text.size();
      if (text.size() > max_line_) {
        return base::InvalidArgument(
            fmt::format("a line of a watch must have at most {} bytes", max_line_));
      }
      if (parser_->is_done()) return false;
      boost::system::error_code error;
      connection_.socket->set_deadline(std::min(end_, steady_clock::now() + silence_));
      http::read_some(*connection_.socket, connection_.buffer, *parser_, error);
      if (error == http::error::end_of_stream || error == http::error::partial_message) {
        return false;
      }
      if (error == boost::asio::error::timed_out && steady_clock::now() < end_) {
        return base::Unavailable(fmt::format("the server has said nothing for {} s",
                                             static_cast<double>(silence_.count()) / 1e3));
      }
      if (error) return Broken(error);
    }
  }

  void Cancel() override { connection_.socket->Interrupt(); }

 private:
  Connection connection_;
  std::unique_ptr<Parser> parser_;
  const std::size_t max_line_;
  const Deadline end_;
  const std::chrono::milliseconds silence_;
  std::size_t taken_ = 0;     // of the parser's body
  std::size_t searched_ = 0;  // no line ends before this
};

class Client final : public HttpClient {
 public:
  Client(ServerAccess access, HttpOptions options)
      : access_(std::move(access)), options_(std::move(options)) {}

  Status Init() {
    if (!internal::IsPrintable(access_.token)) {
      return base::InvalidArgument("token: must not have control characters in it");
    }
    DRAY_ASSIGN_OR_RETURN(endpoint_, internal::ParseUrl(access_.url));
    if (access_.url.starts_with("https://")) {
      DRAY_ASSIGN_OR_RETURN(tls_, internal::MakeSslContext(access_));
      endpoint_.tls = tls_.get();
      if (!access_.insecure) {
        endpoint_.tls_name =
            access_.tls_server_name.empty() ? endpoint_.host : access_.tls_server_name;
      }
    }
    // An IPv6 address has brackets around it.
    const bool v6 = endpoint_.host.find(':') != std::string::npos;
    host_ = fmt::format("{}{}{}:{}", v6 ? "[" : "", endpoint_.host, v6 ? "]" : "", endpoint_.port);
    return {};
  }

  StatusOr<HttpResponse> Send(const HttpRequest& request) override {
    for (int left = options_.throttled_tries;; --left) {
      DRAY_ASSIGN_OR_RETURN(HttpResponse response, SendOnce(request));
      const bool throttled = response.status == 429 && response.retry_after.has_value();
      if (!throttled || left <= 0) return response;
      const auto nap =
          std::min<std::chrono::milliseconds>(*response.retry_after, options_.longest_throttle);
      const auto until = steady_clock::now() + nap;
      const base::MutexLock lock(mutex_);
      while (!closed_ && closing_.WaitUntil(mutex_, until)) {
      }
    }
  }

  StatusOr<std::shared_ptr<LineStream>> Open(const HttpRequest& request,
                                             std::chrono::milliseconds longest,
                                             std::chrono::milliseconds silence) override {
    DRAY_ASSIGN_OR_RETURN(const std::string text, TextOf(request));
    DRAY_ASSIGN_OR_RETURN(Connection connection, Connect());
    connection.socket->set_deadline(steady_clock::now() +
                                    std::min(options_.request_timeout, silence));
    DRAY_RETURN_IF_ERROR(connection.socket->WriteAll(text));
    auto parser = std::make_unique<Parser>();
    parser->header_limit(kMaxHeaderBytes);
    parser->body_limit(std::numeric_limits<std::uint64_t>::max());
    boost::system::error_code error;
    http::read_header(*connection.socket, connection.buffer, *parser, error);
    if (error) return Broken(error);
    if (parser->get().result_int() != 200) {
      DRAY_ASSIGN_OR_RETURN(const HttpResponse response,
                            ReadWhole(connection, *parser, options_.max_response_bytes));
      return FailureOf(response);
    }
    return std::shared_ptr<LineStream>(
        std::make_shared<Stream>(std::move(connection), std::move(parser), options_.max_line_bytes,
                                 steady_clock::now() + longest, silence));
  }

  void Close() override {
    const base::MutexLock lock(mutex_);
    closed_ = true;
    idle_.clear();
    for (const std::weak_ptr<Socket>& weak : sockets_) {
      if (const auto socket = weak.lock()) socket->Interrupt();
    }
    closing_.NotifyAll();
  }

 private:
  StatusOr<HttpResponse> SendOnce(const HttpRequest& request) {
    DRAY_ASSIGN_OR_RETURN(const std::string text, TextOf(request));
    if (std::optional<Connection> kept = TakeIdle()) {
      DRAY_RETURN_IF_ERROR(CheckMay(request));
      auto response = Exchange(*std::move(kept), text);
      // Somebody between us and the server may have ended it just now.
      if (response.ok() || request.method == "POST") return Outcome(request, std::move(response));
      auto connection = Connect();
      if (!connection.ok()) return Outcome(request, connection.status());
      if (Status may = CheckMay(request); !may.ok()) return Outcome(request, std::move(may));
      return Outcome(request, Exchange(*std::move(connection), text));
    }
    DRAY_ASSIGN_OR_RETURN(Connection connection, Connect());
    DRAY_RETURN_IF_ERROR(CheckMay(request));
    return Outcome(request, Exchange(std::move(connection), text));
  }

  Status CheckMay(const HttpRequest& request) const {
    if (request.method == "GET" || !options_.may_write || options_.may_write()) return {};
    return base::FailedPrecondition("not sent: this is not the leader any more");
  }

  // Of a request that was sent, at least in part.
  static StatusOr<HttpResponse> Outcome(const HttpRequest& request,
                                        StatusOr<HttpResponse> response) {
    if (response.ok() || request.method == "GET") return response;
    return base::MakeStatus(
        StatusCode::kUnknown,
        fmt::format("it is not known what the server did: {}", base::Message(response.status())));
  }

  StatusOr<HttpResponse> Exchange(Connection connection, const std::string& text) {
    connection.socket->set_deadline(steady_clock::now() + options_.request_timeout);
    DRAY_RETURN_IF_ERROR(connection.socket->WriteAll(text));
    Parser parser;
    parser.header_limit(kMaxHeaderBytes);
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());
    auto response = ReadWhole(connection, parser, options_.max_response_bytes);
    if (response.ok() && parser.keep_alive()) Keep(std::move(connection));
    return response;
  }

  StatusOr<Connection> Connect() {
    if (Closed()) return Cancelled();
    DRAY_ASSIGN_OR_RETURN(
        std::unique_ptr<Socket> connected,
        Socket::Connect(endpoint_, steady_clock::now() + options_.connect_timeout));
    std::shared_ptr<Socket> socket = std::move(connected);
    const base::MutexLock lock(mutex_);
    if (closed_) return Cancelled();
    std::erase_if(sockets_, [](const std::weak_ptr<Socket>& weak) { return weak.expired(); });
    sockets_.push_back(socket);
    return Connection{.socket = std::move(socket)};
  }

  std::optional<Connection> TakeIdle() {
    const auto oldest = steady_clock::now() - options_.max_idle;
    for (;;) {
      base::MutexLock lock(mutex_);
      if (idle_.empty()) return std::nullopt;
      Connection connection = std::move(idle_.back());
      idle_.pop_back();
      // The last one was used last: if it is too old, all are.
      if (connection.idle_since < oldest) idle_.clear();
      lock.Unlock();
      if (connection.idle_since < oldest || connection.socket->Stale()) continue;
      return connection;
    }
  }

  void Keep(Connection connection) {
    connection.idle_since = steady_clock::now();
    const base::MutexLock lock(mutex_);
    if (!closed_ && idle_.size() < options_.max_idle_connections) {
      idle_.push_back(std::move(connection));
    }
  }

  StatusOr<std::string> TextOf(const HttpRequest& request) {
    DRAY_ASSIGN_OR_RETURN(const std::string token, Token());
    std::string text =
        fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: dray\r\nAccept: {}\r\n",
                    request.method, endpoint_.path, request.target, host_, request.accept);
    if (!token.empty()) text += fmt::format("Authorization: Bearer {}\r\n", token);
    text += internal::ImpersonationHeaders(access_.as);
    if (request.method != "GET") {
      text += fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n", request.content_type,
                          request.body.size());
    }
    return text.append("\r\n").append(request.body);
  }

  StatusOr<std::string> Token() {
    if (access_.token_file.empty()) return access_.token;
    const base::MutexLock lock(mutex_);
    const auto now = steady_clock::now();
    if (!file_token_.empty() && now - token_read_ < kTokenKept) return file_token_;
    DRAY_ASSIGN_OR_RETURN(std::string text, internal::ReadTextFile(access_.token_file));
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    const std::size_t end = text.find_last_not_of(" \t\r\n");
    if (begin == std::string::npos) {
      return base::InvalidArgument(fmt::format("{}: must hold a token", access_.token_file));
    }
    std::string token = text.substr(begin, end - begin + 1);
    if (!internal::IsPrintable(token)) {
      return base::InvalidArgument(
          fmt::format("{}: must hold one token, on one line", access_.token_file));
    }
    file_token_ = std::move(token);
    token_read_ = now;
    return file_token_;
  }

  static Status Cancelled() {
    return base::MakeStatus(StatusCode::kCancelled, "the client was closed");
  }
  bool Closed() {
    const base::MutexLock lock(mutex_);
    return closed_;
  }

  const ServerAccess access_;
  const HttpOptions options_;
  internal::SslContextPtr tls_;
  Endpoint endpoint_;
  std::string host_;
  base::Mutex mutex_;
  base::CondVar closing_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Connection> idle_ ABSL_GUARDED_BY(mutex_);  // the one that was used last, last
  std::vector<std::weak_ptr<Socket>> sockets_ ABSL_GUARDED_BY(mutex_);
  std::string file_token_ ABSL_GUARDED_BY(mutex_);
  steady_clock::time_point token_read_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

StatusOr<std::unique_ptr<HttpClient>> HttpClient::Create(const ServerAccess& access,
                                                         HttpOptions options) {
  auto client = std::make_unique<Client>(access, std::move(options));
  DRAY_RETURN_IF_ERROR(client->Init());
  return std::unique_ptr<HttpClient>(std::move(client));
}

Status FailureOf(const HttpResponse& response) {
  api::JsonDecoder decoder;
  auto told = decoder.Decode<rest::ApiError>(response.body);
  if (told.ok() && !told->message.empty()) {
    told->code = response.status;
    return rest::ToStatus(*told);
  }
  const std::string_view text = std::string_view(response.body).substr(0, kShownBytes);
  return rest::ToStatus({.code = response.status,
                         .message = fmt::format("the server answered {}{}{}", response.status,
                                                text.empty() ? "" : ": ", text)});
}

}  // namespace dray::client
