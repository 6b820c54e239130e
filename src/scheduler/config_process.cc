// SPDX-License-Identifier: Apache-2.0
//
// What a configuration says about the process that schedules: its lease, and its connection.
#include <optional>
#include <string>

#include "base/names.h"
#include "base/time.h"
#include "fmt/format.h"
#include "scheduler/internal/config_reader.h"

namespace dray::scheduler::internal {
namespace {

using base::FieldPath;

std::optional<std::chrono::nanoseconds> ReadPositive(const std::optional<std::string>& text,
                                                     const FieldPath& at, Findings& findings) {
  if (!text) return std::nullopt;
  const auto parsed = base::ParseGoDuration(*text);
  if (parsed.ok() && parsed->count() > 0) return *parsed;
  findings.Error(at, fmt::format("\"{}\": must be a duration above 0, like 15s", *text));
  return std::nullopt;
}

LeaderElectionConfig ReadElection(const FileLeaderElection& file, const FieldPath& at,
                                  Findings& findings) {
  LeaderElectionConfig election{.leader_elect = file.leader_elect,
                                .resource_name = file.resource_name,
                                .resource_namespace = file.resource_namespace};
  election.lease_duration = ReadPositive(file.lease_duration, at / "leaseDuration", findings);
  election.renew_deadline = ReadPositive(file.renew_deadline, at / "renewDeadline", findings);
  election.retry_period = ReadPositive(file.retry_period, at / "retryPeriod", findings);
  if (!file.resource_lock.empty() && file.resource_lock != "leases") {
    findings.Error(at / "resourceLock", fmt::format("\"{}\": must be leases", file.resource_lock));
  }
  if (!file.resource_name.empty() && !base::IsDnsSubdomain(file.resource_name)) {
    findings.Error(at / "resourceName",
                   fmt::format("\"{}\": must be a name that a Lease can have", file.resource_name));
  }
  if (!file.resource_namespace.empty() && !base::IsDnsLabel(file.resource_namespace)) {
    findings.Error(at / "resourceNamespace",
                   fmt::format("\"{}\": must be the name of a namespace", file.resource_namespace));
  }
  return election;
}

ClientConnectionConfig ReadConnection(const FileClientConnection& file, const FieldPath& at,
                                      Findings& findings) {
  if (file.burst && *file.burst < 0) {
    findings.Error(at / "burst", fmt::format("{}: must not be negative", *file.burst));
  }
  constexpr std::string_view kWhy = "requests and answers are JSON";
  if (!file.accept_content_types.empty()) findings.Unused(at / "acceptContentTypes", kWhy);
  if (!file.content_type.empty() && file.content_type != "application/json") {
    findings.Unused(at / "contentType", kWhy);
  }
  return {.kubeconfig = file.kubeconfig, .qps = file.qps, .burst = file.burst};
}

}  // namespace

void ReadProcess(const ConfigFile& file, LoadedConfig& loaded, Findings& findings) {
  if (file.leader_election) {
    loaded.leader_election =
        ReadElection(*file.leader_election, FieldPath("leaderElection"), findings);
  }
  if (file.client_connection) {
    loaded.client_connection =
        ReadConnection(*file.client_connection, FieldPath("clientConnection"), findings);
  }
}

}  // namespace dray::scheduler::internal
