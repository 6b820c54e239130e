// SPDX-License-Identifier: Apache-2.0
#include "node/pod_files.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_split.h"
#include "api/field_table.h"
#include "api/json.h"
#include "files/files.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

constexpr std::size_t kLongestLabel = 63;
constexpr std::size_t kLongestHostname = 64;  // the kernel's
constexpr std::size_t kMostNameservers = 3;   // libc reads no more

struct DnsOption {
  std::string name;
  std::optional<std::string> value;
};
struct DnsConfig {
  std::vector<std::string> nameservers;
  std::vector<std::string> searches;
  std::vector<DnsOption> options;
};

const api::StructInfo& InfoOf(const DnsOption*) {
  static const api::StructInfo info = api::Struct<DnsOption>(
      "PodDNSConfigOption",
      {api::Field<&DnsOption::name>("name"), api::Field<&DnsOption::value>("value")});
  return info;
}
const api::StructInfo& InfoOf(const DnsConfig*) {
  static const api::StructInfo info =
      api::Struct<DnsConfig>("PodDNSConfig", {api::Field<&DnsConfig::nameservers>("nameservers"),
                                              api::Field<&DnsConfig::searches>("searches"),
                                              api::Field<&DnsConfig::options>("options")});
  return info;
}

struct Names {
  std::string host;
  std::string domain;  // empty: it is in none
};

Names NamesOf(const api::Pod& pod) {
  const api::PodSpec& spec = pod.spec;
  Names names;
  names.host = spec.hostname_override && !spec.hostname_override->empty() ? *spec.hostname_override
               : !spec.hostname.empty()                                   ? spec.hostname
                                                                          : pod.metadata.name;
  if (names.host.size() > kLongestLabel &&
      !(spec.hostname_override && !spec.hostname_override->empty())) {
    names.host.resize(kLongestLabel);
    while (names.host.ends_with('-') || names.host.ends_with('.')) names.host.pop_back();
  }
  if (!spec.subdomain.empty() && !spec.hostname_override) {
    names.domain =
        fmt::format("{}.{}.svc.{}", spec.subdomain, pod.metadata.namespace_, kClusterDomain);
  }
  return names;
}

void AddOnce(std::vector<std::string>& list, std::string_view word) {
  if (!word.empty() && std::ranges::find(list, word) == list.end()) list.emplace_back(word);
}

// Of the machine's resolv.conf what pods may have of it.
void ReadHost(std::string_view text, DnsConfig& config) {
  for (const absl::string_view line : absl::StrSplit(base::ToAbsl(text), '\n')) {
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.size() < 2) continue;
    if (words[0] == "nameserver") {
      AddOnce(config.nameservers, words[1]);
    } else if (words[0] == "search") {
      config.searches.assign(words.begin() + 1, words.end());
    } else if (words[0] == "options") {
      for (std::size_t i = 1; i < words.size(); ++i) {
        const std::size_t colon = words[i].find(':');
        DnsOption option{.name = words[i].substr(0, colon), .value = {}};
        if (colon != std::string::npos) option.value = words[i].substr(colon + 1);
        config.options.push_back(std::move(option));
      }
    }
  }
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kPodFiles = {{
    {"/etc/hosts", "etc-hosts"},
    {"/etc/resolv.conf", "resolv.conf"},
    {"/etc/hostname", "hostname"},
}};

}  // namespace

StatusOr<std::string> HostnameOf(const api::Pod& pod) {
  const Names names = NamesOf(pod);
  std::string name = names.host;
  if (pod.spec.set_hostname_as_fqdn.value_or(false) && !names.domain.empty()) {
    name += "." + names.domain;
  }
  if (name.size() > kLongestHostname) {
    return base::InvalidArgument(
        fmt::format("the hostname \"{}\" is too long: {} characters, at most {} are possible", name,
                    name.size(), kLongestHostname));
  }
  return name;
}

std::string HostsText(const api::Pod& pod, const std::vector<std::string>& ips,
                      std::string_view host) {
  std::string text;
  if (pod.spec.host_network) {
    text = "# Kubernetes-managed hosts file (host network).\n";
    text += host;
    if (!text.ends_with('\n')) text += '\n';
  } else {
    text =
        "# Kubernetes-managed hosts file.\n"
        "127.0.0.1\tlocalhost\n"
        "::1\tlocalhost ip6-localhost ip6-loopback\n"
        "fe00::0\tip6-localnet\n"
        "fe00::0\tip6-mcastprefix\n"
        "fe00::1\tip6-allnodes\n"
        "fe00::2\tip6-allrouters\n";
    const Names names = NamesOf(pod);
    for (const std::string& ip : ips) {
      if (names.domain.empty()) {
        text += fmt::format("{}\t{}\n", ip, names.host);
      } else {
        text += fmt::format("{}\t{}.{}\t{}\n", ip, names.host, names.domain, names.host);
      }
    }
    // Without an address of its own a pod finds itself where it is.
    if (ips.empty()) text += fmt::format("127.0.0.1\t{}\n", names.host);
  }
  if (!pod.spec.host_aliases.empty()) text += "\n# Entries added by HostAliases.\n";
  for (const api::HostAlias& alias : pod.spec.host_aliases) {
    text += fmt::format("{}\t{}\n", alias.ip, fmt::join(alias.hostnames, "\t"));
  }
  return text;
}

StatusOr<std::string> ResolvText(const api::Pod& pod, std::string_view host) {
  DnsConfig config;
  if (pod.spec.dns_policy != "None") ReadHost(host, config);
  if (pod.spec.dns_config) {
    api::JsonDecoder decoder;
    auto own = decoder.Decode<DnsConfig>(pod.spec.dns_config->text);
    if (!own.ok()) return base::Annotate(own.status(), "spec.dnsConfig");
    for (const std::string& server : own->nameservers) AddOnce(config.nameservers, server);
    for (const std::string& domain : own->searches) AddOnce(config.searches, domain);
    for (DnsOption& option : own->options) {
      std::erase_if(config.options, [&](const DnsOption& one) { return one.name == option.name; });
      config.options.push_back(std::move(option));
    }
  }
  if (config.nameservers.size() > kMostNameservers) config.nameservers.resize(kMostNameservers);
  std::string text;
  if (!config.searches.empty()) text += fmt::format("search {}\n", fmt::join(config.searches, " "));
  for (const std::string& server : config.nameservers)
    text += fmt::format("nameserver {}\n", server);
  if (!config.options.empty()) {
    text += "options";
    for (const DnsOption& option : config.options) {
      text += option.value && !option.value->empty()
                  ? fmt::format(" {}:{}", option.name, *option.value)
                  : fmt::format(" {}", option.name);
    }
    text += '\n';
  }
  return text;
}

void AddPodFiles(const std::string& pod_folder, std::vector<container::Mount>& mounts) {
  for (const auto& [path, name] : kPodFiles) {
    if (std::ranges::find(mounts, path, &container::Mount::container_path) != mounts.end())
      continue;
    container::Mount& mount = mounts.emplace_back();
    mount.container_path = path;
    mount.host_path = fmt::format("{}/{}", pod_folder, name);
  }
}

Status WritePodFiles(const api::Pod& pod, const std::vector<std::string>& ips,
                     const std::string& pod_folder) {
  const auto read = [](const std::string& path) {
    const auto text = files::ReadWhole(path);
    return text.ok() ? *text : std::string();
  };
  DRAY_ASSIGN_OR_RETURN(const std::string resolv, ResolvText(pod, read("/etc/resolv.conf")));
  DRAY_ASSIGN_OR_RETURN(std::string hostname, pod.spec.host_network
                                                  ? StatusOr<std::string>(read("/etc/hostname"))
                                                  : HostnameOf(pod));
  if (!hostname.ends_with('\n')) hostname += '\n';
  const std::array<std::string, 3> texts = {HostsText(pod, ips, read("/etc/hosts")), resolv,
                                            hostname};
  DRAY_RETURN_IF_ERROR(files::MakeFolder(pod_folder, 0750));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string path = fmt::format("{}/{}", pod_folder, kPodFiles[i].second);
    // Containers have it mounted: one that is right is not replaced.
    if (const auto before = files::ReadWhole(path); before.ok() && *before == texts[i]) continue;
    DRAY_RETURN_IF_ERROR(files::WriteWhole(path, texts[i], 0644, files::Sync::kNo));
  }
  return {};
}

}  // namespace dray::node
