// SPDX-License-Identifier: Apache-2.0
//
// A scheduler that has seen ten million claims and a million expressions is as small as one that
// has seen a few. Claims come with pods and go with them; many ask with an expression, a toleration
// and a derived attribute that nobody else uses; nodes are replaced by others with other names and
// devices. The soak for the record:
//
//   DRAY_SOAK_CLAIMS=10000000 build/release/bin/memory_soak_test
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/device_class.h"
#include "api/forwarding_cluster.h"
#include "api/memory_cluster.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "base/check.h"
#include "base/clock.h"
#include "fmt/format.h"
#include "scheduler/ids.h"
#include "scheduler/scheduler.h"
#include "testing/slice_builder.h"

namespace dray::soak {
namespace {

constexpr int kNodes = 8;
constexpr int kDevices = 8;

class CountedIds final : public scheduler::Ids {
 public:
  std::string Uid() override { return fmt::format("00000000-0000-4000-8000-{:012}", next_++); }

 private:
  std::uint64_t next_ = 0;
};

// Events are cleaned up by a controller that is not here.
class WithoutEvents final : public api::ForwardingCluster {
 public:
  using ForwardingCluster::ForwardingCluster;
  void Note(const api::EventNote&) override {}
};

struct Sizes {
  std::size_t heap = 0;        // as malloc counts it; 0 under a sanitizer
  std::size_t dictionary = 0;  // as it counts itself
  std::size_t ledger = 0;
  std::size_t expressions = 0;  // how many are alive

  void KeepLargest(const Sizes& other) {
    heap = std::max(heap, other.heap);
    dictionary = std::max(dictionary, other.dictionary);
    ledger = std::max(ledger, other.ledger);
    expressions = std::max(expressions, other.expressions);
  }
};

class Cluster {
 public:
  Cluster() {
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    Create(std::move(gpu));
    for (int i = 0; i < kNodes; ++i) AddNode();
    scheduler_ =
        std::make_unique<scheduler::Scheduler>(quiet_, clock_, ids_, scheduler::SchedulerOptions{});
  }

  // As many pods as there are devices, each with a claim; they run and are gone. Every
  // `one_in`-th asks for something that nobody has asked for before.
  void Round(std::uint64_t one_in) {
    const std::uint64_t first = claims_;
    for (int i = 0; i < kNodes * kDevices; ++i) {
      const std::uint64_t number = claims_++;
      Create(Claim(number, number % one_in == 0));
      Create(Pod(number));
    }
    const auto outcomes = scheduler_->Run();
    bound_ += static_cast<std::uint64_t>(
        std::ranges::count(outcomes, scheduler::Outcome::Kind::kBound, &scheduler::Outcome::kind));
    for (std::uint64_t number = first; number < claims_; ++number) {
      Delete<api::Pod>(fmt::format("pod-{}", number));
      Delete<api::ResourceClaim>(fmt::format("claim-{}", number));
    }
    RemoveNode();
    AddNode();
    scheduler_->Sync();
  }

  std::uint64_t claims() const { return claims_; }
  std::uint64_t bound() const { return bound_; }

  Sizes Measure() {
    const struct mallinfo2 heap = mallinfo2();
    scheduler::World& world = scheduler_->world();
    return {.heap = heap.uordblks + heap.hblkhd,
            .dictionary = world.expressions().dictionary().MemoryBytes(),
            .ledger = world.ledger().MemoryBytes(),
            .expressions = world.expressions().statistics().compiled};
  }

 private:
  template <typename T>
  static const api::KindInfo& KindOf() {
    return api::HubKind(api::TypeInfoOf<T>());
  }
  template <typename T>
  void Create(T object) {
    const auto created = cluster_.Create(api::Object::Of(std::move(object)));
    DRAY_CHECK(created.ok(), base::Message(created.status()));
  }
  template <typename T>
  void Delete(const std::string& name) {
    auto object = cluster_.Stored(KindOf<T>(), "ns", name);
    DRAY_CHECK(object.has_value());
    if (!object->metadata().finalizers.empty()) {
      object->MutableMetadata().finalizers.clear();
      DRAY_CHECK(cluster_.Update(*object).ok());
    }
    DRAY_CHECK(cluster_.Delete(KindOf<T>(), "ns", name).ok());
  }

  void AddNode() {
    const std::uint64_t number = next_node_++;
    api::Node node;
    node.metadata.name = fmt::format("node-{}", number);
    for (const auto& [name, amount] : {std::pair("cpu", "64"), std::pair("pods", "110")}) {
      node.status.allocatable[name] = testing::ToQuantity(amount);
    }
    testing::Slice slice(node.metadata.name);
    slice.Pool(node.metadata.name).OnNode(node.metadata.name);
    for (int i = 0; i < kDevices; ++i) {
      slice.With(testing::Device(fmt::format("gpu-{}", i))
                     .Int("index", i)
                     .String("model", "H100")
                     .String("uuid", fmt::format("GPU-{:032}", number * kDevices + i)));
    }
    Create(std::move(node));
    Create<api::ResourceSlice>(slice);
  }
  void RemoveNode() {
    const std::string name = fmt::format("node-{}", next_node_ - kNodes);
    DRAY_CHECK(cluster_.Delete(KindOf<api::ResourceSlice>(), "", name).ok());
    DRAY_CHECK(cluster_.Delete(KindOf<api::Node>(), "", name).ok());
  }

  static api::ResourceClaim Claim(std::uint64_t number, bool unique) {
    api::ResourceClaim claim;
    claim.metadata.namespace_ = "ns";
    claim.metadata.name = fmt::format("claim-{}", number);
    api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
    request.name = "gpu";
    api::ExactDeviceRequest& exactly = request.exactly.emplace();
    exactly.device_class_name = "gpu";
    exactly.allocation_mode = api::kAllocationModeExactCount;
    exactly.count = 1;
    if (!unique) return claim;
    exactly.selectors.emplace_back().cel.emplace().expression = fmt::format(
        R"(!("x{0}" in device.attributes["{1}"]) && device.attributes["{1}"].index < {0} + 100)",
        number, testing::kDriver);
    exactly.tolerations.push_back(
        {.key = fmt::format("taint-{}", number), .operator_ = "Exists", .effect = "NoSchedule"});
    exactly.derived_attributes.push_back(
        {.name = fmt::format("{}/d{}", testing::kDriver, number),
         .expression =
             fmt::format(R"("{}-" + device.attributes["{}"].model)", number, testing::kDriver)});
    claim.spec.devices.constraints.emplace_back().match_attribute =
        exactly.derived_attributes.front().name;
    return claim;
  }
  static api::Pod Pod(std::uint64_t number) {
    api::Pod pod;
    pod.metadata.namespace_ = "ns";
    pod.metadata.name = fmt::format("pod-{}", number);
    pod.spec.scheduler_name = api::kDefaultSchedulerName;
    pod.spec.priority = 0;
    api::Container& container = pod.spec.containers.emplace_back();
    container.name = "c";
    container.image = "i";
    pod.spec.resource_claims.push_back(
        {.name = "gpu", .resource_claim_name = fmt::format("claim-{}", number)});
    return pod;
  }

  base::ManualClock clock_{base::Time::FromUnix(1'000'000)};
  base::SeededRandomSource random_{1};
  api::MemoryCluster cluster_{clock_, random_, {.validate = false}};
  WithoutEvents quiet_{cluster_};
  CountedIds ids_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::uint64_t claims_ = 0;
  std::uint64_t bound_ = 0;
  std::uint64_t next_node_ = 0;
};

std::uint64_t ClaimsToTry() {
  const char* asked = std::getenv("DRAY_SOAK_CLAIMS");
  return asked == nullptr ? 0 : std::strtoull(asked, nullptr, 10);
}

// After so many claims of which no two ask for the same, every cache has been full and has forgotten
// something: the largest has room for 32,768 descriptions of filters and plans, and each of these
// claims has both (docs/memory.md).
constexpr std::uint64_t kFill = 18'000;

// Caches are full when it begins. From then on they go up and down as they forget, so the largest
// sizes are compared: those of the first claims after that with those of as many at the end.
TEST(MemorySoak, EndsWhereItBegan) {
  const std::uint64_t asked = ClaimsToTry();
  Cluster cluster;
  while (cluster.claims() < kFill) cluster.Round(1);
  const Sizes full = cluster.Measure();
  EXPECT_LT(full.expressions, kFill) << "of two for each claim most have been forgotten";

  const std::uint64_t begin = cluster.claims();
  const std::uint64_t claims = asked == 0 ? 24'000 : asked;
  const std::uint64_t one_in = asked == 0 ? 4 : 10;
  const std::uint64_t window = std::min<std::uint64_t>(claims / 4, 200'000);
  Sizes at_first, at_last;
  for (int report = 0; cluster.claims() < begin + claims;) {
    cluster.Round(one_in);
    const std::uint64_t done = cluster.claims() - begin;
    if (done <= window) at_first.KeepLargest(cluster.Measure());
    if (done + window >= claims) at_last.KeepLargest(cluster.Measure());
    if (asked > 0 && done * 10 / claims > static_cast<std::uint64_t>(report)) {
      const Sizes now = cluster.Measure();
      std::printf("%2d0 %%: heap %zu, dictionary %zu, ledger %zu bytes; %zu expressions\n",
                  ++report, now.heap, now.dictionary, now.ledger, now.expressions);
      std::fflush(stdout);
    }
  }
  if (asked > 0) {
    std::printf("largest heap: %zu bytes at first, %zu at last\n", at_first.heap, at_last.heap);
  }
  EXPECT_EQ(cluster.bound(), cluster.claims()) << "every pod found its device";
  const auto expect_same = [](std::string_view what, std::size_t first, std::size_t last) {
    EXPECT_LE(last, first + first / 10) << what << " has grown from " << first;
  };
  expect_same("the heap", at_first.heap, at_last.heap);
  expect_same("the dictionary", at_first.dictionary, at_last.dictionary);
  // It is a few kilobytes, and its tables double.
  expect_same("the ledger", at_first.ledger + 4096, at_last.ledger);
  expect_same("the number of expressions", at_first.expressions, at_last.expressions);
}

}  // namespace
}  // namespace dray::soak
