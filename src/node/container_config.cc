// SPDX-License-Identifier: Apache-2.0
#include "node/container_config.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_join.h"
#include "api/field_table.h"
#include "api/json.h"
#include "api/pod_resources.h"
#include "fmt/format.h"
#include "node/actions.h"
#include "node/pod_files.h"
#include "node/security.h"

namespace dray::node {
namespace {

std::string Join(const std::vector<std::string>& texts) { return absl::StrJoin(texts, ","); }

// metadata.labels['x'] -> x.
std::optional<std::string_view> Subscript(std::string_view path, std::string_view field) {
  if (!path.starts_with(field)) return std::nullopt;
  path.remove_prefix(field.size());
  if (!path.starts_with("['") || !path.ends_with("']")) return std::nullopt;
  return path.substr(2, path.size() - 4);
}

// As Go's %q quotes what is plain text.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (c == '\r') {
      quoted += "\\r";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

// key="value", one per line, as the downward API writes maps.
std::string Lines(const api::Map<std::string>& map) {
  std::vector<std::string> lines;
  for (const auto& [key, value] : map) {
    lines.push_back(fmt::format("{}={}", key.view(), Quoted(value)));
  }
  return absl::StrJoin(lines, "\n");
}

Status NotFound(std::string_view kind, std::string_view name) {
  return base::FailedPrecondition(fmt::format("{} \"{}\" not found", kind, name));
}

using Variables = std::vector<std::pair<std::string, std::string>>;

void SetVariable(Variables& env, const std::string& name, std::string value) {
  const auto it = std::ranges::find(env, name, &std::pair<std::string, std::string>::first);
  if (it != env.end()) {
    it->second = std::move(value);
  } else {
    env.emplace_back(name, std::move(value));
  }
}

// Whether a process can be given a variable by that name.
bool CanBeVariable(std::string_view name) {
  return !name.empty() && name.find('=') == std::string_view::npos &&
         std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7f; });
}

// What was fetched by that name. An error: it is needed, and nobody has it.
StatusOr<const Kept*> FindKept(const std::map<std::string, std::optional<Kept>>& known,
                               std::string_view kind, const std::string& name, bool optional) {
  const auto it = known.find(name);
  if (it != known.end() && it->second) return &*it->second;
  if (optional) return nullptr;
  return NotFound(kind, name);
}

Status AddAll(const api::EnvFromSource& from, const PodFacts& facts, Variables& env) {
  const Kept* kept = nullptr;
  if (from.config_map_ref) {
    DRAY_ASSIGN_OR_RETURN(kept, FindKept(facts.config_maps, "configmap", from.config_map_ref->name,
                                         from.config_map_ref->optional.value_or(false)));
  } else if (from.secret_ref) {
    DRAY_ASSIGN_OR_RETURN(kept, FindKept(facts.secrets, "secret", from.secret_ref->name,
                                         from.secret_ref->optional.value_or(false)));
  }
  if (kept == nullptr) return {};
  for (const auto& [key, value] : kept->data) {
    const std::string name = from.prefix + key;
    if (CanBeVariable(name)) SetVariable(env, name, value);
  }
  return {};
}

// Nothing: it may be missing, and is.
StatusOr<std::optional<std::string>> KeyValue(
    const std::map<std::string, std::optional<Kept>>& known, std::string_view kind,
    const std::string& name, const std::string& key, bool optional) {
  DRAY_ASSIGN_OR_RETURN(const Kept* const kept, FindKept(known, kind, name, optional));
  if (kept == nullptr) return std::nullopt;
  const auto it = kept->data.find(key);
  if (it != kept->data.end()) return it->second;
  if (optional) return std::nullopt;
  return base::FailedPrecondition(
      fmt::format("couldn't find key {} in {} \"{}\"", key, kind, name));
}

}  // namespace

StatusOr<std::string> Expand(std::string_view text,
                             const std::vector<std::pair<std::string, std::string>>& variables) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (out.size() > kLongestArgument) break;
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    if (text[i + 1] == '$') {
      out += '$';
      ++i;
      continue;
    }
    const std::size_t close = text[i + 1] == '(' ? text.find(')', i) : std::string_view::npos;
    if (close == std::string_view::npos) {
      out += text[i];
      continue;
    }
    const std::string_view name = text.substr(i + 2, close - i - 2);
    const auto it = std::ranges::find(variables, name, &std::pair<std::string, std::string>::first);
    out += it != variables.end() ? std::string_view(it->second) : text.substr(i, close - i + 1);
    i = close;
  }
  if (out.size() <= kLongestArgument) return out;
  return base::OutOfRange(fmt::format(
      "with its variables replaced it is longer than {} bytes, which no process can be given",
      kLongestArgument));
}

StatusOr<std::string> DownwardField(const api::Pod& pod, std::string_view path,
                                    const PodFacts& facts) {
  const auto first = [](const std::vector<std::string>& texts) {
    return texts.empty() ? std::string() : texts.front();
  };
  if (path == "metadata.name") return pod.metadata.name;
  if (path == "metadata.namespace") return pod.metadata.namespace_;
  if (path == "metadata.uid") return pod.metadata.uid;
  if (path == "spec.nodeName") return pod.spec.node_name;
  if (path == "spec.serviceAccountName") return pod.spec.service_account_name;
  if (path == "status.hostIP") return first(facts.host_ips);
  if (path == "status.hostIPs") return Join(facts.host_ips);
  if (path == "status.podIP") return first(facts.pod_ips);
  if (path == "status.podIPs") return Join(facts.pod_ips);
  if (path == "metadata.labels") return Lines(pod.metadata.labels);
  if (path == "metadata.annotations") return Lines(pod.metadata.annotations);
  if (const auto key = Subscript(path, "metadata.labels")) {
    const std::string* value = pod.metadata.labels.Find(*key);
    return value != nullptr ? *value : std::string();
  }
  if (const auto key = Subscript(path, "metadata.annotations")) {
    const std::string* value = pod.metadata.annotations.Find(*key);
    return value != nullptr ? *value : std::string();
  }
  return base::InvalidArgument(fmt::format("fieldPath \"{}\" is not supported", path));
}

StatusOr<std::string> DownwardResource(const api::Pod& pod, const api::Container* container,
                                       const api::ResourceFieldSelector& selector,
                                       const PodFacts& facts) {
  const api::Container* of = container;
  if (of == nullptr || (!selector.container_name.empty() && selector.container_name != of->name)) {
    of = nullptr;
    for (const auto* list : {&pod.spec.containers, &pod.spec.init_containers}) {
      const auto it = std::ranges::find(*list, selector.container_name, &api::Container::name);
      if (it != list->end()) of = &*it;
    }
    if (of == nullptr) {
      return base::InvalidArgument(
          fmt::format("container \"{}\" not found", selector.container_name));
    }
  }
  const std::string_view path = selector.resource;
  const std::size_t dot = path.find('.');
  const std::string_view list = path.substr(0, dot);
  if (dot == std::string_view::npos || (list != "limits" && list != "requests")) {
    return base::InvalidArgument(fmt::format("resource \"{}\" is not supported", path));
  }
  const std::string_view name = path.substr(dot + 1);
  const base::Quantity* amount =
      list == "limits" ? of->resources.limits.Find(name) : of->resources.requests.Find(name);
  // Without a limit a container may use all that its node has.
  if (amount == nullptr && list == "limits") amount = facts.allocatable.Find(name);
  const base::Quantity value = amount != nullptr ? *amount : base::Quantity();
  const base::Quantity divisor =
      selector.divisor.IsZero() ? base::Quantity::FromInt(1) : selector.divisor;
  return fmt::to_string(value.DivCeil(divisor).value_or(0));
}

KeptNames NamedIn(const api::Container& container) {
  KeptNames names;
  const auto add = [](std::vector<std::string>& list, const std::string& name) {
    if (std::ranges::find(list, name) == list.end()) list.push_back(name);
  };
  for (const api::EnvFromSource& from : container.env_from) {
    if (from.config_map_ref) add(names.config_maps, from.config_map_ref->name);
    if (from.secret_ref) add(names.secrets, from.secret_ref->name);
  }
  for (const api::EnvVar& variable : container.env) {
    if (!variable.value_from) continue;
    const api::EnvVarSource& source = *variable.value_from;
    if (source.config_map_key_ref) add(names.config_maps, source.config_map_key_ref->name);
    if (source.secret_key_ref) add(names.secrets, source.secret_key_ref->name);
  }
  return names;
}

namespace {

Status TooLong() {
  return base::OutOfRange(
      fmt::format("the environment is longer than {} bytes, which no process can be given",
                  kLongestEnvironment));
}

StatusOr<std::vector<std::string>> ExpandAll(
    std::string_view field, const std::vector<std::string>& words,
    const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> expanded;
  std::size_t total = 0;
  for (const std::string& word : words) {
    auto text = Expand(word, variables);
    if (!text.ok()) {
      return base::Annotate(text.status(), fmt::format("{}[{}]", field, expanded.size()));
    }
    total += text->size();
    if (total > kLongestEnvironment) {
      return base::OutOfRange(fmt::format("{}: longer than {} bytes, which no process can be given",
                                          field, kLongestEnvironment));
    }
    expanded.push_back(*std::move(text));
  }
  return expanded;
}

}  // namespace

StatusOr<std::vector<std::pair<std::string, std::string>>> EnvironmentOf(
    const api::Pod& pod, const api::Container& container, const PodFacts& facts) {
  std::vector<std::pair<std::string, std::string>> env;
  std::size_t total = 0;
  for (const api::EnvFromSource& from : container.env_from) {
    DRAY_RETURN_IF_ERROR(AddAll(from, facts, env));
    total = 0;
    for (const auto& [name, value] : env) total += name.size() + value.size();
    if (total > kLongestEnvironment) return TooLong();
  }
  for (const api::EnvVar& variable : container.env) {
    std::string value;
    if (variable.value_from) {
      const api::EnvVarSource& source = *variable.value_from;
      if (source.field_ref) {
        DRAY_ASSIGN_OR_RETURN(value, DownwardField(pod, source.field_ref->field_path, facts));
      } else if (source.resource_field_ref) {
        DRAY_ASSIGN_OR_RETURN(value,
                              DownwardResource(pod, &container, *source.resource_field_ref, facts));
      } else if (source.config_map_key_ref) {
        const api::ConfigMapKeySelector& ref = *source.config_map_key_ref;
        DRAY_ASSIGN_OR_RETURN(auto found, KeyValue(facts.config_maps, "configmap", ref.name,
                                                   ref.key, ref.optional.value_or(false)));
        if (!found) continue;
        value = *std::move(found);
      } else if (source.secret_key_ref) {
        const api::SecretKeySelector& ref = *source.secret_key_ref;
        DRAY_ASSIGN_OR_RETURN(auto found, KeyValue(facts.secrets, "secret", ref.name, ref.key,
                                                   ref.optional.value_or(false)));
        if (!found) continue;
        value = *std::move(found);
      } else {
        return base::InvalidArgument(fmt::format(
            "environment variable {} has a source that is not supported", variable.name));
      }
    } else {
      auto expanded = Expand(variable.value, env);
      if (!expanded.ok()) {
        return base::Annotate(expanded.status(),
                              fmt::format("environment variable {}", variable.name));
      }
      value = *std::move(expanded);
    }
    total += variable.name.size() + value.size();
    if (total > kLongestEnvironment) return TooLong();
    SetVariable(env, variable.name, std::move(value));
  }
  return env;
}

container::Limits LimitsOf(const api::ResourceRequirements& resources) {
  container::Limits limits;
  const auto milli = [](const api::Map<base::Quantity>& amounts) -> std::int64_t {
    const base::Quantity* cpu = amounts.Find("cpu");
    return cpu != nullptr ? cpu->MilliValue() : 0;
  };
  const std::int64_t request = milli(resources.requests);
  const std::int64_t limit = milli(resources.limits);
  // As the kubelet: 1024 shares are one CPU, at least 2; a quota of 100 ms, at least 1 ms.
  limits.cpu_shares = std::max<std::int64_t>(2, request * 1024 / 1000);
  if (limit > 0) limits.cpu_quota = std::max<std::int64_t>(1000, limit * 100);
  if (const base::Quantity* memory = resources.limits.Find("memory")) {
    limits.memory_bytes = memory->Value();
  }
  return limits;
}

StatusOr<container::ContainerConfig> ConfigOf(const api::Pod& pod, const api::Container& container,
                                              const PodFacts& facts) {
  container::ContainerConfig config;
  config.name = container.name;
  DRAY_ASSIGN_OR_RETURN(config.env, EnvironmentOf(pod, container, facts));
  DRAY_ASSIGN_OR_RETURN(config.command, ExpandAll("command", container.command, config.env));
  DRAY_ASSIGN_OR_RETURN(config.args, ExpandAll("args", container.args, config.env));
  // Programs ask for it, and one that the spec gives wins.
  const auto hostname = std::ranges::find(config.env, std::string("HOSTNAME"),
                                          &std::pair<std::string, std::string>::first);
  if (hostname == config.env.end() && !pod.spec.host_network) {
    DRAY_ASSIGN_OR_RETURN(std::string name, HostnameOf(pod));
    config.env.emplace_back("HOSTNAME", std::move(name));
  }
  config.working_dir = container.working_dir;
  for (const api::VolumeMount& mount : container.volume_mounts) {
    const auto it = facts.volumes.find(mount.name);
    if (it == facts.volumes.end()) {
      return base::FailedPrecondition(
          fmt::format("volume \"{}\" is not mounted on this node", mount.name));
    }
    std::string path = it->second.path;
    std::string below = mount.sub_path;
    if (!mount.sub_path_expr.empty()) {
      DRAY_ASSIGN_OR_RETURN(below, Expand(mount.sub_path_expr, config.env));
    }
    if (!below.empty()) {
      if (below.starts_with('/') || LeadsUp(below)) {
        return base::InvalidArgument(
            fmt::format("subPath \"{}\" of volume \"{}\" leads out of it", below, mount.name));
      }
      path += "/" + below;
    }
    container::Mount& made = config.mounts.emplace_back();
    made.container_path = mount.mount_path;
    made.host_path = std::move(path);
    made.read_only = mount.read_only || it->second.read_only;
    const std::string propagation = mount.mount_propagation.value_or("None");
    if (propagation == "HostToContainer") {
      made.propagation = container::Propagation::kHostToContainer;
    } else if (propagation == "Bidirectional") {
      made.propagation = container::Propagation::kBidirectional;
    }
  }
  config.limits = LimitsOf(container.resources);
  DRAY_ASSIGN_OR_RETURN(config.security,
                        SecurityOf(pod, container,
                                   {.seccomp_folder = facts.seccomp_folder,
                                    .runtime_checks_user = facts.runtime_checks_user}));
  config.stop_signal = ReadLifecycle(container).stop_signal;
  config.tty = container.tty;
  config.stdin = container.stdin_;
  return config;
}

container::PodIdentity IdentityOf(const api::Pod& pod) {
  return {
      .namespace_ = pod.metadata.namespace_, .name = pod.metadata.name, .uid = pod.metadata.uid};
}

StatusOr<container::SandboxConfig> SandboxConfigOf(const api::Pod& pod, const std::string& log_root,
                                                   const std::string& cgroup_parent) {
  container::SandboxConfig config;
  config.pod = IdentityOf(pod);
  config.host_network = pod.spec.host_network;
  config.host_pid = pod.spec.host_pid;
  config.host_ipc = pod.spec.host_ipc;
  config.shared_pids = pod.spec.share_process_namespace.value_or(false);
  config.privileged = HasPrivileged(pod);
  // On the host's network the name is the host's: a runtime refuses another.
  if (!config.host_network) {
    DRAY_ASSIGN_OR_RETURN(config.hostname, HostnameOf(pod));
  }
  config.log_directory = fmt::format("{}/{}_{}_{}", log_root, pod.metadata.namespace_,
                                     pod.metadata.name, pod.metadata.uid);
  config.cgroup_parent = cgroup_parent;
  config.sysctls = SysctlsOf(pod);
  config.selinux = SelinuxOf(pod);
  if (pod.spec.resources) config.limits = LimitsOf(*pod.spec.resources);
  for (const auto& [key, value] : pod.metadata.labels)
    config.labels[std::string(key.view())] = value;
  for (const auto& [key, value] : pod.metadata.annotations) {
    config.annotations[std::string(key.view())] = value;
  }
  return config;
}

}  // namespace dray::node
