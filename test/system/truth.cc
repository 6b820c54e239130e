// SPDX-License-Identifier: Apache-2.0
#include "system/truth.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "api/event.h"
#include "api/memory_cluster.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "base/check.h"
#include "fmt/format.h"
#include "system/server.h"
#include "system/shown.h"

namespace dray::system {
namespace {

// One refusal of so many is looked at: a question costs about as much as ten attempts.
constexpr std::uint64_t kOneOf = 8;
// A write without an answer may be done for so long.
constexpr Nanos kDoubt = std::chrono::seconds(120);
// So long the next step of a scheduler may take, whoever comes in between.
constexpr Nanos kBetweenSteps = std::chrono::milliseconds(20);

std::uint64_t RevisionOf(const api::Object& object) {
  const std::string& text = object.metadata().resource_version;
  std::uint64_t revision = 0;
  std::from_chars(text.data(), text.data() + text.size(), revision);
  return revision;
}

// Whether both say the same. A pod that has failed with room which was made for it makes none for a while, and says so in
// place of what it would do, and one whose victim could not be deleted says why: who begins now does not know that, and
// for him only the rest has to be the same.
bool SaysTheSame(std::string_view told, std::string_view truth) {
  constexpr std::string_view kPreemption = " preemption: ";
  std::size_t at = told.find(" preemption: not again for now: ");
  if (at == std::string_view::npos) at = told.find(" preemption: Pod \"");
  if (at == std::string_view::npos) return told == truth;
  return told.substr(0, at) == truth.substr(0, truth.find(kPreemption));
}

}  // namespace

class Truth::Told final : public api::ObjectWatch {
 public:
  Told(std::unique_ptr<api::ObjectWatch> watch, Truth& truth)
      : watch_(std::move(watch)), truth_(truth) {}
  std::optional<api::Change> Next() override {
    for (;;) {
      std::optional<api::Change> change = watch_->Next();
      if (!change) return change;
      truth_.Tell(*change);
      // Planted: of some claims the scheduler does not hear that they hold nothing any more.
      const auto* const claim = change->object.As<api::ResourceClaim>();
      const bool freed = claim != nullptr && (change->kind == api::Change::Kind::kDeleted ||
                                              !claim->status.allocation.has_value());
      if (!truth_.stage_.planted.misses_news || !freed || !truth_.stage_.Chance(0.5)) return change;
    }
  }
  Status Stale() const override { return watch_->Stale(); }

 private:
  const std::unique_ptr<api::ObjectWatch> watch_;
  Truth& truth_;
};

Truth::Key Truth::KeyOf(const api::Object& object) {
  return {object.kind().hub, object.metadata().namespace_, object.metadata().name};
}

void Truth::Put(const api::Object& object) {
  const auto [it, added] = picture_.try_emplace(KeyOf(object), object);
  if (added) return;
  // Who has a node keeps it: what is told of him without one is from before he was bound, as the message of a refusal that
  // was written late.
  const auto* known = it->second.As<api::Pod>();
  const auto* told = object.As<api::Pod>();
  if (known != nullptr && told != nullptr && known->metadata.uid == told->metadata.uid &&
      !known->spec.node_name.empty() && told->spec.node_name.empty()) {
    return;
  }
  // What was decided goes before what is told until that is as new.
  if (RevisionOf(it->second) <= RevisionOf(object)) it->second = object;
}

std::unique_ptr<api::ObjectWatch> Truth::Watch(std::span<const api::KindInfo* const> kinds,
                                               const api::Selection& selection) {
  return std::make_unique<Told>(inner().Watch(kinds, selection), *this);
}

void Truth::Tell(const api::Change& change) {
  const Key key = KeyOf(change.object);
  const bool deleted = change.kind == api::Change::Kind::kDeleted;
  if (deleted) {
    picture_.erase(key);
    gone_.insert(change.object.metadata().uid);
  } else {
    Put(change.object);
  }
  std::uint64_t& latest = told_[key];
  latest = std::max(latest, RevisionOf(change.object));
  const auto found = untold_.find(key);
  if (found == untold_.end()) return;
  const Untold& untold = found->second;
  const api::ObjectMeta& metadata = change.object.metadata();
  const auto* pod = change.object.As<api::Pod>();
  const bool told = deleted || metadata.uid != untold.uid ||
                    (untold.revision > 0 && RevisionOf(change.object) >= untold.revision) ||
                    (untold.bound && pod != nullptr && !pod->spec.node_name.empty()) ||
                    (untold.going && metadata.deletion_timestamp.has_value());
  if (told) untold_.erase(found);
}

void Truth::Wrote(const Key& key, const Status& status, Untold untold) {
  if (api::MayHaveHappened(status)) in_doubt_until_ = stage_.kernel.now() + kDoubt;
  if (!status.ok()) return;
  // The watch may be faster than the answer.
  const auto told = told_.find(key);
  if (untold.revision > 0 && told != told_.end() && told->second >= untold.revision) return;
  untold_[key] = std::move(untold);
}

void Truth::Wrote(const api::Object& sent, const StatusOr<api::Object>& written) {
  // Conditions of pods are for people.
  if (sent.As<api::Pod>() != nullptr) return;
  Untold untold{.uid = sent.metadata().uid};
  if (written.ok()) {
    untold.uid = written->metadata().uid;
    untold.revision = RevisionOf(*written);
  }
  Wrote(KeyOf(sent), written.status(), std::move(untold));
}

StatusOr<api::Object> Truth::Create(api::Object object) {
  ++acts_;
  const api::Object sent = object;
  auto written = inner().Create(std::move(object));
  Wrote(written.ok() ? *written : sent, written);
  return written;
}

StatusOr<api::Object> Truth::Update(api::Object object) {
  const api::Object sent = object;
  auto written = inner().Update(std::move(object));
  Wrote(sent, written);
  return written;
}

StatusOr<api::Object> Truth::UpdateStatus(api::Object object) {
  const bool claim = object.As<api::ResourceClaim>() != nullptr;
  if (claim) ++acts_;
  if (claim && stage_.planted.keeps_devices) KeepDevices(object);
  const api::Object sent = object;
  auto written = inner().UpdateStatus(std::move(object));
  Wrote(sent, written);
  if (!claim || !written.ok()) return written;
  // Devices are taken when they are written; given back when that is told, which may have been before
  // this answer came.
  const auto& stored = *written->As<api::ResourceClaim>();
  if (stored.status.allocation && !gone_.contains(stored.metadata.uid)) Put(*written);
  Reserved(stored);
  return written;
}

void Truth::KeepDevices(api::Object& object) const {
  api::ResourceClaim& claim = *object.Mutable<api::ResourceClaim>();
  const auto known = picture_.find(KeyOf(object));
  if (claim.status.allocation || known == picture_.end()) return;
  if (known->second.metadata().uid != claim.metadata.uid) return;
  claim.status.allocation = known->second.As<api::ResourceClaim>()->status.allocation;
}

void Truth::Reserved(const api::ResourceClaim& claim) {
  if (claim.status.reserved_for.empty()) return;
  const auto& user = claim.status.reserved_for.back();
  const auto found = picture_.find(
      Key{&api::TypeInfoOf<api::Pod>(), claim.metadata.namespace_, std::string(user.name)});
  if (found == picture_.end() || found->second.metadata().uid != user.uid) return;
  const api::Object pod = found->second;
  if (!pod.As<api::Pod>()->spec.node_name.empty()) return;
  if (!stage_.Chance(stage_.faults.deleted_when_reserved)) return;
  stage_.on_reserved(*pod.As<api::Pod>());
  stage_.kernel.Sleep(stage_.Between(Nanos(0), kBetweenSteps));
}

Status Truth::Delete(const api::KindInfo& kind, std::string_view namespace_, std::string_view name,
                     std::string_view uid) {
  ++acts_;
  const Status deleted = inner().Delete(kind, namespace_, name, uid);
  const Key key{kind.hub, std::string(namespace_), std::string(name)};
  // What the watch has told to be gone already it does not tell once more.
  const auto known = picture_.find(key);
  const bool there = known != picture_.end() && known->second.metadata().uid == uid &&
                     !known->second.metadata().deletion_timestamp;
  if (there || !deleted.ok()) Wrote(key, deleted, {.uid = std::string(uid), .going = true});
  return deleted;
}

Status Truth::Bind(std::string_view namespace_, std::string_view pod, std::string_view uid,
                   std::string_view node) {
  ++acts_;
  const Status bound = inner().Bind(namespace_, pod, uid, node);
  const Key key{&api::TypeInfoOf<api::Pod>(), std::string(namespace_), std::string(pod)};
  const auto found = picture_.find(key);
  const bool told = found == picture_.end() || found->second.metadata().uid != uid ||
                    !found->second.As<api::Pod>()->spec.node_name.empty();
  if (!told || !bound.ok()) Wrote(key, bound, {.uid = std::string(uid), .bound = true});
  if (bound.ok() && found != picture_.end() && found->second.metadata().uid == uid) {
    found->second.Mutable<api::Pod>()->spec.node_name = node;
  }
  return bound;
}

std::optional<scheduler::Outcome> Truth::ScheduleOne(scheduler::Scheduler& scheduler) {
  const std::uint64_t acts = acts_;
  auto outcome = scheduler.ScheduleOne();
  if (!outcome || outcome->kind != scheduler::Outcome::Kind::kUnschedulable) return outcome;
  // It had a node, and was not bound there: others were not asked.
  if (!outcome->node.empty()) return outcome;
  // A pod of a group is tried with all of it, and told of that.
  const auto pod = std::ranges::find_if(picture_, [&](const auto& entry) {
    const auto* known = entry.second.template As<api::Pod>();
    return known != nullptr && scheduler::KeyOf(*known) == outcome->pod;
  });
  if (pod != picture_.end() && pod->second.As<api::Pod>()->spec.scheduling_group) return outcome;
  // Who made room for the pod, or gave a claim back, has changed the answer.
  if (acts_ != acts || !Knows(scheduler)) return outcome;
  // Far away it is seldom that all is known.
  if (where_ == Where::kFar || refusals_++ % kOneOf == 0) Check(*outcome);
  return outcome;
}

// Whether the picture is all that it knows. Of room that is kept for somebody, and of writes in doubt, a scheduler that
// begins now knows nothing.
bool Truth::Knows(const scheduler::Scheduler& scheduler) const {
  if (scheduler.rooms_kept() > 0 || scheduler.in_doubt() > 0) return false;
  if (where_ == Where::kHere) return true;
  const bool in_doubt = in_doubt_until_ && stage_.kernel.now() < *in_doubt_until_;
  const bool knows = scheduler.under_way() == 0 && untold_.empty() && !in_doubt;
  if (!knows) stage_.Count("not held against the truth");
  return knows;
}

void Truth::Check(const scheduler::Outcome& outcome) {
  std::vector<api::Object> objects;
  for (const auto& [key, object] : picture_) {
    const auto* pod = object.As<api::Pod>();
    // Others who wait would be tried, too, and take something.
    const bool other =
        pod != nullptr && pod->spec.node_name.empty() && scheduler::KeyOf(*pod) != outcome.pod;
    if (!other) objects.push_back(object);
  }
  base::SeededRandomSource random(1);
  api::MemoryCluster cluster(clock_, random, {.gates = Gates(), .validate = false});
  const Status loaded = cluster.Load(std::move(objects));
  DRAY_CHECK(loaded.ok(), std::string(loaded.message()));
  Ids ids(random);
  scheduler::SchedulerOptions options;
  options.gates = Gates();
  options.config = ConfigOf(stage_);
  options.caches = false;
  scheduler::Scheduler fresh(cluster, clock_, ids, options);
  fresh.Sync();
  stage_.Count(where_ == Where::kHere ? "held against the truth"
                                      : "held against the truth, remote");
  const auto answer = fresh.ScheduleOne();
  if (!answer) {
    // A claim has gone since it was let in: who begins now does not let it in.
    stage_.Count("would not be let in");
  } else if (!answer->node.empty()) {
    stage_.Find(fmt::format("pod {} is refused, and {} has room for it; it is told \"{}\"",
                            outcome.pod, answer->node, outcome.message));
  } else if (!SaysTheSame(outcome.message, answer->message)) {
    stage_.Find(fmt::format("pod {} is told \"{}\", and true is \"{}\"", outcome.pod,
                            outcome.message, answer->message));
  }
}

}  // namespace dray::system
