// SPDX-License-Identifier: Apache-2.0
#include "system/server.h"

#include <algorithm>
#include <utility>

#include "api/forwarding_cluster.h"
#include "api/resource_claim.h"
#include "base/check.h"
#include "controllers/all_controllers.h"
#include "hollow/hollow_nodes.h"
#include "plane/first_objects.h"
#include "plane/internal/turns.h"
#include "store/early_store.h"
#include "system/truth.h"

namespace dray::system {
namespace {

using plane::internal::Turns;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// As the real loops: fewer decisions and writes in a row, so that more can come in between.
constexpr int kDecisionsPerSync = 8;
constexpr std::size_t kWritesPerSync = 20;
constexpr std::size_t kOverlappingWrites = 8;

}  // namespace

api::FeatureGates Gates() {
  using enum api::Gate;
  api::FeatureGates gates;
  for (const api::Gate gate :
       {kDRAAdminAccess, kDRAConsumableCapacity, kDRADeviceBindingConditions, kDRADeviceTaints,
        kDRADeviceTaintRules, kDRAExtendedResource, kDRAPartitionableDevices, kDRAPrioritizedList,
        kDRAResourceClaimDeviceStatus, kGenericWorkload, kDRAWorkloadResourceClaims,
        kTopologyAwareWorkloadScheduling}) {
    gates.Set(gate, true);
  }
  return gates;
}

scheduler::Config ConfigOf(const Stage& stage) {
  scheduler::Config config;
  if (stage.rich) {
    scheduler::Profile packer{.scheduler_name = "packer"};
    packer.policy = allocator::Policy::kFragmentation;
    packer.fragmentation.sequences = 16;
    config.profiles.push_back(std::move(packer));
  }
  for (scheduler::Profile& profile : config.profiles) profile.preemption.devices = stage.groups;
  return config;
}

// A decider's way to the registry: others on other threads come in between its writes, and it ends
// with its process.
class Server::Deciding final : public api::ForwardingCluster {
 public:
  // `waits`: each write is waited for.
  Deciding(api::Cluster& inner, Stage& stage, const Process& process, bool waits)
      : ForwardingCluster(inner), stage_(stage), process_(process), waits_(waits) {}

  StatusOr<std::vector<api::Object>> List(const api::KindInfo& kind) const override {
    if (process_.killed()) return Dead();
    return inner().List(kind);
  }
  StatusOr<std::optional<api::Object>> Find(const api::KindInfo& kind, std::string_view namespace_,
                                            std::string_view name) const override {
    if (process_.killed()) return Dead();
    return inner().Find(kind, namespace_, name);
  }
  StatusOr<api::Object> Create(api::Object object) override {
    DRAY_RETURN_IF_ERROR(Before());
    return After(inner().Create(std::move(object)));
  }
  StatusOr<api::Object> Update(api::Object object) override {
    DRAY_RETURN_IF_ERROR(Before());
    return After(inner().Update(std::move(object)));
  }
  StatusOr<api::Object> UpdateStatus(api::Object object) override {
    DRAY_RETURN_IF_ERROR(Before());
    return After(inner().UpdateStatus(std::move(object)));
  }
  Status Delete(const api::KindInfo& kind, std::string_view namespace_, std::string_view name,
                std::string_view uid) override {
    DRAY_RETURN_IF_ERROR(Before());
    return After(inner().Delete(kind, namespace_, name, uid));
  }
  Status Bind(std::string_view namespace_, std::string_view pod, std::string_view uid,
              std::string_view node) override {
    DRAY_RETURN_IF_ERROR(Before());
    return After(inner().Bind(namespace_, pod, uid, node));
  }
  void Note(const api::EventNote& note) override {
    if (!process_.killed()) inner().Note(note);
  }

 private:
  static Status Dead() { return base::Unavailable("the process is dead"); }
  Status Before() {
    if (!process_.killed() && (waits_ || stage_.dice.Chance(0.3))) {
      stage_.kernel.Sleep(stage_.Between(microseconds(10), milliseconds(2)));
    }
    return process_.killed() ? Dead() : Status();
  }
  // The watch may have told of this one and of much else before the answer comes.
  template <typename T>
  T After(T answer) {
    if (!waits_ || process_.killed()) return answer;
    stage_.kernel.Sleep(stage_.Between(microseconds(10), milliseconds(20)));
    if (process_.killed()) return T(Dead());
    return answer;
  }

  Stage& stage_;
  const Process& process_;
  const bool waits_;
};

// Planted: a reader that takes what it cannot read for something that is not there.
class Server::LookAway final : public api::ForwardingCluster {
 public:
  using ForwardingCluster::ForwardingCluster;
  StatusOr<std::optional<api::Object>> Find(const api::KindInfo& kind, std::string_view namespace_,
                                            std::string_view name) const override {
    auto found = inner().Find(kind, namespace_, name);
    if (!found.ok()) return std::optional<api::Object>();
    return found;
  }
};

// Planted: who looks after claims does not remember that one was used, as if it had just begun.
class Server::Forgetful final : public api::ForwardingCluster {
 public:
  using ForwardingCluster::ForwardingCluster;
  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection) override {
    return std::make_unique<Anew>(inner().Watch(kinds, selection));
  }

 private:
  // A claim with devices and without users is told to be gone and to have come.
  class Anew final : public api::ObjectWatch {
   public:
    explicit Anew(std::unique_ptr<api::ObjectWatch> watch) : watch_(std::move(watch)) {}
    std::optional<api::Change> Next() override {
      using Kind = api::Change::Kind;
      if (later_) return std::exchange(later_, std::nullopt);
      std::optional<api::Change> change = watch_->Next();
      const auto* claim = change ? change->object.As<api::ResourceClaim>() : nullptr;
      const bool idle = claim != nullptr && change->kind == Kind::kUpdated &&
                        claim->status.allocation && claim->status.reserved_for.empty();
      if (!idle) return change;
      later_ = {Kind::kAdded, change->object};
      change->kind = Kind::kDeleted;
      return change;
    }
    Status Stale() const override { return watch_->Stale(); }
    std::vector<api::UnreadableObject> Unreadable() const override { return watch_->Unreadable(); }

   private:
    const std::unique_ptr<api::ObjectWatch> watch_;
    std::optional<api::Change> later_;
  };
};

// Planted: whoever writes a quota does not look whether somebody else has.
class Server::UncheckedQuota final : public store::Store {
 public:
  explicit UncheckedQuota(Store& store) : store_(store), early_(*this) {}

  void Commit(store::Transaction transaction, store::CommitFn done) override {
    store_.Commit(Careless(std::move(transaction)), std::move(done));
  }
  store::EarlyWrites* early() const override { return &early_; }
  void Current(store::ReadyFn ready) override { store_.Current(std::move(ready)); }
  void WaitFor(store::Revision at, store::ReadyFn ready) override {
    store_.WaitFor(at, std::move(ready));
  }
  store::EntryPtr Find(std::string_view key) const override { return store_.Find(key); }
  StatusOr<store::RangeResult> Range(std::string_view prefix,
                                     const store::RangeOptions& options) const override {
    return store_.Range(prefix, options);
  }
  StatusOr<std::unique_ptr<store::Watch>> WatchFrom(std::string_view prefix, store::Revision from,
                                                    std::function<void()> wake,
                                                    std::string_view topic) override {
    return store_.WatchFrom(prefix, from, std::move(wake), topic);
  }
  void SetTopics(std::string prefix, store::TopicFn topic_of) override {
    store_.SetTopics(std::move(prefix), std::move(topic_of));
  }
  void Attach(const store::Entry& version, std::shared_ptr<const void> attachment) override {
    store_.Attach(version, std::move(attachment));
  }
  store::Revision revision() const override { return store_.revision(); }
  store::Revision oldest_revision() const override { return store_.oldest_revision(); }
  Status Health() const override { return store_.Health(); }

 private:
  class Early final : public store::EarlyWrites {
   public:
    explicit Early(UncheckedQuota& store) : store_(store) {}
    StatusOr<store::Outcome> Submit(store::Transaction transaction) override {
      return store_.store_.early()->Submit(Careless(std::move(transaction)));
    }
    // And builds on what everybody has seen.
    store::EntryPtr Find(std::string_view key) const override {
      return Quota(key) ? store_.store_.Find(key) : store_.store_.early()->Find(key);
    }

   private:
    UncheckedQuota& store_;
  };

  static bool Quota(std::string_view key) { return key.find("resourcequotas") != key.npos; }
  static store::Transaction Careless(store::Transaction transaction) {
    for (store::Operation& operation : transaction.operations) {
      const bool put = operation.kind == store::Operation::Kind::kPut;
      if (put && Quota(operation.key) && operation.expected != store::Revision{}) {
        operation.expected.reset();
      }
    }
    return transaction;
  }

  Store& store_;
  mutable Early early_;
};

Server::Server(Stage& stage, store::ManualDisk& disk, bool with_scheduler,
               std::function<void()> dies)
    : stage_(stage),
      disk_(disk),
      process_(stage.kernel),
      dies_(std::move(dies)),
      alive_(std::make_shared<bool>(true)),
      ids_(stage.random) {
  disk_.automatic = false;
  disk_.on_queued = [this] { WriteSoon(); };
  store_ = store::MakeManualStore(disk_, {.history = {.events = stage_.history}});
  if (stage_.planted.quota_unchecked) seen_ = std::make_unique<UncheckedQuota>(*store_);
  store::Store& seen = seen_ != nullptr ? *seen_ : *store_;
  registry::RegistryOptions options;
  options.rules = {.gates = Gates(), .expressions = &expressions_};
  options.authorizer = &roles_;
  registry::RegistryOptions served = options;
  served.post = [this](std::function<void()> task) { Post(std::move(task)); };
  registry_ = std::make_unique<registry::Registry>(seen, process_, stage_.random, served);
  early_ = store::MakeEarlyStore(seen);
  deciding_ = std::make_unique<registry::Registry>(*early_, process_, stage_.random, options);
  onlookers_ = std::make_unique<registry::LocalCluster>(*registry_, "onlooker");
  scheduler_cluster_ = std::make_unique<registry::LocalCluster>(*deciding_, "default-scheduler");
  controller_cluster_ =
      std::make_unique<registry::LocalCluster>(*deciding_, "kube-controller-manager");
  scheduler_way_ = std::make_unique<Deciding>(*scheduler_cluster_, stage_, process_, false);
  controller_way_ =
      std::make_unique<Deciding>(*controller_cluster_, stage_, process_, stage_.overlapping);
  if (stage_.planted.unreadable_is_absent) {
    controller_eyes_ = std::make_unique<LookAway>(*controller_way_);
  }
  if (stage_.planted.keeps_devices) {
    controller_eyes_ = std::make_unique<Forgetful>(*controller_way_);
  }
  registry::HandlerOptions handling;
  handling.post_reads = [this](std::function<void()> task) { Post(std::move(task)); };
  handler_ = std::make_unique<registry::RestHandler>(*registry_, roles_, std::move(handling));
  // Who cannot be made now is made by the next start.
  static_cast<void>(plane::CreateMissing(*controller_way_, plane::FirstObjects()));
  controller_alarm_ = process_.MakeAlarm();
  controllers_running_ = process_.Start([this] { RunControllers(); });
  if (with_scheduler) {
    scheduler_alarm_ = process_.MakeAlarm();
    scheduler_running_ = process_.Start([this] { RunScheduler(); });
  }
}

Server::~Server() {
  Kill();
  scheduler_running_ = nullptr;
  controllers_running_ = nullptr;
}

void Server::Kill() {
  if (process_.killed()) return;
  *alive_ = false;
  stopping_ = true;
  process_.Kill();
  // What was being written may be there, and nobody was told.
  if (disk_.pending() > 0 && stage_.dice.Chance(0.5)) {
    disk_.FailNext({.status = base::Unavailable("the process is dead"), .written = true});
    disk_.Write(static_cast<std::size_t>(stage_.dice.Range(1, 4)));
  }
  disk_.on_queued = nullptr;
  disk_.Crash();
}

void Server::Handle(apiserver::Request request, std::shared_ptr<apiserver::Responder> responder) {
  handler_->Handle(std::move(request), std::move(responder));
}

// On another thread, and only as long as there is one.
void Server::Post(std::function<void()> task) {
  stage_.kernel.After(stage_.Between(microseconds(5), microseconds(200)),
                      [alive = std::weak_ptr<bool>(alive_), task = std::move(task)] {
                        const auto here = alive.lock();
                        if (here != nullptr && *here) task();
                      });
}

void Server::WriteSoon() {
  if (std::exchange(write_scheduled_, true)) return;
  stage_.kernel.After(stage_.Between(microseconds(100), milliseconds(4)),
                      [this, alive = std::weak_ptr<bool>(alive_)] {
                        const auto here = alive.lock();
                        if (here != nullptr && *here) Write();
                      });
}

void Server::Write() {
  write_scheduled_ = false;
  const Faults& faults = stage_.faults;
  if (stage_.Chance(faults.kill_at_write)) {
    stage_.Count("server killed at a write");
    return dies_();
  }
  if (stage_.Chance(faults.disk_full)) {
    stage_.Count("disk full");
    disk_.FailNext(
        {.status = base::MakeStatus(StatusCode::kResourceExhausted, "the disk is full")});
  } else if (stage_.Chance(faults.disk_broken)) {
    stage_.Count("disk broken");
    disk_.FailNext({.status = base::Unavailable("the disk does not answer"),
                    .written = stage_.dice.Chance(0.5)});
  }
  const int most = stage_.dice.Chance(0.3) ? stage_.dice.Range(1, 3) : 4096;
  disk_.Write(static_cast<std::size_t>(most));
  // A store that takes no more is restarted by whoever looks after the process.
  if (!store_->Health().ok()) return dies_();
  if (disk_.pending() > 0) WriteSoon();
}

void Server::RunControllers() {
  api::Cluster& way = controller_eyes_ != nullptr ? *controller_eyes_ : *controller_way_;
  std::unique_ptr<Turns> turns;
  if (stage_.overlapping) {
    turns = std::make_unique<Turns>(
        way, kOverlappingWrites, [this] { controller_alarm_->Ring(); }, process_);
  }
  // What a controller does itself is not beside works.
  const auto in_turn = [&turns](const auto& act) {
    if (turns == nullptr) return act();
    const plane::internal::TurnLock turn(turns->turn());
    return act();
  };
  api::Cluster& cluster = turns != nullptr ? turns->cluster() : way;
  const controllers::Source shared = controllers::Source(cluster).Shared();
  controllers::ControllerList all =
      controllers::MakeControllers(shared, process_, {.gates = Gates()});
  all.push_back(std::make_unique<hollow::HollowNodes>(shared, process_));
  for (const auto& controller : all) {
    controller->LetOthersInAfter(kWritesPerSync);
    if (turns == nullptr) continue;
    controller->Overlap([&turns](std::function<void()> work) { turns->Run(std::move(work)); },
                        kOverlappingWrites);
  }
  std::unique_ptr<store::Watch> watch;
  while (!stopping_) {
    bool changed = watch == nullptr;
    if (watch != nullptr) {
      for (;;) {
        const auto events = watch->Next(4096);
        if (!events.ok() || events->empty()) break;
        changed = true;
      }
    } else if (auto made =
                   store_->WatchFrom("", store_->revision(), [this] { controller_alarm_->Ring(); });
               made.ok()) {
      watch = *std::move(made);
    }
    std::size_t writes = 0;
    for (const auto& controller : all) {
      writes += in_turn([&] { return controller->Sync(); });
      if (stopping_) break;
      if (stage_.dice.Chance(0.2)) stage_.kernel.Sleep(stage_.Between(Nanos(0), milliseconds(1)));
    }
    if (changed || writes > 0) {
      stage_.kernel.Sleep(microseconds(50));
      continue;
    }
    const auto due = in_turn([&] { return controllers::NextDue(all); });
    Nanos nap = seconds(1);
    if (due) nap = std::clamp(*due - process_.Monotonic(), Nanos(microseconds(100)), nap);
    if (!stopping_) controller_alarm_->Sleep(nap);
  }
  // What has begun ends before whom it belongs to.
  turns = nullptr;
}

void Server::RunScheduler() {
  Truth truth(*scheduler_way_, stage_, process_, Truth::Where::kHere);
  scheduler_ = std::make_unique<scheduler::Scheduler>(
      truth, process_, ids_,
      scheduler::SchedulerOptions{.config = ConfigOf(stage_), .gates = Gates()});
  std::unique_ptr<store::Watch> watch;
  while (!stopping_) {
    bool changed = watch == nullptr;
    if (watch != nullptr) {
      for (;;) {
        const auto events = watch->Next(4096);
        if (!events.ok() || events->empty()) break;
        changed = true;
      }
    } else if (auto made =
                   store_->WatchFrom("", store_->revision(), [this] { scheduler_alarm_->Ring(); });
               made.ok()) {
      watch = *std::move(made);
    }
    scheduler_->Sync();
    scheduler_->Tick();
    bool more = true;
    for (int i = 0; more && i < kDecisionsPerSync && !stopping_; ++i) {
      more = truth.ScheduleOne(*scheduler_).has_value();
    }
    if (changed || more) {
      stage_.kernel.Sleep(microseconds(50));
      continue;
    }
    const auto due = scheduler_->NextDue();
    Nanos nap = seconds(1);
    if (due) nap = std::clamp(*due - process_.Monotonic(), Nanos(microseconds(100)), nap);
    if (!stopping_) scheduler_alarm_->Sleep(nap);
  }
  scheduler_ = nullptr;
}

}  // namespace dray::system
