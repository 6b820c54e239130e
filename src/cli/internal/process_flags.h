// SPDX-License-Identifier: Apache-2.0
//
// The flags of a process of its own beside the API server, by the names that kube-scheduler and
// kube-controller-manager have for them: its lease, its connection, its port. Each goes before what a
// configuration file says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/environment.h"
#include "cli/internal/signals.h"
#include "logs/log.h"
#include "plane/remote_process.h"
#include "plane/remote_scheduler.h"
#include "scheduler/config.h"

namespace CLI {
class App;
}

namespace dray::cli::internal {

// Of whoever serves, as Kubernetes's programs have them.
struct Http2Flags {
  bool disable = false;
  int max_streams = 0;  // 0: as many as usual
};
void AddHttp2Flags(CLI::App& app, Http2Flags& flags);
// Into options that have `http2` and `max_streams`.
template <typename Options>
void ReadHttp2Flags(const Http2Flags& flags, Options& options) {
  options.http2 = !flags.disable;
  if (flags.max_streams > 0) options.max_streams = static_cast<std::size_t>(flags.max_streams);
}

// Whose flags they are.
struct ProcessKind {
  std::string_view who = "scheduler";
  std::string_view lease = "the name of the first profile";  // if none is named
  int port = plane::kSchedulerPort;
};

struct ProcessFlags {
  std::optional<bool> leader_elect;
  std::string identity;
  std::string lease_duration;
  std::string renew_deadline;
  std::string retry_period;
  std::string resource_lock = "leases";
  std::string resource_name;
  std::string resource_namespace;

  std::optional<double> qps;
  std::optional<int> burst;

  std::string bind_address = "0.0.0.0";
  int secure_port = plane::kSchedulerPort;
  std::string certificate_file;
  std::string key_file;
  std::string client_authority_file;
  std::vector<std::string> always_allow = {"/healthz", "/readyz", "/livez"};
  bool skip_lookup = false;
  Http2Flags http2;
  std::string token_kept = "10s";
  std::string allowed_kept = "10s";
  std::string denied_kept = "10s";
  std::string authentication_kubeconfig;
  std::string authorization_kubeconfig;
};
void AddProcessFlags(CLI::App& app, ProcessFlags& flags, const ProcessKind& kind = {});

// What flags and file say together goes into the options. False: something cannot be, which has been
// said.
bool ReadProcessFlags(Io& io, const ProcessFlags& flags, const scheduler::LoadedConfig& file,
                      plane::RemoteSchedulerOptions& options);
// Likewise of a process that has no such file. A lease that has no name keeps none.
bool ReadProcessFlags(Io& io, const ProcessFlags& flags, plane::ProcessOptions& options);

// Says what changes, until it is told to end or has to. `who` is "scheduler", `doing` "scheduling".
Status WatchProcess(Io& io, const logs::Logger& log, const plane::RemoteProcess& process,
                    const EndSignals& signals, std::string_view who, std::string_view doing);
// What is said of it at first: where the server is, its lease, its port.
void Introduce(Io& io, const plane::RemoteProcess& process, const std::string& url);

}  // namespace dray::cli::internal
