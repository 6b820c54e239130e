// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/local_election.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "api/forwarding_cluster.h"
#include "api/lease.h"
#include "fmt/format.h"

namespace dray::plane::internal {
namespace {

constexpr std::string_view kOnlyServer = "dray-up";
constexpr std::chrono::hours kYear{24 * 365};

class Guarded final : public api::ForwardingCluster {
 public:
  Guarded(api::Cluster& inner, const LocalElection& election)
      : ForwardingCluster(inner), election_(election) {}

  StatusOr<api::Object> Create(api::Object object) override {
    DRAY_RETURN_IF_ERROR(May());
    return inner().Create(std::move(object));
  }
  StatusOr<api::Object> Update(api::Object object) override {
    DRAY_RETURN_IF_ERROR(May());
    return inner().Update(std::move(object));
  }
  StatusOr<api::Object> UpdateStatus(api::Object object) override {
    DRAY_RETURN_IF_ERROR(May());
    return inner().UpdateStatus(std::move(object));
  }
  Status Delete(const api::KindInfo& kind, std::string_view namespace_, std::string_view name,
                std::string_view uid) override {
    DRAY_RETURN_IF_ERROR(May());
    return inner().Delete(kind, namespace_, name, uid);
  }
  Status Bind(std::string_view namespace_, std::string_view pod, std::string_view uid,
              std::string_view node) override {
    DRAY_RETURN_IF_ERROR(May());
    return inner().Bind(namespace_, pod, uid, node);
  }
  void Note(const api::EventNote& note) override {
    if (election_.leading()) inner().Note(note);
  }

 private:
  Status May() const {
    if (election_.leading()) return {};
    return base::Unavailable("nothing was written: the lease is not held any more");
  }

  const LocalElection& election_;
};

}  // namespace

client::LeaseOptions LeaseOfTheOnlyServer(std::string name) {
  return {.name = std::move(name),
          .identity = std::string(kOnlyServer),
          .duration = 10 * kYear,
          .renew_deadline = 9 * kYear,
          .retry = std::chrono::hours(1)};
}

void ForgetLeaseOfTheOnlyServer(api::Cluster& cluster, const base::Clock& clock, std::string name) {
  const client::LeaseOptions options = LeaseOfTheOnlyServer(std::move(name));
  const auto found =
      cluster.Find(api::HubKind(api::TypeInfoOf<api::Lease>()), options.namespace_, options.name);
  if (!found.ok() || !*found) return;
  if ((*found)->As<api::Lease>()->spec.holder_identity != kOnlyServer) return;
  client::LeaderElector left(cluster, clock, options);
  if (left.Try()) left.Release();
}

LocalElection::LocalElection(api::Cluster& cluster, const base::Clock& clock,
                             client::LeaseOptions options, logs::Logger log)
    : options_(std::move(options)), log_(log), elector_(cluster, clock, options_) {
  // Whoever is started after this finds it taken.
  static_cast<void>(elector_.Try());
  thread_ = std::thread([this] { Run(); });
}

LocalElection::~LocalElection() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = ending_ = true;
  }
  news_.NotifyAll();
  thread_.join();
}

void LocalElection::Stop() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  news_.NotifyAll();
}

bool LocalElection::Await() {
  const base::MutexLock lock(mutex_);
  while (!led_ && !stopping_) news_.Wait(mutex_);
  return led_ && !stopping_;
}

Status LocalElection::Health() const {
  {
    const base::MutexLock lock(mutex_);
    if (!led_ || elector_.leading()) return {};
  }
  return base::Aborted(fmt::format("the lease {}/{} was lost", options_.namespace_, options_.name));
}

bool LocalElection::Waits() const {
  const base::MutexLock lock(mutex_);
  return !led_ && !holder_.empty();
}

void LocalElection::Run() {
  std::string told;
  bool lost = false;
  for (;;) {
    bool led = false;
    {
      const base::MutexLock lock(mutex_);
      if (ending_) break;
      led = led_;
    }
    // Who has lost it does not take it again: what was decided as the leader must not be written as
    // another one.
    lost = lost || (led && !elector_.leading());
    const bool leads = !lost && (led ? elector_.Renew() : elector_.Try());
    // Somebody else's is looked at more often than one's own has to be renewed.
    std::chrono::nanoseconds nap = options_.retry;
    if (!leads) nap = std::min(nap, std::chrono::nanoseconds(std::chrono::seconds(2)));
    const std::string holder = elector_.holder();
    if (!leads && !lost && holder != told) {
      log_.Info(0, "Waiting for the lease", {{"lease", options_.name}, {"holder", holder}});
      told = holder;
    }
    const base::MutexLock lock(mutex_);
    holder_ = holder;
    if (leads && !led_) {
      led_ = true;
      news_.NotifyAll();
    }
    const auto until = std::chrono::steady_clock::now() + nap;
    while (!ending_ && news_.WaitUntil(mutex_, until)) {
    }
  }
  if (!lost) elector_.Release();
}

std::unique_ptr<api::Cluster> WhileLeading(api::Cluster& cluster, const LocalElection& election) {
  return std::make_unique<Guarded>(cluster, election);
}

}  // namespace dray::plane::internal
