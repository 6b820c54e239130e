// SPDX-License-Identifier: Apache-2.0
//
// A scheduler whose watch has missed something: it goes on from a list, and what lies between is never told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/forwarding_cluster.h"
#include "scheduler/device_cluster_for_test.h"

namespace dray::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> Told(const std::vector<Outcome>& outcomes) {
  constexpr const char* kKinds[] = {"bound", "waits", "refused", "error"};
  std::vector<std::string> told;
  for (const Outcome& outcome : outcomes) {
    told.push_back(outcome.pod + " " + kKinds[static_cast<std::size_t>(outcome.kind)]);
  }
  return told;
}

// A cluster whose watch misses what happens to objects of a kind for a while, and goes on with what is there
// then. Of one that is gone it tells, as a reflector does, what it last told.
class GapCluster final : public api::ForwardingCluster {
 public:
  explicit GapCluster(api::Cluster& cluster) : ForwardingCluster(cluster) {}
  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection = {}) override {
    return std::make_unique<GapWatch>(inner().Watch(kinds, selection), *this);
  }
  template <typename T>
  void Begin() {
    misses_ = &api::TypeInfoOf<T>();
  }
  void End() { misses_ = nullptr; }

 private:
  class GapWatch final : public api::ObjectWatch {
   public:
    GapWatch(std::unique_ptr<api::ObjectWatch> watch, const GapCluster& cluster)
        : watch_(std::move(watch)), cluster_(cluster) {}
    std::optional<api::Change> Next() override {
      if (cluster_.misses_ == nullptr && !missed_.empty()) {
        auto [key, last] = *missed_.begin();
        missed_.erase(missed_.begin());
        if (auto change = Told(key, std::move(last))) return change;
        return Next();
      }
      while (auto change = watch_->Next()) {
        const std::string key = std::string(change->object.kind().kind) + "/" +
                                change->object.metadata().namespace_ + "/" +
                                change->object.metadata().name;
        if (change->object.kind().hub != cluster_.misses_) return Told(key, *std::move(change));
        missed_.insert_or_assign(key, *std::move(change));
      }
      return std::nullopt;
    }

   private:
    using Kind = api::Change::Kind;
    std::optional<api::Change> Told(const std::string& key, api::Change change) {
      const auto told = told_.find(key);
      if (change.kind != Kind::kDeleted) {
        change.kind = told == told_.end() ? Kind::kAdded : Kind::kUpdated;
        told_.insert_or_assign(key, change.object);
        return change;
      }
      if (told == told_.end()) return std::nullopt;
      change.object = told->second;
      told_.erase(told);
      return change;
    }

    const std::unique_ptr<api::ObjectWatch> watch_;
    const GapCluster& cluster_;
    std::map<std::string, api::Change> missed_;  // the last of each
    std::map<std::string, api::Object> told_;
  };

  const api::TypeInfo* misses_ = nullptr;
};

class GapTest : public ::testing::Test {
 protected:
  GapTest() : scheduler_(seen_, cluster_.clock(), ids_, Options()) {}

  static SchedulerOptions Options() {
    SchedulerOptions options;
    options.gates.Set(api::Gate::kDRAExtendedResource, true);
    return options;
  }
  static api::Pod WithGpu(const std::string& name) {
    constexpr const char* kGpu = "deviceclass.resource.kubernetes.io/gpu";
    api::Pod pod = MakePod({.name = name});
    auto& resources = pod.spec.containers.front().resources;
    resources.requests[kGpu] = resources.limits[kGpu] = testing::ToQuantity("1");
    return pod;
  }
  void DeletePod(std::string_view name) {
    ASSERT_TRUE(cluster_.cluster().Delete(DeviceCluster::KindOf<api::Pod>(), "ns", name).ok());
  }
  // For less than the five minutes after which everybody is tried again.
  std::vector<std::string> Later() {
    std::vector<std::string> told;
    for (int i = 0; i < 60 && told.empty(); ++i) {
      cluster_.clock().Advance(std::chrono::seconds(1));
      told = Told(scheduler_.Run());
    }
    return told;
  }

  DeviceCluster cluster_;
  GapCluster seen_{cluster_.cluster()};
  CountedIds ids_;
  Scheduler scheduler_;
};

TEST_F(GapTest, DevicesOfAClaimThatCameAndWentUnseenAreGivenBack) {
  cluster_.AddNode("a", 1);
  cluster_.Create(WithGpu("p"));
  scheduler_.Sync();
  seen_.Begin<api::ResourceClaim>();
  EXPECT_THAT(Told(scheduler_.Run()), ElementsAre("ns/p bound"));
  // Both go, and the claim is in no list that comes later.
  DeletePod("p");
  const auto& kind = DeviceCluster::KindOf<api::ResourceClaim>();
  auto claims = cluster_.cluster().All(kind);
  ASSERT_THAT(claims, SizeIs(1));
  claims[0].MutableMetadata().finalizers.clear();
  ASSERT_TRUE(cluster_.cluster().Update(claims[0]).ok());
  ASSERT_TRUE(cluster_.cluster().Delete(kind, "ns", claims[0].metadata().name).ok());
  scheduler_.Sync();
  seen_.End();
  cluster_.Create(WithGpu("q"));
  EXPECT_THAT(Told(scheduler_.Run()), ElementsAre("ns/q refused"));
  // Nobody tells; but what a watch does not tell for long is read.
  EXPECT_TRUE(scheduler_.NextDue().has_value());
  EXPECT_THAT(Later(), ElementsAre("ns/q bound"));
}

// As long as it cannot be read, or is there, it has its devices.
TEST_F(GapTest, AClaimThatNoWatchTellsOfKeepsItsDevicesWhileItIsThere) {
  cluster_.AddNode("a", 1);
  for (const char* name : {"p", "q"}) cluster_.Create(WithGpu(name));
  scheduler_.Sync();
  seen_.Begin<api::ResourceClaim>();
  EXPECT_THAT(Told(scheduler_.Run()), ElementsAre("ns/p bound", "ns/q refused"));
  for (int i = 0; i < 250; ++i) {
    if (i == 100) {
      cluster_.cluster().SetReadHook(
          [](const api::KindInfo&) { return base::Unavailable("away"); });
    }
    cluster_.clock().Advance(std::chrono::seconds(1));
    EXPECT_THAT(Told(scheduler_.Run()), IsEmpty());
  }
}

// No change says that the claim had devices: it was told without, and is told without.
TEST_F(GapTest, DevicesThatWereGivenAndGivenBackUnseenWakeWhoWaitsForThem) {
  for (const bool deleted : {false, true}) {
    DeviceCluster cluster;
    GapCluster seen(cluster.cluster());
    CountedIds ids;
    Scheduler scheduler(seen, cluster.clock(), ids, {});
    cluster.AddNode("a", 1);
    cluster.AddGpuPod("p", 1, 1);
    cluster.AddGpuPod("q", 1);
    scheduler.Sync();
    seen.Begin<api::ResourceClaim>();
    EXPECT_THAT(Told(scheduler.Run()), ElementsAre("ns/p bound", "ns/q refused"));
    ASSERT_TRUE(cluster.cluster().Delete(DeviceCluster::KindOf<api::Pod>(), "ns", "p").ok());
    api::ResourceClaim claim = *cluster.Find<api::ResourceClaim>("p");
    ASSERT_TRUE(claim.status.allocation.has_value());
    claim.status = {};
    ASSERT_TRUE(cluster.cluster().UpdateStatus(api::Object::Of(claim)).ok());
    claim = *cluster.Find<api::ResourceClaim>("p");
    claim.metadata.finalizers.clear();
    ASSERT_TRUE(cluster.cluster().Update(api::Object::Of(claim)).ok());
    if (deleted) {
      const auto& kind = DeviceCluster::KindOf<api::ResourceClaim>();
      ASSERT_TRUE(cluster.cluster().Delete(kind, "ns", "p").ok());
    }
    EXPECT_THAT(Told(scheduler.Run()), IsEmpty());
    seen.End();
    std::vector<std::string> told;
    for (int i = 0; i < 60 && told.empty(); ++i) {
      cluster.clock().Advance(std::chrono::seconds(1));
      told = Told(scheduler.Run());
    }
    EXPECT_THAT(told, ElementsAre("ns/q bound")) << deleted;
  }
}

// Nor that a claim has other devices than before.
TEST_F(GapTest, DevicesThatWereExchangedForOthersWakeWhoWaitsForThem) {
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 1, 1);
  cluster_.AddGpuPod("q", 1);
  EXPECT_THAT(Told(scheduler_.Run()), ElementsAre("ns/p bound", "ns/q refused"));
  api::ResourceClaim claim = *cluster_.Find<api::ResourceClaim>("p");
  api::DeviceRequestAllocationResult& result = claim.status.allocation->devices.results.front();
  ASSERT_EQ(result.pool, "a");
  result.pool = "elsewhere";
  ASSERT_TRUE(cluster_.cluster().UpdateStatus(api::Object::Of(std::move(claim))).ok());
  EXPECT_THAT(Later(), ElementsAre("ns/q bound"));
}

// A pod that was bound here and has gone, or ended, is told to be on no node and then to be gone.
TEST_F(GapTest, RoomOfAPodThatWasBoundAndHasGoneUnseenWakesWhoWaitsForIt) {
  for (const bool deleted : {false, true}) {
    DeviceCluster cluster;
    GapCluster seen(cluster.cluster());
    CountedIds ids;
    Scheduler scheduler(seen, cluster.clock(), ids, {});
    cluster.AddNode("a", 0, "2");
    cluster.Create(MakePod({.name = "p", .cpu = "2", .priority = 1}));
    cluster.Create(MakePod({.name = "q", .cpu = "1"}));
    scheduler.Sync();
    seen.Begin<api::Pod>();
    EXPECT_THAT(Told(scheduler.Run()), ElementsAre("ns/p bound", "ns/q refused"));
    if (deleted) {
      ASSERT_TRUE(cluster.cluster().Delete(DeviceCluster::KindOf<api::Pod>(), "ns", "p").ok());
    } else {
      api::Pod over = *cluster.Find<api::Pod>("p");
      over.status.phase = api::kPodSucceeded;
      ASSERT_TRUE(cluster.cluster().UpdateStatus(api::Object::Of(std::move(over))).ok());
    }
    EXPECT_THAT(Told(scheduler.Run()), IsEmpty());
    seen.End();
    std::vector<std::string> told;
    for (int i = 0; i < 60 && told.empty(); ++i) {
      cluster.clock().Advance(std::chrono::seconds(1));
      told = Told(scheduler.Run());
    }
    EXPECT_THAT(told, ElementsAre("ns/q bound")) << deleted;
  }
}

}  // namespace
}  // namespace dray::scheduler
