// SPDX-License-Identifier: Apache-2.0
#include "controllers/history_for_test.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <regex>
#include <utility>

#include "api/device_class.h"
#include "api/event.h"
#include "api/namespace.h"
#include "api/node.h"
#include "api/pod_claims.h"
#include "api/resource_quota.h"
#include "testing/slice_builder.h"

namespace dray::controllers {
namespace {

using Kind = Deed::Kind;

// Timers beyond that are not waited for: nothing that a rest depends on takes longer.
constexpr std::chrono::seconds kPatience{60};
constexpr int kDisturbedRounds = 30;
constexpr std::string_view kTouched = "touched";

bool IsGenerated(const api::ObjectMeta& metadata) { return !metadata.generate_name.empty(); }

api::PodTemplateSpec& WithClaim(api::PodTemplateSpec& made_from, int number) {
  made_from.spec.resource_claims.push_back(
      {.name = "gpu", .resource_claim_template_name = "t" + std::to_string(number % 2)});
  return made_from;
}

}  // namespace

std::vector<Deed> RandomDeeds(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::vector<Deed> deeds;
  const auto last = static_cast<int>(Kind::kDeleteNamespace);
  for (std::size_t i = 0; i < count; ++i) {
    deeds.push_back({.kind = static_cast<Kind>(random() % last),
                     .name = std::to_string(random() % 3),
                     .number = static_cast<int>(random() % 4)});
  }
  deeds.push_back({.kind = Kind::kDeleteNamespace});
  return deeds;
}

Life::Life(std::uint64_t seed, int disturbance)
    : random_(seed),
      disturbance_(disturbance),
      scene_(seed),
      late_(scene_.cluster(), [this] { return !peace_ && Chance(disturbance_); }) {
  scene_.cluster().SetWriteHook(
      [this](api::Verb verb, const api::Object& object) { return Disturb(verb, object); });
  api::Node node;
  node.metadata.name = "node-1";
  scene_.Add(node);
  api::Namespace space;
  space.metadata.name = "ns";
  scene_.Add(space);
  Restart();
}

bool Life::Chance(int percent) {
  return percent > 0 && random_() % 100 < static_cast<std::uint64_t>(percent);
}

void Life::Restart() { controllers_ = MakeControllers(late_, scene_.clock()); }

Status Life::Disturb(api::Verb verb, const api::Object& object) {
  if (peace_ || !Chance(disturbance_)) return {};
  ++disturbed_;
  if (Chance(50)) return base::Unavailable("down");
  // Somebody else is faster.
  if (verb == api::Verb::kCreate || object.As<api::Namespace>() != nullptr) return {};
  auto stored =
      scene_.cluster().Stored(object.kind(), object.metadata().namespace_, object.metadata().name);
  if (!stored.has_value()) return {};
  stored->MutableMetadata().annotations[kTouched] = std::to_string(disturbed_);
  peace_ = true;
  const auto touched = scene_.cluster().Update(*std::move(stored));
  peace_ = false;
  EXPECT_TRUE(touched.ok()) << touched.status();
  return {};
}

void Life::Act(const Deed& deed) {
  const std::string pod = "p" + deed.name;
  const std::string deployment = "d" + deed.name;
  const std::string job = "j" + deed.name;
  const std::string made_from = "t" + std::to_string(deed.number % 2);
  switch (deed.kind) {
    case Kind::kAddTemplate:
      if (!scene_.Has<api::ResourceClaimTemplate>(made_from)) scene_.Add(TemplateNamed(made_from));
      return;
    case Kind::kDeleteTemplate:
      if (scene_.Has<api::ResourceClaimTemplate>(made_from)) {
        scene_.Delete<api::ResourceClaimTemplate>(made_from);
      }
      return;
    case Kind::kAddClaim:
      if (!scene_.Has<api::ResourceClaim>("c")) scene_.Add(ClaimNamed("c"));
      return;
    case Kind::kDeleteClaim:
      if (scene_.Has<api::ResourceClaim>("c")) scene_.Delete<api::ResourceClaim>("c");
      return;
    case Kind::kAddPod:
      if (scene_.Has<api::Pod>(pod)) return;
      scene_.Add(deed.number == 0   ? PodNamed(pod)
                 : deed.number == 1 ? PodWith(pod, "c")
                                    : PodFrom(pod, made_from));
      return;
    case Kind::kEndPod:
      if (scene_.Has<api::Pod>(pod)) scene_.SetPhase(pod, api::kPodSucceeded);
      return;
    case Kind::kDeletePod:
      if (scene_.Has<api::Pod>(pod)) scene_.Delete<api::Pod>(pod);
      return;
    case Kind::kAddDeployment: {
      if (scene_.Has<api::Deployment>(deployment)) return;
      auto wanted = DeploymentNamed(deployment, deed.number);
      WithClaim(wanted.spec.template_, deed.number);
      scene_.Add(wanted);
      return;
    }
    case Kind::kScale:
    case Kind::kNewImage: {
      if (!scene_.Has<api::Deployment>(deployment)) return;
      auto wanted = scene_.Get<api::Deployment>(deployment);
      if (deed.kind == Kind::kScale) wanted.spec.replicas = deed.number;
      if (deed.kind == Kind::kNewImage) {
        wanted.spec.template_.spec.containers[0].image = "i" + std::to_string(deed.number);
      }
      scene_.Put(wanted);
      return;
    }
    case Kind::kDeleteDeployment:
      if (scene_.Has<api::Deployment>(deployment)) scene_.Delete<api::Deployment>(deployment);
      return;
    case Kind::kAddJob: {
      if (scene_.Has<api::Job>(job)) return;
      auto wanted = JobNamed(job);
      wanted.spec.completions = deed.number;
      wanted.spec.parallelism = 2;
      if (deed.number == 3) wanted.spec.completion_mode = api::kCompletionModeIndexed;
      WithClaim(wanted.spec.template_, deed.number);
      scene_.Add(wanted);
      return;
    }
    case Kind::kDeleteJob:
      if (scene_.Has<api::Job>(job)) scene_.Delete<api::Job>(job);
      return;
    case Kind::kAddQuota: {
      if (scene_.Has<api::ResourceQuota>("q")) return;
      api::ResourceQuota quota;
      quota.metadata.namespace_ = "ns";
      quota.metadata.name = "q";
      for (const std::string_view name :
           {"pods", "count/pods", "count/resourceclaims.resource.k8s.io",
            "gpu.example.com.deviceclass.resource.k8s.io/devices", "count/replicasets.apps"}) {
        quota.spec.hard[name] = testing::ToQuantity("1000");
      }
      scene_.Add(quota);
      return;
    }
    case Kind::kTaint: {
      // Only pods with names of their own: a workload would replace its pods for ever.
      const std::string rule = "rule-" + pod;
      if (scene_.Has<api::DeviceTaintRule>(rule, "")) {
        scene_.Delete<api::DeviceTaintRule>(rule, "");
        return;
      }
      api::DeviceTaintRule taint;
      taint.metadata.name = rule;
      taint.spec.device_selector.emplace().device = "dev-" + pod;
      taint.spec.taint = {.key = "broken", .effect = std::string(api::kTaintEffectNoExecute)};
      scene_.Add(taint);
      return;
    }
    case Kind::kDeleteNamespace:
      scene_.Delete<api::Namespace>("ns", "");
      return;
  }
}

bool Life::GiveDevice(const api::Pod& pod, std::string_view name) {
  if (!scene_.Has<api::ResourceClaim>(name)) return false;
  auto claim = scene_.Get<api::ResourceClaim>(name);
  if (claim.metadata.deletion_timestamp.has_value()) return false;
  if (!claim.status.allocation.has_value()) {
    if (claim.metadata.finalizers.empty()) {
      claim.metadata.finalizers = {std::string(api::kClaimFinalizer)};
      scene_.Put(claim);
      claim = scene_.Get<api::ResourceClaim>(name);
    }
    claim.status.allocation = OneResult();
    claim.status.allocation->devices.results[0].device =
        IsGenerated(pod.metadata) ? "dev-any" : "dev-" + pod.metadata.name;
  }
  if (!api::ReservedFor(claim, pod)) claim.status.reserved_for.push_back(api::ConsumerOf(pod));
  scene_.PutStatus(claim);
  return true;
}

// As the scheduler would. Whether the pod has a node then.
bool Life::Place(const api::Pod& pod) {
  for (const auto& entry : pod.spec.resource_claims) {
    const auto claim = api::ClaimNameOf(pod, entry);
    if (!claim.has_value() || !GiveDevice(pod, *claim)) return false;
  }
  EXPECT_TRUE(scene_.cluster().Bind("ns", pod.metadata.name, pod.metadata.uid, "node-1").ok());
  return true;
}

// As a kubelet would: pods run, those of jobs end well. Whether anything has changed.
bool Life::RunPods() {
  bool changed = false;
  for (const api::Pod& pod : scene_.All<api::Pod>()) {
    if (pod.metadata.deletion_timestamp.has_value()) continue;
    if (pod.status.phase != api::kPodPending) continue;
    if (pod.spec.node_name.empty() && !Place(pod)) continue;
    changed = true;
    const api::OwnerReference* owner = api::FindController(pod.metadata);
    if (owner != nullptr && owner->kind == "Job") {
      scene_.SetPhase(pod.metadata.name, api::kPodSucceeded);
    } else {
      MakeReady(scene_, pod.metadata.name);
    }
  }
  return changed;
}

namespace {

// How often something was touched is in its generation; at rest that is the one that was seen. One
// that is being deleted is another one since, and nobody looks any more.
template <typename T>
void ForgetGeneration(T& workload) {
  if (!workload.metadata.deletion_timestamp.has_value()) {
    EXPECT_EQ(workload.status.observed_generation, workload.metadata.generation)
        << workload.metadata.name;
  }
  workload.status.observed_generation = 0;
}

}  // namespace

void Life::Do(const Deed& deed) {
  // Whoever is older is so by the clock, however long the rest took.
  scene_.clock().Advance(std::chrono::seconds(1));
  Act(deed);
  bool quiet = false;
  for (int round = 0;; ++round) {
    // A quiet round may be one in which all watches were late: rest is what peace leaves as it is.
    const bool peaceful = quiet || disturbance_ == 0 || round >= kDisturbedRounds;
    peace_ = peaceful;
    const std::size_t before = disturbed_;
    const std::size_t writes = SyncAll(controllers_);
    peace_ = true;
    const bool ran = RunPods();
    const bool fresh = disturbed_ > before && Chance(30);
    if (fresh) Restart();
    const auto due = NextDue(controllers_);
    const bool soon = due.has_value() && *due <= scene_.clock().Monotonic() + kPatience;
    if (soon && !ran) {
      scene_.clock().Advance(
          std::max(*due - scene_.clock().Monotonic(), std::chrono::nanoseconds(0)));
    }
    quiet = writes == 0 && !ran && !soon && !fresh;
    if (quiet && peaceful) return;
  }
}

std::size_t Life::WritesOfNewcomers() {
  Restart();
  return SyncAll(controllers_);
}

std::vector<std::string> Life::Rest() {
  // Generated names by what they were generated from; longer ones first, so that none is cut.
  std::map<std::string, std::string, std::greater<>> names;
  std::vector<api::Object> objects;
  for (const api::KindInfo& kind : api::Kinds()) {
    if (kind.type != kind.hub || kind.hub == &api::TypeInfoOf<api::Event>()) continue;
    if (&api::HubKind(*kind.hub) != &kind) continue;
    for (const api::Object& object : scene_.cluster().All(kind)) {
      const api::ObjectMeta& metadata = object.metadata();
      if (IsGenerated(metadata)) names[metadata.name] = metadata.generate_name + "*";
      objects.push_back(object);
    }
  }
  static const std::regex kDifferent(
      "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
      "|\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ"
      "|-gpu-[a-z0-9]{5}");  // of claims that are gone, in statuses of pods
  std::vector<std::string> texts;
  for (api::Object& object : objects) {
    if (auto* deployment = object.Mutable<api::Deployment>()) ForgetGeneration(*deployment);
    if (auto* set = object.Mutable<api::ReplicaSet>()) ForgetGeneration(*set);
    api::ObjectMeta& metadata = object.MutableMetadata();
    metadata.resource_version.clear();
    metadata.generation = 0;
    metadata.annotations.erase(kTouched);
    std::string text = object.ToJson();
    for (const auto& [name, stem] : names) {
      for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
        text.replace(at, name.size(), stem);
        at += stem.size();
      }
    }
    texts.push_back(std::regex_replace(text, kDifferent, ""));
  }
  std::ranges::sort(texts);
  return texts;
}

}  // namespace dray::controllers
