// SPDX-License-Identifier: Apache-2.0
//
// Allocators on several threads work on the same plan and on shared snapshots while slices and
// claims go on changing; for the thread sanitizer, and for what they answer.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "engine/engine.h"
#include "fmt/format.h"

namespace dray::engine {
namespace {

constexpr int kDevices = 8;
constexpr int kRounds = 150;
constexpr int kThreads = 4;

api::ResourceSlice SliceOf(int round) {
  api::ResourceSlice slice;
  slice.metadata.name = "slice";
  slice.spec.driver = "gpu.example.com";
  slice.spec.pool = {.name = "pool", .generation = 1, .resource_slice_count = 1};
  slice.spec.node_name = "node-1";
  slice.spec.devices.emplace();
  for (int i = 0; i < kDevices; ++i) {
    api::Device& device = slice.spec.devices->emplace_back();
    device.name = fmt::format("d{}", i);
    // A value that was never seen before, so that the dictionary grows meanwhile.
    device.attributes["place"].string_value = fmt::format("numa{}-{}", i / 2, round);
    device.attributes["index"].int_value = i;
  }
  return slice;
}

api::ResourceClaim Holds(int device) {
  api::ResourceClaim claim;
  claim.metadata.name = claim.metadata.uid = fmt::format("holds-{}", device);
  claim.status.allocation.emplace().devices.results = {{.request = "r",
                                                        .driver = "gpu.example.com",
                                                        .pool = "pool",
                                                        .device = fmt::format("d{}", device)}};
  return claim;
}

model::Instance Start() {
  model::Instance instance;
  instance.features = model::Features::All();
  instance.node.metadata.name = "node-1";
  api::DeviceClass& device_class = instance.classes.emplace_back();
  device_class.metadata.name = "gpu";
  device_class.spec.selectors.push_back(
      {.cel = api::CELDeviceSelector{.expression = "device.driver == 'gpu.example.com'"}});
  instance.slices.push_back(SliceOf(0));
  api::ResourceClaim& claim = instance.claims.emplace_back();
  claim.metadata.name = "claim";
  auto& request = claim.spec.devices.requests.emplace_back();
  request.name = "pair";
  request.exactly.emplace();
  request.exactly->device_class_name = "gpu";
  request.exactly->allocation_mode = "ExactCount";
  request.exactly->count = 2;
  request.exactly->selectors = {
      {.cel = api::CELDeviceSelector{.expression =
                                         "device.attributes['gpu.example.com'].index >= 0"}}};
  auto& derived = request.exactly->derived_attributes.emplace_back();
  derived.name = "numa.example.com/derived";
  derived.expression = "device.attributes['gpu.example.com'].place";
  api::DeviceConstraint constraint;
  constraint.match_attribute = "numa.example.com/derived";
  claim.spec.devices.constraints.push_back(std::move(constraint));
  return instance;
}

// A moment as everybody may see it.
struct Moment {
  inventory::Snapshot inventory;
  ledger::Snapshot ledger;
  int taken = 0;  // the device that somebody holds
};

TEST(AllocatorThreads, EachAnswersForTheMomentThatItSaw) {
  const model::Instance instance = Start();
  World world(instance);
  ASSERT_TRUE(world.status().ok());
  world.ledger().Put(Holds(0));
  base::Mutex mutex;
  Moment shared{world.inventory().snapshot(), world.ledger().snapshot(), 0};
  std::atomic<bool> done = false;
  std::atomic<int> decided = 0;
  std::atomic<int> wrong = 0;
  const auto work = [&] {
    allocator::Allocator allocator;
    ledger::NodeUsage usage;
    CountedShareIds share_ids;
    while (!done.load()) {
      const Moment moment = [&] {
        const base::MutexLock lock(mutex);
        return shared;
      }();
      auto devices =
          inventory::Gather(moment.inventory, instance.node, FeaturesOf(instance.features));
      if (!devices.ok()) {
        ++wrong;
        continue;
      }
      usage.Update(*std::move(devices), moment.ledger);
      const auto decision = allocator.Decide(*world.plan(), usage, {});
      if (decision.kind != allocator::Decision::Kind::kFits) {
        ++wrong;
        continue;
      }
      const auto results = allocator.Build(share_ids);
      // The first pair of one place of which nobody holds a device.
      const int first = moment.taken / 2 == 0 ? 2 : 0;
      const auto& got = results->front().devices.results;
      if (got.size() != 2 || got[0].device != fmt::format("d{}", first) ||
          got[1].device != fmt::format("d{}", first + 1)) {
        ++wrong;
      }
      ++decided;
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work);
  for (int round = 1; round <= kRounds || decided.load() < kRounds; ++round) {
    world.inventory().Put(SliceOf(round));
    world.ledger().Remove(Holds((round - 1) % kDevices).metadata.uid);
    world.ledger().Put(Holds(round % kDevices));
    const base::MutexLock lock(mutex);
    shared = {world.inventory().snapshot(), world.ledger().snapshot(), round % kDevices};
  }
  done = true;
  threads.clear();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace dray::engine
