// SPDX-License-Identifier: Apache-2.0
//
// `dray install`: a scheduler for a cluster that has one, or in its place.
#include <algorithm>
#include <array>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "api/document.h"
#include "base/names.h"
#include "cli/internal/command.h"
#include "cli/internal/install_text.h"
#include "cli/internal/paint.h"
#include "cli/internal/server_flags.h"
#include "cli/run.h"
#include "client/http_client.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Prints the manifests to run `dray scheduler` in a cluster beside kube-scheduler: a service
account with the least privileges it needs, its lease, a configuration, a Deployment of two
replicas with leader election, and a PodDisruptionBudget. Pods choose it with
`schedulerName: dray-scheduler`. The same manifests are in deploy/ for kustomize.

Examples:
  kubectl dray install --image registry.example.com/dray:1.0 | kubectl apply -f -
  kubectl dray install --image registry.example.com/dray:1.0 --apply
  dray install --name gpu-scheduler --driver gpu.example.com --service-monitor

Exit code: 0 printed or applied, 1 an object could not be applied, 2 a flag could not be used.)";

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

struct Resource {
  std::string_view api_version;
  std::string_view kind;
  std::string_view plural;
};
constexpr std::array<Resource, 11> kResources = {{
    {"v1", "Namespace", "namespaces"},
    {"v1", "ServiceAccount", "serviceaccounts"},
    {"v1", "ConfigMap", "configmaps"},
    {"v1", "Service", "services"},
    {"rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles"},
    {"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings"},
    {"rbac.authorization.k8s.io/v1", "Role", "roles"},
    {"rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings"},
    {"apps/v1", "Deployment", "deployments"},
    {"policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"},
    {"monitoring.coreos.com/v1", "ServiceMonitor", "servicemonitors"},
}};

std::string TextIn(const api::DocumentNode& node, std::string_view key) {
  const api::Member* member = node.Find(key);
  return member == nullptr ? std::string() : member->value.text;
}

class InstallCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    const InstallOptions defaults;
    app.add_option("--image", options_.image, "Image with the dray binary")
        ->type_name("IMAGE")
        ->capture_default_str();
    app.add_option("-n,--namespace", options_.namespace_, "Namespace to run in")
        ->type_name("NAME")
        ->capture_default_str();
    app.add_option("--name", options_.name, "Name of the objects and of the lease")
        ->type_name("NAME")
        ->capture_default_str();
    app.add_option("--scheduler-name", options_.scheduler_name,
                   "schedulerName of the pods to schedule (default: --name)")
        ->type_name("NAME");
    app.add_option("--driver", options_.drivers,
                   "Schedule devices of this driver only; may be repeated")
        ->type_name("DRIVER");
    app.add_option("--replicas", options_.replicas, "Replicas; one of them is the leader")
        ->type_name("NUMBER")
        ->check(CLI::Range(1, 100).description(""))
        ->capture_default_str();
    app.add_flag("--service-monitor", options_.service_monitor,
                 "Add a Service and a ServiceMonitor for the Prometheus operator");
    app.add_flag("--apply", apply_, "Apply the manifests to the cluster instead of printing them");
    AddServerFlags(app, server_);
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    if (!Check(io)) return kExitUsage;
    const std::string text = InstallText(options_);
    if (!apply_) {
      io.out << text;
      return kExitOk;
    }
    const auto access = ReadAccess(io, server_);
    if (!access) return kExitUsage;
    auto http = client::HttpClient::Create(*access, {.user_agent = "dray-install"});
    if (!http.ok()) return UsageError(io, Printable(base::Message(http.status())));
    return Apply(io, **http, text) ? kExitOk : kExitFindings;
  }

 private:
  bool Check(Io& io) const {
    const auto fails = [&](std::string_view flag, const std::string& value, std::string_view must) {
      UsageError(io, fmt::format("{}: \"{}\" must be {}", flag, Printable(value), must));
      return false;
    };
    if (!base::IsDnsLabel(options_.namespace_)) {
      return fails("--namespace", options_.namespace_, "the name of a namespace");
    }
    if (!base::IsDnsLabel(options_.name)) {
      return fails("--name", options_.name, "lower-case letters, digits and '-'");
    }
    if (!options_.scheduler_name.empty() && !base::IsDnsSubdomain(options_.scheduler_name)) {
      return fails("--scheduler-name", options_.scheduler_name, "a name that pods can have");
    }
    for (const std::string& driver : options_.drivers) {
      if (!base::IsDnsSubdomain(driver)) {
        return fails("--driver", driver, "the name of a driver, like gpu.example.com");
      }
    }
    const bool plain = std::ranges::all_of(options_.image, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::string_view("./:@_-").find(c) != std::string_view::npos;
    });
    if (options_.image.empty() || !plain) {
      return fails("--image", options_.image, "the name of an image");
    }
    return true;
  }

  static bool Apply(Io& io, client::HttpClient& http, const std::string& text) {
    std::vector<api::Diagnostic> diagnostics;
    bool all = true;
    for (const api::DocumentNode& document : api::ParseYaml(text, diagnostics)) {
      const api::Member* metadata = document.Find("metadata");
      const std::string name = TextIn(metadata->value, "name");
      const std::string space = TextIn(metadata->value, "namespace");
      const std::string version = TextIn(document, "apiVersion");
      const std::string kind = TextIn(document, "kind");
      const auto resource = std::ranges::find_if(kResources, [&](const Resource& row) {
        return row.kind == kind && row.api_version == version;
      });
      const std::string shown = fmt::format("{}/{}", resource->plural, name);
      const auto response = http.Send(
          {.method = "PATCH",
           .target = fmt::format("/{}/{}{}/{}/{}?fieldManager=dray-install&force=true",
                                 version.find('/') == version.npos ? "api" : "apis", version,
                                 space.empty() ? "" : fmt::format("/namespaces/{}", space),
                                 resource->plural, name),
           .body = api::ToJson(document),
           .content_type = "application/apply-patch+yaml"});
      if (response.ok() && response->status < 300) {
        io.out << fmt::format("{} {}\n", shown, response->status == 201 ? "created" : "configured");
        continue;
      }
      all = false;
      const Status why = response.ok() ? client::FailureOf(*response) : response.status();
      io.err << Printable(fmt::format("error: {}: {}", shown, base::Message(why))) << '\n';
      // What does not answer now would not answer for the others either.
      if (!response.ok()) break;
    }
    return all;
  }

  InstallOptions options_;
  ServerFlags server_;
  bool apply_ = false;
};

}  // namespace

std::string InstallText(const InstallOptions& options) {
  std::string text(BaseManifests());
  if (options.service_monitor) text.append("---\n").append(MonitoringManifests());
  constexpr std::string_view kProfile = "      - schedulerName: dray-scheduler\n";
  std::string profile =
      fmt::format("      - schedulerName: {}\n",
                  options.scheduler_name.empty() ? options.name : options.scheduler_name);
  if (!options.drivers.empty()) {
    std::string drivers;
    for (const std::string& driver : options.drivers) {
      drivers.append(drivers.empty() ? "" : ", ").append(driver);
    }
    profile += fmt::format(
        "        pluginConfig:\n"
        "          - name: DynamicResources\n"
        "            args:\n"
        "              drivers: [{}]\n",
        drivers);
  }
  const std::size_t at = text.find(kProfile);
  const std::string before = text.substr(0, at);
  std::string after = text.substr(at + kProfile.size());
  std::string head = before;
  for (std::string* part : {&head, &after}) {
    ReplaceAll(*part, "dray-scheduler", options.name);
    ReplaceAll(*part, "dray-system", options.namespace_);
    ReplaceAll(*part, "image: dray:latest", fmt::format("image: {}", options.image));
    ReplaceAll(*part, "replicas: 2\n", fmt::format("replicas: {}\n", options.replicas));
  }
  return head + profile + after;
}

std::unique_ptr<Command> MakeInstallCommand() { return std::make_unique<InstallCommand>(); }

}  // namespace dray::cli::internal
