// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/etcd_flags.h"

#include <fstream>
#include <iterator>
#include <optional>

#include "CLI/CLI.hpp"
#include "cli/internal/command.h"
#include "cli/internal/options.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

std::optional<std::string> ReadFile(Io& io, const char* flag, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file || text.empty()) {
    UsageError(io, fmt::format("{}: {} cannot be read, or is empty", flag, path));
    return std::nullopt;
  }
  return text;
}

}  // namespace

void AddEtcdFlags(CLI::App& app, EtcdFlags& flags) {
  app.add_option("--etcd-cafile", flags.authorities,
                 "CA bundle for etcd's server certificate (PEM); enables TLS")
      ->type_name("FILE");
  app.add_option("--etcd-certfile", flags.certificate, "Client certificate for etcd (PEM)")
      ->type_name("FILE");
  app.add_option("--etcd-keyfile", flags.key, "Private key of the client certificate (PEM)")
      ->type_name("FILE");
  app.add_option("--etcd-user", flags.user, "User name for etcd")->type_name("NAME");
  app.add_option("--etcd-password-file", flags.password_file,
                 "File with the password of --etcd-user")
      ->type_name("FILE");
  app.add_option("--etcd-prefix", flags.prefix,
                 "Prefix of all keys, unless the address has one (default /dray)")
      ->type_name("PREFIX");
}

bool AnyEtcdFlag(const EtcdFlags& flags) {
  return !(flags.authorities.empty() && flags.certificate.empty() && flags.key.empty() &&
           flags.user.empty() && flags.password_file.empty() && flags.prefix.empty());
}

bool ReadEtcdFlags(Io& io, const EtcdFlags& flags, store::EtcdOptions& options) {
  if (flags.certificate.empty() != flags.key.empty()) {
    UsageError(io, "--etcd-certfile and --etcd-keyfile must be given together",
               "give both, or none of them");
    return false;
  }
  if (flags.user.empty() != flags.password_file.empty()) {
    UsageError(io, "--etcd-user and --etcd-password-file must be given together",
               "give both, or none of them");
    return false;
  }
  if (!flags.prefix.empty()) {
    if (!flags.prefix.starts_with('/') || flags.prefix.ends_with('/')) {
      UsageError(io,
                 fmt::format("--etcd-prefix: \"{}\" must begin with a slash and not end with one",
                             flags.prefix),
                 "as in /dray");
      return false;
    }
    options.address.prefix = flags.prefix;
  }
  if (!IsPrivate(io, "--etcd-keyfile", flags.key) ||
      !IsPrivate(io, "--etcd-password-file", flags.password_file)) {
    return false;
  }
  const bool tls = !flags.authorities.empty() || !flags.certificate.empty();
  for (rpc::EtcdEndpoint& endpoint : options.address.endpoints) endpoint.tls |= tls;
  const auto read = [&io](const char* flag, const std::string& path, std::string& text) {
    if (path.empty()) return true;
    auto content = ReadFile(io, flag, path);
    if (content) text = *std::move(content);
    return content.has_value();
  };
  if (!read("--etcd-cafile", flags.authorities, options.tls.authorities) ||
      !read("--etcd-certfile", flags.certificate, options.tls.certificate) ||
      !read("--etcd-keyfile", flags.key, options.tls.key) ||
      !read("--etcd-password-file", flags.password_file, options.password)) {
    return false;
  }
  while (options.password.ends_with('\n') || options.password.ends_with('\r')) {
    options.password.pop_back();
  }
  options.user = flags.user;
  return true;
}

}  // namespace dray::cli::internal
