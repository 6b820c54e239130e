// SPDX-License-Identifier: Apache-2.0
#include "apiserver/credentials.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "apiserver/internal/files.h"
#include "fmt/format.h"

namespace dray::apiserver {
namespace {

constexpr std::chrono::hours kAuthorityValid{24 * 3650};
constexpr std::chrono::hours kRenewBefore{24 * 30};

std::string PkiFolder(const CredentialsOptions& options) { return options.folder + "/pki"; }

std::vector<std::string> Hosts(const CredentialsOptions& options) {
  std::vector<std::string> hosts = {"localhost", "127.0.0.1", "::1"};
  char name[256] = {};
  if (::gethostname(name, sizeof(name) - 1) == 0 && name[0] != '\0') hosts.emplace_back(name);
  hosts.insert(hosts.end(), options.hosts.begin(), options.hosts.end());
  std::ranges::sort(hosts);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

StatusOr<std::optional<KeyPair>> ReadPair(const std::string& path) {
  DRAY_ASSIGN_OR_RETURN(auto certificate, internal::ReadFile(path + ".crt"));
  DRAY_ASSIGN_OR_RETURN(auto key, internal::ReadSecret(path + ".key"));
  if (!certificate || !key) return std::optional<KeyPair>();
  return std::optional(KeyPair{*std::move(certificate), *std::move(key)});
}

// The key first: a certificate without its key would be taken for whole after a crash in between.
Status WritePair(const std::string& path, const KeyPair& pair) {
  DRAY_RETURN_IF_ERROR(internal::WriteFile(path + ".key", pair.key));
  return internal::WriteFile(path + ".crt", pair.certificate);
}

// What is left of an authority: somebody keeps its key or all of it elsewhere, or has lost files. Only
// where nothing was signed yet is it what a first start leaves that was stopped in the middle.
Status CheckWhole(const std::string& path, bool has_certificate, bool has_key) {
  if (has_certificate && has_key) return {};
  const std::string folder = path.substr(0, path.rfind('/'));
  std::error_code ignored;
  const bool signed_any =
      std::ranges::any_of(std::filesystem::directory_iterator(folder, ignored),
                          [](const auto& file) { return file.path().extension() == ".crt"; });
  if (!has_certificate && !signed_any) return {};
  std::string missing = fmt::format("{0}.{1} is missing beside {0}.{2}", path,
                                    has_key ? "crt" : "key", has_key ? "key" : "crt");
  std::string back = fmt::format("{}.{}", path, has_key ? "crt" : "key");
  if (!has_certificate && !has_key) {
    missing = fmt::format(
        "{0}.crt and {0}.key are missing beside certificates that they have signed", path);
    back = fmt::format("{0}.crt and {0}.key", path);
  }
  return base::FailedPrecondition(fmt::format(
      "{}: a new authority would lock out everyone who trusts this one. Put {} back; or, to begin "
      "anew, move {} away, and hand out every kubeconfig again",
      missing, back, folder));
}

// Nothing when there is none yet.
StatusOr<std::optional<KeyPair>> ReadAuthority(const std::string& path) {
  DRAY_ASSIGN_OR_RETURN(const auto certificate, internal::ReadFile(path + ".crt"));
  DRAY_ASSIGN_OR_RETURN(const auto key, internal::ReadSecret(path + ".key"));
  DRAY_RETURN_IF_ERROR(CheckWhole(path, certificate.has_value(), key.has_value()));
  if (!certificate || !key) return std::optional<KeyPair>();
  return std::optional(KeyPair{*certificate, *key});
}

// An authority is never replaced: everyone who trusts it would be locked out.
StatusOr<KeyPair> EnsureAuthority(const std::string& path, base::Time now) {
  DRAY_ASSIGN_OR_RETURN(auto pair, ReadAuthority(path));
  if (pair) {
    const Status fits = CheckAuthority(*pair);
    if (!fits.ok()) return base::Annotate(fits, fmt::format("{0}.crt and {0}.key", path));
    return *std::move(pair);
  }
  DRAY_ASSIGN_OR_RETURN(KeyPair made, MakeAuthority("dray-authority", now, kAuthorityValid));
  DRAY_RETURN_IF_ERROR(WritePair(path, made));
  return made;
}

bool IsGood(const KeyPair& pair, const KeyPair& authority, const CertificateSpec& spec,
            base::Time now) {
  const auto info = ReadCertificate(pair.certificate);
  return info.ok() && CheckKeyPair(pair, authority.certificate).ok() &&
         info->not_after > now + kRenewBefore && info->common_name == spec.common_name &&
         info->organizations == spec.organizations && info->hosts == spec.hosts;
}

StatusOr<KeyPair> EnsurePair(const std::string& path, const KeyPair& authority,
                             const CertificateSpec& spec, base::Time now) {
  DRAY_ASSIGN_OR_RETURN(auto pair, ReadPair(path));
  if (pair && IsGood(*pair, authority, spec, now)) return *std::move(pair);
  DRAY_ASSIGN_OR_RETURN(KeyPair made, MakeCertificate(authority, spec, now));
  DRAY_RETURN_IF_ERROR(WritePair(path, made));
  return made;
}

std::string Base64(std::string_view text) { return absl::Base64Escape(base::ToAbsl(text)); }

std::string Kubeconfig(const std::string& url, const std::string& authority, const KeyPair& client,
                       const std::string& user) {
  return fmt::format(
      "apiVersion: v1\nkind: Config\ncurrent-context: dray\n"
      "clusters:\n- name: dray\n  cluster:\n    server: {}\n    certificate-authority-data: {}\n"
      "contexts:\n- name: dray\n  context:\n    cluster: dray\n    user: {}\n"
      "users:\n- name: {}\n  user:\n    client-certificate-data: {}\n    client-key-data: {}\n",
      url, Base64(authority), user, user, Base64(client.certificate), Base64(client.key));
}

CertificateSpec SpecOf(const ClientIdentity& client) {
  CertificateSpec spec{.use = CertificateSpec::Use::kClient,
                       .common_name = client.user,
                       .organizations = client.groups};
  if (!client.host.empty()) {
    spec.use = CertificateSpec::Use::kClientAndServer;
    spec.hosts = {client.host};
  }
  return spec;
}

// Of a kubeconfig that Kubeconfig has written.
std::optional<std::string> ServerOf(std::string_view kubeconfig) {
  constexpr std::string_view kServer = "\n    server: ";
  const std::size_t at = kubeconfig.find(kServer);
  if (at == kubeconfig.npos) return std::nullopt;
  const std::size_t begin = at + kServer.size();
  return std::string(kubeconfig.substr(begin, kubeconfig.find('\n', begin) - begin));
}

}  // namespace

StatusOr<Credentials> EnsureCredentials(const CredentialsOptions& options, base::Time now) {
  const std::string pki = PkiFolder(options);
  DRAY_RETURN_IF_ERROR(internal::MakeFolder(options.folder));
  DRAY_RETURN_IF_ERROR(internal::MakeFolder(pki));
  DRAY_ASSIGN_OR_RETURN(const KeyPair authority, EnsureAuthority(pki + "/ca", now));
  for (const ClientIdentity& client : options.clients) {
    DRAY_RETURN_IF_ERROR(
        EnsurePair(pki + "/" + client.name, authority, SpecOf(client), now).status());
  }
  DRAY_ASSIGN_OR_RETURN(KeyPair server, EnsurePair(pki + "/apiserver", authority,
                                                   {.use = CertificateSpec::Use::kServer,
                                                    .common_name = "dray-apiserver",
                                                    .hosts = Hosts(options)},
                                                   now));
  DRAY_ASSIGN_OR_RETURN(KeyPair to_nodes, EnsurePair(pki + "/apiserver-kubelet-client", authority,
                                                     {.use = CertificateSpec::Use::kClient,
                                                      .common_name = std::string(kNodeClientUser),
                                                      .organizations = {"system:masters"}},
                                                     now));
  return Credentials{.authority = authority.certificate,
                     .signer = authority,
                     .server = std::move(server),
                     .to_nodes = std::move(to_nodes)};
}

StatusOr<std::vector<std::string>> WriteKubeconfigs(const CredentialsOptions& options,
                                                    const std::string& url) {
  std::vector<std::string> paths;
  DRAY_ASSIGN_OR_RETURN(const auto authority, internal::ReadFile(PkiFolder(options) + "/ca.crt"));
  if (!authority) return base::NotFound("there is no " + PkiFolder(options) + "/ca.crt");
  for (const ClientIdentity& client : options.clients) {
    DRAY_ASSIGN_OR_RETURN(const auto pair, ReadPair(PkiFolder(options) + "/" + client.name));
    if (!pair) return base::NotFound("there is no certificate of " + client.name);
    paths.push_back(options.folder + "/" + client.name + ".kubeconfig");
    DRAY_RETURN_IF_ERROR(
        internal::WriteFile(paths.back(), Kubeconfig(url, *authority, *pair, client.user)));
  }
  return paths;
}

StatusOr<std::string> IssueKubeconfig(const std::string& folder, const ClientIdentity& client,
                                      base::Time now) {
  const CredentialsOptions options{.folder = folder, .clients = {client}, .hosts = {}};
  const std::string pki = PkiFolder(options);
  DRAY_ASSIGN_OR_RETURN(const auto authority, ReadAuthority(pki + "/ca"));
  DRAY_ASSIGN_OR_RETURN(const auto known, internal::ReadSecret(folder + "/admin.kubeconfig"));
  const std::optional<std::string> url = known ? ServerOf(*known) : std::nullopt;
  if (!authority || !url) {
    return base::FailedPrecondition(
        fmt::format("no CA in {0}: run \"dray up --data {0}\" once first", folder));
  }
  DRAY_RETURN_IF_ERROR(
      EnsurePair(pki + "/" + client.name, *authority, SpecOf(client), now).status());
  DRAY_ASSIGN_OR_RETURN(const std::vector<std::string> paths, WriteKubeconfigs(options, *url));
  return paths.front();
}

}  // namespace dray::apiserver
