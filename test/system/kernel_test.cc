// SPDX-License-Identifier: Apache-2.0
#include "system/kernel.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

namespace dray::system {
namespace {

using std::chrono::seconds;

// Whoever stands still does nothing, whatever happens meanwhile; then it goes on with all of that at once.
TEST(Kernel, WhoStandsStillGoesOnLater) {
  Kernel kernel;
  Process process(kernel);
  Process other(kernel);
  std::vector<Nanos> naps;
  std::vector<Nanos> rings;
  std::vector<Nanos> others;
  const std::unique_ptr<base::Alarm> alarm = process.MakeAlarm();
  std::vector<std::unique_ptr<base::Running>> running;
  kernel.Spawn([&] {
    running.push_back(process.Start([&] {
      for (int i = 0; i < 4; ++i) {
        kernel.Sleep(seconds(2));
        naps.push_back(kernel.now());
      }
    }));
    running.push_back(process.Start([&] {
      alarm->Sleep(std::nullopt);
      rings.push_back(kernel.now());
    }));
    running.push_back(other.Start([&] {
      for (int i = 0; i < 2; ++i) {
        kernel.Sleep(seconds(5));
        others.push_back(kernel.now());
      }
    }));
    kernel.Sleep(seconds(3));
    process.StandStill(seconds(20));
    kernel.Sleep(seconds(2));
    alarm->Ring();
    kernel.Sleep(seconds(60));
    running.clear();
  });
  while (kernel.Step()) {
  }
  EXPECT_EQ(naps, (std::vector<Nanos>{seconds(2), seconds(20), seconds(22), seconds(24)}));
  EXPECT_EQ(rings, std::vector<Nanos>{seconds(20)});
  EXPECT_EQ(others, (std::vector<Nanos>{seconds(5), seconds(10)}));
}

}  // namespace
}  // namespace dray::system
