// SPDX-License-Identifier: Apache-2.0
#include "controllers/reconciler.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

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
