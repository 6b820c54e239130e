// SPDX-License-Identifier: Apache-2.0
//
// Rules of ingresses and network policies in which several fields meet.
#include <array>
#include <string_view>
#include <utility>

#include "api/internal/described_rules.h"
#include "api/internal/name_validation.h"
#include "base/ip_address.h"

namespace dray::api::internal {
namespace {

void CheckBackend(Report& report, const Path& at, const FieldView& backend) {
  const bool service = backend["service"].set();
  const bool resource = backend["resource"].set();
  if (service && resource) {
    report.InvalidAsIs(at, "", "cannot set both resource and service backends");
  } else if (!service && !resource) {
    report.Required(at, "a service or a resource must be named");
  }
  if (!service) return;
  const Path service_at = at.Child("service");
  const FieldView port = backend["service"]["port"];
  const bool name = port["name"].set();
  const bool number = port["number"].set();
  if (name && number) {
    report.InvalidAsIs(service_at.Child("port"), "", "cannot set both port name & port number");
  } else if (!name && !number) {
    report.Required(service_at.Child("port"), "port name or number is required");
  }
}

void CheckHost(Report& report, const Path& at, std::string_view host) {
  if (host.empty()) return;
  if (base::ParseIp(host)) {
    report.Invalid(at, host, "must be a DNS name, not an IP address");
  } else {
    CheckForm(report, at, host.starts_with("*.") ? host.substr(2) : host, kDnsSubdomain);
  }
}

void CheckPeers(Report& report, const Path& at, const FieldView& peers) {
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const Path peer = at.Index(i);
    const bool pods = peers.item(i)["podSelector"].set();
    const bool namespaces = peers.item(i)["namespaceSelector"].set();
    const bool block = peers.item(i)["ipBlock"].set();
    if (block && (pods || namespaces)) {
      report.Forbidden(peer, "may not specify both ipBlock and another peer");
    } else if (!block && !pods && !namespaces) {
      report.Required(peer, "must specify a peer");
    }
  }
}

void CheckPolicyPorts(Report& report, const Path& at, const FieldView& ports) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const auto last = ports.item(i)["endPort"].number();
    if (!last) continue;
    const Path port = at.Index(i);
    const auto first = ports.item(i)["port"].number();
    if (!ports.item(i)["port"].set()) {
      report.InvalidNumber(port.Child("endPort"), *last,
                           "may not be specified when `port` is not specified");
    } else if (!first) {
      report.InvalidNumber(port.Child("endPort"), *last,
                           "may not be specified when `port` is non-numeric");
    } else if (*last < *first) {
      report.InvalidNumber(port.Child("endPort"), *last, "must be greater than or equal to `port`");
    }
  }
}

}  // namespace

void CheckIngress(const Subject& subject) {
  Report& report = subject.report;
  const FieldView view = subject.object["spec"];
  const Path spec("spec");
  const FieldView rules = view["rules"];
  if (rules.size() == 0 && !view["defaultBackend"].set()) {
    report.InvalidAsIs(spec, "", "either `defaultBackend` or `rules` must be specified");
  }
  if (view["defaultBackend"].set()) {
    CheckBackend(report, spec.Child("defaultBackend"), view["defaultBackend"]);
  }
  const Path rules_at = spec.Child("rules");
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Path rule = rules_at.Index(i);
    CheckHost(report, rule.Child("host"), rules.item(i)["host"].text());
    const FieldView paths = rules.item(i)["http"]["paths"];
    const Path http = rule.Child("http");
    const Path paths_at = http.Child("paths");
    for (std::size_t k = 0; k < paths.size(); ++k) {
      const Path path = paths_at.Index(k);
      CheckBackend(report, path.Child("backend"), paths.item(k)["backend"]);
      const std::string_view text = paths.item(k)["path"].text();
      const bool any = paths.item(k)["pathType"].text() == "ImplementationSpecific";
      if ((!any && !text.starts_with('/')) || (!text.empty() && !text.starts_with('/'))) {
        report.Invalid(path.Child("path"), text, "must be an absolute path");
      }
    }
  }
  const FieldView tls = view["tls"];
  const Path tls_at = spec.Child("tls");
  for (std::size_t i = 0; i < tls.size(); ++i) {
    const Path row = tls_at.Index(i);
    const Path hosts = row.Child("hosts");
    for (std::size_t k = 0; k < tls.item(i)["hosts"].size(); ++k) {
      CheckHost(report, hosts.Index(k), tls.item(i)["hosts"].item(k).text());
    }
  }
}

void CheckNetworkPolicy(const Subject& subject) {
  const FieldView view = subject.object["spec"];
  const Path spec("spec");
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kDirections = {
      {{"ingress", "from"}, {"egress", "to"}}};
  for (const auto& [direction, peers] : kDirections) {
    const Path rules = spec.Child(direction);
    for (std::size_t i = 0; i < view[direction].size(); ++i) {
      const Path rule = rules.Index(i);
      const FieldView row = view[direction].item(i);
      CheckPolicyPorts(subject.report, rule.Child("ports"), row["ports"]);
      CheckPeers(subject.report, rule.Child(peers), row[peers]);
    }
  }
}

}  // namespace dray::api::internal
