// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/process.h"

#include <unistd.h>

#include <utility>

#include "api/document.h"
#include "api/lease.h"
#include "base/uuid.h"
#include "fmt/format.h"
#include "threads/system_host.h"

namespace dray::plane::internal {
namespace {

// The version that an API server says it is, as v1.38.0; empty: it does not.
std::string VersionIn(const std::string& body) {
  std::vector<api::Diagnostic> diagnostics;
  const api::DocumentNode version = api::ParseJson(body, diagnostics);
  const api::Member* told = version.Find("gitVersion");
  return told == nullptr ? std::string() : told->value.text;
}

// The lease, for what is told about it.
api::Object LeaseObject(const client::LeaseOptions& options) {
  api::Lease lease;
  lease.metadata.namespace_ = options.namespace_;
  lease.metadata.name = options.name;
  return api::Object::Of(std::move(lease));
}

}  // namespace

std::string MadeUpIdentity() {
  char name[256] = {};
  ::gethostname(name, sizeof(name) - 1);
  base::SystemRandomSource random;
  return fmt::format("{}_{}", name, base::NewUuid(random));
}

Process::Process(const ProcessOptions& options, std::string component, const base::Clock& clock,
                 logs::Logger log, Hooks hooks)
    : options_(options),
      component_(std::move(component)),
      clock_(clock),
      log_(log),
      hooks_(std::move(hooks)),
      host_(options.host != nullptr ? *options.host : threads::TheSystemHost()),
      news_(host_.MakeAlarm()),
      election_(host_.MakeAlarm()) {}

Process::~Process() { Resign(); }

StatusOr<std::unique_ptr<client::HttpClient>> Process::Connect(client::HttpOptions http) const {
  http.user_agent = fmt::format("{}/dray", component_);
  if (options_.connect) return options_.connect(std::move(http));
  return client::HttpClient::Create(options_.access, std::move(http));
}

Status Process::NameLease() {
  if (!options_.leader_elect) return {};
  lease_ = options_.lease;
  if (lease_.name.empty()) lease_.name = component_;
  if (!options_.identity.empty()) lease_.identity = options_.identity;
  if (lease_.identity.empty()) lease_.identity = MadeUpIdentity();
  return client::CheckLease(lease_);
}

StatusOr<std::string> Process::Reach() {
  DRAY_RETURN_IF_ERROR(NameLease());
  client::HttpOptions http;
  // Asked again for every request: one that had to wait may have outlived its lease.
  http.may_write = [this] { return !lost_ && leading(); };
  http.qps = options_.qps;
  http.burst = options_.burst;
  http.on_answer = hooks_.on_answer;
  DRAY_ASSIGN_OR_RETURN(http_, Connect(std::move(http)));
  // Better told now than by watches that never begin.
  DRAY_ASSIGN_OR_RETURN(const client::HttpResponse version, http_->Send({.target = "/version"}));
  if (version.status >= 300) return client::FailureOf(version);
  return VersionIn(version.body);
}

// Elections go over connections of their own: a request that is not answered must not take
// longer than the lease is good for, and there must always be a connection for one.
Status Process::OpenElection() {
  if (!options_.leader_elect) return {};
  // Reading and writing, each with connecting, within the time in which to renew.
  client::HttpOptions http;
  const auto quarter =
      std::chrono::duration_cast<std::chrono::milliseconds>(lease_.renew_deadline / 4);
  http.connect_timeout = quarter;
  http.request_timeout = quarter;
  http.throttled_tries = 0;
  DRAY_ASSIGN_OR_RETURN(election_http_, Connect(std::move(http)));
  client::RemoteOptions remote;
  remote.component = component_;
  remote.note_writers = 1;
  remote.host = &host_;
  remote.reads = 1;
  election_cluster_ =
      std::make_unique<client::RemoteCluster>(*election_http_, clock_, std::move(remote));
  elector_ = std::make_unique<client::LeaderElector>(*election_cluster_, clock_, lease_);
  return {};
}

void Process::Elect() {
  if (options_.leader_elect) electing_ = host_.Start([this] { Run(); });
}

void Process::SetLeading(bool leading) const {
  if (hooks_.on_election) hooks_.on_election(leading);
}

void Process::Run() {
  // The lease is kept until nothing is decided any more. Who has lost it does not take it again:
  // what was decided as the leader must not be written as another one.
  bool led = false;
  while (!decided_) {
    // Seen here, too: whoever decides may wait for an answer until the lease has been another's and is free
    // again, and knows nothing of what that one has written.
    if (led && !elector_->leading()) lost_ = true;
    if (!lost_) led ? elector_->Renew() : elector_->Try();
    led |= elector_->leading();
    if (led && !elector_->leading()) lost_ = true;
    {
      const base::MutexLock lock(mutex_);
      leader_ = elector_->holder();
      election_trouble_ = elector_->trouble();
    }
    SetLeading(leading());
    news_->Ring();
    election_->Sleep(lease_.retry);
  }
  if (!lost_) elector_->Release();
  SetLeading(false);
}

void Process::Resign() {
  decided_ = true;
  election_->Ring();
  electing_ = nullptr;
}

void Process::TellLeading(api::Cluster& cluster) const {
  if (!options_.leader_elect) return;
  log_.Info(0, "Leading", {{"lease", lease()}, {"identity", lease_.identity}});
  cluster.Note({.about = LeaseObject(lease_),
                .type = "Normal",
                .reason = "LeaderElection",
                .message = fmt::format("{} became leader", lease_.identity),
                .component = component_});
}

// As kube-scheduler's: /livez says that the process answers, /readyz that it follows what happens,
// or waits for its turn and could take it.
std::vector<registry::HealthCheck> Process::Checks(std::string sync_check,
                                                   std::function<Status()> connection) const {
  std::vector<registry::HealthCheck> checks;
  checks.push_back({.name = "ping", .check = [] { return Status(); }});
  if (options_.leader_elect) {
    checks.push_back({.name = "leaderElection",
                      .check = [this] { return Health(); },
                      .only_ready = true,
                      .only_health = true});
  }
  checks.push_back(
      {.name = std::move(sync_check),
       .check = [this, connection =
                           std::move(connection)] { return leading() ? connection() : Election(); },
       .only_ready = true});
  checks.push_back(
      {.name = "shutdown",
       .check = [this] { return stopping_ ? base::Unavailable("it is ending") : Status(); },
       .only_ready = true});
  return checks;
}

Status Process::OpenDoor(std::string sync_check, std::function<Status()> connection,
                         const metrics::Registry& metrics, std::string config) {
  if (!options_.serving) return {};
  health_ = std::make_unique<registry::Health>(Checks(std::move(sync_check), std::move(connection)),
                                               log_);
  const ServingOptions& serving = *options_.serving;
  const auto connect = [&](const std::optional<client::ServerAccess>& access)
      -> StatusOr<std::unique_ptr<client::HttpClient>> {
    // Reviews change nothing, so they are not a leader's to make.
    client::HttpOptions http{.request_timeout = std::chrono::seconds(10), .throttled_tries = 0};
    if (!access) return Connect(std::move(http));
    return client::HttpClient::Create(*access, std::move(http));
  };
  DRAY_ASSIGN_OR_RETURN(authentication_http_, connect(serving.authentication));
  DRAY_ASSIGN_OR_RETURN(authorization_http_, connect(serving.authorization));
  DRAY_ASSIGN_OR_RETURN(
      door_,
      ProcessDoor::Start(
          serving, {.health = health_.get(), .metrics = &metrics, .config = std::move(config)},
          *authentication_http_, *authorization_http_, clock_, log_));
  return {};
}

std::string Process::leader() const {
  const base::MutexLock lock(mutex_);
  return leader_;
}

Status Process::Election() const {
  const base::MutexLock lock(mutex_);
  return election_trouble_;
}

Status Process::Health() const {
  if (!lost_) return {};
  return base::Aborted(fmt::format("the lease {} was lost", lease()));
}

std::string Process::lease() const {
  if (!options_.leader_elect) return "";
  return fmt::format("{}/{}", lease_.namespace_, lease_.name);
}

}  // namespace dray::plane::internal
