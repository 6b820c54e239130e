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
#include "client/internal/credentials.h"
#include "client/internal/impersonation.h"
#include "client/internal/rate_limit.h"
#include "client/internal/socket.h"
#include "fmt/format.h"
#include "rest/api_error.h"

namespace dray::client {
namespace {

namespace http = boost::beast::http;
using internal::Deadline;
using internal::Endpoint;
using internal::Socket;
using Shown = internal::Credentials::Shown;
using std::chrono::steady_clock;

constexpr std::size_t kMaxHeaderBytes = 64u << 10;
// How much of an answer that is no Status is shown.
constexpr std::size_t kShownBytes = 200;

struct Connection {
  std::shared_ptr<Socket> socket;
  boost::beast::flat_buffer buffer;
  steady_clock::time_point idle_since;
  std::uint64_t version = 0;  // of the credentials that it was made with
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
      : access_(std::move(access)),
        options_(std::move(options)),
        limit_(options_.qps, options_.burst) {}

  Status Init() {
    if (!internal::IsPrintable(options_.user_agent)) {
      return base::InvalidArgument("the user agent must be one line of text");
    }
    DRAY_ASSIGN_OR_RETURN(endpoint_, internal::ParseUrl(access_.url));
    DRAY_ASSIGN_OR_RETURN(credentials_, internal::Credentials::Create(access_));
    if (access_.url.starts_with("https://") && !access_.insecure) {
      endpoint_.tls_name =
          access_.tls_server_name.empty() ? endpoint_.host : access_.tls_server_name;
    }
    if (!access_.proxy.empty()) {
      DRAY_ASSIGN_OR_RETURN(internal::Proxy proxy, internal::ParseProxy(access_.proxy));
      endpoint_.proxy = std::make_shared<const internal::Proxy>(std::move(proxy));
    }
    // An IPv6 address has brackets around it.
    const bool v6 = endpoint_.host.find(':') != std::string::npos;
    host_ = fmt::format("{}{}{}:{}", v6 ? "[" : "", endpoint_.host, v6 ? "]" : "", endpoint_.port);
    return {};
  }

  StatusOr<HttpResponse> Send(const HttpRequest& request) override {
    for (int left = options_.throttled_tries;; --left) {
      AwaitTurn();
      DRAY_ASSIGN_OR_RETURN(HttpResponse response, SendMeasured(request));
      const bool throttled = response.status == 429 && response.retry_after.has_value();
      if (!throttled || left <= 0) return response;
      const auto nap =
          std::min<std::chrono::milliseconds>(*response.retry_after, options_.longest_throttle);
      Rest(steady_clock::now() + nap);
    }
  }

  StatusOr<std::shared_ptr<LineStream>> Open(const HttpRequest& request,
                                             std::chrono::milliseconds longest,
                                             std::chrono::milliseconds silence) override {
    DRAY_ASSIGN_OR_RETURN(const Shown shown, credentials_->Show());
    const std::string text = TextOf(request, shown);
    DRAY_ASSIGN_OR_RETURN(Connection connection, Connect(shown));
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
      // Whoever opens it again is somebody else then.
      if (response.status == 401) credentials_->Refused(shown);
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
  // Until then, or until the client is closed.
  void Rest(steady_clock::time_point until) {
    const base::MutexLock lock(mutex_);
    while (!closed_ && closing_.WaitUntil(mutex_, until)) {
    }
  }

  void AwaitTurn() {
    if (options_.qps <= 0) return;
    const auto now = steady_clock::now();
    std::chrono::nanoseconds nap{0};
    {
      const base::MutexLock lock(mutex_);
      nap = limit_.Take(now);
    }
    if (nap.count() > 0) Rest(now + nap);
  }

  StatusOr<HttpResponse> SendMeasured(const HttpRequest& request) {
    if (!options_.on_answer) return SendOnce(request);
    const auto begin = steady_clock::now();
    auto response = SendOnce(request);
    options_.on_answer(request, response.ok() ? response->status : 0, steady_clock::now() - begin);
    return response;
  }

  // Who is not believed says once more who he is, if he may be somebody else by now: what was asked
  // has not been done.
  StatusOr<HttpResponse> SendOnce(const HttpRequest& request) {
    DRAY_ASSIGN_OR_RETURN(Shown shown, credentials_->Show());
    auto response = SendAs(request, shown);
    if (!response.ok() || response->status != 401 || !credentials_->Refused(shown)) return response;
    DRAY_ASSIGN_OR_RETURN(shown, credentials_->Show());
    return SendAs(request, shown);
  }

  StatusOr<HttpResponse> SendAs(const HttpRequest& request, const Shown& shown) {
    const std::string text = TextOf(request, shown);
    if (std::optional<Connection> kept = TakeIdle(shown)) {
      DRAY_RETURN_IF_ERROR(CheckMay(request));
      auto response = Exchange(*std::move(kept), text);
      // Somebody between us and the server may have ended it just now.
      if (response.ok() || request.method == "POST") return Outcome(request, std::move(response));
      auto connection = Connect(shown);
      if (!connection.ok()) return Outcome(request, connection.status());
      if (Status may = CheckMay(request); !may.ok()) return Outcome(request, std::move(may));
      return Outcome(request, Exchange(*std::move(connection), text));
    }
    DRAY_ASSIGN_OR_RETURN(Connection connection, Connect(shown));
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

  StatusOr<Connection> Connect(const Shown& shown) {
    if (Closed()) return Cancelled();
    Endpoint endpoint = endpoint_;
    endpoint.tls = shown.tls.get();
    DRAY_ASSIGN_OR_RETURN(
        std::unique_ptr<Socket> connected,
        Socket::Connect(endpoint, steady_clock::now() + options_.connect_timeout));
    std::shared_ptr<Socket> socket = std::move(connected);
    const base::MutexLock lock(mutex_);
    if (closed_) return Cancelled();
    std::erase_if(sockets_, [](const std::weak_ptr<Socket>& weak) { return weak.expired(); });
    sockets_.push_back(socket);
    Connection connection{.socket = std::move(socket)};
    connection.version = shown.version;
    return connection;
  }

  std::optional<Connection> TakeIdle(const Shown& shown) {
    const auto oldest = steady_clock::now() - options_.max_idle;
    for (;;) {
      base::MutexLock lock(mutex_);
      if (idle_.empty()) return std::nullopt;
      Connection connection = std::move(idle_.back());
      idle_.pop_back();
      // The last one was used last: if it is too old, all are.
      if (connection.idle_since < oldest) idle_.clear();
      lock.Unlock();
      // One that was made with another certificate is somebody else's.
      if (connection.version != shown.version) continue;
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

  std::string TextOf(const HttpRequest& request, const Shown& shown) const {
    std::string text = fmt::format(
        "{} {}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {}\r\nAccept: {}\r\n", request.method,
        endpoint_.path, request.target, host_, options_.user_agent, request.accept);
    text += shown.header;
    text += internal::ImpersonationHeaders(access_.as);
    if (request.method != "GET") {
      text += fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n", request.content_type,
                          request.body.size());
    }
    return text.append("\r\n").append(request.body);
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
  std::unique_ptr<internal::Credentials> credentials_;
  Endpoint endpoint_;
  std::string host_;
  base::Mutex mutex_;
  base::CondVar closing_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Connection> idle_ ABSL_GUARDED_BY(mutex_);  // the one that was used last, last
  std::vector<std::weak_ptr<Socket>> sockets_ ABSL_GUARDED_BY(mutex_);
  internal::RateLimit limit_ ABSL_GUARDED_BY(mutex_);
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
