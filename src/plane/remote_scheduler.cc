// SPDX-License-Identifier: Apache-2.0
#include "plane/remote_scheduler.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "base/uuid.h"
#include "client/http_client.h"
#include "client/leader_election.h"
#include "client/remote_cluster.h"
#include "fmt/format.h"
#include "plane/internal/turns.h"
#include "plane/internal/workers.h"
#include "threads/system_host.h"

namespace dray::plane {
namespace {

constexpr std::string_view kComponent = "default-scheduler";
constexpr std::chrono::nanoseconds kLongestNap = std::chrono::seconds(1);

std::string MadeUpIdentity() {
  char name[256] = {};
  ::gethostname(name, sizeof(name) - 1);
  base::SystemRandomSource random;
  return fmt::format("{}_{}", name, base::NewUuid(random));
}

class Remote final : public RemoteScheduler {
 public:
  Remote(RemoteSchedulerOptions options, const base::Clock& clock)
      : options_(std::move(options)),
        clock_(clock),
        log_(options_.log == nullptr ? logs::Logger() : options_.log->For("scheduler")),
        host_(options_.host != nullptr ? *options_.host : threads::TheSystemHost()),
        news_(host_.MakeAlarm()),
        election_(host_.MakeAlarm()) {}

  ~Remote() override {
    stopping_ = true;
    news_->Ring();
    deciding_ = nullptr;
    // What is left to be said is said as the leader; then somebody else may be.
    cluster_ = nullptr;
    decided_ = true;
    election_->Ring();
    electing_ = nullptr;
  }

  Status Open() {
    client::HttpOptions http;
    // Asked again for every request: one that had to wait may have outlived its lease.
    http.may_write = [this] { return !lost_ && leading(); };
    DRAY_ASSIGN_OR_RETURN(http_, Connect(std::move(http)));
    // Better told now than by watches that never begin.
    DRAY_ASSIGN_OR_RETURN(const client::HttpResponse version, http_->Send({.target = "/version"}));
    if (version.status >= 300) return client::FailureOf(version);
    client::RemoteOptions remote;
    remote.component = Component();
    remote.host = &host_;
    remote.on_change = [this] { news_->Ring(); };
    cluster_ = std::make_unique<client::RemoteCluster>(*http_, clock_, std::move(remote));
    if (options_.leader_elect) DRAY_RETURN_IF_ERROR(OpenElection());
    deciding_ = host_.Start([this] { Run(); });
    if (options_.leader_elect) electing_ = host_.Start([this] { Elect(); });
    return {};
  }

  bool leading() const override { return !options_.leader_elect || elector_->leading(); }
  std::string leader() const override {
    const base::MutexLock lock(mutex_);
    return leader_;
  }
  Status Health() const override {
    if (!lost_) return {};
    return base::Aborted("the lease kube-system/kube-scheduler was lost");
  }
  Status Connection() const override { return cluster_->Health(); }
  Status Election() const override {
    const base::MutexLock lock(mutex_);
    return election_trouble_;
  }
  scheduler::Statistics statistics() const override {
    const base::MutexLock lock(mutex_);
    return statistics_;
  }

 private:
  StatusOr<std::unique_ptr<client::HttpClient>> Connect(client::HttpOptions http) const {
    if (options_.connect) return options_.connect(std::move(http));
    return client::HttpClient::Create(options_.access, std::move(http));
  }

  // Who manages the fields that are written: as pods name their scheduler.
  std::string Component() const {
    const auto& profiles = options_.config.profiles;
    return profiles.empty() ? std::string(kComponent) : profiles.front().scheduler_name;
  }

  // Elections go over connections of their own: a request that is not answered must not take
  // longer than the lease is good for, and there must always be a connection for one.
  Status OpenElection() {
    client::LeaseOptions lease;
    lease.identity = options_.identity.empty() ? MadeUpIdentity() : options_.identity;
    retry_ = lease.retry;
    // Reading and writing, each with connecting, within the time in which to renew.
    client::HttpOptions http;
    http.connect_timeout = lease.renew_deadline / 4;
    http.request_timeout = lease.renew_deadline / 4;
    http.throttled_tries = 0;
    DRAY_ASSIGN_OR_RETURN(election_http_, Connect(std::move(http)));
    client::RemoteOptions remote;
    remote.component = Component();
    remote.note_writers = 1;
    remote.host = &host_;
    remote.reads = 1;
    election_cluster_ =
        std::make_unique<client::RemoteCluster>(*election_http_, clock_, std::move(remote));
    elector_ = std::make_unique<client::LeaderElector>(*election_cluster_, clock_, lease);
    return {};
  }

  void Elect() {
    // The lease is kept until nothing is decided any more. Who has lost it does not take it again:
    // what was decided as the leader must not be written as another one.
    while (!decided_) {
      if (!lost_) elector_->Try();
      {
        const base::MutexLock lock(mutex_);
        leader_ = elector_->holder();
        election_trouble_ = elector_->trouble();
      }
      news_->Ring();
      election_->Sleep(retry_);
    }
    if (!lost_) elector_->Release();
  }

  void Run() {
    while (!leading() && !stopping_) news_->Sleep(kLongestNap);
    if (!stopping_) Decide();
  }

  void Decide() {
    auto turns = std::make_unique<internal::Turns>(
        *cluster_, options_.writers, [this] { news_->Ring(); }, host_);
    std::unique_ptr<Between> between;
    if (options_.between) between = options_.between(turns->cluster());
    const auto worker = internal::MakeSchedulerWorker(
        between != nullptr ? between->cluster() : turns->cluster(), clock_, options_.gates,
        options_.config, nullptr, turns.get(), options_.random, {log_, options_.slow_decision},
        between.get());
    while (!stopping_) {
      if (!leading()) {
        lost_ = true;
        break;
      }
      bool more = false;
      std::optional<std::chrono::nanoseconds> due;
      {
        const internal::TurnLock turn(turns->turn());
        more = worker->Work();
        due = worker->NextDue();
        const base::MutexLock lock(mutex_);
        statistics_ = worker->statistics();
      }
      if (more) continue;
      std::chrono::nanoseconds nap = kLongestNap;
      if (due) nap = std::clamp(*due - clock_.Monotonic(), std::chrono::nanoseconds(0), nap);
      news_->Sleep(nap);
    }
    // Bindings end before the scheduler that they belong to.
    turns = nullptr;
  }

  const RemoteSchedulerOptions options_;
  const base::Clock& clock_;
  const logs::Logger log_;
  base::Host& host_;
  std::unique_ptr<client::HttpClient> http_;
  std::unique_ptr<client::RemoteCluster> cluster_;
  std::unique_ptr<client::HttpClient> election_http_;
  std::unique_ptr<client::RemoteCluster> election_cluster_;
  std::unique_ptr<client::LeaderElector> elector_;
  std::chrono::seconds retry_{2};
  const std::unique_ptr<base::Alarm> news_;
  const std::unique_ptr<base::Alarm> election_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> lost_ = false;     // it led, and does not any more
  std::atomic<bool> decided_ = false;  // nothing is decided any more
  mutable base::Mutex mutex_;
  std::string leader_ ABSL_GUARDED_BY(mutex_);
  Status election_trouble_ ABSL_GUARDED_BY(mutex_);
  scheduler::Statistics statistics_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<base::Running> deciding_;
  std::unique_ptr<base::Running> electing_;
};

}  // namespace

StatusOr<std::unique_ptr<RemoteScheduler>> RemoteScheduler::Start(RemoteSchedulerOptions options,
                                                                  const base::Clock& clock) {
  auto remote = std::make_unique<Remote>(std::move(options), clock);
  DRAY_RETURN_IF_ERROR(remote->Open());
  return std::unique_ptr<RemoteScheduler>(std::move(remote));
}

}  // namespace dray::plane
