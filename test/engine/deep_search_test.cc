// SPDX-License-Identifier: Apache-2.0
//
// Pods that want very much: the search has no stack to overflow, and ends with an answer.
#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>
#include <string>
#include <vector>

#include "base/check.h"
#include "engine/engine.h"
#include "engine/small_world.h"
#include "fmt/format.h"
#include "model/checker.h"

namespace dray::engine {
namespace {

using model::Instance;
using model::Outcome;

constexpr std::size_t kStack = 256 * 1024;

// On a thread with little stack.
void OnSmallStack(std::function<void()> work) {
  pthread_attr_t attributes;
  DRAY_CHECK(pthread_attr_init(&attributes) == 0);
  DRAY_CHECK(pthread_attr_setstacksize(&attributes, kStack) == 0);
  pthread_t thread{};
  const auto run = [](void* given) -> void* {
    (*static_cast<std::function<void()>*>(given))();
    return nullptr;
  };
  DRAY_CHECK(pthread_create(&thread, &attributes, run, &work) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

constexpr int kRequests = 32;

// `claims` claims of 32 requests each. One device that all can share, or one for each request but
// `missing` of them.
Instance Deep(int claims, bool shared, int missing = 0) {
  std::vector<api::ResourceSlice> slices;
  const int devices = shared ? 1 : claims * kRequests - missing;
  for (int made = 0; made < devices;) {
    testing::Slice slice = OnNode(fmt::format("slice-{:05}", made));
    slice.Of((devices + 127) / 128);
    for (int i = 0; i < 128 && made < devices; ++i, ++made) {
      testing::Device device(fmt::format("gpu-{:05}", made));
      slice.With(shared ? device.Shared() : device);
    }
    slices.push_back(slice);
  }
  std::vector<api::ResourceClaim> wanted;
  for (int c = 0; c < claims; ++c) {
    std::vector<api::DeviceRequest> requests;
    for (int r = 0; r < kRequests; ++r) requests.push_back(Ask(fmt::format("r{}", r)));
    wanted.push_back(Claim(fmt::format("claim-{}", c), requests));
  }
  return WorldOf(std::move(slices), std::move(wanted));
}

Outcome SolveOnSmallStack(const Instance& instance) {
  World world(instance);
  allocator::Allocator allocator;
  Outcome outcome;
  OnSmallStack([&] { outcome = Decide(world, allocator, {}); });
  return outcome;
}

TEST(DeepSearch, FourHundredClaimsOfOneSharedDeviceFit) {
  const Outcome outcome = SolveOnSmallStack(Deep(400, true));
  EXPECT_EQ(outcome.kind, Outcome::Kind::kAllocated) << outcome.error;
  EXPECT_EQ(outcome.results.size(), 400U);
}

TEST(DeepSearch, EightThousandDevicesFit) {
  const Outcome outcome = SolveOnSmallStack(Deep(250, false));
  EXPECT_EQ(outcome.kind, Outcome::Kind::kAllocated) << outcome.error;
}

// Found out at the very bottom of the search.
TEST(DeepSearch, OneDeviceTooFewForThousandsIsARefusal) {
  const Outcome outcome = SolveOnSmallStack(Deep(60, false, 1));
  EXPECT_EQ(outcome.kind, Outcome::Kind::kNotPossible) << outcome.error;
}

}  // namespace
}  // namespace dray::engine
