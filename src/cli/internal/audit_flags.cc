// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/audit_flags.h"

#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "cli/internal/command.h"
#include "cli/internal/paint.h"
#include "cli/source_files.h"
#include "fmt/format.h"

namespace dray::cli::internal {

void AddAuditFlags(CLI::App& app, AuditFlags& flags) {
  app.add_option(
         "--audit-log-path", flags.path,
         "Write audit events (audit.k8s.io/v1, one per line) to this file; - is standard output")
      ->type_name("FILE|-");
  app.add_option(
         "--audit-policy-file", flags.policy,
         "Audit policy (audit.k8s.io/v1 Policy); without one writes are logged at level Metadata")
      ->type_name("FILE");
  app.add_option("--audit-log-maxsize", flags.max_megabytes,
                 "Rotate the audit log at this size in megabytes; 0 means never")
      ->type_name("NUMBER")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 20).description(""))
      ->capture_default_str();
  app.add_option("--audit-log-maxbackup", flags.max_backups,
                 "Number of rotated audit logs to keep; 0 means all")
      ->type_name("NUMBER")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 20).description(""))
      ->capture_default_str();
}

std::optional<plane::AuditOptions> ReadAuditFlags(Io& io, const AuditFlags& flags) {
  plane::AuditOptions options;
  options.path = flags.path;
  options.max_bytes = static_cast<std::uint64_t>(flags.max_megabytes) << 20;
  options.max_backups = static_cast<std::size_t>(flags.max_backups);
  if (flags.policy.empty()) return options;
  if (flags.path.empty()) {
    UsageError(io, "--audit-policy-file needs --audit-log-path", "add --audit-log-path FILE");
    return std::nullopt;
  }
  const Sources sources = LoadSources(std::vector<std::string>{flags.policy}, io.in);
  for (const SourceError& error : sources.errors) {
    UsageError(io, fmt::format("--audit-policy-file: {}: {}", error.path, error.message));
  }
  if (!sources.errors.empty()) return std::nullopt;
  if (sources.files.size() != 1) {
    UsageError(io, fmt::format("--audit-policy-file: {}: must be one file", flags.policy));
    return std::nullopt;
  }
  auto policy = audit::ReadPolicy(sources.files.front().text);
  if (!policy.ok()) {
    UsageError(io, fmt::format("--audit-policy-file: {}: {}", sources.files.front().path,
                               Printable(base::Message(policy.status()))));
    return std::nullopt;
  }
  options.policy = *std::move(policy);
  return options;
}

}  // namespace dray::cli::internal
