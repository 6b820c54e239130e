// SPDX-License-Identifier: Apache-2.0
#include "client/http_client.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.h"
#include "base/mutex.h"
#include "client/internal/credentials.h"
#include "client/internal/http1_exchange.h"
#include "client/internal/http2_connection.h"
#include "client/internal/impersonation.h"
#include "client/internal/rate_limit.h"
#include "client/internal/socket.h"
#include "fmt/format.h"
#include "rest/api_error.h"

namespace dray::client {
namespace {

using internal::Deadline;
using internal::Endpoint;
using internal::HeadFields;
using internal::Http1Connection;
using internal::Http2Connection;
using internal::Socket;
using Shown = internal::Credentials::Shown;
using Kind = Http2Connection::Outcome::Kind;
using std::chrono::steady_clock;

// How much of an answer that is no Status is shown.
constexpr std::size_t kShownBytes = 200;
// How often a request is sent that a server says it has not looked at.
constexpr int kTries = 4;

// "Name: value\r\n" as HTTP/2 writes it.
void AddFields(std::string_view lines, HeadFields& fields) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find("\r\n"), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 2, lines.size()));
    const std::size_t colon = line.find(": ");
    if (colon == line.npos) continue;
    std::string name(line.substr(0, colon));
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    fields.emplace_back(std::move(name), line.substr(colon + 2));
  }
}

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
    {
      const base::MutexLock lock(mutex_);
      shares_ = options_.http2 && access_.url.starts_with("https://");
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
    const auto head_within = std::min(options_.request_timeout, silence);
    for (int left = kTries;; --left) {
      // A stream of HTTP/1.1 has its connection for itself.
      DRAY_ASSIGN_OR_RETURN(Route route, FindRoute(shown, /*fresh=*/true));
      if (!route.http2) {
        const std::string text = TextOf(request, shown);
        const internal::Http1Limits limits{options_.request_timeout, options_.max_response_bytes,
                                           options_.max_line_bytes};
        DRAY_ASSIGN_OR_RETURN(auto opened,
                              OpenHttp1(*std::move(route.http1), text, limits, longest, silence));
        if (opened.stream != nullptr) return std::move(opened.stream);
        return RefusalOf(opened.refusal, shown);
      }
      const Deadline now = steady_clock::now();
      auto opened = route.http2->Open(FieldsOf(request, shown), now + head_within, now + longest,
                                      silence, options_.max_response_bytes);
      if (opened.stream != nullptr) return std::move(opened.stream);
      const Http2Connection::Outcome& outcome = opened.outcome;
      if (outcome.kind == Kind::kAnswered) return RefusalOf(outcome.response, shown);
      NoteRefusal(outcome.kind);
      // It changes nothing, so it may be asked again; but who does not answer in time is not waited for twice.
      const bool again =
          outcome.kind == Kind::kNotProcessed || outcome.kind == Kind::kWantsHttp1 ||
          (outcome.kind == Kind::kBroken && route.kept && steady_clock::now() < now + head_within);
      if (!again || left <= 1) return outcome.status;
    }
  }

  void Close() override {
    const base::MutexLock lock(mutex_);
    closed_ = true;
    idle_.clear();
    for (const std::weak_ptr<Socket>& weak : sockets_) {
      if (const auto socket = weak.lock()) socket->Interrupt();
    }
    for (const std::weak_ptr<Http2Connection>& weak : shared_) {
      if (const auto connection = weak.lock()) connection->Fail(Cancelled());
    }
    closing_.NotifyAll();
    connected_.NotifyAll();
  }

 private:
  // The way that a request takes: one of them.
  struct Route {
    std::shared_ptr<Http2Connection> http2;
    std::optional<Http1Connection> http1;
    bool kept = false;  // it was there before
  };

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
    bool sent = false;  // at least once, and what became of it is not known
    const auto failed = [&](Status status) -> StatusOr<HttpResponse> {
      return sent ? Outcome(request, std::move(status)) : std::move(status);
    };
    for (int left = kTries;; --left) {
      auto route = FindRoute(shown, /*fresh=*/sent);
      if (!route.ok()) return failed(route.status());
      if (Status may = CheckMay(request); !may.ok()) {
        GiveBack(*std::move(route));
        return failed(std::move(may));
      }
      Http2Connection::Outcome outcome = Exchange(*route, request, shown);
      if (outcome.kind == Kind::kAnswered) return std::move(outcome.response);
      NoteRefusal(outcome.kind);
      if (outcome.kind == Kind::kNotProcessed || outcome.kind == Kind::kWantsHttp1) {
        // Nothing was done, whatever it is.
        if (left > 1) continue;
        return failed(std::move(outcome.status));
      }
      // Somebody between us and the server may have ended a kept connection just now.
      const bool again = !sent && outcome.kind == Kind::kBroken && route->kept &&
                         request.method != "POST" && left > 1;
      sent = true;
      if (!again) return failed(std::move(outcome.status));
    }
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

  Http2Connection::Outcome Exchange(Route& route, const HttpRequest& request, const Shown& shown) {
    if (route.http2 != nullptr) {
      return route.http2->Exchange(
          FieldsOf(request, shown), request.body, steady_clock::now() + options_.request_timeout,
          options_.max_response_bytes, request.method == "GET" ? nullptr : options_.may_write);
    }
    bool keep = false;
    auto response = ExchangeHttp1(
        *route.http1, TextOf(request, shown),
        {options_.request_timeout, options_.max_response_bytes, options_.max_line_bytes}, keep);
    if (keep) Keep(*std::move(route.http1));
    if (!response.ok()) return {.kind = Kind::kBroken, .status = response.status()};
    return {.kind = Kind::kAnswered, .response = *std::move(response)};
  }

  // An error of a stream that was not opened.
  Status RefusalOf(const HttpResponse& response, const Shown& shown) {
    // Whoever opens it again is somebody else then.
    if (response.status == 401) credentials_->Refused(shown);
    return FailureOf(response);
  }

  void NoteRefusal(Kind kind) {
    if (kind != Kind::kWantsHttp1) return;
    const base::MutexLock lock(mutex_);
    http1_only_ = true;
  }

  // A place that was taken and is not needed.
  void GiveBack(Route route) {
    if (route.http2 != nullptr) route.http2->Release();
    if (route.http1) Keep(*std::move(route.http1));
  }

  // A connection that is there, or another one. With HTTP/2 one is enough for all: who comes while it is being made
  // waits for it. `fresh`: not one of HTTP/1.1 that was kept.
  StatusOr<Route> FindRoute(const Shown& shown, bool fresh) {
    {
      base::MutexLock lock(mutex_);
      for (;;) {
        if (closed_) return Cancelled();
        if (auto shared = FindShared(shown)) return Route{.http2 = std::move(shared), .kept = true};
        if (!connecting_ || !shares_) break;
        const std::uint64_t attempt = attempts_;
        while (connecting_ && attempt == attempts_ && !closed_) connected_.Wait(mutex_);
        // What somebody else has just been told, everybody is.
        if (!closed_ && attempt + 1 == attempts_ && !attempt_.ok()) return attempt_;
      }
      // Nobody else begins to connect meanwhile where there is only HTTP/2.
      if (!fresh && !idle_.empty()) {
        lock.Unlock();
        if (auto kept = TakeIdle(shown)) return Route{.http1 = std::move(kept), .kept = true};
        lock.Lock();
      }
      connecting_ = true;
    }
    auto route = Connect(shown);
    const base::MutexLock lock(mutex_);
    connecting_ = false;
    ++attempts_;
    attempt_ = route.status();
    connected_.NotifyAll();
    return route;
  }

  // One that has room; those that have come to their end are forgotten.
  std::shared_ptr<Http2Connection> FindShared(const Shown& shown)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::erase_if(http2_, [&](const auto& connection) {
      return connection->version() != shown.version || !connection->Usable();
    });
    if (http1_only_) return nullptr;
    for (const auto& connection : http2_) {
      const bool last = connection == http2_.back();
      if (connection->Reserve(last && http2_.size() >= options_.max_idle_connections)) {
        return connection;
      }
    }
    return nullptr;
  }

  StatusOr<Route> Connect(const Shown& shown) {
    Endpoint endpoint = endpoint_;
    endpoint.tls = shown.tls.get();
    {
      const base::MutexLock lock(mutex_);
      endpoint.http2 = options_.http2 && !http1_only_;
    }
    DRAY_ASSIGN_OR_RETURN(
        std::unique_ptr<Socket> socket,
        Socket::Connect(endpoint, steady_clock::now() + options_.connect_timeout));
    Route route;
    if (socket->http2()) {
      route.http2 = Http2Connection::Start(std::move(socket), shown.version,
                                           {.ping_after = options_.ping_after,
                                            .ping_timeout = options_.ping_timeout,
                                            .max_idle = options_.max_idle,
                                            .max_line_bytes = options_.max_line_bytes});
      route.http2->Reserve(/*anyway=*/true);
    } else {
      route.http1.emplace();
      route.http1->socket = std::move(socket);
      route.http1->version = shown.version;
    }
    const base::MutexLock lock(mutex_);
    if (closed_) return Cancelled();
    shares_ = route.http2 != nullptr;
    if (route.http2 != nullptr) {
      http2_.push_back(route.http2);
      std::erase_if(shared_, [](const auto& weak) { return weak.expired(); });
      shared_.push_back(route.http2);
    } else {
      std::erase_if(sockets_, [](const std::weak_ptr<Socket>& weak) { return weak.expired(); });
      sockets_.push_back(route.http1->socket);
    }
    return route;
  }

  std::optional<Http1Connection> TakeIdle(const Shown& shown) {
    const auto oldest = steady_clock::now() - options_.max_idle;
    for (;;) {
      base::MutexLock lock(mutex_);
      if (idle_.empty()) return std::nullopt;
      Http1Connection connection = std::move(idle_.back());
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

  void Keep(Http1Connection connection) {
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

  HeadFields FieldsOf(const HttpRequest& request, const Shown& shown) const {
    HeadFields fields = {{":method", request.method},
                         {":scheme", "https"},
                         {":authority", host_},
                         {":path", endpoint_.path + request.target},
                         {"user-agent", options_.user_agent},
                         {"accept", request.accept}};
    AddFields(shown.header, fields);
    AddFields(internal::ImpersonationHeaders(access_.as), fields);
    if (request.method != "GET") {
      fields.emplace_back("content-type", request.content_type);
      fields.emplace_back("content-length", std::to_string(request.body.size()));
    }
    return fields;
  }

  static Status Cancelled() {
    return base::MakeStatus(StatusCode::kCancelled, "the client was closed");
  }

  const ServerAccess access_;
  const HttpOptions options_;
  std::unique_ptr<internal::Credentials> credentials_;
  Endpoint endpoint_;
  std::string host_;
  base::Mutex mutex_;
  base::CondVar closing_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  // HTTP/1.1, the one that was used last, last.
  std::vector<Http1Connection> idle_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<Socket>> sockets_ ABSL_GUARDED_BY(mutex_);
  // For new requests; and all that somebody may wait on, also those that the server is leaving.
  std::vector<std::shared_ptr<Http2Connection>> http2_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<Http2Connection>> shared_ ABSL_GUARDED_BY(mutex_);
  bool http1_only_ ABSL_GUARDED_BY(mutex_) = false;  // the server has asked for it
  // Somebody connects. Others wait for that while they may hope to share it.
  bool connecting_ ABSL_GUARDED_BY(mutex_) = false;
  bool shares_ ABSL_GUARDED_BY(mutex_) = true;
  std::uint64_t attempts_ ABSL_GUARDED_BY(mutex_) = 0;
  Status attempt_ ABSL_GUARDED_BY(mutex_);  // what came of the last one
  base::CondVar connected_;
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
