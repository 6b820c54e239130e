// SPDX-License-Identifier: Apache-2.0
#include "system/truth.h"

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

std::uint64_t RevisionOf(const api::Object& object) {
  const std::string& text = object.metadata().resource_version;
  std::uint64_t revision = 0;
  std::from_chars(text.data(), text.data() + text.size(), revision);
  return revision;
}

}  // namespace

class Truth::Told final : public api::ObjectWatch {
 public:
  Told(std::unique_ptr<api::ObjectWatch> watch, Truth& truth)
      : watch_(std::move(watch)), truth_(truth) {}
  std::optional<api::Change> Next() override {
    std::optional<api::Change> change = watch_->Next();
    if (!change) return change;
    if (change->kind == api::Change::Kind::kDeleted) {
      truth_.picture_.erase(KeyOf(change->object));
    } else {
      truth_.Put(change->object);
    }
    return change;
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
  // What was decided goes before what is told until that is as new.
  if (!added && RevisionOf(it->second) <= RevisionOf(object)) it->second = object;
}

std::unique_ptr<api::ObjectWatch> Truth::Watch(std::span<const api::KindInfo* const> kinds,
                                               const api::Selection& selection) {
  return std::make_unique<Told>(inner().Watch(kinds, selection), *this);
}

StatusOr<api::Object> Truth::Create(api::Object object) {
  ++acts_;
  return inner().Create(std::move(object));
}

StatusOr<api::Object> Truth::UpdateStatus(api::Object object) {
  const bool claim = object.As<api::ResourceClaim>() != nullptr;
  if (claim) ++acts_;
  auto written = inner().UpdateStatus(std::move(object));
  // Devices are taken when they are written; given back when that is told.
  if (claim && written.ok() && written->As<api::ResourceClaim>()->status.allocation) Put(*written);
  return written;
}

Status Truth::Delete(const api::KindInfo& kind, std::string_view namespace_, std::string_view name,
                     std::string_view uid) {
  ++acts_;
  return inner().Delete(kind, namespace_, name, uid);
}

Status Truth::Bind(std::string_view namespace_, std::string_view pod, std::string_view uid,
                   std::string_view node) {
  ++acts_;
  const Status bound = inner().Bind(namespace_, pod, uid, node);
  const auto found =
      picture_.find({&api::TypeInfoOf<api::Pod>(), std::string(namespace_), std::string(pod)});
  if (bound.ok() && found != picture_.end() && found->second.metadata().uid == uid) {
    found->second.Mutable<api::Pod>()->spec.node_name = node;
  }
  return bound;
}

std::optional<scheduler::Outcome> Truth::ScheduleOne(scheduler::Scheduler& scheduler) {
  const std::uint64_t acts = acts_;
  auto outcome = scheduler.ScheduleOne();
  if (!outcome || outcome->kind != scheduler::Outcome::Kind::kUnschedulable) return outcome;
  // Who made room for the pod, or gave a claim back, has changed the answer; and of room that is kept for
  // somebody, and of writes in doubt, a scheduler that begins now knows nothing.
  if (acts_ != acts || scheduler.rooms_kept() > 0 || scheduler.in_doubt() > 0) return outcome;
  if (refusals_++ % kOneOf == 0) Check(*outcome);
  return outcome;
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
  options.caches = false;
  scheduler::Scheduler fresh(cluster, clock_, ids, options);
  fresh.Sync();
  stage_.Count("held against the truth");
  const auto answer = fresh.ScheduleOne();
  if (!answer) {
    // A claim has gone since it was let in: who begins now does not let it in.
    stage_.Count("would not be let in");
  } else if (!answer->node.empty()) {
    stage_.Find(fmt::format("pod {} is refused, and {} has room for it; it is told \"{}\"",
                            outcome.pod, answer->node, outcome.message));
  } else if (answer->message != outcome.message) {
    stage_.Find(fmt::format("pod {} is told \"{}\", and true is \"{}\"", outcome.pod,
                            outcome.message, answer->message));
  }
}

}  // namespace dray::system
