// SPDX-License-Identifier: Apache-2.0
#include "streaming/handler.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "apiserver/query.h"
#include "base/integer.h"
#include "base/percent.h"
#include "base/seconds.h"
#include "base/time.h"
#include "fmt/format.h"
#include "streaming/internal/log_stream.h"
#include "streaming/internal/port_stream.h"
#include "streaming/internal/process_stream.h"
#include "streaming/internal/spdy_process_stream.h"
#include "websocket/channels.h"
#include "websocket/handshake.h"

namespace dray::streaming {
namespace {

// How often a log that is followed is looked at.
constexpr std::chrono::milliseconds kLook{200};

bool Yes(const apiserver::Query& query, std::string_view name) {
  const std::string_view value = query.Get(name);
  return query.Has(name) && (value == "1" || value == "true" || value.empty());
}

// Nothing: it is not given.
StatusOr<std::optional<std::int64_t>> Number(const apiserver::Query& query, std::string_view name) {
  const std::string_view text = query.Get(name);
  if (text.empty()) return std::nullopt;
  const auto value = base::ParseInteger(text);
  if (!value || *value < 0) {
    return base::InvalidArgument(fmt::format("{}: \"{}\"; expected a whole number", name, text));
  }
  return value;
}

apiserver::Response Text(int status, std::string text) {
  apiserver::Response response{.status = status};
  response.headers.Add("Content-Type", "text/plain; charset=utf-8");
  response.body = std::make_shared<const std::string>(std::move(text) + "\n");
  return response;
}

apiserver::Response Failure(const Status& status) {
  const std::string text(status.message());
  switch (status.code()) {
    case StatusCode::kNotFound:
      return Text(404, text);
    case StatusCode::kInvalidArgument:
      return Text(400, text);
    default:
      return Text(500, text);
  }
}

StatusOr<container::LogOptions> LogOptionsOf(const apiserver::Query& query, base::Time now) {
  container::LogOptions options;
  DRAY_ASSIGN_OR_RETURN(options.tail_lines, Number(query, "tailLines"));
  DRAY_ASSIGN_OR_RETURN(options.limit_bytes, Number(query, "limitBytes"));
  DRAY_ASSIGN_OR_RETURN(const auto seconds, Number(query, "sinceSeconds"));
  if (seconds) options.since = now - base::BoundedSeconds(*seconds);
  if (const std::string_view since = query.Get("sinceTime"); !since.empty()) {
    const auto time = base::Time::ParseRfc3339(since);
    if (!time.ok()) {
      return base::InvalidArgument(
          fmt::format("sinceTime: \"{}\"; expected a time as in RFC 3339", since));
    }
    options.since = *time;
  }
  options.timestamps = Yes(query, "timestamps");
  return options;
}

// How SPDY is spoken; one header for each way that the client knows.
constexpr std::string_view kStreamVersion = "X-Stream-Protocol-Version";

bool IsSpdy(const apiserver::Headers& headers) {
  return absl::EqualsIgnoreCase(base::ToAbsl(headers.Find("Upgrade")),
                                base::ToAbsl(internal::kSpdy));
}
bool Offers(const apiserver::Headers& headers, std::string_view version) {
  return std::ranges::any_of(headers.list, [&](const auto& header) {
    return absl::EqualsIgnoreCase(header.first, base::ToAbsl(kStreamVersion)) &&
           header.second.find(version) != std::string::npos;
  });
}

// What one request is about.
struct Asked {
  std::string what;  // containerLogs, exec, attach
  std::string namespace_;
  std::string pod;
  std::string container;
  apiserver::Query query;
};

void AnswerLogs(const Asked& asked, const ContainerPlace& place, Containers& containers,
                base::Time now, apiserver::Responder& responder) {
  const auto options = LogOptionsOf(asked.query, now);
  if (!options.ok()) return responder.Send(Failure(options.status()));
  const bool previous = Yes(asked.query, "previous");
  if (previous && place.previous_log_path.empty()) {
    return responder.Send(
        Text(400, fmt::format("previous terminated container \"{}\" in pod \"{}\" not found",
                              asked.container, asked.pod)));
  }
  if (!previous && place.id.empty()) {
    return responder.Send(
        Text(400, fmt::format("container \"{}\" in pod \"{}\" is waiting to start", asked.container,
                              asked.pod)));
  }
  const bool follow = Yes(asked.query, "follow") && !previous && place.running;
  internal::AskRunning ask;
  if (follow) {
    ask = [&containers, asked, id = place.id](std::function<void(bool)> then) {
      containers.Find(asked.namespace_, asked.pod, asked.container,
                      [then = std::move(then), id](const StatusOr<ContainerPlace>& now_at) {
                        then(now_at.ok() && now_at->running && now_at->id == id);
                      });
    };
  }
  apiserver::Response response;
  response.headers.Add("Content-Type", "text/plain");
  response.stream = internal::MakeLogStream(previous ? place.previous_log_path : place.log_path,
                                            *options, std::move(ask));
  if (follow) response.tick = kLook;
  responder.Send(std::move(response));
}

void AnswerProcess(const Asked& asked, const ContainerPlace& place,
                   const apiserver::Headers& headers, container::Runtime& runtime,
                   apiserver::Responder& responder) {
  const bool spdy = IsSpdy(headers);
  StatusOr<websocket::Agreed> agreed = websocket::Agreed();
  if (spdy) {
    if (!Offers(headers, internal::kSpdyChannels)) {
      return responder.Send(
          Text(403, fmt::format("{}: expected {}", kStreamVersion, internal::kSpdyChannels)));
    }
  } else {
    agreed = websocket::Agree({.upgrade = headers.Find("Upgrade"),
                               .version = headers.Find("Sec-WebSocket-Version"),
                               .key = headers.Find("Sec-WebSocket-Key"),
                               .protocols = headers.Find("Sec-WebSocket-Protocol")},
                              websocket::kChannelProtocols);
    if (!agreed.ok()) return responder.Send(Failure(agreed.status()));
  }
  if (!place.running) {
    return responder.Send(Text(400, fmt::format("container \"{}\" in pod \"{}\" is not running",
                                                asked.container, asked.pod)));
  }
  internal::ProcessRequest request;
  request.exec.container_id = place.id;
  if (asked.what == "exec") {
    request.exec.command = asked.query.All("command");
    if (request.exec.command.empty()) {
      return responder.Send(Text(400, "command: expected at least one"));
    }
  }
  request.exec.tty = Yes(asked.query, "tty");
  request.exec.stdin = Yes(asked.query, "input");
  request.out = Yes(asked.query, "output");
  request.err = Yes(asked.query, "error") && !request.exec.tty;
  apiserver::Response response{.status = 101};
  if (spdy) {
    response.headers.Add("Upgrade", std::string(internal::kSpdy));
    response.headers.Add(std::string(kStreamVersion), std::string(internal::kSpdyChannels));
    response.stream = internal::MakeSpdyProcessStream(runtime, std::move(request));
    return responder.Send(std::move(response));
  }
  request.can_close_channels = agreed->protocol == websocket::kChannelProtocols[0];
  response.headers.Add("Upgrade", "websocket");
  response.headers.Add("Sec-WebSocket-Accept", agreed->accept);
  response.headers.Add("Sec-WebSocket-Protocol", agreed->protocol);
  response.stream = internal::MakeProcessStream(runtime, std::move(request));
  responder.Send(std::move(response));
}

// kubectl speaks SPDY, within a WebSocket or, if that is refused, as it is.
void AnswerPorts(const std::string& pod, const StatusOr<std::string>& sandbox,
                 const apiserver::Headers& headers, container::Runtime& runtime,
                 apiserver::Responder& responder) {
  if (!sandbox.ok()) return responder.Send(Failure(sandbox.status()));
  internal::PortRequest request{.sandbox_id = *sandbox, .pod = pod};
  apiserver::Response response{.status = 101};
  if (IsSpdy(headers)) {
    if (!Offers(headers, internal::kPortForward)) {
      return responder.Send(
          Text(403, fmt::format("{}: expected {}", kStreamVersion, internal::kPortForward)));
    }
    response.headers.Add("Upgrade", std::string(internal::kSpdy));
    response.headers.Add(std::string(kStreamVersion), std::string(internal::kPortForward));
  } else {
    const std::array<std::string_view, 1> spoken = {internal::kTunnel};
    const auto agreed = websocket::Agree({.upgrade = headers.Find("Upgrade"),
                                          .version = headers.Find("Sec-WebSocket-Version"),
                                          .key = headers.Find("Sec-WebSocket-Key"),
                                          .protocols = headers.Find("Sec-WebSocket-Protocol")},
                                         spoken);
    if (!agreed.ok()) return responder.Send(Failure(agreed.status()));
    response.headers.Add("Upgrade", "websocket");
    response.headers.Add("Sec-WebSocket-Accept", agreed->accept);
    response.headers.Add("Sec-WebSocket-Protocol", agreed->protocol);
    request.websocket = true;
  }
  response.stream = internal::MakePortStream(runtime, std::move(request));
  responder.Send(std::move(response));
}

}  // namespace

Handler::Handler(Containers& containers, container::Runtime& runtime, const base::Clock& clock,
                 HandlerOptions options)
    : containers_(containers), runtime_(runtime), clock_(clock), options_(std::move(options)) {}

bool Handler::MayAsk(const apiserver::User& user) const {
  return std::ranges::find(options_.users, user.name) != options_.users.end() ||
         std::ranges::find(user.groups, "system:masters") != user.groups.end();
}

void Handler::Handle(apiserver::Request request, std::shared_ptr<apiserver::Responder> responder) {
  if (request.path == "/healthz") return responder->Send(Text(200, "ok"));
  if (!MayAsk(request.user)) {
    const int code = request.user.anonymous() ? 401 : 403;
    return responder->Send(Text(
        code, fmt::format("\"{}\" may not ask this node; the API server may", request.user.name)));
  }
  const std::vector<std::string> parts =
      absl::StrSplit(absl::string_view(request.path).substr(1), '/');
  if (parts[0] == "portForward" && (parts.size() == 3 || parts.size() == 4)) {
    const std::string namespace_ = base::PercentDecoded(parts[1]);
    const std::string pod = base::PercentDecoded(parts[2]);
    return containers_.FindSandbox(
        namespace_, pod,
        [this, name = fmt::format("{}/{}", namespace_, pod), headers = std::move(request.headers),
         responder](const StatusOr<std::string>& sandbox) {
          AnswerPorts(name, sandbox, headers, runtime_, *responder);
        });
  }
  const bool known = parts.size() == 4 &&
                     (parts[0] == "containerLogs" || parts[0] == "exec" || parts[0] == "attach");
  if (!known) return responder->Send(Text(404, "404 page not found"));
  if (request.method != "GET" && request.method != "POST") {
    return responder->Send(Text(405, "expected GET"));
  }
  Asked asked{.what = parts[0],
              .namespace_ = base::PercentDecoded(parts[1]),
              .pod = base::PercentDecoded(parts[2]),
              .container = base::PercentDecoded(parts[3]),
              .query = apiserver::Query(request.query)};
  containers_.Find(asked.namespace_, asked.pod, asked.container,
                   [this, asked, headers = std::move(request.headers),
                    responder](const StatusOr<ContainerPlace>& place) {
                     if (!place.ok()) return responder->Send(Failure(place.status()));
                     if (asked.what == "containerLogs") {
                       return AnswerLogs(asked, *place, containers_, clock_.Now(), *responder);
                     }
                     AnswerProcess(asked, *place, headers, runtime_, *responder);
                   });
}

}  // namespace dray::streaming
