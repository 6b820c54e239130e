// SPDX-License-Identifier: Apache-2.0
//
// The flags of a scheduler that is a process of its own, by kube-scheduler's names: its lease, its
// connection, its port. Each goes before what the configuration file says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/environment.h"
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
void AddProcessFlags(CLI::App& app, ProcessFlags& flags);

// What flags and file say together goes into the options. False: something cannot be, which has been
// said.
bool ReadProcessFlags(Io& io, const ProcessFlags& flags, const scheduler::LoadedConfig& file,
                      plane::RemoteSchedulerOptions& options);

}  // namespace dray::cli::internal
