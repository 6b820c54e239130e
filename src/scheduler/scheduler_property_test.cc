// SPDX-License-Identifier: Apache-2.0
//
// With and without remembered verdicts the same is decided and said, whatever happens meanwhile.
#include <gtest/gtest.h>

#include "scheduler/fate_for_test.h"

namespace dray::scheduler {
namespace {

class CachesProperty : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  void Compare(Fate::Options options);
};

void CachesProperty::Compare(Fate::Options options) {
  SchedulerOptions with;
  with.remembered_shapes = 4;
  SchedulerOptions without;
  without.caches = false;
  DeviceCluster a(std::move(with));
  DeviceCluster b(std::move(without));
  Fate fate_a(GetParam(), a, options);
  Fate fate_b(GetParam(), b, options);
  for (int step = 0; step < 150; ++step) {
    const int burst = 1 + fate_a.Below(4);
    ASSERT_EQ(burst, 1 + fate_b.Below(4));
    for (int i = 0; i < burst; ++i) {
      fate_a.Step();
      fate_b.Step();
    }
    if (step % 5 == 4) {
      a.clock().Advance(std::chrono::seconds(3));
      b.clock().Advance(std::chrono::seconds(3));
    }
    ASSERT_EQ(Told(a.scheduler().Run()), Told(b.scheduler().Run())) << "step " << step;
  }
  EXPECT_GT(a.scheduler().statistics().bound, 20u);
  EXPECT_EQ(fate_a.elsewhere(), fate_b.elsewhere());
  EXPECT_GT(a.scheduler().statistics().unschedulable, 0u);
  EXPECT_LT(a.scheduler().statistics().node_evaluations,
            b.scheduler().statistics().node_evaluations);
}

TEST_P(CachesProperty, DoNotChangeWhatIsDecided) { Compare({}); }

TEST_P(CachesProperty, DoNotChangeItWhereDevicesAreOfManyNodes) { Compare({.fabric = true}); }

TEST_P(CachesProperty, DoNotChangeItWhereSomeOfThemCannotBeRead) {
  Compare({.faults = true, .fabric = true});
}

INSTANTIATE_TEST_SUITE_P(Seeds, CachesProperty, ::testing::Range(0u, 30u));

}  // namespace
}  // namespace dray::scheduler
