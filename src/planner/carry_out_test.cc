// SPDX-License-Identifier: Apache-2.0
//
// Lists of moves carried out on a cluster with its controllers and its scheduler, by way of a server
// that does what it is told, or not.
#include "planner/carry_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "api/cluster.h"
#include "api/event.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "controllers/object_key.h"
#include "planner/defrag_for_test.h"
#include "planner/internal/rehearsal.h"
#include "planner/internal/sandbox.h"

namespace dray::planner {
namespace {

using controllers::KindOf;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Whoever runs has somebody who makes it again.
std::string MakerYaml(const std::string& name, int gpus) {
  return fmt::format(R"(---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {{name: of-{0}, namespace: default, uid: of-{0}}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: {0}}}}}
  template:
    metadata: {{labels: {{app: {0}}}}}
    spec:
      containers: [{{name: c, image: i, resources: {{requests: {{cpu: "1"}}}}}}]
      resourceClaims: [{{name: gpus, resourceClaimTemplateName: gpus-{1}}}]
status: {{replicas: 1}}
)",
                     name, gpus);
}

class Live final : public MoveServer {
 public:
  explicit Live(const std::string& yaml)
      : guard_(options_.gates, options_.now, std::numeric_limits<std::size_t>::max()),
        rehearsal_(options_, 7, guard_) {
    auto objects = testing::ObjectsFrom(yaml);
    // Claims of those that wait are made by now.
    Plan plan = PlanOf(std::move(objects));
    for (api::Object& object : plan.objects) {
      if (internal::IsPending(object)) pending_.push_back(object.metadata().name);
    }
    DRAY_CHECK(rehearsal_.Load(std::move(plan.objects)).ok());
    rehearsal_.Run();
  }

  StatusOr<std::vector<api::Object>> Read() override {
    if (Away()) return base::Unavailable("nobody is there");
    std::vector<api::Object> all;
    for (const api::KindInfo& kind : api::Kinds()) {
      if (&api::HubKind(*kind.hub) != &kind || kind.hub == &api::TypeInfoOf<api::Event>()) continue;
      std::ranges::move(rehearsal_.cluster().All(kind), std::back_inserter(all));
    }
    return all;
  }
  StatusOr<std::vector<api::Object>> Pods(std::string_view) override {
    if (Away()) return base::Unavailable("nobody is there");
    return rehearsal_.cluster().All(KindOf<api::Pod>());
  }
  Status Evict(const PodName& pod, std::string_view) override {
    if (Away()) return base::Unavailable("nobody is there");
    ++evictions;
    const Status before = refuse ? refuse() : Status();
    if (!before.ok()) return before;
    Remove(pod.name);
    return answer;
  }
  Status Cordon(const std::string& node, bool closed) override {
    if (Away()) return base::Unavailable("nobody is there");
    if (!cordon.ok()) return cordon;
    auto stored = rehearsal_.cluster().Stored(KindOf<api::Node>(), "", node);
    api::NodeSpec& spec = stored->Mutable<api::Node>()->spec;
    spec.unschedulable = closed;
    // As the controller does it that keeps the taint.
    spec.taints.clear();
    if (closed) {
      spec.taints.push_back({.key = "node.kubernetes.io/unschedulable", .effect = "NoSchedule"});
    }
    return rehearsal_.cluster().Update(*std::move(stored)).status();
  }
  void Wait() override {
    if (meanwhile) std::exchange(meanwhile, nullptr)();
    if (!late_claims_.empty() && --claims_late <= 0) {
      for (const std::string& claim : std::exchange(late_claims_, {})) RemoveClaim(claim);
    }
    rehearsal_.Run();
    clock.Advance(std::chrono::seconds(1));
  }

  bool Away() { return away > 0 && --answered < 0 && away-- > 0; }

  void Remove(const std::string& name) {
    auto& cluster = rehearsal_.cluster();
    const auto pod = cluster.Stored(KindOf<api::Pod>(), "default", name);
    ASSERT_TRUE(pod.has_value()) << name;
    for (const auto& entry : *pod->As<api::Pod>()->status.resource_claim_statuses) {
      if (claims_late > 0) {
        late_claims_.push_back(*entry.resource_claim_name);
      } else {
        RemoveClaim(*entry.resource_claim_name);
      }
    }
    ASSERT_TRUE(cluster.Delete(KindOf<api::Pod>(), "default", name).ok());
  }
  void RemoveClaim(const std::string& name) {
    auto& cluster = rehearsal_.cluster();
    auto claim = cluster.Stored(KindOf<api::ResourceClaim>(), "default", name);
    claim->MutableMetadata().finalizers.clear();
    ASSERT_TRUE(cluster.Update(*std::move(claim)).ok());
    ASSERT_TRUE(cluster.Delete(KindOf<api::ResourceClaim>(), "default", name).ok());
  }
  void Add(const std::string& yaml) {
    for (api::Object& object : testing::ObjectsFrom(yaml)) {
      ASSERT_TRUE(rehearsal_.cluster().Create(std::move(object)).ok());
    }
  }
  std::string NodeOf(const std::string& name) {
    const auto pod = rehearsal_.cluster().Stored(KindOf<api::Pod>(), "default", name);
    return pod ? pod->As<api::Pod>()->spec.node_name : "gone";
  }
  std::vector<std::string> ClosedNodes() {
    std::vector<std::string> closed;
    for (const api::Object& node : rehearsal_.cluster().All(KindOf<api::Node>())) {
      if (node.As<api::Node>()->spec.unschedulable) closed.push_back(node.metadata().name);
    }
    return closed;
  }

  base::ManualClock clock{base::Time::FromUnix(1'780'000'000)};
  std::function<Status()> refuse;   // each eviction, before anything happens
  std::function<void()> meanwhile;  // once, at the next wait
  Status answer;                    // to an eviction that was done
  Status cordon;
  int evictions = 0;
  int away = 0;  // so many requests that nobody answers, after `answered` of them
  int answered = 0;
  int claims_late = 0;  // so many waits until the claims of a pod that has left go

 private:
  const PlanOptions options_ = DefaultOptions();
  internal::WriteGuard guard_;
  internal::Rehearsal rehearsal_;
  std::vector<std::string> pending_;
  std::vector<std::string> late_claims_;
};

std::string Fragmented(bool made_again = true) {
  return ClassYaml() + NodeYaml("n1", 2) + NodeYaml("n2", 2) +
         RunningYaml({.name = "a", .node = "n1", .gpus = {0}}) +
         RunningYaml({.name = "b", .node = "n2", .gpus = {1}}) +
         (made_again ? MakerYaml("a", 1) + MakerYaml("b", 1) : "") + GpuPodYaml("big", 2);
}

struct Ran {
  CarriedOut result;
  std::vector<std::string> told;
};

Ran RunOn(Live& live, DefragGoal goal = {}, bool cordon = true) {
  CarryOutOptions options{.goal = std::move(goal),
                          .plan = DefaultOptions(),
                          .timeout = std::chrono::seconds(30),
                          .cordon = cordon};
  const auto list = FindMoves(*live.Read(), options.goal, options.plan, options.defrag);
  EXPECT_TRUE(list.ok() && list->reached) << base::Message(list.status());
  Ran ran;
  ran.result = CarryOut(*list, live, live.clock, options,
                        [&](const std::string& line) { ran.told.push_back(line); });
  return ran;
}

TEST(CarryOut, EachMoveIsAwaitedAndThePodGetsItsPlace) {
  Live live(Fragmented());
  EXPECT_EQ(live.NodeOf("big"), "");
  const Ran ran = RunOn(live);
  EXPECT_TRUE(ran.result.done) << ran.result.surprise;
  ASSERT_EQ(ran.result.made.size(), 1U);
  EXPECT_EQ(ran.result.made[0].node, "n2");
  EXPECT_EQ(live.NodeOf("a"), "gone");
  EXPECT_EQ(live.NodeOf(ran.result.made[0].replacement), "n2");
  EXPECT_EQ(live.NodeOf("big"), "n1");
  EXPECT_THAT(live.ClosedNodes(), IsEmpty());
  EXPECT_EQ(ran.told.front(), "node/n1 cordoned");
  EXPECT_EQ(ran.told.back(), "pod/big is on node n1");
  EXPECT_THAT(ran.told, Contains("pod/a evicted from node n1"));
}

TEST(CarryOut, AFreedNodeStaysClosed) {
  Live live(Fragmented());
  live.Remove("big");
  const Ran ran = RunOn(live, {.nodes = {"n2"}});
  EXPECT_TRUE(ran.result.done) << ran.result.surprise;
  EXPECT_THAT(ran.result.closed, ElementsAre("n2"));
  EXPECT_THAT(live.ClosedNodes(), ElementsAre("n2"));
  EXPECT_EQ(live.NodeOf(ran.result.made[0].replacement), "n1");
}

TEST(CarryOut, ABudgetIsWaitedForAndNotForEver) {
  Live live(Fragmented());
  int times = 3;
  live.refuse = [&] {
    return times-- > 0 ? base::MakeStatus(StatusCode::kResourceExhausted, "the budget says no")
                       : Status();
  };
  const Ran ran = RunOn(live);
  EXPECT_TRUE(ran.result.done) << ran.result.surprise;
  EXPECT_THAT(ran.told, Contains("pod/a waits: the budget says no"));

  Live never(Fragmented());
  never.refuse = [] { return base::MakeStatus(StatusCode::kResourceExhausted, "no"); };
  const Ran in_vain = RunOn(never);
  EXPECT_FALSE(in_vain.result.done);
  EXPECT_EQ(in_vain.result.surprise, "pod a could not be evicted within 30 s: no");
  EXPECT_THAT(never.ClosedNodes(), IsEmpty());
  EXPECT_EQ(never.NodeOf("a"), "n1");
}

TEST(CarryOut, ALostAnswerIsLookedAfter) {
  Live done(Fragmented());
  done.answer = api::OutcomeUnknown("the connection broke");
  const Ran ran = RunOn(done);
  EXPECT_TRUE(ran.result.done) << ran.result.surprise;
  EXPECT_EQ(done.evictions, 1);

  Live undone(Fragmented());
  int times = 1;
  undone.refuse = [&] {
    return times-- > 0 ? api::OutcomeUnknown("the connection broke") : Status();
  };
  const Ran again = RunOn(undone);
  EXPECT_TRUE(again.result.done) << again.result.surprise;
  EXPECT_EQ(undone.evictions, 2);
}

// At whatever request: it is asked again.
TEST(CarryOut, AServerThatIsAwayForAMomentIsWaitedFor) {
  for (int after = 0; after < 12; ++after) {
    SCOPED_TRACE(after);
    Live live(Fragmented());
    const auto list = FindMoves(*live.Read(), {}, DefaultOptions(), {});
    ASSERT_TRUE(list.ok() && list->reached);
    live.away = 3;
    live.answered = after;
    const CarriedOut made = CarryOut(
        *list, live, live.clock, {.plan = DefaultOptions(), .timeout = std::chrono::seconds(30)},
        [](const std::string&) {});
    EXPECT_TRUE(made.done) << made.surprise;
    EXPECT_EQ(live.NodeOf("big"), "n1");
    EXPECT_THAT(live.ClosedNodes(), IsEmpty());
    EXPECT_EQ(live.evictions, 1);
  }
}

TEST(CarryOut, AServerThatStaysAwayEndsIt) {
  Live live(Fragmented());
  const auto list = FindMoves(*live.Read(), {}, DefaultOptions(), {});
  ASSERT_TRUE(list.ok() && list->reached);
  live.away = 1'000;
  live.answered = 4;
  const CarriedOut made = CarryOut(*list, live, live.clock,
                                   {.plan = DefaultOptions(), .timeout = std::chrono::seconds(30)},
                                   [](const std::string&) {});
  EXPECT_FALSE(made.done);
  EXPECT_THAT(made.surprise, HasSubstr("nobody is there"));
  // What could not be opened again is told.
  EXPECT_THAT(made.closed, ::testing::ElementsAreArray(live.ClosedNodes()));
}

// The new pod has its node before the old one's devices are free.
TEST(CarryOut, ClaimsThatAreGivenBackLateAreWaitedFor) {
  Live live(Fragmented());
  live.claims_late = 5;
  const Ran ran = RunOn(live);
  EXPECT_TRUE(ran.result.done) << ran.result.surprise;
  EXPECT_EQ(live.NodeOf("big"), "n1");
}

TEST(CarryOut, ARefusedEvictionEndsIt) {
  Live live(Fragmented());
  live.refuse = [] { return base::MakeStatus(StatusCode::kPermissionDenied, "may not"); };
  const Ran ran = RunOn(live);
  EXPECT_FALSE(ran.result.done);
  EXPECT_EQ(ran.result.surprise, "pod a could not be evicted: may not");
  EXPECT_THAT(live.ClosedNodes(), IsEmpty());
}

TEST(CarryOut, ANodeThatCannotBeClosedEndsItBeforeAnybodyMoves) {
  Live live(Fragmented());
  live.cordon = base::MakeStatus(StatusCode::kPermissionDenied, "may not");
  const Ran ran = RunOn(live);
  EXPECT_FALSE(ran.result.done);
  EXPECT_THAT(ran.result.surprise, HasSubstr("node n1 could not be cordoned: may not"));
  EXPECT_EQ(live.evictions, 0);
}

TEST(CarryOut, APodThatNobodyMakesAgainIsASurprise) {
  Live live(Fragmented(/*made_again=*/false));
  const Ran ran = RunOn(live);
  EXPECT_FALSE(ran.result.done);
  EXPECT_EQ(ran.result.surprise,
            "30 s after pod a was evicted no controller has created another one");
  EXPECT_THAT(live.ClosedNodes(), IsEmpty());
}

TEST(CarryOut, APodThatFindsNoPlaceIsASurprise) {
  Live live(Fragmented());
  // Somebody else comes to the place that was meant for it.
  live.meanwhile = [&] {
    live.Add(
        GpuPodYaml("thief", 1, "  priority: 100\n  nodeSelector: {kubernetes.io/hostname: n2}\n"));
  };
  const Ran ran = RunOn(live);
  EXPECT_FALSE(ran.result.done);
  EXPECT_THAT(ran.result.surprise,
              AllOf(HasSubstr("30 s after pod a was evicted its replacement, pod "),
                    HasSubstr("has no node")));
  EXPECT_THAT(live.ClosedNodes(), IsEmpty());
}

TEST(CarryOut, APodForWhichNoRoomIsNeededAnyMoreIsNotWaitedFor) {
  Live live(Fragmented());
  live.meanwhile = [&] { live.Remove("big"); };
  const Ran ran = RunOn(live);
  EXPECT_FALSE(ran.result.done);
  EXPECT_EQ(ran.result.surprise, "pod big, for which room is made, is gone");
}

}  // namespace
}  // namespace dray::planner
