// SPDX-License-Identifier: Apache-2.0
#include "plane/remote_scheduler.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/uuid.h"
#include "client/http_client.h"
#include "client/leader_election.h"
#include "client/remote_cluster.h"
#include "fmt/format.h"
#include "plane/internal/turns.h"
#include "plane/internal/workers.h"

namespace dray::plane {
namespace {

constexpr std::string_view kComponent = "default-scheduler";
constexpr std::chrono::nanoseconds kLongestNap = std::chrono::seconds(1);

// Something to sleep on. Thread-safe.
class Alarm {
 public:
  void Ring() {
    {
      const std::lock_guard lock(mutex_);
      rung_ = true;
    }
    wake_.notify_all();
  }
  // Until it has rung since the last sleep, or the time is over.
  void Sleep(std::chrono::nanoseconds nap) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, nap, [this] { return rung_; });
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool rung_ = false;
};

std::string MadeUpIdentity() {
  char name[256] = {};
  ::gethostname(name, sizeof(name) - 1);
  base::SystemRandomSource random;
  return fmt::format("{}_{}", name, base::NewUuid(random));
}

class Remote final : public RemoteScheduler {
 public:
  Remote(RemoteSchedulerOptions options, const base::Clock& clock)
      : options_(std::move(options)), clock_(clock) {}

  ~Remote() override {
    stopping_ = true;
    news_.Ring();
    if (deciding_.joinable()) deciding_.join();
    decided_ = true;  // also if it never ran
    election_.Ring();
    if (electing_.joinable()) electing_.join();
  }

  Status Open() {
    DRAY_ASSIGN_OR_RETURN(http_, client::HttpClient::Create(options_.access));
    // Better told now than by watches that never begin.
    DRAY_ASSIGN_OR_RETURN(const client::HttpResponse version, http_->Send({.target = "/version"}));
    if (version.status >= 300) return client::FailureOf(version);
    client::RemoteOptions remote;
    remote.component = kComponent;
    remote.on_change = [this] { news_.Ring(); };
    cluster_ = std::make_unique<client::RemoteCluster>(*http_, clock_, std::move(remote));
    deciding_ = std::thread([this] { Run(); });
    if (options_.leader_elect) electing_ = std::thread([this] { Elect(); });
    return {};
  }

  bool leading() const override { return !options_.leader_elect || leading_; }
  std::string leader() const override {
    const std::lock_guard lock(mutex_);
    return leader_;
  }
  Status Health() const override {
    if (!lost_) return {};
    return base::Aborted("the lease kube-system/kube-scheduler was lost");
  }
  Status Connection() const override { return cluster_->Health(); }
  scheduler::Statistics statistics() const override {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }

 private:
  void Elect() {
    client::LeaseOptions lease;
    lease.identity = options_.identity.empty() ? MadeUpIdentity() : options_.identity;
    client::LeaderElector elector(*cluster_, clock_, lease);
    // The lease is kept until nothing is decided any more.
    while (!decided_) {
      const bool leads = elector.Try();
      if (leading_ && !leads) lost_ = true;
      leading_ = leads;
      {
        const std::lock_guard lock(mutex_);
        leader_ = elector.holder();
      }
      news_.Ring();
      election_.Sleep(lease.retry);
    }
    leading_ = false;
    elector.Release();
  }

  void Run() {
    while (!leading() && !stopping_) news_.Sleep(kLongestNap);
    if (!stopping_) Decide();
    decided_ = true;
    election_.Ring();
  }

  void Decide() {
    auto turns =
        std::make_unique<internal::Turns>(*cluster_, options_.writers, [this] { news_.Ring(); });
    const auto worker = internal::MakeSchedulerWorker(turns->cluster(), clock_, options_.gates,
                                                      options_.config, nullptr, turns.get());
    while (!stopping_ && !lost_) {
      bool more = false;
      std::optional<std::chrono::nanoseconds> due;
      {
        const std::lock_guard turn(turns->turn());
        more = worker->Work();
        due = worker->NextDue();
        const std::lock_guard lock(mutex_);
        statistics_ = worker->statistics();
      }
      if (more) continue;
      std::chrono::nanoseconds nap = kLongestNap;
      if (due) nap = std::clamp(*due - clock_.Monotonic(), std::chrono::nanoseconds(0), nap);
      news_.Sleep(nap);
    }
    // Bindings end before the scheduler that they belong to.
    turns = nullptr;
  }

  const RemoteSchedulerOptions options_;
  const base::Clock& clock_;
  std::unique_ptr<client::HttpClient> http_;
  std::unique_ptr<client::RemoteCluster> cluster_;
  Alarm news_;
  Alarm election_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> leading_ = false;
  std::atomic<bool> lost_ = false;
  std::atomic<bool> decided_ = false;  // nothing is decided any more
  mutable std::mutex mutex_;           // guards the two below
  std::string leader_;
  scheduler::Statistics statistics_;
  std::thread deciding_;
  std::thread electing_;
};

}  // namespace

StatusOr<std::unique_ptr<RemoteScheduler>> RemoteScheduler::Start(RemoteSchedulerOptions options,
                                                                  const base::Clock& clock) {
  auto remote = std::make_unique<Remote>(std::move(options), clock);
  DRAY_RETURN_IF_ERROR(remote->Open());
  return std::unique_ptr<RemoteScheduler>(std::move(remote));
}

}  // namespace dray::plane
