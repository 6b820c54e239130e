// SPDX-License-Identifier: Apache-2.0
#include "node/probes.h"

#include <algorithm>
#include <variant>

#include "api/field_table.h"
#include "api/json.h"
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
struct ProbeJson {
  api::Box<ExecAction> exec;
  api::Box<HttpAction> http;
  api::Box<TcpAction> tcp;
  api::Box<api::RawJson> grpc;
  std::int32_t initial_delay = 0;
  std::int32_t timeout = 0;
  std::int32_t period = 0;
  std::int32_t successes = 0;
  std::int32_t failures = 0;
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
const api::StructInfo& InfoOf(const ProbeJson*) {
  static const api::StructInfo info = api::Struct<ProbeJson>(
      "Probe", {api::Field<&ProbeJson::exec>("exec"), api::Field<&ProbeJson::http>("httpGet"),
                api::Field<&ProbeJson::tcp>("tcpSocket"), api::Field<&ProbeJson::grpc>("grpc"),
                api::Field<&ProbeJson::initial_delay>("initialDelaySeconds"),
                api::Field<&ProbeJson::timeout>("timeoutSeconds"),
                api::Field<&ProbeJson::period>("periodSeconds"),
                api::Field<&ProbeJson::successes>("successThreshold"),
                api::Field<&ProbeJson::failures>("failureThreshold")});
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

std::int32_t Or(std::int32_t value, std::int32_t otherwise) {
  return value > 0 ? value : otherwise;
}

}  // namespace

StatusOr<ProbeSpec> ReadProbe(const api::RawJson& json, const api::Container& container) {
  api::JsonDecoder decoder;
  DRAY_ASSIGN_OR_RETURN(const ProbeJson read, decoder.Decode<ProbeJson>(json.text));
  ProbeSpec spec;
  spec.initial_delay = std::chrono::seconds(std::max(read.initial_delay, 0));
  spec.timeout = std::chrono::seconds(Or(read.timeout, 1));
  spec.period = std::chrono::seconds(Or(read.period, 10));
  spec.successes = Or(read.successes, 1);
  spec.failures = Or(read.failures, 3);
  if (read.exec) {
    spec.command = read.exec->command;
    if (spec.command.empty()) return base::InvalidArgument("exec.command is empty");
  } else if (read.http) {
    if (read.http->scheme == "HTTPS") {
      spec.unsupported = "httpGet probes with scheme HTTPS are not supported by this node agent";
      return spec;
    }
    HttpProbe& http = spec.http.emplace();
    http.host = read.http->host;
    http.path = read.http->path.empty() ? "/" : read.http->path;
    DRAY_ASSIGN_OR_RETURN(http.port, PortOf(read.http->port, container));
    for (const HttpHeader& header : read.http->headers) {
      http.headers.emplace_back(header.name, header.value);
    }
  } else if (read.tcp) {
    DRAY_ASSIGN_OR_RETURN(const std::int32_t port, PortOf(read.tcp->port, container));
    spec.tcp.emplace(read.tcp->host, port);
  } else {
    spec.unsupported = "only exec, httpGet and tcpSocket probes are supported by this node agent";
  }
  return spec;
}

Probe::Probe(Parts parts, Kind kind, ProbeSpec spec, Target target)
    : parts_(std::move(parts)), kind_(kind), spec_(std::move(spec)), target_(std::move(target)) {
  const auto since = parts_.loop.clock().Now() - target_.started_at;
  const auto delay =
      std::max<std::chrono::nanoseconds>(std::chrono::nanoseconds(0), spec_.initial_delay - since);
  timer_ = parts_.loop.After(delay, [this] { Ask(); });
}

Probe::~Probe() = default;

void Probe::Ask() {
  const auto back = [this, &loop = parts_.loop, alive = std::weak_ptr(alive_)](Status status) {
    loop.Post([this, alive, status = std::move(status)] {
      if (!alive.expired()) Answer(status);
    });
  };
  if (!spec_.unsupported.empty()) return back(base::FailedPrecondition(spec_.unsupported));
  if (!spec_.command.empty()) {
    parts_.runtime.ExecSync(target_.container_id, spec_.command, spec_.timeout,
                            [back](StatusOr<container::ExecResult> result) {
                              if (!result.ok()) return back(result.status());
                              if (result->exit_code == 0) return back({});
                              back(base::Unavailable(result->out + result->err));
                            });
    return;
  }
  const auto host = [&](const std::string& named) { return named.empty() ? target_.ip : named; };
  if (spec_.http) {
    HttpProbe probe = *spec_.http;
    probe.host = host(probe.host);
    parts_.client.Http(probe, spec_.timeout, [back](StatusOr<int> code) {
      if (!code.ok()) return back(code.status());
      if (*code >= 200 && *code < 400) return back({});
      back(base::Unavailable(fmt::format("HTTP probe failed with statuscode: {}", *code)));
    });
    return;
  }
  parts_.client.Tcp(host(spec_.tcp->first), spec_.tcp->second, spec_.timeout, back);
}

void Probe::Answer(const Status& status) {
  timer_ = parts_.loop.After(spec_.period, [this] { Ask(); });
  const bool ok = status.ok();
  in_a_row_ = ok == last_ok_ ? in_a_row_ + 1 : 1;
  last_ok_ = ok;
  const std::string why(base::Message(status));
  const std::weak_ptr<int> alive = alive_;
  if (!ok) {
    parts_.failed(kind_, why);
    if (alive.expired()) return;
  }
  if (in_a_row_ < (ok ? spec_.successes : spec_.failures)) return;
  if (good_ == ok) return;
  good_ = ok;
  parts_.changed(kind_, ok, why);
}

}  // namespace dray::node
