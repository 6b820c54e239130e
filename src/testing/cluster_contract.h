// SPDX-License-Identifier: Apache-2.0
//
// What every Cluster does, whoever serves it. A room with an implementation includes this in one
// test file and says how to make one:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, ClusterContract, ::testing::Values(ClusterMaker{...}),
//                            NameOf);
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/cluster.h"
#include "api/device_class.h"
#include "api/event.h"
#include "api/lease.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "testing/status_matchers.h"

namespace dray::testing {

// A cluster with whatever it needs to live.
class ClusterHolder {
 public:
  virtual ~ClusterHolder() = default;
  virtual api::Cluster& cluster() = 0;
  // Waits until watches can see every write so far.
  virtual void Settle() {}
};

struct ClusterMaker {
  std::string name;
  std::function<std::unique_ptr<ClusterHolder>()> make;
  friend void PrintTo(const ClusterMaker& maker, std::ostream* os) { *os << maker.name; }
};

inline std::string NameOf(const ::testing::TestParamInfo<ClusterMaker>& info) {
  return info.param.name;
}

template <typename T>
const api::KindInfo& KindOf() {
  return api::HubKind(api::TypeInfoOf<T>());
}

inline api::Pod PodNamed(std::string_view name, std::string_view namespace_ = "ns") {
  api::Pod pod;
  pod.metadata.name = name;
  pod.metadata.namespace_ = namespace_;
  pod.spec.containers.push_back({.name = "main", .image = "image"});
  return pod;
}

inline api::ResourceClaim ClaimNamed(std::string_view name) {
  api::ResourceClaim claim;
  claim.metadata.name = name;
  claim.metadata.namespace_ = "ns";
  api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
  request.name = "gpu";
  request.exactly.emplace().device_class_name = "gpu.example.com";
  return claim;
}

inline api::Node NodeNamed(std::string_view name) {
  api::Node node;
  node.metadata.name = name;
  return node;
}

class ClusterContract : public ::testing::TestWithParam<ClusterMaker> {
 protected:
  api::Cluster& cluster() { return holder_->cluster(); }

  template <typename T>
  T Create(T value) {
    auto created = cluster().Create(api::Object::Of(std::move(value)));
    EXPECT_THAT(created, IsOk());
    return created.ok() ? *created->template As<T>() : T();
  }
  template <typename T>
  StatusOr<T> Update(T value) {
    DRAY_ASSIGN_OR_RETURN(const api::Object object,
                          cluster().Update(api::Object::Of(std::move(value))));
    return *object.As<T>();
  }
  template <typename T>
  StatusOr<T> UpdateStatus(T value) {
    DRAY_ASSIGN_OR_RETURN(const api::Object object,
                          cluster().UpdateStatus(api::Object::Of(std::move(value))));
    return *object.As<T>();
  }
  template <typename T>
  std::optional<T> Find(std::string_view name, std::string_view namespace_ = "ns") {
    const auto object = cluster().Find(KindOf<T>(), namespace_, name);
    EXPECT_THAT(object, IsOk());
    if (!object.ok() || !*object) return std::nullopt;
    return *(*object)->template As<T>();
  }
  template <typename T>
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const api::Object& object : All(KindOf<T>())) {
      names.push_back(object.metadata().namespace_ + "/" + object.metadata().name);
    }
    return names;
  }
  std::vector<api::Object> All(const api::KindInfo& kind) {
    auto listed = cluster().List(kind);
    EXPECT_THAT(listed, IsOk());
    return listed.ok() ? *std::move(listed) : std::vector<api::Object>();
  }
  template <typename... T>
  std::unique_ptr<api::ObjectWatch> Watch(const api::Selection& selection = {}) {
    const std::vector<const api::KindInfo*> kinds = {&KindOf<T>()...};
    return cluster().Watch(kinds, selection);
  }
  // What the watch has to tell: "+Pod a", "~Pod a", "-Pod a".
  std::vector<std::string> Told(api::ObjectWatch& watch) {
    holder_->Settle();
    std::vector<std::string> told;
    while (auto change = watch.Next()) {
      constexpr std::string_view kSigns = "+~-";
      told.push_back(kSigns[static_cast<std::size_t>(change->kind)] +
                     std::string(change->object.kind().kind) + " " +
                     change->object.metadata().name);
    }
    return told;
  }
  void Settle() { holder_->Settle(); }

 private:
  std::unique_ptr<ClusterHolder> holder_ = GetParam().make();
};

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST_P(ClusterContract, CreatedObjectsGetWhatOnlyTheServerSets) {
  api::Pod given = PodNamed("p");
  given.metadata.uid = "mine";
  const api::Pod pod = Create(given);
  EXPECT_THAT(pod.metadata.uid, Not(IsEmpty()));
  EXPECT_NE(pod.metadata.uid, "mine");
  EXPECT_THAT(pod.metadata.resource_version, Not(IsEmpty()));
  EXPECT_TRUE(pod.metadata.creation_timestamp.has_value());
  EXPECT_EQ(pod.spec.scheduler_name, "default-scheduler");
  EXPECT_EQ(pod.status.phase, "Pending");
  EXPECT_EQ(Find<api::Pod>("p"), pod);
  EXPECT_EQ(Find<api::Pod>("p", "other"), std::nullopt);
}

TEST_P(ClusterContract, ANewObjectCannotSayWhatItsStatusIs) {
  api::ResourceClaim claim = ClaimNamed("c");
  claim.status.allocation.emplace();
  EXPECT_FALSE(Create(claim).status.allocation.has_value());
}

TEST_P(ClusterContract, ATakenNameIsRefused) {
  const api::Pod first = Create(PodNamed("p"));
  EXPECT_THAT(cluster().Create(api::Object::Of(PodNamed("p"))),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("ns/p")));
  EXPECT_EQ(Find<api::Pod>("p"), first);
  Create(PodNamed("p", "elsewhere"));
}

TEST_P(ClusterContract, GeneratedNamesStartAsAskedAndDiffer) {
  api::Pod pod = PodNamed("");
  pod.metadata.generate_name = "worker-";
  const std::string a = Create(pod).metadata.name;
  const std::string b = Create(pod).metadata.name;
  EXPECT_THAT(a, StartsWith("worker-"));
  EXPECT_THAT(b, StartsWith("worker-"));
  EXPECT_NE(a, b);
  EXPECT_GT(a.size(), std::string_view("worker-").size());
}

TEST_P(ClusterContract, AnInvalidObjectIsRefusedWithAllItsFaults) {
  api::ResourceClaim claim = ClaimNamed("c");
  claim.spec.devices.requests[0].name = "Not A Label";
  claim.spec.devices.requests[0].exactly->count = -1;
  EXPECT_THAT(cluster().Create(api::Object::Of(claim)),
              StatusIs(StatusCode::kInvalidArgument,
                       ::testing::AllOf(HasSubstr("spec.devices.requests[0].name"),
                                        HasSubstr("spec.devices.requests[0].exactly.count"))));
  EXPECT_THAT(Names<api::ResourceClaim>(), IsEmpty());
}

TEST_P(ClusterContract, ListsAreOrderedByNamespaceAndName) {
  for (const auto& [ns, name] : std::vector<std::pair<std::string, std::string>>{
           {"b", "a"}, {"a-b", "z"}, {"a", "z"}, {"a", "b"}}) {
    Create(PodNamed(name, ns));
  }
  EXPECT_THAT(Names<api::Pod>(), ElementsAre("a/b", "a/z", "a-b/z", "b/a"));
}

TEST_P(ClusterContract, AnyVersionOfAKindMeansTheSameObjects) {
  Create(ClaimNamed("c"));
  const api::KindInfo& old = *api::FindKind("resource.k8s.io/v1beta1", "ResourceClaim");
  EXPECT_THAT(All(old), SizeIs(1));
  const auto found = cluster().Find(old, "ns", "c");
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->kind().version, "v1");
  EXPECT_THAT(cluster().Delete(old, "ns", "c"), IsOk());
}

TEST_P(ClusterContract, AnUpdateOfAnOldVersionIsRefused) {
  const api::Pod pod = Create(PodNamed("p"));
  api::Pod labelled = pod;
  labelled.metadata.labels["a"] = "1";
  const auto updated = Update(labelled);
  ASSERT_THAT(updated, IsOk());
  EXPECT_NE(updated->metadata.resource_version, pod.metadata.resource_version);
  EXPECT_THAT(Update(labelled), StatusIs(StatusCode::kAborted, HasSubstr("ns/p")));
  labelled.metadata.resource_version.clear();
  labelled.metadata.labels["a"] = "2";
  EXPECT_THAT(Update(labelled), IsOk());
  EXPECT_EQ(*Find<api::Pod>("p")->metadata.labels.Find("a"), "2");
}

TEST_P(ClusterContract, ALeaseIsOnlyUpdatedByWhoHasReadIt) {
  api::Lease lease;
  lease.metadata.name = "leader";
  lease.metadata.namespace_ = "ns";
  lease = Create(lease);
  lease.metadata.labels["a"] = "1";
  ASSERT_THAT(Update(lease), IsOk());
  lease.metadata.resource_version.clear();
  EXPECT_THAT(Update(lease),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("metadata.resourceVersion")));
}

TEST_P(ClusterContract, AnUpdateOfAnObjectThatWasReplacedIsRefused) {
  api::Pod pod = Create(PodNamed("p"));
  ASSERT_THAT(cluster().Delete(KindOf<api::Pod>(), "ns", "p"), IsOk());
  EXPECT_THAT(Update(pod), StatusIs(StatusCode::kNotFound, HasSubstr("ns/p")));
  EXPECT_THAT(UpdateStatus(pod), StatusIs(StatusCode::kNotFound, HasSubstr("ns/p")));
  Create(PodNamed("p"));
  pod.metadata.resource_version.clear();
  EXPECT_THAT(Update(pod), StatusIs(StatusCode::kAborted, HasSubstr(pod.metadata.uid)));
  EXPECT_THAT(UpdateStatus(pod), StatusIs(StatusCode::kAborted, HasSubstr(pod.metadata.uid)));
}

TEST_P(ClusterContract, AnUpdateLeavesTheStatusAndAStatusUpdateLeavesTheRest) {
  api::Node node = Create(NodeNamed("n"));
  node.spec.unschedulable = true;
  node.status.phase = "Running";
  node = *Update(node);
  EXPECT_TRUE(node.spec.unschedulable);
  EXPECT_EQ(node.status.phase, "");
  node.spec.unschedulable = false;
  node.metadata.labels["a"] = "1";
  node.status.phase = "Running";
  node = *UpdateStatus(node);
  EXPECT_TRUE(node.spec.unschedulable);
  EXPECT_EQ(node.metadata.labels.Find("a"), nullptr);
  EXPECT_EQ(node.status.phase, "Running");
  EXPECT_EQ(Find<api::Node>("n", ""), node);
}

TEST_P(ClusterContract, AKindWithoutStatusHasNoneToUpdate) {
  api::DeviceClass device_class;
  device_class.metadata.name = "gpu.example.com";
  EXPECT_THAT(UpdateStatus(Create(device_class)),
              StatusIs(StatusCode::kNotFound, HasSubstr("DeviceClass")));
}

TEST_P(ClusterContract, AWriteThatChangesNothingIsNotTold) {
  const api::Pod pod = Create(PodNamed("p"));
  const auto watch = Watch<api::Pod>();
  Told(*watch);
  EXPECT_EQ(Update(pod)->metadata.resource_version, pod.metadata.resource_version);
  EXPECT_EQ(UpdateStatus(pod)->metadata.resource_version, pod.metadata.resource_version);
  EXPECT_THAT(Told(*watch), IsEmpty());
}

TEST_P(ClusterContract, ADeletionMayInsistOnTheUid) {
  const api::Pod pod = Create(PodNamed("p"));
  EXPECT_THAT(cluster().Delete(KindOf<api::Pod>(), "ns", "p", "another"),
              StatusIs(StatusCode::kAborted, HasSubstr("another")));
  EXPECT_THAT(cluster().Delete(KindOf<api::Pod>(), "ns", "p", pod.metadata.uid), IsOk());
  EXPECT_THAT(cluster().Delete(KindOf<api::Pod>(), "ns", "p"),
              StatusIs(StatusCode::kNotFound, HasSubstr("ns/p")));
}

TEST_P(ClusterContract, AnObjectWithFinalizersGoesWithTheLastOfThem) {
  api::ResourceClaim claim = ClaimNamed("c");
  claim.metadata.finalizers = {"example.com/a", "example.com/b"};
  Create(claim);
  const auto watch = Watch<api::ResourceClaim>();
  Told(*watch);
  ASSERT_THAT(cluster().Delete(KindOf<api::ResourceClaim>(), "ns", "c"), IsOk());
  ASSERT_THAT(cluster().Delete(KindOf<api::ResourceClaim>(), "ns", "c"), IsOk());
  claim = *Find<api::ResourceClaim>("c");
  EXPECT_TRUE(claim.metadata.deletion_timestamp.has_value());
  claim.metadata.finalizers.pop_back();
  claim = *Update(claim);
  EXPECT_TRUE(Find<api::ResourceClaim>("c").has_value());
  claim.metadata.finalizers.clear();
  EXPECT_THAT(Update(claim), IsOk());
  EXPECT_EQ(Find<api::ResourceClaim>("c"), std::nullopt);
  EXPECT_THAT(Told(*watch),
              ElementsAre("~ResourceClaim c", "~ResourceClaim c", "-ResourceClaim c"));
}

TEST_P(ClusterContract, AWatchTellsWhatIsThereAndThenEveryChangeOnce) {
  Create(PodNamed("old"));
  Create(ClaimNamed("unwatched"));
  const auto watch = Watch<api::Pod, api::Node>();
  Create(NodeNamed("n"));
  api::Pod pod = Create(PodNamed("new"));
  pod.metadata.labels["a"] = "1";
  ASSERT_THAT(Update(pod), IsOk());
  EXPECT_THAT(Told(*watch), ElementsAre("+Pod old", "+Node n", "+Pod new", "~Pod new"));
  EXPECT_THAT(Told(*watch), IsEmpty());
  ASSERT_THAT(cluster().Delete(KindOf<api::Pod>(), "ns", "old"), IsOk());
  EXPECT_THAT(Told(*watch), ElementsAre("-Pod old"));
}

TEST_P(ClusterContract, WatchesDoNotTakeFromEachOther) {
  const auto early = Watch<api::Pod>();
  Create(PodNamed("a"));
  const auto late = Watch<api::Pod>();
  Create(PodNamed("b"));
  EXPECT_THAT(Told(*late), ElementsAre("+Pod a", "+Pod b"));
  EXPECT_THAT(Told(*early), ElementsAre("+Pod a", "+Pod b"));
}

TEST_P(ClusterContract, ChangesTellTheObjectAsItWasThen) {
  const auto watch = Watch<api::Pod>();
  api::Pod pod = Create(PodNamed("p"));
  pod.metadata.labels["a"] = "1";
  ASSERT_THAT(Update(pod), IsOk());
  ASSERT_THAT(cluster().Delete(KindOf<api::Pod>(), "ns", "p"), IsOk());
  Settle();
  EXPECT_TRUE(watch->Next()->object.metadata().labels.empty());
  EXPECT_FALSE(watch->Next()->object.metadata().labels.empty());
  EXPECT_FALSE(watch->Next()->object.metadata().labels.empty());
}

// What a node agent watches: the pods of its own node.
TEST_P(ClusterContract, AWatchMaySelectByFields) {
  Create(PodNamed("here"));
  Create(PodNamed("there"));
  ASSERT_THAT(cluster().Bind("ns", "here", "", "n1"), IsOk());
  const auto watch = Watch<api::Pod>({.fields = *api::FieldSelector::Parse("spec.nodeName=n1")});
  EXPECT_THAT(Told(*watch), ElementsAre("+Pod here"));
  Create(PodNamed("later"));
  ASSERT_THAT(cluster().Bind("ns", "there", "", "n2"), IsOk());
  EXPECT_THAT(Told(*watch), IsEmpty());
  ASSERT_THAT(cluster().Bind("ns", "later", "", "n1"), IsOk());
  EXPECT_THAT(Told(*watch), ElementsAre("+Pod later"));
  ASSERT_THAT(cluster().Delete(KindOf<api::Pod>(), "ns", "there"), IsOk());
  EXPECT_THAT(Told(*watch), IsEmpty());
  EXPECT_THAT(watch->Stale(), IsOk());
}

TEST_P(ClusterContract, WhatBeginsToMatchIsAddedAndWhatNoLongerDoesIsDeleted) {
  api::Pod pod = PodNamed("p");
  pod.metadata.labels["a"] = "1";
  pod = Create(pod);
  Create(PodNamed("other"));
  const auto watch = Watch<api::Pod>({.labels = *api::LabelMatcher::Parse("a in (1,2)")});
  EXPECT_THAT(Told(*watch), ElementsAre("+Pod p"));
  pod.metadata.labels["a"] = "2";
  pod = *Update(pod);
  EXPECT_THAT(Told(*watch), ElementsAre("~Pod p"));
  pod.metadata.labels["a"] = "3";
  pod = *Update(pod);
  EXPECT_THAT(Told(*watch), ElementsAre("-Pod p"));
  pod.metadata.labels["b"] = "x";
  pod = *Update(pod);
  EXPECT_THAT(Told(*watch), IsEmpty());
  pod.metadata.labels["a"] = "1";
  ASSERT_THAT(Update(pod), IsOk());
  EXPECT_THAT(Told(*watch), ElementsAre("+Pod p"));
}

TEST_P(ClusterContract, AWatchMaySelectANamespaceAndAName) {
  Create(PodNamed("p"));
  Create(PodNamed("p", "elsewhere"));
  const auto watch = Watch<api::Pod>({.namespace_ = "elsewhere"});
  const auto named = Watch<api::Pod>(
      {.namespace_ = "ns", .fields = *api::FieldSelector::Parse("metadata.name=q")});
  Create(PodNamed("q"));
  Create(PodNamed("q", "elsewhere"));
  EXPECT_THAT(Told(*watch), ElementsAre("+Pod p", "+Pod q"));
  EXPECT_THAT(Told(*named), ElementsAre("+Pod q"));
  ASSERT_THAT(cluster().Delete(KindOf<api::Pod>(), "ns", "q"), IsOk());
  ASSERT_THAT(cluster().Delete(KindOf<api::Pod>(), "ns", "p"), IsOk());
  EXPECT_THAT(Told(*watch), IsEmpty());
  EXPECT_THAT(Told(*named), ElementsAre("-Pod q"));
}

TEST_P(ClusterContract, BindingGivesAPodItsNodeOnce) {
  api::Pod pod = Create(PodNamed("p"));
  pod.status.nominated_node_name = "n9";
  pod.status.conditions = {
      {.type = "PodScheduled", .status = "False", .reason = "Unschedulable", .message = "0/1"}};
  pod = *UpdateStatus(pod);
  EXPECT_THAT(cluster().Bind("ns", "p", "another", "n1"),
              StatusIs(StatusCode::kAborted, HasSubstr("another")));
  ASSERT_THAT(cluster().Bind("ns", "p", pod.metadata.uid, "n1"), IsOk());
  const api::Pod bound = *Find<api::Pod>("p");
  EXPECT_EQ(bound.spec.node_name, "n1");
  EXPECT_EQ(bound.status.nominated_node_name, "");
  ASSERT_THAT(bound.status.conditions, SizeIs(1));
  EXPECT_EQ(bound.status.conditions[0].status, "True");
  EXPECT_EQ(bound.status.conditions[0].reason, "");
  EXPECT_THAT(cluster().Bind("ns", "p", pod.metadata.uid, "n2"),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("n1")));
  EXPECT_EQ(Find<api::Pod>("p"), bound);
  EXPECT_THAT(cluster().Bind("ns", "missing", "", "n1"),
              StatusIs(StatusCode::kNotFound, HasSubstr("missing")));
}

TEST_P(ClusterContract, APodThatIsGatedOrOnItsWayOutGetsNoNode) {
  api::Pod gated = PodNamed("gated");
  gated.spec.scheduling_gates = {{.name = "wait"}};
  Create(gated);
  EXPECT_THAT(cluster().Bind("ns", "gated", "", "n1"),
              StatusIs(StatusCode::kAborted, HasSubstr("gates")));
  api::Pod leaving = PodNamed("leaving");
  leaving.metadata.finalizers = {"example.com/a"};
  Create(leaving);
  ASSERT_THAT(cluster().Delete(KindOf<api::Pod>(), "ns", "leaving"), IsOk());
  EXPECT_THAT(cluster().Bind("ns", "leaving", "", "n1"),
              StatusIs(StatusCode::kAborted, HasSubstr("deleted")));
}

TEST_P(ClusterContract, EqualNotesAreOneEventWithACount) {
  const api::Object pod = api::Object::Of(Create(PodNamed("p")));
  const api::EventNote note{.about = pod,
                            .type = "Warning",
                            .reason = "FailedScheduling",
                            .message = "0/1 nodes are available",
                            .component = "default-scheduler",
                            .action = "Scheduling"};
  cluster().Note(note);
  cluster().Note(note);
  api::EventNote other = note;
  other.message = "0/2 nodes are available";
  cluster().Note(other);
  cluster().Note(note);
  Settle();
  std::vector<std::pair<std::string, int>> counts;
  for (const api::Object& object : All(KindOf<api::Event>())) {
    const api::Event& event = *object.As<api::Event>();
    counts.emplace_back(event.message, event.count);
    EXPECT_EQ(event.metadata.namespace_, "ns");
    EXPECT_EQ(event.involved_object.uid, pod.metadata().uid);
    EXPECT_EQ(event.involved_object.kind, "Pod");
    EXPECT_EQ(event.reason, "FailedScheduling");
    EXPECT_EQ(event.reporting_component, "default-scheduler");
  }
  EXPECT_THAT(counts, ::testing::UnorderedElementsAre(
                          std::pair(std::string("0/1 nodes are available"), 3),
                          std::pair(std::string("0/2 nodes are available"), 1)));
}

TEST_P(ClusterContract, EventsAboutObjectsOutsideOfNamespacesAreInDefault) {
  cluster().Note({.about = api::Object::Of(Create(NodeNamed("n"))),
                  .type = "Normal",
                  .reason = "Seen",
                  .message = "hello",
                  .component = "test",
                  .action = "Looking"});
  Settle();
  ASSERT_THAT(All(KindOf<api::Event>()), SizeIs(1));
  EXPECT_EQ(All(KindOf<api::Event>())[0].metadata().namespace_, "default");
}

}  // namespace dray::testing
