// SPDX-License-Identifier: Apache-2.0
#include "client/leader_election.h"

#include <gtest/gtest.h>

#include "api/memory_cluster.h"
#include "base/uuid.h"

namespace dray::client {
namespace {

using std::chrono::seconds;

class LeaderElectionTest : public ::testing::Test {
 protected:
  LeaderElector Candidate(const std::string& identity) {
    return {cluster_, clock_, {.name = "kube-scheduler", .identity = identity}};
  }
  api::Lease Stored() {
    const auto& kind = api::HubKind(api::TypeInfoOf<api::Lease>());
    return *cluster_.Stored(kind, "kube-system", "kube-scheduler")->As<api::Lease>();
  }
  void Fail(bool fails) {
    cluster_.SetWriteHook([fails](api::Verb, const api::Object&) {
      return fails ? base::Unavailable("away") : Status();
    });
  }

  base::ManualClock clock_{base::Time::FromUnix(1'000'000)};
  base::SeededRandomSource random_{1};
  api::MemoryCluster cluster_{clock_, random_};
  LeaderElector a_ = Candidate("a");
  LeaderElector b_ = Candidate("b");
};

TEST_F(LeaderElectionTest, TheFirstLeadsAsLongAsItRenews) {
  EXPECT_TRUE(a_.Try());
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(b_.Try());
    clock_.Advance(seconds(2));
    EXPECT_TRUE(a_.Try());
  }
  EXPECT_EQ(b_.holder(), "a");
  EXPECT_EQ(Stored().spec.lease_transitions, 0);
  EXPECT_EQ(Stored().spec.lease_duration_seconds, 15);
}

TEST_F(LeaderElectionTest, AHolderThatSaysNothingIsReplacedAfterItStoppedLeading) {
  EXPECT_TRUE(a_.Try());
  EXPECT_FALSE(b_.Try());
  clock_.Advance(seconds(9));
  EXPECT_TRUE(a_.leading());
  clock_.Advance(seconds(1));
  EXPECT_FALSE(a_.leading());
  EXPECT_FALSE(b_.Try());
  clock_.Advance(seconds(5));
  EXPECT_TRUE(b_.Try());
  EXPECT_EQ(Stored().spec.holder_identity, "b");
  EXPECT_EQ(Stored().spec.lease_transitions, 1);
  EXPECT_FALSE(a_.Try());
  EXPECT_FALSE(a_.leading());
}

// What counts is when a candidate saw the lease change, not the times written in it.
TEST_F(LeaderElectionTest, ClocksOfOthersAreNotTrusted) {
  EXPECT_TRUE(a_.Try());
  clock_.SetNow(clock_.Now() + std::chrono::hours(1));
  EXPECT_FALSE(b_.Try());
}

TEST_F(LeaderElectionTest, ALeaseThatIsGivenBackIsFree) {
  EXPECT_TRUE(a_.Try());
  EXPECT_FALSE(b_.Try());
  a_.Release();
  EXPECT_FALSE(a_.leading());
  EXPECT_TRUE(b_.Try());
  // Not ours any more: stays.
  a_.Release();
  EXPECT_EQ(Stored().spec.holder_identity, "b");
}

TEST_F(LeaderElectionTest, AShortTroubleDoesNotEndIt) {
  EXPECT_TRUE(a_.Try());
  Fail(true);
  clock_.Advance(seconds(4));
  EXPECT_TRUE(a_.Try());
  clock_.Advance(seconds(6));
  EXPECT_FALSE(a_.Try());
  Fail(false);
  EXPECT_TRUE(a_.Try());
}

// Nobody who cannot read the lease takes it to be free, and it says why.
TEST_F(LeaderElectionTest, ALeaseThatCannotBeReadIsNotFree) {
  cluster_.SetReadHook([](const api::KindInfo&) {
    return base::MakeStatus(StatusCode::kPermissionDenied, "leases is forbidden");
  });
  EXPECT_FALSE(a_.Try());
  EXPECT_EQ(a_.trouble().code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(base::Message(a_.trouble()), "lease kube-system/kube-scheduler: leases is forbidden");
  cluster_.SetReadHook({});
  EXPECT_TRUE(a_.Try());
  EXPECT_TRUE(a_.trouble().ok());
  EXPECT_FALSE(b_.Try());
  EXPECT_TRUE(b_.trouble().ok());
}

// A request that does not come back: time goes by, and with it the leadership. The next one may
// lead while the first still waits.
TEST_F(LeaderElectionTest, WhoWaitsForAnAnswerDoesNotLeadMeanwhile) {
  EXPECT_TRUE(a_.Try());
  EXPECT_FALSE(b_.Try());
  bool second_led = false;
  cluster_.SetReadHook([&](const api::KindInfo&) -> Status {
    cluster_.SetReadHook({});
    clock_.Advance(seconds(9));
    EXPECT_TRUE(a_.leading());
    clock_.Advance(seconds(6));
    EXPECT_FALSE(a_.leading());
    second_led = b_.Try();
    EXPECT_FALSE(a_.leading());
    return base::Unavailable("timed out");
  });
  EXPECT_FALSE(a_.Try());
  EXPECT_TRUE(second_led);
}

// It was suspended between asking itself whether it leads and reading the lease, and meanwhile another one has led and
// given the lease back. What it knows is from before that.
TEST_F(LeaderElectionTest, WhoHasLedRenewsAndTakesItFromNobody) {
  const auto meanwhile = [&] {
    cluster_.SetReadHook([&](const api::KindInfo&) -> Status {
      cluster_.SetReadHook({});
      EXPECT_FALSE(b_.Try());
      clock_.Advance(seconds(15));
      EXPECT_TRUE(b_.Try());
      b_.Release();
      return {};
    });
  };
  EXPECT_TRUE(a_.Try());
  clock_.Advance(seconds(2));
  EXPECT_TRUE(a_.Renew());
  meanwhile();
  EXPECT_FALSE(a_.Renew());
  EXPECT_FALSE(a_.leading());
  EXPECT_EQ(Stored().spec.holder_identity, "");
  EXPECT_FALSE(a_.Renew());
  // Whoever begins anew with what it knows may take it.
  EXPECT_TRUE(a_.Try());
}

// Nor one that is not there any more, unless it cannot have been anybody else's.
TEST_F(LeaderElectionTest, WhoHasLedMakesALeaseAgainOnlyWhileItLeads) {
  const auto& kind = api::HubKind(api::TypeInfoOf<api::Lease>());
  EXPECT_TRUE(a_.Try());
  ASSERT_TRUE(cluster_.Delete(kind, "kube-system", "kube-scheduler").ok());
  EXPECT_TRUE(a_.Renew());
  EXPECT_EQ(Stored().spec.holder_identity, "a");
  ASSERT_TRUE(cluster_.Delete(kind, "kube-system", "kube-scheduler").ok());
  clock_.Advance(seconds(10));
  EXPECT_FALSE(a_.Renew());
  EXPECT_FALSE(cluster_.Stored(kind, "kube-system", "kube-scheduler").has_value());
}

// The write is done and its answer lost: that is found out, and until then nobody leads.
TEST_F(LeaderElectionTest, ARenewalWithoutAnAnswerIsNotCounted) {
  cluster_.SetAnswerHook(
      [](api::Verb, const api::Object&) { return api::OutcomeUnknown("no answer"); });
  EXPECT_FALSE(a_.Try());
  EXPECT_FALSE(b_.Try());
  cluster_.SetAnswerHook({});
  EXPECT_FALSE(b_.Try());
  EXPECT_TRUE(a_.Try());
}

TEST(LeaseOptions, AreThoseWithWhichOneLeads) {
  const auto told = [](LeaseOptions options) {
    if (options.name.empty()) options.name = "x";
    return std::string(base::Message(CheckLease(options)));
  };
  EXPECT_EQ(told({}), "");
  EXPECT_EQ(told({.duration = seconds(15), .renew_deadline = seconds(15)}),
            "a lease must last longer (15s) than its holder tries to renew it (15s)");
  EXPECT_EQ(told({.renew_deadline = seconds(2), .retry = seconds(2)}),
            "the time in which to renew a lease (2s) must be more than 1.2 times that between two "
            "tries (2s)");
  EXPECT_NE(told({.duration = std::chrono::milliseconds(900), .renew_deadline = seconds(0)}), "");
  EXPECT_NE(told({.name = "A B"}), "");
  EXPECT_NE(told({.namespace_ = "a.b"}), "");
}

}  // namespace
}  // namespace dray::client
