// SPDX-License-Identifier: Apache-2.0
#include "streaming/handler.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "absl/strings/str_split.h"
#include "base/time.h"
#include "fmt/format.h"
#include "streaming/internal/log_stream.h"
#include "streaming/internal/process_stream.h"
#include "websocket/channels.h"
#include "websocket/handshake.h"

namespace dray::streaming {
namespace {

// How often a log that is followed is looked at.
constexpr std::chrono::milliseconds kLook{200};

std::string Decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* at = text.data() + i;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(at + 1, at + 3, value, 16).ptr == at + 3) {
      decoded += static_cast<char>(value);
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

// Parameters in order.
class Parameters {
 public:
  explicit Parameters(std::string_view query) {
    for (const absl::string_view piece :
         absl::StrSplit(base::ToAbsl(query), '&', absl::SkipEmpty())) {
      const std::string_view part(piece.data(), piece.size());
      const std::size_t equals = part.find('=');
      values_.emplace_back(Decoded(part.substr(0, equals)),
                           equals == part.npos ? std::string() : Decoded(part.substr(equals + 1)));
    }
  }
  std::optional<std::string> Find(std::string_view name) const {
    const auto it = std::ranges::find(values_, name, &std::pair<std::string, std::string>::first);
    return it == values_.end() ? std::nullopt : std::optional(it->second);
  }
  bool Yes(std::string_view name) const {
    const auto value = Find(name);
    return value && (*value == "1" || *value == "true" || value->empty());
  }
  StatusOr<std::optional<std::int64_t>> Number(std::string_view name) const {
    const auto text = Find(name);
    if (!text || text->empty()) return std::nullopt;
    std::int64_t value = 0;
    const char* end = text->data() + text->size();
    const auto read = std::from_chars(text->data(), end, value);
    if (read.ec != std::errc() || read.ptr != end || value < 0) {
      return base::InvalidArgument(fmt::format("{}: \"{}\"; expected a whole number", name, *text));
    }
    return value;
  }
  std::vector<std::string> All(std::string_view name) const {
    std::vector<std::string> all;
    for (const auto& [key, value] : values_) {
      if (key == name) all.push_back(value);
    }
    return all;
  }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

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

StatusOr<container::LogOptions> LogOptionsOf(const Parameters& parameters, base::Time now) {
  container::LogOptions options;
  DRAY_ASSIGN_OR_RETURN(options.tail_lines, parameters.Number("tailLines"));
  DRAY_ASSIGN_OR_RETURN(options.limit_bytes, parameters.Number("limitBytes"));
  DRAY_ASSIGN_OR_RETURN(const auto seconds, parameters.Number("sinceSeconds"));
  // Before anything that there can be is early enough.
  constexpr std::int64_t kCenturies = 10'000'000'000 / 2;
  if (seconds) options.since = now - std::chrono::seconds(std::min(*seconds, kCenturies));
  if (const auto since = parameters.Find("sinceTime"); since && !since->empty()) {
    const auto time = base::Time::ParseRfc3339(*since);
    if (!time.ok()) {
      return base::InvalidArgument(
          fmt::format("sinceTime: \"{}\"; expected a time as in RFC 3339", *since));
    }
    options.since = *time;
  }
  options.timestamps = parameters.Yes("timestamps");
  return options;
}

// What one request is about.
struct Asked {
  std::string what;  // containerLogs, exec, attach
  std::string namespace_;
  std::string pod;
  std::string container;
  Parameters parameters;
};

void AnswerLogs(const Asked& asked, const ContainerPlace& place, Containers& containers,
                base::Time now, apiserver::Responder& responder) {
  const auto options = LogOptionsOf(asked.parameters, now);
  if (!options.ok()) return responder.Send(Failure(options.status()));
  const bool previous = asked.parameters.Yes("previous");
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
  const bool follow = asked.parameters.Yes("follow") && !previous && place.running;
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
  const auto agreed = websocket::Agree({.upgrade = headers.Find("Upgrade"),
                                        .version = headers.Find("Sec-WebSocket-Version"),
                                        .key = headers.Find("Sec-WebSocket-Key"),
                                        .protocols = headers.Find("Sec-WebSocket-Protocol")},
                                       websocket::kChannelProtocols);
  if (!agreed.ok()) return responder.Send(Failure(agreed.status()));
  if (!place.running) {
    return responder.Send(Text(400, fmt::format("container \"{}\" in pod \"{}\" is not running",
                                                asked.container, asked.pod)));
  }
  internal::ProcessRequest request;
  request.exec.container_id = place.id;
  if (asked.what == "exec") {
    request.exec.command = asked.parameters.All("command");
    if (request.exec.command.empty()) {
      return responder.Send(Text(400, "command: expected at least one"));
    }
  }
  request.exec.tty = asked.parameters.Yes("tty");
  request.exec.stdin = asked.parameters.Yes("input");
  request.out = asked.parameters.Yes("output");
  request.err = asked.parameters.Yes("error") && !request.exec.tty;
  request.can_close_channels = agreed->protocol == websocket::kChannelProtocols[0];
  apiserver::Response response{.status = 101};
  response.headers.Add("Upgrade", "websocket");
  response.headers.Add("Sec-WebSocket-Accept", agreed->accept);
  response.headers.Add("Sec-WebSocket-Protocol", agreed->protocol);
  response.stream = internal::MakeProcessStream(runtime, std::move(request));
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
  const bool known = parts.size() == 4 &&
                     (parts[0] == "containerLogs" || parts[0] == "exec" || parts[0] == "attach");
  if (!known) return responder->Send(Text(404, "404 page not found"));
  if (request.method != "GET" && request.method != "POST") {
    return responder->Send(Text(405, "expected GET"));
  }
  Asked asked{.what = parts[0],
              .namespace_ = Decoded(parts[1]),
              .pod = Decoded(parts[2]),
              .container = Decoded(parts[3]),
              .parameters = Parameters(request.query)};
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
