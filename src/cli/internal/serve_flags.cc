// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/serve_flags.h"

#include <charconv>
#include <system_error>
#include <utility>

#include "CLI/CLI.hpp"
#include "base/names.h"
#include "cli/internal/command.h"
#include "cli/internal/log_flags.h"
#include "cli/internal/options.h"
#include "cli/source_files.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

constexpr const char* kSlowRequest = "--slow-request-threshold";
constexpr const char* kSlowCommit = "--slow-commit-threshold";
constexpr const char* kStuckRequest = "--stuck-request-threshold";

bool ReadListen(const std::string& listen, plane::PlaneOptions& options) {
  const auto colon = listen.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  options.address = listen.substr(0, colon);
  if (options.address.front() == '[' && options.address.back() == ']') {
    options.address = options.address.substr(1, options.address.size() - 2);
  }
  const char* const end = listen.data() + listen.size();
  const auto [rest, error] = std::from_chars(listen.data() + colon + 1, end, options.port);
  return error == std::errc() && rest == end;
}

bool ReadTokens(Io& io, const std::string& tokens, plane::PlaneOptions& options) {
  if (tokens.empty()) return true;
  if (!IsPrivate(io, "--token-auth-file", tokens)) return false;
  const Sources sources = LoadSources(std::vector<std::string>{tokens}, io.in);
  for (const SourceError& error : sources.errors) {
    UsageError(io, fmt::format("--token-auth-file: {}: {}", error.path, error.message));
  }
  for (const SourceFile& file : sources.files) options.tokens += file.text + "\n";
  return sources.errors.empty();
}

// A name or an address, without a port: that is the one that is listened at.
bool IsHost(const std::string& host) {
  const bool address =
      !host.empty() && host.find_first_not_of("0123456789abcdefABCDEF.:") == host.npos;
  return address || base::IsDnsSubdomain(host);
}

bool ReadStore(Io& io, const ServeFlags& flags, plane::PlaneOptions& options) {
  if (!flags.store.empty()) {
    auto address = plane::StoreAddress::Parse(flags.store);
    if (!address.ok()) {
      UsageError(io, fmt::format("--store: {}", base::Message(address.status())),
                 "as in sqlite:/var/lib/dray/dray.db, memory or etcd://127.0.0.1:2379");
      return false;
    }
    options.store = *std::move(address);
  }
  if (options.store.kind != plane::StoreAddress::Kind::kEtcd) {
    if (!AnyEtcdFlag(flags.etcd)) return true;
    UsageError(io, "--etcd-... flags need an etcd address in --store",
               "as in --store etcd://127.0.0.1:2379");
    return false;
  }
  options.etcd.address = options.store.Etcd();
  if (!ReadEtcdFlags(io, flags.etcd, options.etcd)) return false;
  options.store = plane::StoreAddress::In(options.etcd.address);
  return true;
}

}  // namespace

void AddServeFlags(CLI::App& app, ServeFlags& flags) {
  AddDataFolder(app, flags.data);
  app.add_option(
         "--store", flags.store,
         "Where objects are stored: sqlite:FILE, memory, or etcd://HOST:PORT,HOST:PORT/PREFIX "
         "(etcds:// for TLS) (default sqlite:DATA/dray.db)")
      ->type_name("STORE");
  AddEtcdFlags(app, flags.etcd);
  app.add_option("--listen", flags.listen, "Address and port to listen on; port 0 picks a free one")
      ->type_name("ADDRESS:PORT")
      ->capture_default_str();
  app.add_option("--advertise", flags.advertise,
                 "Names and addresses that clients use, for the serving certificate; the first one "
                 "is written to the kubeconfigs (default: the address of --listen)")
      ->type_name("HOST,HOST")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option(
         "--token-auth-file", flags.tokens,
         "File of bearer tokens in kube-apiserver's format: token,user,uid,\"group,group\" lines")
      ->type_name("FILE");
  AddHttp2Flags(app, flags.http2);
}

void AddServeReports(CLI::App& app, ServeFlags& flags) {
  AddThreshold(app, kSlowRequest, flags.slow_request,
               "Log requests that take longer than this, step by step; 0 means none");
  AddThreshold(app, kSlowCommit, flags.slow_commit,
               "/healthz fails while a commit to disk takes longer than this; 0 means never");
  AddThreshold(app, kStuckRequest, flags.stuck_request,
               "/readyz and /healthz fail while a request waits longer than this for a thread; 0 "
               "means never");
  AddAuditFlags(app, flags.audit);
}

bool ReadServeFlags(Io& io, const ServeFlags& flags, plane::PlaneOptions& options) {
  const auto gates = ReadGates(io, flags.gates);
  if (!gates) return false;
  options.gates = *gates;
  options.data = DataFolder(io.env, flags.data);
  if (!ReadStore(io, flags, options)) return false;
  ReadHttp2Flags(flags.http2, options);
  if (!ReadListen(flags.listen, options)) {
    UsageError(io, fmt::format("--listen: \"{}\" must be an address and a port", flags.listen),
               "as in 127.0.0.1:6443");
    return false;
  }
  for (const std::string& host : flags.advertise) {
    if (IsHost(host)) continue;
    UsageError(io, fmt::format("--advertise: \"{}\" must be a name or an address", host),
               "for example api.example.com or 10.0.0.7; the port is that of --listen");
    return false;
  }
  options.advertise = flags.advertise;
  if (!ReadTokens(io, flags.tokens, options)) return false;
  const auto slow_request = ReadThreshold(io, kSlowRequest, flags.slow_request);
  const auto slow_commit = ReadThreshold(io, kSlowCommit, flags.slow_commit);
  const auto stuck_request = ReadThreshold(io, kStuckRequest, flags.stuck_request);
  auto audit = ReadAuditFlags(io, flags.audit);
  if (!slow_request || !slow_commit || !stuck_request || !audit) return false;
  options.slow_request = *slow_request;
  options.health.slow_commit = *slow_commit;
  options.health.stuck_request = *stuck_request;
  options.audit = *std::move(audit);
  return true;
}

}  // namespace dray::cli::internal
