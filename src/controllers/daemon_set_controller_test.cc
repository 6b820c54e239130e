// SPDX-License-Identifier: Apache-2.0
#include "controllers/daemon_set_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "api/node.h"
#include "api/taints.h"
#include "controllers/workloads_for_test.h"

namespace dray::controllers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

api::DaemonSet DaemonsNamed(std::string_view name) {
  api::DaemonSet set;
  set.metadata.namespace_ = "ns";
  set.metadata.name = name;
  set.spec.selector.emplace().match_labels["app"] = name;
  set.spec.template_.metadata.labels["app"] = name;
  set.spec.template_.spec.containers.push_back({.name = "c", .image = "i"});
  return set;
}

class DaemonSetTest : public ::testing::Test {
 protected:
  api::Node AddNode(const std::string& name, std::vector<api::Taint> taints = {},
                    std::string label = "") {
    api::Node node;
    node.metadata.name = name;
    if (!label.empty()) node.metadata.labels["pool"] = label;
    node.spec.taints = std::move(taints);
    return scene_.Add(node);
  }
  // The nodes that pods were made for.
  std::vector<std::string> Places() {
    std::vector<std::string> places;
    for (const api::Pod& pod : scene_.All<api::Pod>()) {
      const auto& terms = pod.spec.affinity->node_affinity->required->node_selector_terms;
      places.push_back(terms.at(0).match_fields.at(0).values.at(0));
    }
    return places;
  }
  void Settle() { scene_.Settle(controller_); }
  // What a scheduler and a kubelet do to all pods.
  void RunAll() {
    for (const api::Pod& pod : scene_.All<api::Pod>()) {
      if (IsReadyNow(pod)) continue;
      if (pod.spec.node_name.empty()) {
        const auto& terms = pod.spec.affinity->node_affinity->required->node_selector_terms;
        ASSERT_TRUE(scene_.cluster()
                        .Bind("ns", pod.metadata.name, pod.metadata.uid,
                              terms.at(0).match_fields.at(0).values.at(0))
                        .ok());
      }
      MakeReady(scene_, pod.metadata.name);
    }
    Settle();
  }
  std::set<std::string> Images() {
    std::set<std::string> images;
    for (const api::Pod& pod : scene_.All<api::Pod>()) images.insert(pod.spec.containers[0].image);
    return images;
  }

  Scene scene_;
  DaemonSetController controller_{scene_.cluster(), scene_.clock()};
};

TEST_F(DaemonSetTest, EveryNodeGetsAPodAndANewNodeToo) {
  AddNode("n1");
  AddNode("n2");
  scene_.Add(DaemonsNamed("d"));
  Settle();
  EXPECT_THAT(Places(), UnorderedElementsAre("n1", "n2"));
  AddNode("n3");
  Settle();
  EXPECT_THAT(Places(), UnorderedElementsAre("n1", "n2", "n3"));
  EXPECT_EQ(scene_.Get<api::DaemonSet>("d").status.desired_number_scheduled, 3);
  // A second look does nothing.
  EXPECT_EQ(scene_.Settle(controller_), 0u);
}

TEST_F(DaemonSetTest, APodIsBoundByNameAndToleratesWhatDaemonsTolerate) {
  AddNode("n1");
  scene_.Add(DaemonsNamed("d"));
  Settle();
  const api::Pod pod = scene_.All<api::Pod>().at(0);
  EXPECT_TRUE(pod.metadata.name.starts_with("d-"));
  EXPECT_TRUE(pod.metadata.labels.contains("controller-revision-hash"));
  std::vector<std::string> keys;
  for (const api::Toleration& toleration : pod.spec.tolerations) keys.push_back(toleration.key);
  EXPECT_THAT(keys,
              ElementsAre("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable",
                          "node.kubernetes.io/disk-pressure", "node.kubernetes.io/memory-pressure",
                          "node.kubernetes.io/pid-pressure", "node.kubernetes.io/unschedulable"));
}

TEST_F(DaemonSetTest, NodesThatDoNotFitGetNone) {
  AddNode("n1", {}, "a");
  AddNode("n2", {}, "b");
  AddNode("n3", {{.key = "x", .effect = "NoSchedule"}}, "a");
  AddNode("n4", {{.key = "node.kubernetes.io/unschedulable", .effect = "NoSchedule"}}, "a");
  api::DaemonSet set = DaemonsNamed("d");
  set.spec.template_.spec.node_selector["pool"] = "a";
  scene_.Add(set);
  Settle();
  EXPECT_THAT(Places(), UnorderedElementsAre("n1", "n4"));
}

TEST_F(DaemonSetTest, ATaintThatDrivesAwayTakesThePodAndOneThatOnlyKeepsOutDoesNot) {
  AddNode("n1");
  AddNode("n2");
  scene_.Add(DaemonsNamed("d"));
  Settle();
  api::Node n1 = scene_.Get<api::Node>("n1", "");
  n1.spec.taints = {{.key = "x", .effect = "NoSchedule"}};
  scene_.Put(n1);
  api::Node n2 = scene_.Get<api::Node>("n2", "");
  n2.spec.taints = {{.key = "x", .effect = "NoExecute"}};
  scene_.Put(n2);
  Settle();
  EXPECT_THAT(Places(), ElementsAre("n1"));
  const auto status = scene_.Get<api::DaemonSet>("d").status;
  EXPECT_EQ(status.desired_number_scheduled, 0);
  EXPECT_EQ(status.number_misscheduled, 1);
}

TEST_F(DaemonSetTest, ANodeThatGoesTakesItsPod) {
  AddNode("n1");
  AddNode("n2");
  scene_.Add(DaemonsNamed("d"));
  Settle();
  scene_.Delete<api::Node>("n1", "");
  Settle();
  EXPECT_THAT(Places(), ElementsAre("n2"));
}

TEST_F(DaemonSetTest, APodThatFailedIsReplaced) {
  AddNode("n1");
  scene_.Add(DaemonsNamed("d"));
  Settle();
  const std::string first = scene_.All<api::Pod>().at(0).metadata.name;
  scene_.SetPhase(first, api::kPodFailed);
  Settle();
  ASSERT_EQ(scene_.All<api::Pod>().size(), 1u);
  EXPECT_NE(scene_.All<api::Pod>().at(0).metadata.name, first);
}

TEST_F(DaemonSetTest, ANewTemplateGoesFromNodeToNode) {
  for (const char* node : {"n1", "n2", "n3"}) AddNode(node);
  scene_.Add(DaemonsNamed("d"));
  Settle();
  RunAll();
  EXPECT_EQ(scene_.Get<api::DaemonSet>("d").status.number_available, 3);
  api::DaemonSet set = scene_.Get<api::DaemonSet>("d");
  set.spec.template_.spec.containers[0].image = "new";
  scene_.Put(set);
  int rounds = 0;
  while (Images() != std::set<std::string>{"new"} && ++rounds < 10) {
    Settle();
    // Never more than one node without a ready pod.
    int ready = 0;
    for (const api::Pod& pod : scene_.All<api::Pod>()) ready += IsReadyNow(pod) ? 1 : 0;
    EXPECT_GE(ready, 2);
    RunAll();
  }
  EXPECT_EQ(Images(), std::set<std::string>{"new"});
  EXPECT_THAT(Places(), UnorderedElementsAre("n1", "n2", "n3"));
  EXPECT_EQ(scene_.Get<api::DaemonSet>("d").status.updated_number_scheduled, 3);
}

TEST_F(DaemonSetTest, WithASurgeTheNewPodComesBeforeTheOldOneGoes) {
  AddNode("n1");
  api::DaemonSet set = DaemonsNamed("d");
  set.spec.update_strategy.type = "RollingUpdate";
  set.spec.update_strategy.rolling_update.emplace();
  set.spec.update_strategy.rolling_update->max_surge = api::IntOrString{1};
  set.spec.update_strategy.rolling_update->max_unavailable = api::IntOrString{0};
  scene_.Add(set);
  Settle();
  RunAll();
  set = scene_.Get<api::DaemonSet>("d");
  set.spec.template_.spec.containers[0].image = "new";
  scene_.Put(set);
  Settle();
  EXPECT_EQ(scene_.All<api::Pod>().size(), 2u);
  RunAll();
  EXPECT_EQ(Images(), std::set<std::string>{"new"});
}

TEST_F(DaemonSetTest, OnDeleteWaitsForSomebodyToDelete) {
  AddNode("n1");
  api::DaemonSet set = DaemonsNamed("d");
  set.spec.update_strategy.type = "OnDelete";
  scene_.Add(set);
  Settle();
  RunAll();
  set = scene_.Get<api::DaemonSet>("d");
  set.spec.template_.spec.containers[0].image = "new";
  scene_.Put(set);
  Settle();
  EXPECT_EQ(Images(), std::set<std::string>{"i"});
  scene_.Delete<api::Pod>(scene_.All<api::Pod>().at(0).metadata.name);
  Settle();
  EXPECT_EQ(Images(), std::set<std::string>{"new"});
}

std::vector<std::int64_t> RevisionNumbers(Scene& scene) {
  std::vector<std::int64_t> numbers;
  for (const auto& revision : scene.All<api::ControllerRevision>()) {
    numbers.push_back(revision.revision);
  }
  std::ranges::sort(numbers);
  return numbers;
}

// `kubectl rollout history` and `undo` look for them by the selector, and apply what is in them.
TEST_F(DaemonSetTest, TemplatesAreKeptAsRevisions) {
  AddNode("n1");
  api::DaemonSet set = DaemonsNamed("d");
  set.metadata.annotations["kubernetes.io/change-cause"] = "the first";
  scene_.Add(set);
  Settle();
  ASSERT_EQ(scene_.All<api::ControllerRevision>().size(), 1u);
  const auto first = scene_.All<api::ControllerRevision>()[0];
  EXPECT_EQ(first.revision, 1);
  EXPECT_EQ(*first.metadata.labels.Find("app"), "d");
  EXPECT_EQ(*first.metadata.annotations.Find("kubernetes.io/change-cause"), "the first");
  EXPECT_EQ(first.metadata.owner_references.at(0).name, "d");
  EXPECT_THAT(first.data.text, ::testing::HasSubstr(R"({"spec":{"template":{"$patch":"replace")"));
  const auto pod = scene_.All<api::Pod>().at(0);
  EXPECT_EQ("d-" + *pod.metadata.labels.Find("controller-revision-hash"), first.metadata.name);

  set = scene_.Get<api::DaemonSet>("d");
  const api::PodTemplateSpec before = set.spec.template_;
  set.spec.template_.spec.containers[0].image = "j";
  scene_.Put(set);
  Settle();
  EXPECT_THAT(RevisionNumbers(scene_), ElementsAre(1, 2));
  // Back to the first, which becomes the newest.
  set = scene_.Get<api::DaemonSet>("d");
  set.spec.template_ = before;
  scene_.Put(set);
  Settle();
  EXPECT_THAT(RevisionNumbers(scene_), ElementsAre(2, 3));
  EXPECT_EQ(scene_.Get<api::ControllerRevision>(first.metadata.name).revision, 3);
}

TEST_F(DaemonSetTest, OfOldRevisionsAsManyAreKeptAsAreWanted) {
  AddNode("n1");
  api::DaemonSet set = DaemonsNamed("d");
  set.spec.revision_history_limit = 1;
  scene_.Add(set);
  Settle();
  for (const std::string image : {"a", "b", "c"}) {
    set = scene_.Get<api::DaemonSet>("d");
    set.spec.template_.spec.containers[0].image = image;
    scene_.Put(set);
    Settle();
    RunAll();
    RunAll();
  }
  EXPECT_THAT(RevisionNumbers(scene_), ElementsAre(3, 4));
}

}  // namespace
}  // namespace dray::controllers
