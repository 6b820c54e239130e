// SPDX-License-Identifier: Apache-2.0
#include "controllers/reconciler.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
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

}  // namespace
}  // namespace dray::controllers
