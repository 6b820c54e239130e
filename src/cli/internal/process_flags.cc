// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/process_flags.h"

#include <chrono>
#include <cstdint>
#include <fstream>
#include <ostream>
#include <sstream>
#include <utility>

#include "CLI/CLI.hpp"
#include "base/time.h"
#include "cli/internal/command.h"
#include "cli/internal/options.h"
#include "cli/internal/paint.h"
#include "cli/internal/scheduler_flags.h"
#include "client/kubeconfig.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kTheirLease = "kube-scheduler";

CLI::Option* AddDuration(CLI::App& app, const std::string& flag, std::string& text,
                         const std::string& what) {
  return app.add_option(flag, text, what)->type_name("DURATION");
}

// Flags that are given go before the file, and the file before the default.
bool Choose(Io& io, std::string_view flag, const std::string& text,
            const std::optional<std::chrono::nanoseconds>& file, std::chrono::nanoseconds& to) {
  if (text.empty()) {
    to = file.value_or(to);
    return true;
  }
  const auto duration = base::ParseGoDuration(text);
  if (!duration.ok() || duration->count() < 0) {
    UsageError(io, fmt::format("{}: \"{}\" must be a duration of 0 or more", flag, Printable(text)),
               "as in 15s");
    return false;
  }
  to = *duration;
  return true;
}

bool ReadElection(Io& io, const ProcessFlags& flags, const scheduler::LoadedConfig& file,
                  const std::string& default_name, plane::ProcessOptions& options) {
  const scheduler::LeaderElectionConfig said =
      file.leader_election.value_or(scheduler::LeaderElectionConfig());
  options.leader_elect = flags.leader_elect.value_or(said.leader_elect.value_or(true));
  options.identity = flags.identity;
  client::LeaseOptions& lease = options.lease;
  if (!Choose(io, "--leader-elect-lease-duration", flags.lease_duration, said.lease_duration,
              lease.duration) ||
      !Choose(io, "--leader-elect-renew-deadline", flags.renew_deadline, said.renew_deadline,
              lease.renew_deadline) ||
      !Choose(io, "--leader-elect-retry-period", flags.retry_period, said.retry_period,
              lease.retry)) {
    return false;
  }
  const auto first = [](const std::string& a, const std::string& b, const std::string& c) {
    return !a.empty() ? a : !b.empty() ? b : c;
  };
  lease.name = first(flags.resource_name, said.resource_name, default_name);
  lease.namespace_ = first(flags.resource_namespace, said.resource_namespace, lease.namespace_);
  if (!options.leader_elect) return true;
  if (const Status fits = client::CheckLease(lease); !fits.ok()) {
    UsageError(io, Printable(base::Message(fits)),
               "name the lease with --leader-elect-resource-name; a scheduler's default is the "
               "name of its first profile");
    return false;
  }
  if (lease.name == kTheirLease && lease.namespace_ == "kube-system") {
    io.err << "warning: the lease kube-system/kube-scheduler is the one of kube-scheduler: only "
              "one of them schedules at a time, this process or kube-scheduler\n";
  }
  return true;
}

bool ReadConnection(Io& io, const ProcessFlags& flags, const scheduler::LoadedConfig& file,
                    plane::ProcessOptions& options) {
  const scheduler::ClientConnectionConfig said =
      file.client_connection.value_or(scheduler::ClientConnectionConfig());
  options.qps = flags.qps ? *flags.qps : said.qps.value_or(0);
  options.burst = flags.burst ? *flags.burst : said.burst.value_or(0);
  if (options.burst < 0) {
    UsageError(io, fmt::format("--kube-api-burst: {} must not be negative", options.burst));
    return false;
  }
  // As many as two seconds bring, which is the proportion of Kubernetes's own defaults.
  if (options.qps > 0 && options.burst == 0) {
    options.burst = std::max(1, static_cast<int>(2 * options.qps));
  }
  return true;
}

// Nothing in it: the flag was not given. False: it cannot be read, which has been said.
bool ReadPem(Io& io, const std::string& file, std::string& text) {
  if (file.empty()) return true;
  auto read = ReadText(io, file);
  if (!read) return false;
  text = *std::move(read);
  return true;
}

bool ReadOther(Io& io, std::string_view flag, const std::string& file,
               std::optional<client::ServerAccess>& access) {
  if (file.empty()) return true;
  auto loaded = client::LoadAccess({.kubeconfig = file, .variables = io.env.variables});
  if (!loaded.ok()) {
    UsageError(io, Printable(fmt::format("{}: {}", flag, base::Message(loaded.status()))));
    return false;
  }
  access = *std::move(loaded);
  return true;
}

// As it is now, for a scheduler that runs longer than its certificate. What is wrong names the file.
StatusOr<apiserver::KeyPair> ReadPair(const std::string& certificate, const std::string& key) {
  apiserver::KeyPair pair;
  for (const auto& [file, text] :
       {std::pair(&certificate, &pair.certificate), std::pair(&key, &pair.key)}) {
    std::ifstream in(*file, std::ios::binary);
    std::ostringstream all;
    all << in.rdbuf();
    if (!in) return base::Unavailable(fmt::format("{} cannot be read", *file));
    *text = std::move(all).str();
  }
  return pair;
}

bool ReadServing(Io& io, const ProcessFlags& flags, plane::ProcessOptions& options) {
  if (flags.secure_port == 0) return true;
  plane::ServingOptions serving;
  serving.address = flags.bind_address;
  serving.port = static_cast<std::uint16_t>(flags.secure_port);
  serving.always_allow = flags.always_allow;
  serving.skip_lookup = flags.skip_lookup;
  if (flags.certificate_file.empty() != flags.key_file.empty()) {
    UsageError(io, "--tls-cert-file and --tls-private-key-file must be given together");
    return false;
  }
  if (!IsPrivate(io, "--tls-private-key-file", flags.key_file)) return false;
  if (!ReadPem(io, flags.certificate_file, serving.certificate.certificate) ||
      !ReadPem(io, flags.key_file, serving.certificate.key) ||
      !ReadPem(io, flags.client_authority_file, serving.client_authority) ||
      !Choose(io, "--authentication-token-webhook-cache-ttl", flags.token_kept, std::nullopt,
              serving.token_kept) ||
      !Choose(io, "--authorization-webhook-cache-authorized-ttl", flags.allowed_kept, std::nullopt,
              serving.allowed_kept) ||
      !Choose(io, "--authorization-webhook-cache-unauthorized-ttl", flags.denied_kept, std::nullopt,
              serving.denied_kept) ||
      !ReadOther(io, "--authentication-kubeconfig", flags.authentication_kubeconfig,
                 serving.authentication) ||
      !ReadOther(io, "--authorization-kubeconfig", flags.authorization_kubeconfig,
                 serving.authorization)) {
    return false;
  }
  if (!flags.certificate_file.empty()) {
    serving.reload = [certificate = flags.certificate_file, key = flags.key_file] {
      return ReadPair(certificate, key);
    };
  }
  ReadHttp2Flags(flags.http2, serving);
  options.serving = std::move(serving);
  return true;
}

void AddElectionFlags(CLI::App& app, ProcessFlags& flags, const ProcessKind& kind) {
  // Told only when it is given: 1, or -1 for --leader-elect=false.
  app.add_flag_function(
      "--leader-elect", [&flags](std::int64_t given) { flags.leader_elect = given > 0; },
      "Use leader election (default true)");
  app.add_option("--leader-elect-resource-name", flags.resource_name,
                 fmt::format("Name of the lease (default {})", kind.lease))
      ->type_name("NAME");
  app.add_option("--leader-elect-resource-namespace", flags.resource_namespace,
                 "Namespace of the lease (default kube-system)")
      ->type_name("NAME");
  app.add_option("--leader-elect-resource-lock", flags.resource_lock,
                 "Kind of object used for leader election")
      ->type_name("leases")
      ->check(CLI::IsMember({"leases"}).description(""));
  AddDuration(app, "--leader-elect-lease-duration", flags.lease_duration,
              "How long a lease is valid without being renewed (default 15s)");
  AddDuration(app, "--leader-elect-renew-deadline", flags.renew_deadline,
              "How long the leader tries to renew its lease before it gives up (default 10s)");
  AddDuration(app, "--leader-elect-retry-period", flags.retry_period,
              "Time between attempts to acquire or renew the lease (default 2s)");
  app.add_option("--leader-elect-identity", flags.identity,
                 "Identity in the lease; generated if not given")
      ->type_name("NAME");
}

void AddServingFlags(CLI::App& app, ProcessFlags& flags, const ProcessKind& kind) {
  app.add_option("--bind-address", flags.bind_address, "Address for health and metrics")
      ->type_name("IP")
      ->capture_default_str();
  app.add_option("--secure-port", flags.secure_port,
                 "HTTPS port for health and metrics; 0 disables it")
      ->type_name("PORT")
      ->check(CLI::Range(0, 65535).description(""))
      ->capture_default_str();
  app.add_option("--tls-cert-file", flags.certificate_file,
                 "Serving certificate with its chain (default: self-signed)")
      ->type_name("FILE");
  app.add_option("--tls-private-key-file", flags.key_file, "Private key of the serving certificate")
      ->type_name("FILE");
  app.add_option("--client-ca-file", flags.client_authority_file,
                 "CA of client certificates (default: that of the API server)")
      ->type_name("FILE");
  app.add_option("--authorization-always-allow-paths", flags.always_allow,
                 "Paths that anyone may read without authorization")
      ->type_name("PATHS")
      ->delimiter(',')
      ->capture_default_str();
  app.add_flag("--authentication-skip-lookup", flags.skip_lookup,
               "Do not look up the client CA on the API server");
  AddDuration(app, "--authentication-token-webhook-cache-ttl", flags.token_kept,
              "How long to cache token reviews")
      ->capture_default_str();
  AddDuration(app, "--authorization-webhook-cache-authorized-ttl", flags.allowed_kept,
              "How long to cache access reviews that allow")
      ->capture_default_str();
  AddDuration(app, "--authorization-webhook-cache-unauthorized-ttl", flags.denied_kept,
              "How long to cache access reviews that deny")
      ->capture_default_str();
  app.add_option("--authentication-kubeconfig", flags.authentication_kubeconfig,
                 fmt::format("Kubeconfig for token reviews (default: that of the {})", kind.who))
      ->type_name("FILE");
  app.add_option("--authorization-kubeconfig", flags.authorization_kubeconfig,
                 fmt::format("Kubeconfig for access reviews (default: that of the {})", kind.who))
      ->type_name("FILE");
  AddHttp2Flags(app, flags.http2);
}

}  // namespace

void AddHttp2Flags(CLI::App& app, Http2Flags& flags) {
  app.add_flag("--disable-http2-serving", flags.disable, "Serve HTTP/1.1 only");
  app.add_option("--http2-max-streams-per-connection", flags.max_streams,
                 "Maximum concurrent streams of an HTTP/2 connection; 0 means 250")
      ->type_name("NUMBER")
      ->check(CLI::Range(0, 100'000).description(""))
      ->capture_default_str();
}

void AddProcessFlags(CLI::App& app, ProcessFlags& flags, const ProcessKind& kind) {
  flags.secure_port = kind.port;
  AddElectionFlags(app, flags, kind);
  app.add_option("--kube-api-qps", flags.qps,
                 "Requests per second to the API server (default: unlimited)")
      ->type_name("NUMBER");
  app.add_option("--kube-api-burst", flags.burst,
                 "Burst for --kube-api-qps (default: twice as many)")
      ->type_name("NUMBER");
  AddServingFlags(app, flags, kind);
}

bool ReadProcessFlags(Io& io, const ProcessFlags& flags, const scheduler::LoadedConfig& file,
                      plane::RemoteSchedulerOptions& options) {
  return ReadElection(io, flags, file, options.config.profiles.front().scheduler_name, options) &&
         ReadConnection(io, flags, file, options) && ReadServing(io, flags, options);
}

bool ReadProcessFlags(Io& io, const ProcessFlags& flags, plane::ProcessOptions& options) {
  const scheduler::LoadedConfig nothing;
  return ReadElection(io, flags, nothing, options.lease.name, options) &&
         ReadConnection(io, flags, nothing, options) && ReadServing(io, flags, options);
}

void Introduce(Io& io, const plane::RemoteProcess& process, const std::string& url) {
  const auto say = [&](std::string_view what, const std::string& value) {
    if (!value.empty()) io.out << fmt::format("{:<12} {}\n", what, Printable(value));
  };
  say("apiserver", url);
  say("lease", process.lease());
  say("serving", process.serving());
  io.out << std::flush;
}

Status WatchProcess(Io& io, const logs::Logger& log, const plane::RemoteProcess& process,
                    const EndSignals& signals, std::string_view who, std::string_view doing) {
  std::string said;
  std::string trouble;
  std::string election;
  for (;;) {
    if (Status health = process.Health(); !health.ok()) return health;
    const std::string leader = process.leader();
    std::string state(doing);
    if (process.leading() && !process.Connection().ok()) {
      state = "paused: the API server cannot be reached";
    } else if (!process.leading()) {
      state = leader.empty() ? "waiting for the lease"
                             : fmt::format("waiting: {} has the lease", Printable(leader));
    }
    if (state != said) io.out << fmt::format("{:<12} {}\n", who, state) << std::flush;
    said = std::move(state);
    std::string now(base::Message(process.Connection()));
    if (now != trouble) {
      now.empty() ? log.Info(0, "The API server is back")
                  : log.Warning("The API server cannot be reached", {{"err", now}});
    }
    trouble = std::move(now);
    std::string lease(base::Message(process.Election()));
    if (lease != election && !lease.empty()) {
      log.Warning("Leader election failed", {{"err", lease}});
    }
    election = std::move(lease);
    if (signals.Came()) return {};
  }
}

}  // namespace dray::cli::internal
