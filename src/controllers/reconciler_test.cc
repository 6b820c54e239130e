// SPDX-License-Identifier: Apache-2.0
#include "controllers/reconciler.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "api/forwarding_cluster.h"
#include "controllers/scene_for_test.h"

namespace dray::controllers {
namespace {

// Never content: looks at every pod again and again.
class Restless final : public Reconciler {
 public:
  explicit Restless(Scene& scene) : Reconciler(scene.cluster(), scene.clock(), kKinds) {}
  std::string_view name() const override { return "restless"; }

 private:
  static inline const std::array<const api::KindInfo*, 1> kKinds = {&KindOf<api::Pod>()};

  void OnChange(const api::Object*, const api::Object* after) override {
    if (after != nullptr) queue().Add(ObjectKey::Of(*after));
  }
  Status Reconcile(const ObjectKey& key) override {
    queue().Add(key);
    return {};
  }
};

// A cluster of which one can be told that it is not seen.
class HiddenCluster final : public api::ForwardingCluster {
 public:
  explicit HiddenCluster(api::Cluster& cluster) : ForwardingCluster(cluster) {}
  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection = {}) override {
    return std::make_unique<HiddenWatch>(inner().Watch(kinds, selection), stale);
  }
  Status stale;

 private:
  class HiddenWatch final : public api::ObjectWatch {
   public:
    HiddenWatch(std::unique_ptr<api::ObjectWatch> watch, const Status& stale)
        : watch_(std::move(watch)), stale_(stale) {}
    std::optional<api::Change> Next() override { return watch_->Next(); }
    Status Stale() const override { return stale_; }

   private:
    const std::unique_ptr<api::ObjectWatch> watch_;
    const Status& stale_;
  };
};

// Counts the pods that it looks at.
class Counting final : public Reconciler {
 public:
  Counting(api::Cluster& cluster, const base::Clock& clock) : Reconciler(cluster, clock, kKinds) {}
  std::string_view name() const override { return "counting"; }

 private:
  static inline const std::array<const api::KindInfo*, 1> kKinds = {&KindOf<api::Pod>()};

  void OnChange(const api::Object*, const api::Object* after) override {
    if (after != nullptr) queue().Add(ObjectKey::Of(*after));
  }
  Status Reconcile(const ObjectKey&) override { return {}; }
};

TEST(Reconciler, NothingIsDecidedWhileWhatHappensCannotBeFollowed) {
  Scene scene;
  HiddenCluster hidden(scene.cluster());
  Counting controller(hidden, scene.clock());
  scene.Add(PodNamed("p"));
  hidden.stale = base::Unavailable("watch of pods: the server has said nothing for 75 s");
  controller.Sync();
  EXPECT_EQ(controller.reconciled(), 0u);
  // Nobody has to tell when it is over.
  EXPECT_EQ(controller.NextDue(), scene.clock().Monotonic() + std::chrono::seconds(1));
  hidden.stale = {};
  controller.Sync();
  EXPECT_EQ(controller.reconciled(), 1u);
  // An object that cannot be read is another matter: who looks for it is told.
  scene.Add(PodNamed("q"));
  hidden.stale = base::MakeStatus(StatusCode::kDataLoss, "pods/default/r cannot be read");
  controller.Sync();
  EXPECT_EQ(controller.reconciled(), 2u);
}

TEST(Reconciler, OneThatNeverEndsLetsOthersHaveTheirTurn) {
  Scene scene;
  for (int i = 0; i < 3; ++i) scene.Add(PodNamed("p" + std::to_string(i)));
  Restless controller(scene);
  EXPECT_EQ(controller.Sync(), 0u);
  EXPECT_GE(controller.reconciled(), 3u);
  EXPECT_LE(controller.reconciled(), 3u * 64);
  EXPECT_EQ(controller.NextDue(), scene.clock().Monotonic());
}

// Labels every pod, through a cluster in which others have their turn before an answer.
class Labelling final : public Reconciler {
 public:
  Labelling(api::Cluster& cluster, const base::Clock& clock) : Reconciler(cluster, clock, kKinds) {}
  std::string_view name() const override { return "labelling"; }
  bool overlaps = true;
  const api::Pod* known(std::string_view pod) const { return view().Find<api::Pod>("ns", pod); }

 private:
  static inline const std::array<const api::KindInfo*, 1> kKinds = {&KindOf<api::Pod>()};

  bool MayOverlap() const override { return overlaps; }
  void OnChange(const api::Object*, const api::Object* after) override {
    if (after != nullptr) queue().Add(ObjectKey::Of(*after));
  }
  Status Reconcile(const ObjectKey& key) override {
    const api::Object* found = view().Find(key);
    if (found == nullptr || found->metadata().labels.contains("seen")) return {};
    const api::Object pod = *found;
    const Status written = view().EditObject(pod, [](api::Object& edited) {
      edited.MutableMetadata().labels["seen"] = "yes";
      return true;
    });
    return written.code() == StatusCode::kNotFound ? Status() : written;
  }
};

class Interrupted final : public api::ForwardingCluster {
 public:
  using ForwardingCluster::ForwardingCluster;
  StatusOr<api::Object> Update(api::Object object) override {
    auto stored = inner().Update(std::move(object));
    if (const auto now = std::exchange(meanwhile, nullptr)) now();
    return stored;
  }
  std::function<void()> meanwhile;
};

class OverlapTest : public ::testing::Test {
 protected:
  void Begin(std::size_t most) {
    controller_.Overlap([this](std::function<void()> work) { works_.push_back(std::move(work)); },
                        most);
  }
  void RunOne() {
    const auto work = std::move(works_.front());
    works_.pop_front();
    work();
  }
  bool Labelled(std::string_view pod) {
    return scene_.Get<api::Pod>(pod).metadata.labels.contains("seen");
  }
  Scene scene_;
  Interrupted cluster_{scene_.cluster()};
  Labelling controller_{cluster_, scene_.clock()};
  std::deque<std::function<void()>> works_;
};

TEST_F(OverlapTest, SoManyAreBegunAndTheRestWhenOneHasEnded) {
  Begin(2);
  for (const char* pod : {"a", "b", "c"}) scene_.Add(PodNamed(pod));
  EXPECT_EQ(controller_.Sync(), 2u);
  EXPECT_EQ(controller_.Sync(), 0u);
  // Nothing but the end of one gives it something to do.
  EXPECT_EQ(controller_.NextDue(), std::nullopt);
  RunOne();
  EXPECT_EQ(controller_.Sync(), 1u);
  while (!works_.empty()) RunOne();
  for (const char* pod : {"a", "b", "c"}) EXPECT_TRUE(Labelled(pod)) << pod;
}

TEST_F(OverlapTest, OfOneObjectThereIsOneAtATimeAndNoneIsForgotten) {
  Begin(8);
  scene_.Add(PodNamed("a"));
  EXPECT_EQ(controller_.Sync(), 1u);
  scene_.SetPhase("a", api::kPodRunning);
  EXPECT_EQ(controller_.Sync(), 0u);
  RunOne();
  EXPECT_EQ(controller_.reconciled(), 1u);
  // What has happened meanwhile is looked at.
  while (controller_.Sync() > 0) RunOne();
  EXPECT_EQ(controller_.reconciled(), 2u);
}

// Its own write and the deletion are told before the answer is.
TEST_F(OverlapTest, WhatIsGoneDoesNotComeBackWithALateAnswer) {
  Begin(8);
  scene_.Add(PodNamed("a"));
  EXPECT_EQ(controller_.Sync(), 1u);
  cluster_.meanwhile = [this] {
    scene_.Delete<api::Pod>("a");
    scene_.Add(PodNamed("b"));
    EXPECT_EQ(controller_.Sync(), 1u);
  };
  RunOne();
  while (!works_.empty()) RunOne();
  while (controller_.Sync() > 0) RunOne();
  EXPECT_EQ(controller_.known("a"), nullptr);
  EXPECT_NE(controller_.known("b"), nullptr);
}

TEST_F(OverlapTest, NobodyHasToOverlap) {
  controller_.overlaps = false;
  Begin(8);
  scene_.Add(PodNamed("a"));
  EXPECT_GT(controller_.Sync(), 0u);
  EXPECT_TRUE(works_.empty());
  EXPECT_TRUE(Labelled("a"));
}

}  // namespace
}  // namespace dray::controllers
