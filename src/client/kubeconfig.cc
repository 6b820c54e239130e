// SPDX-License-Identifier: Apache-2.0
#include "client/kubeconfig.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "api/document.h"
#include "api/json.h"
#include "client/internal/proxy.h"
#include "client/internal/text_file.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dray::client {
namespace {

using api::DocumentNode;
using internal::ReadTextFile;

// One cluster, user or context, and the file that it is from.
struct Entry {
  const DocumentNode* value = nullptr;
  std::string path;  // "~/.kube/config: users[\"admin\"]"
  std::string folder;
  std::string file;
};
using Entries = std::map<std::string, Entry, std::less<>>;

// All files together: of equal names the first counts.
struct Merged {
  std::deque<DocumentNode> documents;  // what entries point into
  std::string current;
  Entries clusters;
  Entries users;
  Entries contexts;
};

Status Fault(const std::string& path, std::string_view message) {
  return base::InvalidArgument(fmt::format("{}: {}", path, message));
}

// A string member; empty when there is none.
StatusOr<std::string> TextOf(const Entry& entry, std::string_view key) {
  const api::Member* member = entry.value == nullptr ? nullptr : entry.value->Find(key);
  if (member == nullptr || member->value.kind == DocumentNode::Kind::kNull) return std::string();
  if (member->value.kind != DocumentNode::Kind::kString) {
    return Fault(fmt::format("{}.{}", entry.path, key), "must be a string");
  }
  return member->value.text;
}

StatusOr<bool> BoolOf(const Entry& entry, std::string_view key) {
  const api::Member* member = entry.value == nullptr ? nullptr : entry.value->Find(key);
  if (member == nullptr || member->value.kind == DocumentNode::Kind::kNull) return false;
  if (member->value.kind != DocumentNode::Kind::kBool) {
    return Fault(fmt::format("{}.{}", entry.path, key), "must be true or false");
  }
  return member->value.boolean;
}

// `key`-data holds the text itself and goes before `key`, which names a file.
StatusOr<std::string> DataOf(const Entry& entry, std::string_view key) {
  const std::string data_key = fmt::format("{}-data", key);
  DRAY_ASSIGN_OR_RETURN(const std::string data, TextOf(entry, data_key));
  if (!data.empty()) {
    std::string text;
    if (absl::Base64Unescape(data, &text)) return text;
    return Fault(fmt::format("{}.{}", entry.path, data_key), "must be base64");
  }
  DRAY_ASSIGN_OR_RETURN(const std::string file, TextOf(entry, key));
  if (file.empty()) return std::string();
  auto text = ReadTextFile(std::filesystem::path(entry.folder) / file);
  if (text.ok()) return text;
  return Fault(fmt::format("{}.{}", entry.path, key), base::Message(text.status()));
}

Status AddEntries(const DocumentNode& document, const std::string& file, std::string_view list,
                  std::string_view field, Entries& entries) {
  const api::Member* member = document.Find(list);
  if (member == nullptr || member->value.kind == DocumentNode::Kind::kNull) return {};
  const std::string path = fmt::format("{}: {}", file, list);
  if (member->value.kind != DocumentNode::Kind::kList) return Fault(path, "must be a list");
  for (const DocumentNode& item : member->value.items) {
    const api::Member* name = item.Find("name");
    if (name == nullptr || name->value.kind != DocumentNode::Kind::kString) {
      return Fault(path, "every entry must have a name");
    }
    const api::Member* value = item.Find(field);
    const bool is_map = value != nullptr && value->value.kind == DocumentNode::Kind::kMap;
    if (value != nullptr && !is_map && value->value.kind != DocumentNode::Kind::kNull) {
      return Fault(fmt::format("{}[\"{}\"].{}", path, name->value.text, field), "must be a map");
    }
    entries.try_emplace(name->value.text,
                        Entry{.value = is_map ? &value->value : nullptr,
                              .path = fmt::format("{}[\"{}\"].{}", path, name->value.text, field),
                              .folder = std::filesystem::path(file).parent_path(),
                              .file = file});
  }
  return {};
}

Status AddFile(const std::string& file, std::string_view text, Merged& merged) {
  std::vector<api::Diagnostic> diagnostics;
  std::vector<DocumentNode> documents = api::ParseYaml(text, diagnostics);
  if (!diagnostics.empty()) return Fault(file, api::ToString(diagnostics.back()));
  if (documents.empty()) return {};  // kubectl leaves empty files behind
  if (documents.size() > 1 || documents[0].kind != DocumentNode::Kind::kMap) {
    return Fault(file, "must be one document of kind Config");
  }
  const DocumentNode& document = merged.documents.emplace_back(std::move(documents[0]));
  const Entry whole{.value = &document, .path = file};
  DRAY_ASSIGN_OR_RETURN(const std::string kind, TextOf(whole, "kind"));
  if (!kind.empty() && kind != "Config") {
    return Fault(file, fmt::format("kind must be Config, not {}", kind));
  }
  DRAY_ASSIGN_OR_RETURN(const std::string current, TextOf(whole, "current-context"));
  if (merged.current.empty()) merged.current = current;
  DRAY_RETURN_IF_ERROR(AddEntries(document, file, "clusters", "cluster", merged.clusters));
  DRAY_RETURN_IF_ERROR(AddEntries(document, file, "users", "user", merged.users));
  return AddEntries(document, file, "contexts", "context", merged.contexts);
}

std::string_view Variable(const AccessOptions& options, std::string_view name) {
  const auto found = options.variables.find(name);
  return found == options.variables.end() ? std::string_view() : found->second;
}

std::vector<std::string> FilesOf(const AccessOptions& options) {
  if (!options.kubeconfig.empty()) return {options.kubeconfig};
  std::vector<std::string> files;
  for (std::string_view rest = Variable(options, "KUBECONFIG"); !rest.empty();) {
    const std::size_t colon = rest.find(':');
    if (colon != 0) files.emplace_back(rest.substr(0, colon));
    rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
  }
  if (!files.empty()) return files;
  const std::string_view home = Variable(options, "HOME");
  if (home.empty()) return {};
  return {fmt::format("{}/.kube/config", home)};
}

std::string NamesOf(const Entries& entries) {
  std::vector<std::string_view> names;
  for (const auto& [name, entry] : entries) names.push_back(name);
  return names.empty() ? "there are none" : fmt::format("there is {}", fmt::join(names, ", "));
}

StatusOr<Entry> Chosen(const Entries& entries, std::string_view what, const std::string& name) {
  const auto found = entries.find(name);
  if (found != entries.end()) return found->second;
  return base::InvalidArgument(
      fmt::format("kubeconfig: there is no {} \"{}\"; {}", what, name, NamesOf(entries)));
}

// Kubernetes has taken it out, too.
Status RefuseAuthProvider(const Entry& user) {
  if (user.value == nullptr || user.value->Find("auth-provider") == nullptr) return {};
  return base::MakeStatus(
      StatusCode::kUnimplemented,
      fmt::format("{}.auth-provider: not supported; use exec, a token or a client certificate",
                  user.path));
}

Status ReadProxy(const Entry& cluster, const internal::Variables& variables, ServerAccess& access) {
  DRAY_ASSIGN_OR_RETURN(access.proxy, TextOf(cluster, "proxy-url"));
  const bool said = !access.proxy.empty();
  if (!said) access.proxy = internal::ProxyFromEnvironment(access.url, variables);
  if (access.proxy.empty()) return {};
  const auto parsed = internal::ParseProxy(access.proxy);
  if (parsed.ok()) return {};
  return base::Annotate(parsed.status(), said ? cluster.path + ".proxy-url" : "HTTPS_PROXY");
}

Status ReadCluster(const Entry& cluster, ServerAccess& access) {
  DRAY_ASSIGN_OR_RETURN(access.url, TextOf(cluster, "server"));
  if (access.url.empty()) return Fault(cluster.path + ".server", "must be the server's URL");
  DRAY_ASSIGN_OR_RETURN(access.authority, DataOf(cluster, "certificate-authority"));
  DRAY_ASSIGN_OR_RETURN(access.insecure, BoolOf(cluster, "insecure-skip-tls-verify"));
  if (access.insecure && !access.authority.empty()) {
    return Fault(cluster.path,
                 "insecure-skip-tls-verify and certificate-authority must not both be set");
  }
  DRAY_ASSIGN_OR_RETURN(access.tls_server_name, TextOf(cluster, "tls-server-name"));
  return {};
}

// A file with a key or a token in it is not for others, and nobody else decides whom it names.
Status CheckMode(const std::string& path, std::string_view file) {
  using std::filesystem::perms;
  std::error_code error;
  const perms mode = std::filesystem::status(file, error).permissions();
  if (error || (mode & (perms::others_all | perms::group_write)) == perms::none) return {};
  return Fault(path,
               fmt::format("{0} holds a secret and others than its owner can read or write "
                           "it (mode {1:04o}). If it has not been read by others: chmod 600 {0}",
                           file, static_cast<unsigned>(mode & perms::mask)));
}

Status CheckSecrets(const Entry& user) {
  for (const char* field : {"client-key-data", "token", "password"}) {
    DRAY_ASSIGN_OR_RETURN(const std::string inside, TextOf(user, field));
    if (inside.empty()) continue;
    DRAY_RETURN_IF_ERROR(CheckMode(fmt::format("{}.{}", user.path, field), user.file));
  }
  DRAY_ASSIGN_OR_RETURN(const std::string key, TextOf(user, "client-key"));
  if (key.empty()) return {};
  const std::filesystem::path file = std::filesystem::path(user.folder) / key;
  return CheckMode(user.path + ".client-key", file.string());
}

// They become headers, which end with their line.
Status CheckLine(const std::string& path, std::string_view text) {
  const auto breaks = [](char c) {
    return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f;
  };
  if (std::ranges::none_of(text, breaks)) return {};
  return Fault(path, "must be one line of text");
}

StatusOr<std::vector<std::string>> LinesOf(const std::string& path, const DocumentNode& list) {
  std::vector<std::string> lines;
  if (list.kind == DocumentNode::Kind::kNull) return lines;
  if (list.kind != DocumentNode::Kind::kList) return Fault(path, "must be a list of strings");
  for (const DocumentNode& item : list.items) {
    if (item.kind != DocumentNode::Kind::kString) return Fault(path, "must be a list of strings");
    DRAY_RETURN_IF_ERROR(CheckLine(path, item.text));
    lines.push_back(item.text);
  }
  return lines;
}

Status ReadImpersonation(const Entry& user, Impersonation& as) {
  const auto path = [&](std::string_view field) { return fmt::format("{}.{}", user.path, field); };
  DRAY_ASSIGN_OR_RETURN(as.user, TextOf(user, "as"));
  DRAY_RETURN_IF_ERROR(CheckLine(path("as"), as.user));
  DRAY_ASSIGN_OR_RETURN(as.uid, TextOf(user, "as-uid"));
  DRAY_RETURN_IF_ERROR(CheckLine(path("as-uid"), as.uid));
  if (user.value == nullptr) return {};
  if (const api::Member* groups = user.value->Find("as-groups")) {
    DRAY_ASSIGN_OR_RETURN(as.groups, LinesOf(path("as-groups"), groups->value));
  }
  const api::Member* extra = user.value->Find("as-user-extra");
  if (extra != nullptr && extra->value.kind != DocumentNode::Kind::kNull) {
    const std::string at = path("as-user-extra");
    if (extra->value.kind != DocumentNode::Kind::kMap) return Fault(at, "must be a map of lists");
    for (const api::Member& member : extra->value.members) {
      DRAY_ASSIGN_OR_RETURN(as.extra[member.key],
                            LinesOf(fmt::format("{}[\"{}\"]", at, member.key), member.value));
    }
  }
  if (as.user.empty() && !(as.uid.empty() && as.groups.empty() && as.extra.empty())) {
    return Fault(user.path,
                 "as-uid, as-groups and as-user-extra are about the user that `as` names, and "
                 "there is none");
  }
  return {};
}

// What a program is told of the cluster that it is to log in to.
StatusOr<std::string> ClusterInfo(const Entry& cluster, const ServerAccess& access) {
  std::string json = fmt::format(R"({{"server":{})", api::EncodeJson(access.url));
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) json += fmt::format(R"(,"{}":{})", key, api::EncodeJson(value));
  };
  add("tls-server-name", access.tls_server_name);
  add("certificate-authority-data",
      access.authority.empty() ? "" : absl::Base64Escape(access.authority));
  DRAY_ASSIGN_OR_RETURN(const std::string proxy, TextOf(cluster, "proxy-url"));
  add("proxy-url", proxy);
  if (access.insecure) json += R"(,"insecure-skip-tls-verify":true)";
  const api::Member* extensions =
      cluster.value == nullptr ? nullptr : cluster.value->Find("extensions");
  if (extensions != nullptr) {
    for (const DocumentNode& item : extensions->value.items) {
      const api::Member* name = item.Find("name");
      const api::Member* extension = item.Find("extension");
      if (name == nullptr || extension == nullptr) continue;
      if (name->value.text != "client.authentication.k8s.io/exec") continue;
      json += fmt::format(R"(,"config":{})", api::ToJson(extension->value));
    }
  }
  return json + "}";
}

Status ReadExecEnv(const Entry& exec, ExecPlugin& plugin) {
  const api::Member* env = exec.value->Find("env");
  if (env == nullptr || env->value.kind == DocumentNode::Kind::kNull) return {};
  const std::string path = exec.path + ".env";
  for (const DocumentNode& item : env->value.items) {
    const Entry one{.value = &item, .path = path};
    DRAY_ASSIGN_OR_RETURN(std::string name, TextOf(one, "name"));
    DRAY_ASSIGN_OR_RETURN(std::string value, TextOf(one, "value"));
    if (name.empty() || name.find('=') != name.npos) {
      return Fault(path, "every entry must have the name of a variable");
    }
    plugin.env.emplace_back(std::move(name), std::move(value));
  }
  return {};
}

Status ReadExec(const Entry& user, const Entry& cluster, ServerAccess& access) {
  const api::Member* member = user.value == nullptr ? nullptr : user.value->Find("exec");
  if (member == nullptr || member->value.kind == DocumentNode::Kind::kNull) return {};
  const Entry exec{.value = &member->value, .path = user.path + ".exec", .folder = user.folder};
  if (member->value.kind != DocumentNode::Kind::kMap) return Fault(exec.path, "must be a map");
  ExecPlugin& plugin = access.exec;
  DRAY_ASSIGN_OR_RETURN(plugin.command, TextOf(exec, "command"));
  if (plugin.command.empty()) return Fault(exec.path + ".command", "must name a program");
  // A name alone is looked for where programs are; a path is from the file's folder.
  if (plugin.command.find('/') != plugin.command.npos) {
    plugin.command = std::filesystem::path(exec.folder) / plugin.command;
  }
  DRAY_ASSIGN_OR_RETURN(plugin.api_version, TextOf(exec, "apiVersion"));
  const bool v1 = plugin.api_version == "client.authentication.k8s.io/v1";
  if (!v1 && plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    return Fault(exec.path + ".apiVersion",
                 fmt::format("\"{}\" must be client.authentication.k8s.io/v1 or /v1beta1",
                             plugin.api_version));
  }
  if (const api::Member* args = exec.value->Find("args")) {
    DRAY_ASSIGN_OR_RETURN(plugin.args, LinesOf(exec.path + ".args", args->value));
  }
  DRAY_RETURN_IF_ERROR(ReadExecEnv(exec, plugin));
  DRAY_ASSIGN_OR_RETURN(plugin.install_hint, TextOf(exec, "installHint"));
  DRAY_ASSIGN_OR_RETURN(const std::string mode, TextOf(exec, "interactiveMode"));
  using Interactive = ExecPlugin::Interactive;
  if (mode == "Never") {
    plugin.interactive = Interactive::kNever;
  } else if (mode == "Always") {
    plugin.interactive = Interactive::kAlways;
  } else if (mode != "IfAvailable" && (v1 || !mode.empty())) {
    return Fault(exec.path + ".interactiveMode",
                 fmt::format("\"{}\" must be Never, IfAvailable or Always", mode));
  }
  DRAY_ASSIGN_OR_RETURN(const bool tell, BoolOf(exec, "provideClusterInfo"));
  if (!tell) return {};
  DRAY_ASSIGN_OR_RETURN(plugin.cluster, ClusterInfo(cluster, access));
  return {};
}

Status ReadUser(const Entry& user, ServerAccess& access) {
  DRAY_RETURN_IF_ERROR(RefuseAuthProvider(user));
  DRAY_RETURN_IF_ERROR(CheckSecrets(user));
  DRAY_RETURN_IF_ERROR(ReadImpersonation(user, access.as));
  DRAY_ASSIGN_OR_RETURN(access.certificate, DataOf(user, "client-certificate"));
  DRAY_ASSIGN_OR_RETURN(access.key, DataOf(user, "client-key"));
  if (access.certificate.empty() != access.key.empty()) {
    return Fault(user.path, "client-certificate and client-key must both be set, or none");
  }
  DRAY_ASSIGN_OR_RETURN(access.token, TextOf(user, "token"));
  DRAY_ASSIGN_OR_RETURN(const std::string file, TextOf(user, "tokenFile"));
  DRAY_ASSIGN_OR_RETURN(access.username, TextOf(user, "username"));
  DRAY_ASSIGN_OR_RETURN(access.password, TextOf(user, "password"));
  // As in Kubernetes, the file goes before the text.
  if (!file.empty()) access.token_file = std::filesystem::path(user.folder) / file;
  return {};
}

StatusOr<ServerAccess> FromFiles(const Merged& merged, const std::string& wanted,
                                 const internal::Variables& variables) {
  const std::string& name = wanted.empty() ? merged.current : wanted;
  if (name.empty()) {
    return base::InvalidArgument(
        fmt::format("kubeconfig: current-context is not set and no context was chosen; {}",
                    NamesOf(merged.contexts)));
  }
  DRAY_ASSIGN_OR_RETURN(const Entry context, Chosen(merged.contexts, "context", name));
  DRAY_ASSIGN_OR_RETURN(const std::string cluster_name, TextOf(context, "cluster"));
  DRAY_ASSIGN_OR_RETURN(const std::string user_name, TextOf(context, "user"));
  DRAY_ASSIGN_OR_RETURN(const Entry cluster, Chosen(merged.clusters, "cluster", cluster_name));
  ServerAccess access;
  DRAY_RETURN_IF_ERROR(ReadCluster(cluster, access));
  DRAY_RETURN_IF_ERROR(ReadProxy(cluster, variables, access));
  if (!user_name.empty()) {
    DRAY_ASSIGN_OR_RETURN(const Entry user, Chosen(merged.users, "user", user_name));
    DRAY_RETURN_IF_ERROR(ReadUser(user, access));
    DRAY_RETURN_IF_ERROR(ReadExec(user, cluster, access));
  }
  DRAY_ASSIGN_OR_RETURN(access.namespace_, TextOf(context, "namespace"));
  return access;
}

StatusOr<ServerAccess> FromServiceAccount(const AccessOptions& options) {
  const std::string_view host = Variable(options, "KUBERNETES_SERVICE_HOST");
  const std::string_view port = Variable(options, "KUBERNETES_SERVICE_PORT");
  ServerAccess access;
  const bool v6 = host.find(':') != std::string_view::npos;
  access.url = fmt::format("https://{}{}{}:{}", v6 ? "[" : "", host, v6 ? "]" : "",
                           port.empty() ? "443" : port);
  access.token_file = options.service_account + "/token";
  DRAY_RETURN_IF_ERROR(ReadTextFile(access.token_file).status());
  DRAY_ASSIGN_OR_RETURN(access.authority, ReadTextFile(options.service_account + "/ca.crt"));
  auto space = ReadTextFile(options.service_account + "/namespace");
  if (space.ok()) access.namespace_ = *std::move(space);
  access.proxy = internal::ProxyFromEnvironment(access.url, options.variables);
  return access;
}

}  // namespace

StatusOr<ServerAccess> LoadAccess(const AccessOptions& options) {
  Merged merged;
  bool any = false;
  const std::vector<std::string> files = FilesOf(options);
  for (const std::string& file : files) {
    const auto text = ReadTextFile(file);
    // Of a list, those that there are count.
    const bool missing = text.status().code() == StatusCode::kNotFound;
    if (missing && options.kubeconfig.empty()) continue;
    if (!text.ok()) return text.status();
    DRAY_RETURN_IF_ERROR(AddFile(file, *text, merged));
    any = true;
  }
  if (any) return FromFiles(merged, options.context, options.variables);
  if (!Variable(options, "KUBERNETES_SERVICE_HOST").empty()) return FromServiceAccount(options);
  return base::NotFound(
      files.empty() ? std::string("no kubeconfig found: name one with --kubeconfig")
                    : fmt::format("no kubeconfig found: looked at {}", fmt::join(files, ", ")));
}

StatusOr<ServerAccess> ReadAccess(std::string_view text, const std::string& file,
                                  const std::string& context) {
  Merged merged;
  DRAY_RETURN_IF_ERROR(AddFile(file, text, merged));
  return FromFiles(merged, context, {});
}

}  // namespace dray::client
