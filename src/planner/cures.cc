// SPDX-License-Identifier: Apache-2.0
#include "planner/cures.h"

#include <algorithm>
#include <map>
#include <utility>

#include "api/pod.h"
#include "api/resource_claim.h"
#include "controllers/object_key.h"
#include "planner/internal/cure_search.h"
#include "planner/internal/open_volumes.h"
#include "planner/internal/outcomes.h"
#include "planner/internal/rehearsal.h"
#include "planner/internal/trial.h"

namespace dray::planner {

using controllers::KindOf;
using internal::Trial;

std::string_view NameOf(CureKind kind) {
  constexpr std::string_view kNames[] = {"wait_for",       "go_first",   "delete_claim",
                                         "change_request", "change_pod", "correct_name",
                                         "extend_node",    "add_node"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view NameOf(Verified verified) {
  constexpr std::string_view kNames[] = {"sufficient", "insufficient", "unknown"};
  return kNames[static_cast<std::size_t>(verified)];
}

void Apply(const Changes& changes, std::vector<api::Object>& objects) {
  const auto same = [](const api::Object& object, const api::KindInfo& kind,
                       const std::string& namespace_, const std::string& name) {
    return object.kind().hub == kind.hub && object.metadata().name == name &&
           (!kind.namespaced || object.metadata().namespace_ == namespace_);
  };
  std::erase_if(objects, [&](const api::Object& object) {
    return std::ranges::any_of(changes.gone,
                               [&](const ObjectRef& gone) {
                                 return same(object, *gone.kind, gone.namespace_, gone.name);
                               }) ||
           std::ranges::any_of(changes.put, [&](const api::Object& put) {
             return same(object, put.kind(), put.metadata().namespace_, put.metadata().name);
           });
  });
  objects.insert(objects.end(), changes.put.begin(), changes.put.end());
}

class CureFinder::Impl {
 public:
  Impl(const Plan& plan, const PlanOptions& options)
      : options_(internal::WithSchedulersOf(plan.objects, options)),
        objects_(plan.objects),
        volumes_(objects_, !options.everything_given, notes_),
        trial_(objects_, options_) {
    for (const PodOutcome& pod : plan.pods) {
      if (IsNew(pod.state)) planned_.Add(true, pod.namespace_, pod.name);
    }
    for (const ClaimOutcome& claim : plan.claims) {
      if (IsNew(claim.state)) planned_.Add(false, claim.namespace_, claim.claim.name);
    }
    for (const api::Object& object : objects_) {
      const auto* pod = object.As<api::Pod>();
      if (pod != nullptr && pod->spec.node_name.empty()) {
        pending_.emplace(internal::KeyOf(pod->metadata), object);
      }
    }
  }

  Help For(const PodOutcome& outcome) {
    const auto pod = pending_.find(internal::KeyOf(outcome.namespace_, outcome.name));
    if (!outcome.explanation || pod == pending_.end()) return {};
    return For(pod->second, *outcome.explanation);
  }

  Help For(const ClaimOutcome& outcome) {
    const api::Object* claim =
        trial_.Find(KindOf<api::ResourceClaim>(), outcome.namespace_, outcome.claim.name);
    if (!outcome.explanation || claim == nullptr) return {};
    return For(api::Object::Of(internal::AskerFor(*claim->As<api::ResourceClaim>(),
                                                  outcome.claim.name + "-asks", options_,
                                                  internal::TolerationsFor(trial_.cluster()))),
               *outcome.explanation);
  }

 private:
  static bool IsNew(State state) { return state == State::kPlaced || state == State::kWaiting; }

  Help For(api::Object pod, const scheduler::PodExplanation& why) {
    internal::CureCase of{
        .pod = std::move(pod), .why = why, .planned = planned_, .tries_before = trial_.tries()};
    internal::CureSearch(trial_, of).Run();
    for (auto* cures : {&of.help.cures, &of.help.others}) {
      for (Cure& cure : *cures) volumes_.Restore(cure.changes.put);
    }
    return std::move(of.help);
  }

  const PlanOptions options_;
  std::vector<std::string> notes_;  // the plan has them
  std::vector<api::Object> objects_;
  const internal::OpenVolumes volumes_;
  Trial trial_;
  internal::PlannedOccupants planned_;
  std::map<std::string, api::Object, std::less<>> pending_;
};

CureFinder::CureFinder(const Plan& plan, const PlanOptions& options)
    : impl_(std::make_unique<Impl>(plan, options)) {}
CureFinder::~CureFinder() = default;
Help CureFinder::For(const PodOutcome& pod) { return impl_->For(pod); }
Help CureFinder::For(const ClaimOutcome& claim) { return impl_->For(claim); }

}  // namespace dray::planner
