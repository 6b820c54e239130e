// SPDX-License-Identifier: Apache-2.0
#include "node/actions.h"

#include <algorithm>
#include <variant>

#include "api/field_table.h"
#include "api/json.h"
#include "base/seconds.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

struct ExecAction {
  std::vector<std::string> command;
};
struct HttpHeader {
  std::string name;
  std::string value;
};
struct HttpAction {
  std::string path;
  api::IntOrString port;
  std::string host;
  std::string scheme;
  std::vector<HttpHeader> headers;
};
struct TcpAction {
  api::IntOrString port;
  std::string host;
};
struct GrpcAction {
  std::int32_t port = 0;
  std::string service;
};
struct SleepAction {
  std::int64_t seconds = 0;
};
struct ProbeJson {
  api::Box<ExecAction> exec;
  api::Box<HttpAction> http;
  api::Box<TcpAction> tcp;
  api::Box<GrpcAction> grpc;
  std::int32_t initial_delay = 0;
  std::int32_t timeout = 0;
  std::int32_t period = 0;
  std::int32_t successes = 0;
  std::int32_t failures = 0;
  std::optional<std::int64_t> grace;
};
struct HookJson {
  api::Box<ExecAction> exec;
  api::Box<HttpAction> http;
  api::Box<TcpAction> tcp;
  api::Box<SleepAction> sleep;
};
struct LifecycleJson {
  api::Box<HookJson> post_start;
  api::Box<HookJson> pre_stop;
  std::string stop_signal;
};

const api::StructInfo& InfoOf(const ExecAction*) {
  static const api::StructInfo info =
      api::Struct<ExecAction>("ExecAction", {api::Field<&ExecAction::command>("command")});
  return info;
}
const api::StructInfo& InfoOf(const HttpHeader*) {
  static const api::StructInfo info = api::Struct<HttpHeader>(
      "HTTPHeader",
      {api::Field<&HttpHeader::name>("name"), api::Field<&HttpHeader::value>("value")});
  return info;
}
const api::StructInfo& InfoOf(const HttpAction*) {
  static const api::StructInfo info = api::Struct<HttpAction>(
      "HTTPGetAction",
      {api::Field<&HttpAction::path>("path"), api::Field<&HttpAction::port>("port"),
       api::Field<&HttpAction::host>("host"), api::Field<&HttpAction::scheme>("scheme"),
       api::Field<&HttpAction::headers>("httpHeaders")});
  return info;
}
const api::StructInfo& InfoOf(const TcpAction*) {
  static const api::StructInfo info = api::Struct<TcpAction>(
      "TCPSocketAction",
      {api::Field<&TcpAction::port>("port"), api::Field<&TcpAction::host>("host")});
  return info;
}
const api::StructInfo& InfoOf(const GrpcAction*) {
  static const api::StructInfo info = api::Struct<GrpcAction>(
      "GRPCAction",
      {api::Field<&GrpcAction::port>("port"), api::Field<&GrpcAction::service>("service")});
  return info;
}
const api::StructInfo& InfoOf(const SleepAction*) {
  static const api::StructInfo info =
      api::Struct<SleepAction>("SleepAction", {api::Field<&SleepAction::seconds>("seconds")});
  return info;
}
const api::StructInfo& InfoOf(const ProbeJson*) {
  static const api::StructInfo info = api::Struct<ProbeJson>(
      "Probe", {api::Field<&ProbeJson::exec>("exec"), api::Field<&ProbeJson::http>("httpGet"),
                api::Field<&ProbeJson::tcp>("tcpSocket"), api::Field<&ProbeJson::grpc>("grpc"),
                api::Field<&ProbeJson::initial_delay>("initialDelaySeconds"),
                api::Field<&ProbeJson::timeout>("timeoutSeconds"),
                api::Field<&ProbeJson::period>("periodSeconds"),
                api::Field<&ProbeJson::successes>("successThreshold"),
                api::Field<&ProbeJson::failures>("failureThreshold"),
                api::Field<&ProbeJson::grace>("terminationGracePeriodSeconds")});
  return info;
}
const api::StructInfo& InfoOf(const HookJson*) {
  static const api::StructInfo info = api::Struct<HookJson>(
      "LifecycleHandler",
      {api::Field<&HookJson::exec>("exec"), api::Field<&HookJson::http>("httpGet"),
       api::Field<&HookJson::tcp>("tcpSocket"), api::Field<&HookJson::sleep>("sleep")});
  return info;
}
const api::StructInfo& InfoOf(const LifecycleJson*) {
  static const api::StructInfo info = api::Struct<LifecycleJson>(
      "Lifecycle", {api::Field<&LifecycleJson::post_start>("postStart"),
                    api::Field<&LifecycleJson::pre_stop>("preStop"),
                    api::Field<&LifecycleJson::stop_signal>("stopSignal")});
  return info;
}

StatusOr<std::int32_t> PortOf(const api::IntOrString& port, const api::Container& container) {
  if (const auto* number = std::get_if<std::int32_t>(&port.value)) return *number;
  const std::string& name = std::get<std::string>(port.value);
  const auto it = std::ranges::find(container.ports, name, &api::ContainerPort::name);
  if (it != container.ports.end()) return it->container_port;
  return base::InvalidArgument(
      fmt::format("container \"{}\" has no port by the name of \"{}\"", container.name, name));
}

StatusOr<std::vector<std::string>> CommandOf(const ExecAction& exec) {
  if (exec.command.empty()) return base::InvalidArgument("exec.command is empty");
  return exec.command;
}

StatusOr<HttpProbe> HttpOf(const HttpAction& action, const api::Container& container) {
  HttpProbe http;
  http.tls = action.scheme == "HTTPS";
  http.target.host = action.host;
  http.path = action.path.empty() ? "/" : action.path;
  DRAY_ASSIGN_OR_RETURN(http.target.port, PortOf(action.port, container));
  for (const HttpHeader& header : action.headers) {
    http.headers.emplace_back(header.name, header.value);
  }
  return http;
}

StatusOr<Action> ActionOf(const HookJson& hook, const api::Container& container) {
  Action action;
  if (hook.exec) {
    DRAY_ASSIGN_OR_RETURN(action.command, CommandOf(*hook.exec));
  } else if (hook.http) {
    DRAY_ASSIGN_OR_RETURN(action.http, HttpOf(*hook.http, container));
  } else if (hook.sleep) {
    action.sleep = base::BoundedSeconds(std::max<std::int64_t>(0, hook.sleep->seconds));
  } else {
    // tcpSocket is in the API for old objects alone: no kubelet ever did it.
    return base::InvalidArgument(hook.tcp
                                     ? "a hook cannot be a tcpSocket: use exec, httpGet or sleep"
                                     : "a hook needs one of exec, httpGet and sleep");
  }
  return action;
}

StatusOr<Action> ActionOf(const ProbeJson& probe, const api::Container& container) {
  Action action;
  if (probe.exec) {
    DRAY_ASSIGN_OR_RETURN(action.command, CommandOf(*probe.exec));
  } else if (probe.http) {
    DRAY_ASSIGN_OR_RETURN(action.http, HttpOf(*probe.http, container));
  } else if (probe.tcp) {
    ProbeTarget& tcp = action.tcp.emplace();
    tcp.host = probe.tcp->host;
    DRAY_ASSIGN_OR_RETURN(tcp.port, PortOf(probe.tcp->port, container));
  } else if (probe.grpc) {
    GrpcProbe& grpc = action.grpc.emplace();
    grpc.target.port = probe.grpc->port;
    grpc.service = probe.grpc->service;
  } else {
    return base::InvalidArgument("a probe needs one of exec, httpGet, tcpSocket and grpc");
  }
  return action;
}

Action Impossible(const Status& why) {
  Action action;
  action.impossible = base::Message(why);
  return action;
}

std::int32_t Or(std::int32_t value, std::int32_t otherwise) {
  return value > 0 ? value : otherwise;
}

// A question to nobody in particular is one to the pod.
ProbeTarget At(ProbeTarget wanted, const ActionTarget& target) {
  if (!wanted.host.empty()) return wanted;
  if (target.ip.empty()) {
    wanted.sandbox_id = target.sandbox_id;
    wanted.host = "localhost";
  } else {
    wanted.host = target.ip;
  }
  return wanted;
}

}  // namespace

ProbeSpec ReadProbe(const api::RawJson& json, const api::Container& container) {
  ProbeSpec spec;
  api::JsonDecoder decoder;
  const auto read = decoder.Decode<ProbeJson>(json.text);
  if (!read.ok()) {
    spec.action = Impossible(read.status());
    return spec;
  }
  spec.initial_delay = std::chrono::seconds(std::max(read->initial_delay, 0));
  spec.timeout = std::chrono::seconds(Or(read->timeout, 1));
  spec.period = std::chrono::seconds(Or(read->period, 10));
  spec.successes = Or(read->successes, 1);
  spec.failures = Or(read->failures, 3);
  if (read->grace) spec.grace = base::BoundedSeconds(std::max<std::int64_t>(1, *read->grace));
  auto action = ActionOf(*read, container);
  spec.action = action.ok() ? *std::move(action) : Impossible(action.status());
  return spec;
}

Lifecycle ReadLifecycle(const api::Container& container) {
  Lifecycle lifecycle;
  if (!container.lifecycle || container.lifecycle->text.empty()) return lifecycle;
  api::JsonDecoder decoder;
  const auto read = decoder.Decode<LifecycleJson>(container.lifecycle->text);
  if (!read.ok()) {
    lifecycle.post_start = Impossible(read.status());
    return lifecycle;
  }
  const auto hook = [&](const api::Box<HookJson>& json) -> std::optional<Action> {
    if (!json) return std::nullopt;
    auto action = ActionOf(*json, container);
    return action.ok() ? *std::move(action) : Impossible(action.status());
  };
  lifecycle.post_start = hook(read->post_start);
  lifecycle.pre_stop = hook(read->pre_stop);
  lifecycle.stop_signal = read->stop_signal;
  return lifecycle;
}

void RunAction(const Action& action, const ActionTarget& target, std::chrono::seconds timeout,
               bool any_status, container::Runtime& runtime, ProbeClient& client,
               std::function<void(Status)> done, std::function<void(const std::string&)> warn) {
  if (!action.impossible.empty()) return done(base::FailedPrecondition(action.impossible));
  if (!action.command.empty()) {
    return runtime.ExecSync(target.container_id, action.command, timeout,
                            [done = std::move(done)](StatusOr<container::ExecResult> result) {
                              if (!result.ok()) return done(result.status());
                              if (result->exit_code == 0) return done({});
                              std::string said = result->out + result->err;
                              if (said.empty()) {
                                said = fmt::format("command ended with exit code {}",
                                                   result->exit_code);
                              }
                              done(base::Unavailable(said));
                            });
  }
  if (action.http) {
    HttpProbe probe = *action.http;
    probe.target = At(probe.target, target);
    return client.Http(
        probe, timeout,
        [any_status, done = std::move(done), warn = std::move(warn)](StatusOr<HttpAnswer> answer) {
          if (!answer.ok()) return done(answer.status());
          const int code = answer->code;
          if (any_status || (code >= 200 && code < 300)) return done({});
          if (code >= 300 && code < 400) {
            // Somebody is there, and whether it is well is for another host to say.
            if (warn) warn("Probe terminated redirects, Response body: " + answer->body);
            return done({});
          }
          done(base::Unavailable(fmt::format("HTTP probe failed with statuscode: {}", code)));
        });
  }
  if (action.tcp) return client.Tcp(At(*action.tcp, target), timeout, std::move(done));
  if (action.grpc) {
    GrpcProbe probe = *action.grpc;
    probe.target = At(probe.target, target);
    return client.Grpc(probe, timeout, std::move(done));
  }
  done({});
}

}  // namespace dray::node
