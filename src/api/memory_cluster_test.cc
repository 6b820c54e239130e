// SPDX-License-Identifier: Apache-2.0
#include "api/memory_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/namespace.h"
#include "api/resource_slice.h"
#include "testing/cluster_contract.h"

namespace dray::testing {
namespace {

class MemoryHolder final : public ClusterHolder {
 public:
  api::Cluster& cluster() override { return cluster_; }

 private:
  base::ManualClock clock_{base::Time::FromUnix(1'000)};
  base::SeededRandomSource random_{1};
  api::MemoryCluster cluster_{clock_, random_};
};

INSTANTIATE_TEST_SUITE_P(Memory, ClusterContract,
                         ::testing::Values(ClusterMaker{
                             "memory", [] { return std::make_unique<MemoryHolder>(); }}),
                         NameOf);

}  // namespace
}  // namespace dray::testing

namespace dray::api {
namespace {

using testing::ClaimNamed;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::KindOf;
using testing::NodeNamed;
using testing::PodNamed;
using ::testing::SizeIs;
using testing::StatusIs;

class MemoryClusterTest : public ::testing::Test {
 protected:
  MemoryCluster Make(MemoryClusterOptions options = {}) {
    return MemoryCluster(clock_, random_, std::move(options));
  }
  std::unique_ptr<ObjectWatch> WatchPods(Cluster& cluster) {
    const std::vector<const KindInfo*> kinds = {&KindOf<Pod>()};
    return cluster.Watch(kinds);
  }
  std::size_t Drain(ObjectWatch& watch) {
    std::size_t n = 0;
    while (watch.Next()) ++n;
    return n;
  }
  EventNote NoteAbout(const Object& about, std::string message) {
    return {.about = about,
            .type = "Normal",
            .reason = "Seen",
            .message = std::move(message),
            .component = "test",
            .action = "Looking"};
  }

  base::ManualClock clock_{base::Time::FromUnix(1'000, 500)};
  base::SeededRandomSource random_{1};
};

TEST_F(MemoryClusterTest, ANamespaceStaysUntilItsSpecHasNoFinalizers) {
  MemoryCluster cluster = Make();
  Namespace space;
  space.metadata.name = "ns";
  space.spec.finalizers = {std::string(kNamespaceFinalizer)};
  ASSERT_THAT(cluster.Create(Object::Of(space)), IsOk());
  ASSERT_THAT(cluster.Delete(KindOf<Namespace>(), "", "ns"), IsOk());
  auto leaving = cluster.Stored(KindOf<Namespace>(), "", "ns");
  ASSERT_TRUE(leaving.has_value());
  EXPECT_TRUE(leaving->metadata().deletion_timestamp.has_value());
  leaving->Mutable<Namespace>()->spec.finalizers.clear();
  ASSERT_THAT(cluster.Update(*leaving), IsOk());
  EXPECT_FALSE(cluster.Stored(KindOf<Namespace>(), "", "ns").has_value());
}

TEST_F(MemoryClusterTest, TheSameSeedGivesTheSameUidsAndNames) {
  const auto run = [&] {
    base::SeededRandomSource random(7);
    MemoryCluster cluster(clock_, random);
    Pod pod = PodNamed("");
    pod.metadata.generate_name = "p-";
    const auto created = cluster.Create(Object::Of(pod));
    return created->metadata().name + " " + created->metadata().uid;
  };
  EXPECT_EQ(run(), run());
}

TEST_F(MemoryClusterTest, ALongStemIsCutSoThatTheNameIsALabel) {
  MemoryCluster cluster = Make();
  Pod pod = PodNamed("");
  pod.metadata.generate_name = std::string(80, 'a');
  EXPECT_THAT(cluster.Create(Object::Of(pod))->metadata().name, SizeIs(63));
}

TEST_F(MemoryClusterTest, TimestampsAreWholeSecondsOfTheGivenClock) {
  MemoryCluster cluster = Make();
  const auto pod = cluster.Create(Object::Of(PodNamed("p")));
  EXPECT_EQ(pod->metadata().creation_timestamp, base::Time::FromUnix(1'000));
}

TEST_F(MemoryClusterTest, ADeletedPodOnANodeIsGoneAtOnce) {
  MemoryCluster cluster = Make();
  ASSERT_THAT(cluster.Create(Object::Of(PodNamed("p"))), IsOk());
  ASSERT_THAT(cluster.Bind("ns", "p", "", "n"), IsOk());
  ASSERT_THAT(cluster.Delete(KindOf<Pod>(), "ns", "p"), IsOk());
  EXPECT_THAT(cluster.All(KindOf<Pod>()), IsEmpty());
}

TEST_F(MemoryClusterTest, ChangesAreKeptOnlyUntilTheLastWatchHasTakenThem) {
  MemoryCluster cluster = Make();
  ASSERT_THAT(cluster.Create(Object::Of(PodNamed("unwatched"))), IsOk());
  EXPECT_EQ(cluster.backlog(), 0U);
  auto first = WatchPods(cluster);
  auto second = WatchPods(cluster);
  const std::vector<const KindInfo*> nodes = {&KindOf<Node>()};
  // It never reads, but it does not care about pods.
  const auto other = cluster.Watch(nodes);
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_THAT(cluster.Create(Object::Of(PodNamed(name))), IsOk());
  }
  EXPECT_EQ(cluster.backlog(), 3U);
  EXPECT_EQ(Drain(*first), 4U);
  EXPECT_EQ(cluster.backlog(), 3U);
  second->Next();
  second->Next();
  EXPECT_EQ(cluster.backlog(), 2U);
  second.reset();
  EXPECT_EQ(cluster.backlog(), 0U);
}

TEST_F(MemoryClusterTest, AWatchMayOutliveTheCluster) {
  std::unique_ptr<ObjectWatch> watch;
  {
    MemoryCluster cluster = Make();
    watch = WatchPods(cluster);
    ASSERT_THAT(cluster.Create(Object::Of(PodNamed("p"))), IsOk());
  }
  EXPECT_EQ(Drain(*watch), 1U);
}

TEST_F(MemoryClusterTest, ARefusedWriteHasNoEffect) {
  MemoryCluster cluster = Make();
  const Object pod = *cluster.Create(Object::Of(PodNamed("p")));
  const auto watch = WatchPods(cluster);
  Drain(*watch);
  std::vector<Verb> asked;
  cluster.SetWriteHook([&](Verb verb, const Object& object) {
    asked.push_back(verb);
    EXPECT_EQ(object.metadata().namespace_, "ns");
    return base::Unavailable("not now");
  });
  const std::uint64_t revision = cluster.revision();
  const auto refused = StatusIs(StatusCode::kUnavailable, "not now");
  EXPECT_THAT(cluster.Create(Object::Of(PodNamed("q"))), refused);
  EXPECT_THAT(cluster.Update(pod), refused);
  EXPECT_THAT(cluster.UpdateStatus(pod), refused);
  EXPECT_THAT(cluster.Delete(KindOf<Pod>(), "ns", "p"), refused);
  EXPECT_THAT(cluster.Bind("ns", "p", "", "n"), refused);
  EXPECT_THAT(asked, ElementsAre(Verb::kCreate, Verb::kUpdate, Verb::kUpdateStatus, Verb::kDelete,
                                 Verb::kBind));
  EXPECT_EQ(cluster.revision(), revision);
  EXPECT_EQ(Drain(*watch), 0U);
  EXPECT_EQ(*cluster.Stored(KindOf<Pod>(), "ns", "p")->As<Pod>(), *pod.As<Pod>());
  EXPECT_THAT(cluster.All(KindOf<Pod>()), SizeIs(1));
}

TEST_F(MemoryClusterTest, AHookMayWriteAsAnotherClientWould) {
  MemoryCluster cluster = Make();
  const Object pod = *cluster.Create(Object::Of(PodNamed("p")));
  cluster.SetWriteHook([&](Verb, const Object&) {
    cluster.SetWriteHook({});
    return cluster.Bind("ns", "p", "", "elsewhere");
  });
  EXPECT_THAT(cluster.UpdateStatus(pod), StatusIs(StatusCode::kAborted, HasSubstr("changed")));
  cluster.SetWriteHook([&](Verb, const Object&) {
    cluster.SetWriteHook({});
    return cluster.Delete(KindOf<Pod>(), "ns", "p");
  });
  EXPECT_THAT(cluster.Bind("ns", "p", "", "n"), StatusIs(StatusCode::kNotFound, HasSubstr("ns/p")));
}

TEST_F(MemoryClusterTest, GatedFieldsAreDropped) {
  MemoryClusterOptions options;
  options.gates.Set(Gate::kDRAExtendedResource, false);
  MemoryCluster cluster = Make(options);
  DeviceClass device_class;
  device_class.metadata.name = "gpu.example.com";
  device_class.spec.extended_resource_name = "example.com/gpu";
  const auto created = cluster.Create(Object::Of(device_class));
  EXPECT_EQ(created->As<DeviceClass>()->spec.extended_resource_name, std::nullopt);
}

class NoExpressionCompiles final : public ExpressionChecker {
 public:
  Result Check(std::string_view, Purpose, const FeatureGates&) const override {
    return {.error = "not today"};
  }
};

TEST_F(MemoryClusterTest, ExpressionsAreCheckedByWhoeverWasGiven) {
  const NoExpressionCompiles checker;
  DeviceClass device_class;
  device_class.metadata.name = "gpu.example.com";
  device_class.spec.selectors.emplace_back().cel.emplace().expression = "true";
  MemoryCluster checked = Make({.expressions = &checker});
  EXPECT_THAT(checked.Create(Object::Of(device_class)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not today")));
  MemoryCluster unchecked = Make({.expressions = &checker, .validate = false});
  EXPECT_THAT(unchecked.Create(Object::Of(device_class)), IsOk());
}

TEST_F(MemoryClusterTest, WithoutValidationANameIsStillNeeded) {
  MemoryCluster cluster = Make({.validate = false});
  EXPECT_THAT(cluster.Create(Object::Of(PodNamed(""))),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("metadata.name")));
}

TEST_F(MemoryClusterTest, AFoldedEventSaysWhenItWasToldFirstAndLast) {
  MemoryCluster cluster = Make();
  const Object pod = *cluster.Create(Object::Of(PodNamed("p")));
  cluster.Note(NoteAbout(pod, "hello"));
  clock_.Advance(std::chrono::seconds(5));
  cluster.Note(NoteAbout(pod, "hello"));
  const auto events = cluster.All(KindOf<Event>());
  ASSERT_THAT(events, SizeIs(1));
  const Event& event = *events[0].As<Event>();
  EXPECT_EQ(event.first_timestamp, base::Time::FromUnix(1'000));
  EXPECT_EQ(event.last_timestamp, base::Time::FromUnix(1'005));
}

TEST_F(MemoryClusterTest, OfTooManyEventsTheOneToldLongestAgoGoes) {
  MemoryCluster cluster = Make({.max_events = 2});
  const Object pod = *cluster.Create(Object::Of(PodNamed("p")));
  for (const char* text : {"a", "b", "a", "c", "a"}) cluster.Note(NoteAbout(pod, text));
  std::vector<std::string> told;
  for (const Object& object : cluster.All(KindOf<Event>())) {
    told.push_back(object.As<Event>()->message);
  }
  EXPECT_THAT(told, ::testing::UnorderedElementsAre("a", "c"));
}

TEST_F(MemoryClusterTest, AnEventThatSomebodyDeletedIsToldAnew) {
  MemoryCluster cluster = Make({.max_events = 2});
  const Object pod = *cluster.Create(Object::Of(PodNamed("p")));
  cluster.Note(NoteAbout(pod, "a"));
  const Object event = cluster.All(KindOf<Event>())[0];
  ASSERT_THAT(cluster.Delete(KindOf<Event>(), "ns", event.metadata().name), IsOk());
  cluster.Note(NoteAbout(pod, "a"));
  ASSERT_THAT(cluster.All(KindOf<Event>()), SizeIs(1));
  EXPECT_EQ(cluster.All(KindOf<Event>())[0].As<Event>()->count, 1);
  // The place that it had is free: two more do not push it out together with one of them.
  cluster.Note(NoteAbout(pod, "b"));
  EXPECT_THAT(cluster.All(KindOf<Event>()), SizeIs(2));
}

TEST_F(MemoryClusterTest, ADumpIsTakenAsItIs) {
  MemoryCluster cluster = Make();
  ResourceClaim claim = ClaimNamed("c");
  claim.metadata.uid = "uid-c";
  claim.metadata.resource_version = "41";
  claim.status.allocation.emplace();
  Pod pod = PodNamed("p", "");
  pod.status.phase = "Running";
  ASSERT_THAT(cluster.Load({Object::Of(claim), Object::Of(pod)}), IsOk());
  const auto stored = cluster.Stored(KindOf<ResourceClaim>(), "ns", "c");
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(stored->metadata().uid, "uid-c");
  EXPECT_EQ(stored->metadata().resource_version, "41");
  EXPECT_TRUE(stored->As<ResourceClaim>()->status.allocation.has_value());
  const auto loaded = cluster.Stored(KindOf<Pod>(), "default", "p");
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->metadata().resource_version, "42");
  EXPECT_EQ(loaded->As<Pod>()->status.phase, "Running");
  EXPECT_EQ(loaded->As<Pod>()->spec.scheduler_name, "default-scheduler");
  // What comes later is newer than anything in the dump.
  EXPECT_EQ(cluster.Create(Object::Of(PodNamed("later")))->metadata().resource_version, "43");
}

TEST_F(MemoryClusterTest, ADumpIsTakenWholeOrNotAtAll) {
  MemoryCluster cluster = Make();
  ASSERT_THAT(cluster.Load({Object::Of(NodeNamed("a"))}), IsOk());
  EXPECT_THAT(cluster.Load({Object::Of(NodeNamed("b")), Object::Of(NodeNamed("a"))}),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("Node \"a\"")));
  EXPECT_THAT(cluster.Load({Object::Of(NodeNamed("c")), Object::Of(NodeNamed("c"))}),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("Node \"c\"")));
  EXPECT_THAT(cluster.Load({Object::Of(NodeNamed("d")), Object::Of(NodeNamed(""))}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("Node")));
  EXPECT_THAT(cluster.All(KindOf<Node>()), SizeIs(1));
}

}  // namespace
}  // namespace dray::api
