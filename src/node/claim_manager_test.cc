// SPDX-License-Identifier: Apache-2.0
#include "node/claim_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

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
    if (source_.checkpoint.empty()) return;
    auto claims = DecodeClaimStates(source_.checkpoint);
    ASSERT_THAT(claims, IsOk());
    manager_->Restore(*std::move(claims));
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
  std::vector<ClaimState> Written() const {
    if (source_.checkpoint.empty()) return {};
    auto claims = DecodeClaimStates(source_.checkpoint);
    return claims.ok() ? *claims : std::vector<ClaimState>();
  }
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
  EXPECT_EQ(Written().size(), 100u);
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

TEST_P(LiarTest, IsToldApart) {
  Add(ClaimOf("a", {"d1"}, {"p"}));
  Add(ClaimOf("b", {"d1"}, {"p"}));
  plugins_.driver("d1").twist = GetParam().twist;
  EXPECT_EQ(base::Message(Prepare(PodWith("p", {"a", "b"}))), GetParam().want);
  // It was remembered before the call, so that it is unprepared whatever came of it.
  EXPECT_TRUE(manager_->Holds("uid-p"));
  EXPECT_THAT(Unprepare("uid-p"), IsOk());
  EXPECT_THAT(plugins_.prepared(), IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(Drivers, LiarTest,
                         ::testing::ValuesIn(std::vector<LiarCase>{
                             {"stranger", [](rpc::PrepareAnswer& a) { a["0"] = {}; },
                              "NodePrepareResources returned result for unknown claim UID 0"},
                             {"error", [](rpc::PrepareAnswer& a) { a["uid-b"].error = "broken"; },
                              "NodePrepareResources failed for ResourceClaim b: broken"},
                             {"fewer", [](rpc::PrepareAnswer& a) { a.erase("uid-b"); },
                              "NodePrepareResources skipped 1 ResourceClaims"},
                             {"none", [](rpc::PrepareAnswer& a) { a.clear(); },
                              "NodePrepareResources skipped 2 ResourceClaims"},
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

// What a container gets: claims in its order, drivers by name, devices in the driver's order, every
// name once; requests by their base name.
TEST_F(ClaimManagerTest, ContainersGetTheirDevicesInOrder) {
  Add(ClaimOf("a", {"d2", "d1"}, {"p"}));
  Add(ClaimOf("b", {"d1"}, {"p"}));
  plugins_.driver("d1").devices["a"] = {
      {.requests = {"big"}, .pool = "x", .device = "2", .cdi_ids = {"k=2", "k=common"}},
      {.requests = {"small/one"}, .pool = "x", .device = "1", .cdi_ids = {"k=1", "k=common"}}};
  plugins_.driver("d2").devices["a"] = {{.pool = "y", .device = "0", .cdi_ids = {"m=0"}}};
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
