// SPDX-License-Identifier: Apache-2.0
#include "node/claim_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "node/plugins_for_test.h"
#include "testing/status_matchers.h"

namespace dray::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::IsOkAndHolds;
using ::testing::StartsWith;
using testing::StatusIs;

class ClaimManagerTest : public ::testing::Test {
 protected:
  ClaimManagerTest() {
    plugins_.Register("d1");
    plugins_.Register("d2");
    Restart();
  }

  void Restart(api::FeatureGates gates = Gates(true)) {
    loop_.RunDue();
    manager_.reset();
    metrics_.reset();
    registry_ = std::make_unique<metrics::Registry>();
    metrics_ = std::make_unique<ClaimMetrics>(*registry_);
    manager_ = std::make_unique<ClaimManager>(source_, plugins_, clock_, gates, metrics_.get());
    manager_->Restore(source_.Written());
  }
  static api::FeatureGates Gates(bool skips) {
    api::FeatureGates gates;
    gates.Set(api::Gate::kDRAOptionalNodeOperations, skips);
    return gates;
  }

  void Add(const api::ResourceClaim& claim) { source_.claims[claim.metadata.name] = claim; }

  std::shared_ptr<std::optional<Status>> BeginPrepare(const api::Pod& pod) {
    auto result = std::make_shared<std::optional<Status>>();
    manager_->Prepare(pod, [result](Status status) { *result = std::move(status); });
    return result;
  }
  std::shared_ptr<std::optional<Status>> BeginUnprepare(const std::string& uid) {
    auto result = std::make_shared<std::optional<Status>>();
    manager_->Unprepare(uid, [result](Status status) { *result = std::move(status); });
    return result;
  }
  Status Prepare(const api::Pod& pod) {
    const auto result = BeginPrepare(pod);
    RunFor(loop_, clock_, std::chrono::seconds(50));
    return result->value_or(base::Internal("it has not ended"));
  }
  Status Unprepare(const std::string& uid) {
    const auto result = BeginUnprepare(uid);
    RunFor(loop_, clock_, std::chrono::seconds(50));
    return result->value_or(base::Internal("it has not ended"));
  }
  std::vector<ClaimState> Written() const { return source_.Written(); }
  double InUse(std::string_view driver) { return metrics_->in_use.With({driver}).value(); }

  base::ManualClock clock_;
  Loop loop_{clock_};
  PluginsForTest plugins_{loop_};
  ClaimSourceForTest source_{loop_};
  std::unique_ptr<metrics::Registry> registry_;
  std::unique_ptr<ClaimMetrics> metrics_;
  std::unique_ptr<ClaimManager> manager_;
};

TEST_F(ClaimManagerTest, ACallHasAllClaimsOfAPodThatADriverServes) {
  Add(ClaimOf("a", {"d1"}, {"p"}));
  Add(ClaimOf("b", {"d1", "d2"}, {"p"}));
  EXPECT_THAT(Prepare(PodWith("p", {"a", "b"})), IsOk());
  EXPECT_THAT(plugins_.calls(), ElementsAre("prepare d1 a,b", "prepare d2 b"));
  EXPECT_EQ(Written().size(), 2u);
  EXPECT_EQ(Written()[1].drivers.at("d2").devices.at(0).cdi_ids.at(0), "d2/dev=uid-b");
  EXPECT_THAT(Unprepare("uid-p"), IsOk());
  EXPECT_THAT(plugins_.calls(),
              ElementsAre("prepare d1 a,b", "prepare d2 b", "unprepare d1 a,b", "unprepare d2 b"));
  EXPECT_THAT(Written(), IsEmpty());
  EXPECT_THAT(plugins_.prepared(), IsEmpty());
  EXPECT_FALSE(manager_->Holds("uid-p"));
}

TEST_F(ClaimManagerTest, APodWithoutClaimsNeedsNothing) {
  EXPECT_THAT(Prepare(PodWith("p", {})), IsOk());
  EXPECT_THAT(Unprepare("uid-p"), IsOk());
  EXPECT_EQ(source_.writes, 0);
}

// The pod is remembered on the disk before a driver hears of it.
TEST_F(ClaimManagerTest, TheCheckpointComesBeforeTheCall) {
  Add(ClaimOf("a", {"d1"}, {"p"}));
  source_.fail_writes = 1;
  EXPECT_THAT(Prepare(PodWith("p", {"a"})),
              StatusIs(StatusCode::kUnavailable, HasSubstr("failed to checkpoint claims")));
  EXPECT_THAT(plugins_.calls(), IsEmpty());
  EXPECT_FALSE(manager_->Holds("uid-p"));
  EXPECT_THAT(Prepare(PodWith("p", {"a"})), IsOk());
  EXPECT_THAT(plugins_.calls(), ElementsAre("prepare d1 a"));
}

TEST_F(ClaimManagerTest, WhatWasNotWrittenAfterTheEndIsWrittenLater) {
  Add(ClaimOf("a", {"d1"}, {"p"}));
  ASSERT_THAT(Prepare(PodWith("p", {"a"})), IsOk());
  source_.fail_writes = 1;
  EXPECT_THAT(Unprepare("uid-p"), StatusIs(StatusCode::kUnavailable, HasSubstr("checkpoint")));
  EXPECT_EQ(Written().size(), 1u);
  EXPECT_THAT(Unprepare("uid-p"), IsOk());
  EXPECT_THAT(Written(), IsEmpty());
  EXPECT_EQ(plugins_.CallsOf("unprepare"), 1);
}

// Many pods that start at once share writes.
TEST_F(ClaimManagerTest, OneWriteServesManyPods) {
  std::vector<std::shared_ptr<std::optional<Status>>> results;
  for (int i = 0; i < 100; ++i) {
    const std::string name = "a" + std::to_string(i);
    Add(ClaimOf(name, {"d1"}, {"p" + std::to_string(i)}));
  }
  for (int i = 0; i < 100; ++i) {
    results.push_back(BeginPrepare(PodWith("p" + std::to_string(i), {"a" + std::to_string(i)})));
  }
  loop_.RunDue();
  for (const auto& result : results) {
    ASSERT_TRUE(result->has_value());
    EXPECT_THAT(**result, IsOk());
  }
  EXPECT_LE(source_.writes, 6);
  // What has to outlive a power cut is what is about to be done, not what was done.
  EXPECT_LE(source_.synced, 2);
  EXPECT_EQ(Written().size(), 100u);
  EXPECT_EQ(Written(), manager_->States());
  source_.writes = source_.synced = 0;
  for (int i = 0; i < 100; ++i) BeginUnprepare("uid-p" + std::to_string(i));
  loop_.RunDue();
  EXPECT_LE(source_.writes, 3);
  EXPECT_EQ(source_.synced, 0);
  EXPECT_THAT(Written(), IsEmpty());
}

struct RefusedCase {
  std::string name;
  void (*change)(api::ResourceClaim&);
  std::string want;
  friend void PrintTo(const RefusedCase& c, std::ostream* os) { *os << c.name; }
};
class RefusedTest : public ClaimManagerTest, public ::testing::WithParamInterface<RefusedCase> {};

// Nothing is remembered of a pod that could not start.
TEST_P(RefusedTest, LeavesNoTrace) {
  api::ResourceClaim claim = ClaimOf("a", {"d1"}, {"p"});
  GetParam().change(claim);
  Add(claim);
  EXPECT_EQ(base::Message(Prepare(PodWith("p", {"a"}))), GetParam().want);
  EXPECT_THAT(plugins_.calls(), IsEmpty());
  EXPECT_EQ(source_.writes, 0);
  EXPECT_FALSE(manager_->Holds("uid-p"));
}
INSTANTIATE_TEST_SUITE_P(
    Claims, RefusedTest,
    ::testing::ValuesIn(std::vector<RefusedCase>{
        {"not_reserved", [](api::ResourceClaim& c) { c.status.reserved_for.clear(); },
         "pod p (uid-p) is not allowed to use ResourceClaim a (uid-a)"},
        {"not_allocated", [](api::ResourceClaim& c) { c.status.allocation.reset(); },
         "ResourceClaim a: not allocated"},
        {"no_driver",
         [](api::ResourceClaim& c) { c.status.allocation->devices.results[0].driver = "d9"; },
         "DRA driver d9 is not registered"},
        {"driver_without_name",
         [](api::ResourceClaim& c) { c.status.allocation->devices.results[0].driver = ""; },
         "DRA driver name is empty"},
        {"gone", [](api::ResourceClaim& c) { c.metadata.name = "b"; },
         "fetch ResourceClaim a: not found"},
    }),
    [](const auto& info) { return info.param.name; });

struct LiarCase {
  std::string name;
  void (*twist)(rpc::PrepareAnswer&);
  std::string want;
  friend void PrintTo(const LiarCase& c, std::ostream* os) { *os << c.name; }
};
class LiarTest : public ClaimManagerTest, public ::testing::WithParamInterface<LiarCase> {};

std::string Endless() {
  constexpr std::size_t kEach =
      sizeof(DeviceState) + sizeof(std::string) + sizeof("pooldev-ad1/dev=uid-a") - 1;
  return fmt::format(
      "NodePrepareResources returned 100000 devices with {} bytes for ResourceClaim a: at most "
      "1048576 bytes are kept",
      100'000 * kEach);
}

TEST_P(LiarTest, IsToldApart) {
  Add(ClaimOf("a", {"d1"}, {"p"}));
  Add(ClaimOf("b", {"d1"}, {"p"}));
  plugins_.driver("d1").twist = GetParam().twist;
  EXPECT_EQ(base::Message(Prepare(PodWith("p", {"a", "b"}))), GetParam().want);
  // It was remembered before the call, so that it is unprepared whatever came of it.
  EXPECT_TRUE(manager_->Holds("uid-p"));
  EXPECT_LT(EncodeClaimStates(manager_->States()).size(), 2000u);
  EXPECT_THAT(Unprepare("uid-p"), IsOk());
  EXPECT_THAT(plugins_.prepared(), IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(
    Drivers, LiarTest,
    ::testing::ValuesIn(std::vector<LiarCase>{
        {"stranger", [](rpc::PrepareAnswer& a) { a["0"] = {}; },
         "NodePrepareResources returned result for unknown claim UID 0"},
        {"error", [](rpc::PrepareAnswer& a) { a["uid-b"].error = "broken"; },
         "NodePrepareResources failed for ResourceClaim b: broken"},
        {"fewer", [](rpc::PrepareAnswer& a) { a.erase("uid-b"); },
         "NodePrepareResources skipped 1 ResourceClaims"},
        {"none", [](rpc::PrepareAnswer& a) { a.clear(); },
         "NodePrepareResources skipped 2 ResourceClaims"},
        {"no_such_device", [](rpc::PrepareAnswer& a) { a["uid-a"].devices[0].device = "x"; },
         "NodePrepareResources returned device pool/x for ResourceClaim a, "
         "which was not allocated to it"},
        {"device_of_another_claim", [](rpc::PrepareAnswer& a) { a["uid-a"] = a["uid-b"]; },
         "NodePrepareResources returned device pool/dev-b for ResourceClaim "
         "a, which was not allocated to it"},
        {"no_such_request",
         [](rpc::PrepareAnswer& a) {
           a["uid-b"].devices[0].requests = {"r/sub", "s"};
         },
         "NodePrepareResources returned request \"s\" for ResourceClaim b, "
         "for which the driver was allocated nothing"},
        {"endless_name", [](rpc::PrepareAnswer& a) { a[std::string(1 << 20, 'u')] = {}; },
         "NodePrepareResources returned result for unknown claim UID " + std::string(253, 'u') +
             "..."},
        {"endless_error",
         [](rpc::PrepareAnswer& a) { a["uid-a"].error = std::string(1 << 20, 'e'); },
         "NodePrepareResources failed for ResourceClaim a: " + std::string(253, 'e') + "..."},
        {"endless_devices",
         [](rpc::PrepareAnswer& a) { a["uid-a"].devices.assign(100'000, a["uid-a"].devices[0]); },
         Endless()},
    }),
    [](const auto& info) { return info.param.name; });

TEST_F(ClaimManagerTest, UnprepareTellsLiarsApartToo) {
  Add(ClaimOf("a", {"d1"}, {"p"}));
  ASSERT_THAT(Prepare(PodWith("p", {"a"})), IsOk());
  const auto told = [&](std::function<void(rpc::UnprepareAnswer&)> twist) {
    plugins_.driver("d1").twist_unprepare = std::move(twist);
    return std::string(base::Message(Unprepare("uid-p")));
  };
  EXPECT_EQ(told([](rpc::UnprepareAnswer& a) { a["0"]; }),
            "NodeUnprepareResources returned result for unknown claim UID 0");
  EXPECT_EQ(told([](rpc::UnprepareAnswer& a) { a["uid-a"] = "stuck"; }),
            "NodeUnprepareResources failed for ResourceClaim a: stuck");
  EXPECT_EQ(told([](rpc::UnprepareAnswer& a) { a.clear(); }),
            "NodeUnprepareResources skipped 1 ResourceClaims");
  plugins_.driver("d1").fail_unprepare = 1;
  EXPECT_EQ(told({}), "NodeUnprepareResources: this driver is told to fail");
  plugins_.Deregister("d1");
  EXPECT_EQ(std::string(base::Message(Unprepare("uid-p"))), "DRA driver d1 is not registered");
  EXPECT_TRUE(manager_->Holds("uid-p"));
  plugins_.Register("d1");
  EXPECT_THAT(Unprepare("uid-p"), IsOk());
}

TEST_F(ClaimManagerTest, OnlyTheLastPodUnprepares) {
  Add(ClaimOf("a", {"d1"}, {"p", "q"}));
  ASSERT_THAT(Prepare(PodWith("p", {"a"})), IsOk());
  ASSERT_THAT(Prepare(PodWith("q", {"a"})), IsOk());
  EXPECT_EQ(plugins_.CallsOf("prepare"), 1);
  EXPECT_THAT(Unprepare("uid-p"), IsOk());
  EXPECT_EQ(plugins_.CallsOf("unprepare"), 0);
  EXPECT_THAT(Written()[0].pods, ElementsAre("uid-q"));
  EXPECT_THAT(Unprepare("uid-q"), IsOk());
  EXPECT_EQ(plugins_.CallsOf("unprepare"), 1);
}

// Both end at the same time: each must not leave it to the other.
TEST_F(ClaimManagerTest, TwoThatEndTogetherUnprepareOnce) {
  Add(ClaimOf("a", {"d1"}, {"p", "q"}));
  Add(ClaimOf("b", {"d1"}, {"p"}));
  ASSERT_THAT(Prepare(PodWith("p", {"a", "b"})), IsOk());
  ASSERT_THAT(Prepare(PodWith("q", {"a"})), IsOk());
  const auto first = BeginUnprepare("uid-p");
  const auto second = BeginUnprepare("uid-q");
  loop_.RunDue();
  EXPECT_THAT(**first, IsOk());
  EXPECT_THAT(**second, IsOk());
  EXPECT_THAT(plugins_.prepared(), IsEmpty());
  EXPECT_THAT(Written(), IsEmpty());
}

// Two pods of one claim that start at the same time: one call.
TEST_F(ClaimManagerTest, WhoComesWhileADriverIsCalledWaitsForTheAnswer) {
  Add(ClaimOf("a", {"d1"}, {"p", "q"}));
  const auto first = BeginPrepare(PodWith("p", {"a"}));
  const auto second = BeginPrepare(PodWith("q", {"a"}));
  loop_.RunDue();
  EXPECT_THAT(**first, IsOk());
  EXPECT_THAT(**second, IsOk());
  EXPECT_EQ(plugins_.CallsOf("prepare"), 1);
}

TEST_F(ClaimManagerTest, AnUnprepareWaitsForThePrepareOfTheClaim) {
  Add(ClaimOf("a", {"d1"}, {"p"}));
  plugins_.driver("d1").hang_prepare = true;
  const auto prepare = BeginPrepare(PodWith("p", {"a"}));
  loop_.RunDue();
  const auto unprepare = BeginUnprepare("uid-p");
  loop_.RunDue();
  EXPECT_FALSE(unprepare->has_value());
  EXPECT_EQ(plugins_.CallsOf("unprepare"), 0);
  RunFor(loop_, clock_, std::chrono::seconds(46));
  EXPECT_THAT(**prepare,
              StatusIs(StatusCode::kDeadlineExceeded, StartsWith("NodePrepareResources: ")));
  EXPECT_THAT(**unprepare, IsOk());
  EXPECT_THAT(Written(), IsEmpty());
}

TEST_F(ClaimManagerTest, ARestartKnowsWhatWasPreparedAndForWhom) {
  Add(ClaimOf("a", {"d1", "d2"}, {"p"}));
  ASSERT_THAT(Prepare(PodWith("p", {"a"})), IsOk());
  EXPECT_EQ(InUse("<any>"), 1);
  Restart();
  EXPECT_THAT(manager_->CdiNamesFor(PodWith("p", {"a"}), PodWith("p", {"a"}).spec.containers[0]),
              IsOkAndHolds(ElementsAre("d1/dev=uid-a", "d2/dev=uid-a")));
  // In contrast to a kubelet: what is in use is known at once.
  EXPECT_EQ(InUse("<any>"), 1);
  EXPECT_EQ(InUse("d1"), 1);
  EXPECT_THAT(Unprepare("uid-p"), IsOk());
  EXPECT_EQ(InUse("<any>"), 0);
  EXPECT_EQ(InUse("d2"), 0);
  EXPECT_THAT(plugins_.prepared(), IsEmpty());
}

TEST_F(ClaimManagerTest, PodsThatAreGoneAreReconciled) {
  Add(ClaimOf("a", {"d1"}, {"p"}));
  Add(ClaimOf("b", {"d1"}, {"q"}));
  ASSERT_THAT(Prepare(PodWith("p", {"a"})), IsOk());
  ASSERT_THAT(Prepare(PodWith("q", {"b"})), IsOk());
  std::vector<std::string> ended;
  const auto reconcile = [&] {
    manager_->Reconcile([](const std::string& uid) { return uid == "uid-q"; },
                        [&](const std::string& uid, const Status& status) {
                          ended.push_back(uid + (status.ok() ? " ok" : " failed"));
                        });
    manager_->Reconcile(
        [](const std::string& uid) { return uid == "uid-q"; },
        [&](const std::string& uid, const Status&) { ended.push_back("twice " + uid); });
    loop_.RunDue();
  };
  plugins_.driver("d1").fail_unprepare = 1;
  reconcile();
  reconcile();
  EXPECT_THAT(ended, ElementsAre("uid-p failed", "uid-p ok"));
  EXPECT_TRUE(manager_->Holds("uid-q"));
  EXPECT_FALSE(manager_->Holds("uid-p"));
}

// ---- A claim that is allocated anew ----

api::ResourceClaim Anew(std::string_view pod, const std::vector<std::string>& drivers = {"d1"}) {
  api::ResourceClaim claim = ClaimOf("a", drivers, {std::string(pod)});
  for (auto& result : claim.status.allocation->devices.results) result.device = "other";
  return claim;
}

// A pod was deleted by force; its claim, which somebody made by hand, is deallocated, allocated
// another device, and given to another pod, while what the first was given is still prepared.
TEST_F(ClaimManagerTest, AClaimThatWasAllocatedAnewWaitsForWhatItWasAllocatedBefore) {
  Add(ClaimOf("a", {"d1"}, {"p"}));
  ASSERT_THAT(Prepare(PodWith("p", {"a"})), IsOk());
  Add(Anew("q"));
  plugins_.driver("d1").devices["a"] = {{.pool = "pool", .device = "other", .cdi_ids = {"k=o"}}};
  EXPECT_EQ(
      base::Message(Prepare(PodWith("q", {"a"}))),
      "ResourceClaim a was allocated anew, and what it was allocated before is still prepared "
      "on this node (previous pod force-deleted?!)");
  EXPECT_FALSE(manager_->Holds("uid-q"));
  EXPECT_THAT(Unprepare("uid-p"), IsOk());
  EXPECT_THAT(Prepare(PodWith("q", {"a"})), IsOk());
  EXPECT_THAT(plugins_.calls(), ElementsAre("prepare d1 a", "unprepare d1 a", "prepare d1 a"));
  const api::Pod pod = PodWith("q", {"a"});
  EXPECT_THAT(manager_->CdiNamesFor(pod, pod.spec.containers[0]), IsOkAndHolds(ElementsAre("k=o")));
}

// The same device once more, with other parameters: it is another allocation all the same.
TEST_F(ClaimManagerTest, ParametersAreOfTheAllocationToo) {
  Add(ClaimOf("a", {"d1"}, {"p"}));
  ASSERT_THAT(Prepare(PodWith("p", {"a"})), IsOk());
  api::ResourceClaim claim = ClaimOf("a", {"d1"}, {"q"});
  claim.status.allocation->devices.config.emplace_back().requests = {"r"};
  Add(claim);
  EXPECT_THAT(Prepare(PodWith("q", {"a"})),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("allocated anew")));
  // Whoever else has it reserved beside the first one shares it.
  Add(ClaimOf("a", {"d1"}, {"p", "q"}));
  EXPECT_THAT(Prepare(PodWith("q", {"a"})), IsOk());
  EXPECT_EQ(plugins_.CallsOf("prepare"), 1);
}

// An agent that has read it from the checkpoint knows no allocation, but devices and drivers.
TEST_F(ClaimManagerTest, AClaimThatWasAllocatedAnewIsFoundOutAfterARestart) {
  Add(ClaimOf("a", {"d1"}, {"p"}));
  ASSERT_THAT(Prepare(PodWith("p", {"a"})), IsOk());
  Restart();
  Add(Anew("q"));
  EXPECT_THAT(Prepare(PodWith("q", {"a"})),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("allocated anew")));
  // Another driver has it now.
  Add(ClaimOf("a", {"d2"}, {"q"}));
  EXPECT_THAT(Prepare(PodWith("q", {"a"})),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("allocated anew")));
  EXPECT_THAT(Unprepare("uid-p"), IsOk());
  EXPECT_THAT(Prepare(PodWith("q", {"a"})), IsOk());
  EXPECT_THAT(plugins_.prepared(), ElementsAre("d2/uid-a"));
  EXPECT_THAT(plugins_.calls(), ElementsAre("prepare d1 a", "unprepare d1 a", "prepare d2 a"));
}

// Nobody else would let go of it for the pod: it does so itself, before it is prepared.
TEST_F(ClaimManagerTest, APodWhoseOwnClaimWasAllocatedAnewLetsGoFirst) {
  Add(ClaimOf("a", {"d1"}, {"p"}));
  plugins_.driver("d1").refuse_prepare = 1;
  EXPECT_THAT(Prepare(PodWith("p", {"a"})),
              StatusIs(StatusCode::kInternal, HasSubstr("no such device")));
  Add(Anew("p", {"d2"}));
  plugins_.driver("d2").devices["a"] = {{.pool = "pool", .device = "other"}};
  plugins_.driver("d1").fail_unprepare = 1;
  EXPECT_THAT(Prepare(PodWith("p", {"a"})),
              StatusIs(StatusCode::kInternal, StartsWith("NodeUnprepareResources: ")));
  EXPECT_THAT(Prepare(PodWith("p", {"a"})), IsOk());
  EXPECT_THAT(plugins_.calls(),
              ElementsAre("prepare d1 a", "unprepare d1 a", "unprepare d1 a", "prepare d2 a"));
  EXPECT_THAT(plugins_.prepared(), ElementsAre("d2/uid-a"));
  EXPECT_EQ(Written(), manager_->States());
}

// What a container gets: claims in its order, drivers by name, devices in the driver's order, every
// name once; requests by their base name.
TEST_F(ClaimManagerTest, ContainersGetTheirDevicesInOrder) {
  Add(ClaimOf("b", {"d1"}, {"p"}));
  plugins_.driver("d1").devices["a"] = {
      {.requests = {"big"}, .pool = "x", .device = "2", .cdi_ids = {"k=2", "k=common"}},
      {.requests = {"small/one"}, .pool = "x", .device = "1", .cdi_ids = {"k=1", "k=common"}}};
  plugins_.driver("d2").devices["a"] = {{.pool = "y", .device = "0", .cdi_ids = {"m=0"}}};
  Add(Allocated(
      Allocated(ClaimOf("a", {"d2", "d1"}, {"p"}), "d1", plugins_.driver("d1").devices["a"]), "d2",
      plugins_.driver("d2").devices["a"]));
  api::Pod pod = PodWith("p", {"a", "b"});
  ASSERT_THAT(Prepare(pod), IsOk());
  const auto names = [&](std::vector<api::ContainerResourceClaim> claims) {
    api::Container container{.name = "c"};
    container.resources.claims = std::move(claims);
    return *manager_->CdiNamesFor(pod, container);
  };
  EXPECT_THAT(names({{.name = "r-b"}, {.name = "r-a"}, {.name = "r-a"}}),
              ElementsAre("d1/dev=uid-b", "k=2", "k=common", "k=1", "m=0"));
  // A device without requests is for all of them.
  EXPECT_THAT(names({{.name = "r-a", .request = "big"}}), ElementsAre("k=2", "k=common", "m=0"));
  EXPECT_THAT(names({{.name = "r-a", .request = "small"}}), ElementsAre("k=1", "k=common", "m=0"));
  EXPECT_THAT(names({{.name = "r-a", .request = "small/two"}}),
              ElementsAre("k=1", "k=common", "m=0"));
  EXPECT_THAT(names({}), IsEmpty());
  const api::Pod stranger = PodWith("q", {"a"});
  EXPECT_THAT(manager_->CdiNamesFor(stranger, stranger.spec.containers[0]),
              StatusIs(StatusCode::kInternal, HasSubstr("ResourceClaim a is not prepared")));
}

TEST_F(ClaimManagerTest, FindsWhoUsesADevice) {
  Add(ClaimOf("a", {"d1"}, {"p", "q"}));
  ASSERT_THAT(Prepare(PodWith("p", {"a"})), IsOk());
  ASSERT_THAT(Prepare(PodWith("q", {"a"})), IsOk());
  EXPECT_THAT(manager_->PodsUsing({{"d1", "pool", "dev-a"}}), ElementsAre("uid-p", "uid-q"));
  EXPECT_THAT(manager_->PodsUsing({{"d2", "pool", "dev-a"}, {"d1", "pool", "dev-b"}}), IsEmpty());
}

}  // namespace
}  // namespace dray::node
