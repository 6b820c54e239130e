// SPDX-License-Identifier: Apache-2.0
//
// pods/log, pods/exec, pods/attach and pods/portforward: the pod is looked up here, the node answers.
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/percent.h"
#include "base/time.h"
#include "fmt/format.h"
#include "registry/internal/exchange.h"
#include "registry/internal/node_parts.h"
#include "registry/internal/policy_requests.h"
#include "registry/internal/request_options.h"
#include "registry/policies.h"
#include "rest/api_error.h"

namespace dray::registry::internal {
namespace {

struct NodePart {
  std::string_view name;
  std::string_view path;        // the kubelet's
  std::string_view why_not;     // of a node where nothing is executed
  bool runs_something = false;  // is a process, not a text
};
constexpr std::array<NodePart, 4> kParts = {{
    {"log", "containerLogs", "there is no log", false},
    {"exec", "exec", "there is no process to join", true},
    {"attach", "attach", "there is no process to join", true},
    {"portforward", "portForward", "there is no port to reach", true},
}};

const NodePart* FindPart(const Route& route) {
  if (route.resource != "pods" || route.group != "" || route.name.empty()) return nullptr;
  const auto* part = std::ranges::find(kParts, route.subresource, &NodePart::name);
  return part == kParts.end() ? nullptr : part;
}

std::vector<std::string> NamesOf(const std::vector<api::Container>& containers) {
  std::vector<std::string> names;
  for (const api::Container& container : containers) names.push_back(container.name);
  return names;
}

StatusOr<std::string> ContainerOf(const api::Pod& pod, std::string_view asked) {
  const std::vector<std::string> names = NamesOf(pod.spec.containers);
  const std::vector<std::string> init = NamesOf(pod.spec.init_containers);
  if (asked.empty()) {
    if (names.size() == 1) return names[0];
    const std::string others = init.empty() ? std::string()
                                            : fmt::format(" or one of the init containers: [{}]",
                                                          absl::StrJoin(init, " "));
    return rest::BadRequest(
        fmt::format("a container name must be specified for pod {}, choose one of: [{}]{}",
                    pod.metadata.name, absl::StrJoin(names, " "), others));
  }
  const auto is_debugger = [&](const api::EphemeralContainer& one) {
    return one.common.name == asked;
  };
  if (std::ranges::find(names, asked) == names.end() &&
      std::ranges::find(init, asked) == init.end() &&
      std::ranges::none_of(pod.spec.ephemeral_containers, is_debugger)) {
    return rest::BadRequest(
        fmt::format("container {} is not valid for pod {}", asked, pod.metadata.name));
  }
  return std::string(asked);
}

// Where its kubelet listens; nothing: it has none.
std::optional<std::pair<std::string, std::uint16_t>> AddressOf(const api::Node& node) {
  const std::int32_t port = node.status.daemon_endpoints.kubelet_endpoint.port;
  if (port <= 0 || port > 65535) return std::nullopt;
  for (const std::string_view type : {"InternalIP", "ExternalIP", "InternalDNS", "Hostname"}) {
    const auto& addresses = node.status.addresses;
    const auto it = std::ranges::find(addresses, type, &api::NodeAddress::type);
    if (it != addresses.end()) return std::pair(it->address, static_cast<std::uint16_t>(port));
  }
  return std::nullopt;
}

// A number of at least `least`; nothing: it is not given.
StatusOr<std::optional<std::int64_t>> NumberIn(const Query& query, std::string_view name,
                                               std::int64_t least) {
  const std::string_view text = query.Get(name);
  if (text.empty()) return std::nullopt;
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) {
    return rest::BadRequest(fmt::format("{}: \"{}\" is not a whole number", name, text));
  }
  if (value < least) {
    return rest::BadRequest(
        fmt::format("{}: {} must be greater than or equal to {}", name, value, least));
  }
  return value;
}

class TargetText {
 public:
  void Add(std::string_view name, std::string_view value) {
    text_ += fmt::format("{}{}={}", text_.empty() ? '?' : '&', name, base::PercentEncoded(value));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

StatusOr<std::string> LogQuery(const Query& query) {
  TargetText text;
  for (const std::string_view flag : {"follow", "previous", "timestamps"}) {
    if (query.Has(flag) && IsYes(query.Get(flag))) text.Add(flag, "true");
  }
  struct Number {
    std::string_view name;
    std::int64_t least;
  };
  for (const Number& number :
       {Number{"tailLines", 0}, Number{"limitBytes", 1}, Number{"sinceSeconds", 1}}) {
    DRAY_ASSIGN_OR_RETURN(const auto value, NumberIn(query, number.name, number.least));
    if (value) text.Add(number.name, std::to_string(*value));
  }
  if (const std::string_view since = query.Get("sinceTime"); !since.empty()) {
    if (query.Has("sinceSeconds")) {
      return rest::BadRequest("at most one of `sinceTime` or `sinceSeconds` may be specified");
    }
    if (!base::Time::ParseRfc3339(since).ok()) {
      return rest::BadRequest(fmt::format("sinceTime: \"{}\" is not an RFC 3339 time", since));
    }
    text.Add("sinceTime", since);
  }
  return text.text();
}

StatusOr<std::string> ProcessQuery(const Query& query, bool attach) {
  TargetText text;
  const auto yes = [&](std::string_view name) { return query.Has(name) && IsYes(query.Get(name)); };
  struct Flag {
    std::string_view asked;
    std::string_view passed;
  };
  for (const Flag& flag : {Flag{"stdin", "input"}, Flag{"stdout", "output"},
                           Flag{"stderr", "error"}, Flag{"tty", "tty"}}) {
    if (yes(flag.asked)) text.Add(flag.passed, "1");
  }
  if (!yes("stdin") && !yes("stdout") && !yes("stderr")) {
    return rest::BadRequest("at least one of stdin, stdout, stderr must be specified");
  }
  if (yes("tty") && yes("stderr")) {
    return rest::BadRequest("tty and stderr cannot both be true");
  }
  if (attach) return text.text();
  const std::vector<std::string> command = query.All("command");
  if (command.empty())
    return rest::BadRequest("you must specify at least 1 command for the container");
  for (const std::string& word : command) text.Add("command", word);
  return text.text();
}

// Of a request that wants another protocol; everything else is between the client and this server.
apiserver::Headers UpgradeHeaders(const apiserver::Request& request) {
  apiserver::Headers headers;
  for (const auto& [name, value] : request.headers.list) {
    const absl::string_view text(name.data(), name.size());
    const bool passed = absl::EqualsIgnoreCase(text, "Upgrade") ||
                        absl::EqualsIgnoreCase(text, "X-Stream-Protocol-Version") ||
                        absl::StartsWithIgnoreCase(text, "Sec-WebSocket-");
    if (passed) headers.Add(name, value);
  }
  return headers;
}

Status WhyNot(const NodePart& part, std::string_view pod) {
  return rest::ToStatus(
      {.code = 501,
       .reason = "NotImplemented",
       .message = fmt::format("pods \"{}\" is on a simulated node, where no containers run: {}",
                              pod, part.why_not),
       .details = rest::StatusDetails{.name = std::string(pod), .kind = "pods"}});
}

// Nobody has said that something runs there, or the hollow nodes have (hollow/hollow_nodes.cc).
bool IsSimulated(const api::Node& node) {
  const std::string_view runtime = node.status.node_info.container_runtime_version;
  return runtime.empty() || runtime.starts_with("hollow://");
}

// Somebody runs it, but has not said where he is.
Status NoAddress(std::string_view node) {
  return rest::ToStatus(
      {.code = 503,
       .reason = "ServiceUnavailable",
       .message =
           fmt::format("node \"{}\" says neither an address nor a port of its kubelet in its "
                       "status that could be reached",
                       node),
       .details = rest::StatusDetails{.name = std::string(node), .kind = "nodes"}});
}

StatusOr<NodeRequest> RequestFor(const Exchange& exchange, const NodePart& part, bool& nothing) {
  const Route& route = exchange.route;
  DRAY_ASSIGN_OR_RETURN(const auto found, exchange.registry->objects().Find(
                                              exchange.kind(), route.namespace_, route.name));
  if (!found) return rest::NotFound(exchange.kind(), route.name);
  const api::Pod& pod = *found->object().As<api::Pod>();
  const bool of_pod = part.name == "portforward";  // not of one container
  std::string container;
  if (!of_pod) {
    DRAY_ASSIGN_OR_RETURN(container, ContainerOf(pod, exchange.query.Get("container")));
  }
  std::string query;
  if (of_pod) {
    if (pod.status.phase == api::kPodSucceeded || pod.status.phase == api::kPodFailed) {
      return rest::BadRequest(fmt::format(
          "cannot forward ports of a completed pod; current phase is {}", pod.status.phase));
    }
  } else if (part.runs_something) {
    DRAY_ASSIGN_OR_RETURN(query, ProcessQuery(exchange.query, part.name == "attach"));
    if (pod.status.phase == api::kPodSucceeded || pod.status.phase == api::kPodFailed) {
      return rest::BadRequest(
          fmt::format("cannot exec into a container in a completed pod; current phase is {}",
                      pod.status.phase));
    }
  } else {
    DRAY_ASSIGN_OR_RETURN(query, LogQuery(exchange.query));
  }
  if (pod.spec.node_name.empty()) {
    if (part.runs_something) {
      return rest::BadRequest(fmt::format("pod {} does not have a host assigned", route.name));
    }
    nothing = true;  // it has written nothing yet
    return NodeRequest{};
  }
  const api::KindInfo& nodes = *api::FindKind("v1", "Node");
  DRAY_ASSIGN_OR_RETURN(const auto node,
                        exchange.registry->objects().Find(nodes, "", pod.spec.node_name));
  if (!node) return rest::NotFound(nodes, pod.spec.node_name);
  const api::Node& its = *node->object().As<api::Node>();
  const auto address = AddressOf(its);
  if (!address && !IsSimulated(its)) return NoAddress(pod.spec.node_name);
  if (!address) return WhyNot(part, route.name);
  return NodeRequest{.node = pod.spec.node_name,
                     .address = address->first,
                     .port = address->second,
                     .method = exchange.request.method,
                     .target = fmt::format("/{}/{}/{}{}{}{}", part.path, route.namespace_,
                                           route.name, of_pod ? "" : "/", container, query),
                     .headers = UpgradeHeaders(exchange.request)};
}

}  // namespace

bool IsNodePart(const Route& route) { return FindPart(route) != nullptr; }

bool RunsSomething(const Route& route) {
  const NodePart* part = FindPart(route);
  return part != nullptr && part->runs_something;
}

void HandleNodePart(const ExchangePtr& exchange, NodeDoor* door) {
  const NodePart& part = *FindPart(exchange->route);
  bool nothing = false;
  auto request = RequestFor(*exchange, part, nothing);
  if (!request.ok()) return exchange->SendError(request.status());
  if (nothing) return exchange->SendText(200, "");
  if (part.runs_something && request->headers.Find("Upgrade").empty()) {
    return exchange->SendError(rest::BadRequest(
        "Upgrade request required: a process is joined over WebSocket (kubectl 1.31 or newer)"));
  }
  if (part.runs_something && exchange->notes != nullptr) {
    const PolicyRequest joining = ConnectRequest(*exchange);
    const Status admitted = exchange->registry->AdmitOther(joining.request, exchange->notes.get());
    if (!admitted.ok()) return exchange->SendError(admitted);
  }
  if (door == nullptr) return exchange->SendError(WhyNot(part, exchange->route.name));
  exchange->Note("asked the node");
  door->Ask(*std::move(request),
            [exchange](apiserver::Response response) { exchange->Answer(std::move(response)); });
}

}  // namespace dray::registry::internal
