// SPDX-License-Identifier: Apache-2.0
#include "soak/town.h"

#include <algorithm>
#include <utility>

#include "api/device_class.h"
#include "api/namespace.h"
#include "base/check.h"
#include "fmt/format.h"
#include "model/generator.h"
#include "soak/town_impl.h"
#include "testing/pod_builder.h"

namespace dray::soak {
namespace {

constexpr int kNodes = 7;
constexpr std::size_t kMostPods = 28;

}  // namespace

model::GeneratorOptions WhatDriversPublish() {
  return {.max_pools = 2,
          .max_devices = 7,
          .max_claims = 2,
          .max_requests = 2,
          .max_count = 3,
          .taint_rules = 0.0,
          .features_off = 0.0,
          .errors = 0.0};
}

Town::Town(std::uint64_t seed)
    : dice_(seed), random_(seed), cluster_(clock_, random_, {.gates = AllDeviceGates()}) {
  cluster_.SetWriteHook(
      [this](api::Verb verb, const api::Object& object) { return BeforeWrite(verb, object); });
  cluster_.SetAnswerHook([this](api::Verb verb, const api::Object&) { return AfterWrite(verb); });
  cluster_.SetReadHook([this](const api::KindInfo&) { return BeforeRead(); });
  api::Namespace space;
  space.metadata.name = kNamespace;
  space.metadata.labels["resource.kubernetes.io/admin-access"] = "true";
  DRAY_CHECK(Create(std::move(space)));
  for (const char* name : {"gpu", "nic", "any", "big"}) DRAY_CHECK(Create(MakeClass(name)));
  for (int i = 0; i < kNodes; ++i) AddNode();
}

// A write of a scheduler fails: because the server is away, because somebody is said to have been
// faster, or because somebody was.
Status Town::BeforeWrite(api::Verb verb, const api::Object& object) {
  if (!failures_ || !dice_.Chance(*failures_)) return {};
  ++failed_writes_;
  const std::optional<double> failures = std::exchange(failures_, std::nullopt);
  Status answer;
  switch (dice_.Range(0, 2)) {
    case 0:
      answer = base::Unavailable("the server is away");
      break;
    case 1:
      answer = base::Aborted("the object has been modified");
      break;
    default:
      if (verb == api::Verb::kCreate || verb == api::Verb::kDelete) break;
      if (const auto stored = cluster_.Stored(object.kind(), object.metadata().namespace_,
                                              object.metadata().name)) {
        api::Object touched = *stored;
        touched.MutableMetadata().annotations["touched"] = std::to_string(failed_writes_);
        static_cast<void>(cluster_.Update(std::move(touched)));
      }
  }
  failures_ = failures;
  return answer;
}

// A write was done, and whoever wrote does not learn of it: the connection broke, or he has sent it
// twice and is told of the second time.
Status Town::AfterWrite(api::Verb verb) {
  if (!failures_ || !dice_.Chance(*failures_)) return {};
  ++lost_answers_;
  if (dice_.Chance(0.6)) {
    // Whatever lost the answer mostly keeps whoever wrote from reading, too.
    if (dice_.Chance(0.5)) reads_that_fail_ = dice_.Range(1, 3);
    return api::OutcomeUnknown("the answer was lost");
  }
  switch (verb) {
    case api::Verb::kCreate:
    case api::Verb::kBind:
      return base::AlreadyExists("it is there already");
    case api::Verb::kDelete:
      return base::NotFound("it is not there");
    default:
      return base::Aborted("the object has been modified");
  }
}

Status Town::BeforeRead() {
  if (!failures_) return {};
  const bool away = reads_that_fail_ > 0;
  if (!away && !dice_.Chance(*failures_)) return {};
  if (away) --reads_that_fail_;
  ++failed_reads_;
  return base::Unavailable("the server is away");
}

bool Town::Happen() {
  struct Thing {
    const char* name;
    int often;
    bool (Town::*happen)();
  };
  static const std::vector<Thing> things = {
      {"add pod", 26, &Town::AddPod},
      {"remove pod", 15, &Town::RemovePod},
      {"finish pod", 5, &Town::FinishPod},
      {"place elsewhere", 2, &Town::PlaceElsewhere},
      {"open gate", 3, &Town::OpenGate},
      {"change class", 2, &Town::ChangeClass},
      {"change taint rule", 2, &Town::ChangeTaintRule},
      {"start publishing", 2, &Town::StartPublishing},
      {"go on publishing", 8, &Town::GoOnPublishing},
      {"change slice", 4, &Town::ChangeSlice},
      {"lose slice", 1, &Town::LoseSlice},
      {"say ready", 8, &Town::SayReady},
      {"add node", 2, &Town::AddNode},
      {"remove node", 1, &Town::RemoveNode},
      {"change node", 5, &Town::ChangeNode},
      {"clean up", 12, &Town::CleanUp},
      {"allocate elsewhere", 4, &Town::AllocateElsewhere},
      {"give back", 3, &Town::GiveBack},
  };
  int roll = 0;
  for (const Thing& thing : things) roll += thing.often;
  roll = dice_.Range(0, roll - 1);
  for (const Thing& thing : things) {
    roll -= thing.often;
    if (roll >= 0) continue;
    const bool done = (this->*thing.happen)();
    if (done) ++happened_[thing.name];
    return done;
  }
  return false;
}

void Town::Settle() {
  while (GoOnPublishing()) continue;
  while (OpenGate()) continue;
  for (int i = 0; i < 3; ++i) {
    CleanUp();
    while (SayReady()) continue;
  }
}

std::vector<api::ResourceClaim> Town::NewClaims() {
  std::vector<api::ResourceClaim> claims =
      model::RandomInstance(dice_, WhatDriversPublish()).claims;
  for (api::ResourceClaim& claim : claims) {
    claim.metadata.name = fmt::format("claim-{}", claims_++);
    claim.metadata.namespace_ = kNamespace;
    claim.metadata.uid.clear();
  }
  return claims;
}

bool Town::AddPod() {
  if (Objects<api::Pod>().size() >= kMostPods) return RemovePod();
  const std::string name = fmt::format("pod-{}", pods_++);
  testing::Pod builder(name);
  builder.Request("cpu", dice_.Pick({"100m", "500m", "1", "2"}));
  builder.Label("app", dice_.Pick({"x", "y"}));
  if (dice_.Chance(0.2)) builder.Priority(dice_.Range(1, 3));
  if (dice_.Chance(0.1)) builder.NodeSelector("zone", dice_.Pick({"z1", "z2"}));
  if (dice_.Chance(0.2)) builder.Tolerates({.key = "t", .operator_ = "Exists"});
  if (dice_.Chance(0.05)) {
    builder.AwayFrom(testing::PodsWith(testing::Labelled("app", "x"), api::kHostnameLabel));
  }
  const int kind = dice_.Range(0, 9);
  if (kind >= 7) {
    const std::string resource =
        dice_.Chance(0.6) ? kResource : api::ImplicitResourceName(dice_.Pick({"gpu", "nic"}));
    builder.Request(resource, dice_.Pick({"1", "1", "2", "3"}));
  }
  api::Pod pod = builder;
  pod.metadata.uid.clear();
  api::Container& container = pod.spec.containers.front();
  container.image = "i";
  // Amounts of extended resources have limits, and the limits are the amounts.
  for (const auto& [resource, amount] : container.resources.requests) {
    if (resource != "cpu") container.resources.limits[resource] = amount;
  }
  if (dice_.Chance(0.05)) pod.spec.scheduling_gates.push_back({.name = "example.com/later"});
  const auto use = [&](const std::string& claim) {
    const std::string entry = fmt::format("e{}", pod.spec.resource_claims.size());
    pod.spec.resource_claims.push_back({.name = entry, .resource_claim_name = claim});
    container.resources.claims.push_back({.name = entry});
  };
  if (kind < 8) {
    for (api::ResourceClaim& claim : NewClaims()) {
      use(claim.metadata.name);
      if (!Create(std::move(claim))) return false;
    }
  }
  if (kind == 0 || kind == 1) {
    if (const auto shared = Any<api::ResourceClaim>()) use(shared->metadata.name);
  }
  return Create(std::move(pod));
}

bool Town::ComeAgain(const api::Pod& pod, std::optional<std::int32_t> priority) {
  const std::string name = fmt::format("pod-{}", pods_++);
  api::Pod again;
  again.metadata.name = name;
  again.metadata.namespace_ = kNamespace;
  again.metadata.labels = pod.metadata.labels;
  again.spec = pod.spec;
  again.spec.node_name.clear();
  if (priority) again.spec.priority = priority;
  for (api::PodResourceClaim& entry : again.spec.resource_claims) {
    const auto before = Find<api::ResourceClaim>(entry.resource_claim_name.value_or(""));
    if (!before) return false;
    api::ResourceClaim claim;
    claim.metadata.name = fmt::format("claim-{}", claims_++);
    claim.metadata.namespace_ = kNamespace;
    claim.spec = before->spec;
    entry.resource_claim_name = claim.metadata.name;
    if (!Create(std::move(claim))) return false;
  }
  return Create(std::move(again));
}

bool Town::RemovePod() {
  const auto pod = Any<api::Pod>();
  return pod && Delete<api::Pod>(pod->metadata.name);
}

bool Town::FinishPod() {
  auto pod = Any<api::Pod>();
  if (!pod || pod->spec.node_name.empty() || !pod->status.phase.starts_with("P")) return false;
  pod->status.phase = dice_.Pick({"Succeeded", "Failed"});
  return UpdateStatus(*std::move(pod));
}

// Somebody else's pod, already on a node, that takes room without having been scheduled here.
bool Town::PlaceElsewhere() {
  const std::string name = fmt::format("static-{}", pods_++);
  testing::Pod builder(name);
  builder.Request("cpu", dice_.Pick({"100m", "1"})).On(AnyNodeName());
  api::Pod pod = builder;
  pod.metadata.uid.clear();
  pod.spec.containers.front().image = "i";
  return Create(std::move(pod));
}

bool Town::OpenGate() {
  for (api::Pod& pod : All<api::Pod>()) {
    if (pod.spec.scheduling_gates.empty()) continue;
    pod.spec.scheduling_gates.clear();
    return Update(std::move(pod));
  }
  return false;
}

std::string Town::AnyNodeName() { return fmt::format("node-{}", dice_.Range(0, kNodes + 1)); }

bool Town::AddNode() {
  const std::string name = AnyNodeName();
  if (Find<api::Node>(name, "")) return false;
  testing::Worker builder(name);
  builder.Has("cpu", dice_.Pick({"2", "4", "6"})).Has("memory", "64Gi");
  builder.Label("zone", dice_.Pick({"z1", "z2"})).Label("slots", std::to_string(dice_.Range(1, 8)));
  if (dice_.Chance(0.2)) builder.Tainted("t", "v", dice_.Pick({"NoSchedule", "PreferNoSchedule"}));
  if (dice_.Chance(0.2)) builder.Has(kResource, "2");
  api::Node node = builder;
  node.metadata.uid.clear();
  if (dice_.Chance(0.7)) node.status.declared_features = {"DRAOptionalNodeOperations"};
  node.status.capacity = node.status.allocatable;
  if (!Create(node)) return false;
  // A server does not take a status with a new object.
  const auto stored = Find<api::Node>(name, "");
  api::Node with_status = *stored;
  with_status.status = node.status;
  return UpdateStatus(std::move(with_status)) && StartPublishing();
}

bool Town::RemoveNode() {
  const auto node = Any<api::Node>();
  if (!node || Objects<api::Node>().size() <= 3) return false;
  if (dice_.Chance(0.6)) {
    for (const api::ResourceSlice& slice : All<api::ResourceSlice>()) {
      if (slice.spec.node_name == node->metadata.name) {
        to_delete_.push_back(slice.metadata.name);
      }
    }
  }
  return Delete<api::Node>(node->metadata.name, "");
}

bool Town::ChangeNode() {
  auto node = Any<api::Node>();
  if (!node) return false;
  switch (dice_.Range(0, 4)) {
    case 0:
      node->spec.unschedulable = !node->spec.unschedulable;
      return Update(*std::move(node));
    case 1:
      node->metadata.labels["zone"] = dice_.Pick({"z1", "z2"});
      return Update(*std::move(node));
    case 2:
      node->spec.taints.clear();
      if (dice_.Chance(0.4)) {
        node->spec.taints.push_back({.key = "t", .value = "v", .effect = "NoSchedule"});
      }
      return Update(*std::move(node));
    case 3:
      node->status.allocatable["cpu"] = testing::ToQuantity(dice_.Pick({"1", "3", "6"}));
      return UpdateStatus(*std::move(node));
    default:
      if (dice_.Chance(0.5)) {
        node->status.allocatable[kResource] = testing::ToQuantity(dice_.Pick({"0", "1", "3"}));
      } else {
        node->status.allocatable.erase(kResource);
      }
      return UpdateStatus(*std::move(node));
  }
}

}  // namespace dray::soak
