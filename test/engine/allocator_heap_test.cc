// SPDX-License-Identifier: Apache-2.0
//
// A scheduler asks node after node: a decision on a warm node takes no memory, and a result takes
// what it is made of. Counts every operator new of the process, so this is a binary of its own.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "fmt/format.h"

namespace {

std::uint64_t allocations = 0;

void* Counted(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return Counted(size); }
void* operator new[](std::size_t size) { return Counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace dray::engine {
namespace {

struct HeapCase {
  std::string name;  // lower_snake
  int used = 0;      // of ten devices
  int count = 1;
  bool selector = false;
  bool match = false;
  bool list = false;
  bool groups = false;
  bool share = false;
  friend void PrintTo(const HeapCase& c, std::ostream* os) { *os << c.name; }
};

model::Instance InstanceOf(const HeapCase& c) {
  model::Instance instance;
  instance.features = model::Features::All();
  instance.node.metadata.name = "node-1";
  api::DeviceClass& device_class = instance.classes.emplace_back();
  device_class.metadata.name = "gpu";
  device_class.spec.selectors.push_back(
      {.cel = api::CELDeviceSelector{.expression = "device.driver == 'gpu.example.com'"}});
  const auto slice = [&](const std::string& name) -> api::ResourceSlice& {
    api::ResourceSlice& added = instance.slices.emplace_back();
    added.metadata.name = name;
    added.spec.driver = "gpu.example.com";
    added.spec.pool = {.name = "pool", .generation = 1, .resource_slice_count = c.groups ? 2 : 1};
    added.spec.node_name = "node-1";
    return added;
  };
  if (c.groups) {
    auto& set = slice("counters").spec.shared_counters.emplace().emplace_back();
    set.name = "gpu";
    set.counters["memory"].value = *base::Quantity::Parse("100");
  }
  auto& devices = slice("devices").spec.devices.emplace();
  for (int i = 0; i < 10; ++i) {
    api::Device& device = devices.emplace_back();
    device.name = fmt::format("d{}", i);
    if (c.list) {
      device.attributes["numa"].MutableLists().int_values = std::vector<std::int64_t>{i / 4, 9};
    } else {
      device.attributes["numa"].int_value = i / 4;
    }
    if (c.share) device.allow_multiple_allocations = true;
    device.capacity["memory"].value = *base::Quantity::Parse("80Gi");
    if (!c.groups) continue;
    auto& use = device.consumes_counters.emplace_back();
    use.counter_set = "gpu";
    use.counters["memory"].value = *base::Quantity::Parse("10");
    use.compatibility_groups = {"mig", fmt::format("own-{}", i)};
  }
  for (int i = 0; i < c.used; ++i) {
    api::ResourceClaim& claim = instance.allocated_claims.emplace_back();
    claim.metadata.name = claim.metadata.uid = fmt::format("holds-{}", i);
    claim.status.allocation.emplace().devices.results = {{.request = "r",
                                                          .driver = "gpu.example.com",
                                                          .pool = "pool",
                                                          .device = fmt::format("d{}", i)}};
  }
  api::ResourceClaim& claim = instance.claims.emplace_back();
  claim.metadata.name = "claim";
  auto& request = claim.spec.devices.requests.emplace_back();
  request.name = "gpu";
  request.exactly.emplace();
  request.exactly->device_class_name = "gpu";
  request.exactly->allocation_mode = "ExactCount";
  request.exactly->count = c.count;
  if (c.selector) {
    request.exactly->selectors = {
        {.cel = api::CELDeviceSelector{
             .expression = "device.capacity['gpu.example.com'].memory.isGreaterThan("
                           "quantity('40Gi'))"}}};
  }
  if (c.match) {
    api::DeviceConstraint constraint;
    constraint.match_attribute = "gpu.example.com/numa";
    claim.spec.devices.constraints.push_back(std::move(constraint));
  }
  return instance;
}

class AllocatorHeap : public ::testing::TestWithParam<HeapCase> {};

TEST_P(AllocatorHeap, AWarmDecisionTakesNoMemory) {
  const model::Instance instance = InstanceOf(GetParam());
  World world(instance);
  ASSERT_TRUE(world.status().ok());
  allocator::Allocator allocator;
  const auto first = allocator.Decide(*world.plan(), world.usage(), {});
  allocator.Decide(*world.plan(), world.usage(), {});
  const std::uint64_t before = allocations;
  const auto again = allocator.Decide(*world.plan(), world.usage(), {});
  EXPECT_EQ(allocations - before, 0U);
  EXPECT_EQ(again.kind, first.kind);
  EXPECT_EQ(again.kind == allocator::Decision::Kind::kFits, GetParam().used < 10);
}

TEST_P(AllocatorHeap, AResultTakesWhatItIsMadeOf) {
  const model::Instance instance = InstanceOf(GetParam());
  World world(instance);
  ASSERT_TRUE(world.status().ok());
  allocator::Allocator allocator;
  const auto decision = allocator.Decide(*world.plan(), world.usage(), {});
  if (decision.kind != allocator::Decision::Kind::kFits) GTEST_SKIP() << "refused";
  CountedShareIds share_ids;
  std::uint64_t before = allocations;
  const auto results = allocator.Build(share_ids);
  const std::uint64_t built = allocations - before;
  ASSERT_TRUE(results.ok());
  before = allocations;
  const std::vector<api::AllocationResult> copy = *results;
  const std::uint64_t copied = allocations - before;
  EXPECT_EQ(copy, *results);
  // The amounts of a share are worked out once more, on the way.
  EXPECT_LE(built, copied + (GetParam().share ? 2 : 0));
}

INSTANTIATE_TEST_SUITE_P(TenDevices, AllocatorHeap,
                         ::testing::ValuesIn(std::vector<HeapCase>{
                             {.name = "free"},
                             {.name = "half_used", .used = 5},
                             {.name = "full", .used = 10},
                             {.name = "selector", .used = 5, .selector = true},
                             {.name = "match", .count = 2, .match = true},
                             {.name = "match_on_lists", .count = 2, .match = true, .list = true},
                             {.name = "groups", .count = 3, .groups = true},
                             {.name = "share", .share = true},
                         }),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace dray::engine
