// SPDX-License-Identifier: Apache-2.0
#include "ledger/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "testing/claim_builder.h"

namespace dray::ledger {
namespace {

using testing::kDriver;
using Claim = testing::AllocatedClaim;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LedgerTest : public ::testing::Test {
 protected:
  const DeviceUsage* Usage(std::string_view device, std::string_view pool = "pool") const {
    return UsageIn(ledger_.snapshot(), device, pool);
  }
  const DeviceUsage* UsageIn(const Snapshot& snapshot, std::string_view device,
                             std::string_view pool = "pool") const {
    const PoolUsage* usage = snapshot.Find(dictionary_->InternPool(kDriver, pool));
    return usage == nullptr ? nullptr : usage->Find(dictionary_->Intern(device));
  }
  std::vector<std::string> Holders(std::string_view device) const {
    std::vector<std::string> names;
    if (const DeviceUsage* usage = Usage(device); usage != nullptr) {
      for (const Holder holder : usage->holders)
        names.emplace_back(ledger_.snapshot().NameOf(holder));
    }
    return names;
  }
  Amount Consumed(std::string_view device, std::string_view capacity) const {
    const DeviceUsage* usage = Usage(device);
    if (usage == nullptr) return 0;
    for (const ConsumedCapacity& c : usage->consumed) {
      if (dictionary_->View(c.capacity) == capacity) return c.amount;
    }
    return 0;
  }
  Reservation MustReserve(const Claim& claim) {
    StatusOr<Reservation> reservation = ledger_.Reserve(claim.Pending(), claim.allocation());
    EXPECT_TRUE(reservation.ok()) << reservation.status();
    return std::move(reservation).value();
  }
  std::string WhyNot(const Claim& claim) {
    const StatusOr<Reservation> reservation = ledger_.Reserve(claim.Pending(), claim.allocation());
    if (reservation.ok()) return "reserved";
    EXPECT_EQ(reservation.status().code(), StatusCode::kFailedPrecondition);
    return std::string(base::Message(reservation.status()));
  }

  std::shared_ptr<inventory::Dictionary> dictionary_ = std::make_shared<inventory::Dictionary>();
  Ledger ledger_{dictionary_};
};

constexpr Amount kGi = absl::int128{1'000'000'000} << 30;

TEST_F(LedgerTest, AResultWithoutShareIdIsExclusive) {
  ledger_.Put(Claim("a").Exclusive("gpu-0"));
  ASSERT_NE(Usage("gpu-0"), nullptr);
  EXPECT_EQ(Usage("gpu-0")->exclusive, 1u);
  EXPECT_EQ(Usage("gpu-0")->shares, 0u);
  EXPECT_THAT(Holders("gpu-0"), ElementsAre("ns/a"));
  EXPECT_EQ(Usage("gpu-1"), nullptr);
  EXPECT_EQ(Usage("gpu-0", "node-2"), nullptr) << "another pool's device of the same name";
}

TEST_F(LedgerTest, AdminAccessIsNotCounted) {
  ledger_.Put(Claim("a").Admin("gpu-0").Exclusive("gpu-1"));
  EXPECT_EQ(Usage("gpu-0"), nullptr);
  EXPECT_NE(Usage("gpu-1"), nullptr);
}

TEST_F(LedgerTest, SharesAddUpAndComeOff) {
  ledger_.Put(Claim("a").Share("gpu-0", {{"memory", "10Gi"}, {"lanes", "1"}}));
  ledger_.Put(Claim("b").Share("gpu-0", {{"memory", "2Gi"}}).Share("gpu-0", {{"memory", "1Gi"}}));
  EXPECT_EQ(Usage("gpu-0")->shares, 3u);
  EXPECT_EQ(Usage("gpu-0")->exclusive, 0u);
  EXPECT_EQ(Consumed("gpu-0", "memory"), 13 * kGi);
  EXPECT_THAT(Holders("gpu-0"), ElementsAre("ns/a", "ns/b", "ns/b"));
  ledger_.Remove("uid-a");
  EXPECT_EQ(Consumed("gpu-0", "memory"), 3 * kGi);
  EXPECT_THAT(Usage("gpu-0")->consumed, SizeIs(1)) << "nothing of the lanes is left";
  EXPECT_THAT(Holders("gpu-0"), ElementsAre("ns/b", "ns/b"));
  ledger_.Put(Claim("b").Share("gpu-0", {{"memory", "2Gi"}}));
  EXPECT_EQ(Consumed("gpu-0", "memory"), 2 * kGi);
  ledger_.Remove("uid-b");
  EXPECT_EQ(Usage("gpu-0"), nullptr);
  EXPECT_EQ(ledger_.snapshot().Find(dictionary_->InternPool(kDriver, "pool")), nullptr);
}

TEST_F(LedgerTest, OnlySharesConsumeCapacity) {
  api::ResourceClaim claim = Claim("a").Exclusive("gpu-0");
  claim.status.allocation->devices.results[0].consumed_capacity["memory"] =
      base::Quantity::FromInt(5);
  ledger_.Put(claim);
  EXPECT_THAT(Usage("gpu-0")->consumed, IsEmpty());
}

// Kubernetes once rounded a request in place and so changed the amount that another claim shared.
TEST_F(LedgerTest, AmountsAreTheLedgersOwn) {
  api::ResourceClaim claim = Claim("a").Share("gpu-0", {{"memory", "1500m"}});
  ledger_.Put(claim);
  claim.status.allocation->devices.results[0].consumed_capacity.Find("memory")->RoundUp(0);
  EXPECT_EQ(Consumed("gpu-0", "memory"), 1'500'000'000);
}

TEST_F(LedgerTest, GroupsAreCountedAsRecorded) {
  ledger_.Put(Claim("a").Share("gpu-0").Groups("set", {"x", "y"}));
  ledger_.Put(Claim("b").Share("gpu-0").Groups("set", {"y", "x"}));
  ledger_.Put(Claim("c").Share("gpu-0").Groups("set", {}));
  ledger_.Put(Claim("d").Share("gpu-0"));
  const DeviceUsage& usage = *Usage("gpu-0");
  ASSERT_THAT(usage.groups, SizeIs(2));
  EXPECT_EQ(usage.groups[0].groups, GroupsId::kNone);
  EXPECT_EQ(usage.groups[0].count, 1u);
  EXPECT_THAT(dictionary_->At(usage.groups[1].groups), SizeIs(2));
  EXPECT_EQ(usage.groups[1].count, 2u);
  ledger_.Remove("uid-a");
  ledger_.Remove("uid-c");
  ledger_.Remove("uid-d");
  ASSERT_THAT(Usage("gpu-0")->groups, SizeIs(1));
  EXPECT_EQ(Usage("gpu-0")->groups[0].count, 1u);
}

TEST_F(LedgerTest, PutIsIdempotentAndSaysWhatItTouched) {
  const PoolId one = dictionary_->InternPool(kDriver, "pool");
  const PoolId two = dictionary_->InternPool(kDriver, "node-2");
  const Claim claim = Claim("a").In("node-2").Exclusive("gpu-0").In("pool").Exclusive("gpu-0");
  EXPECT_THAT(ledger_.Put(claim).pools, ElementsAre(one, two));
  const PoolUsage* before = ledger_.snapshot().Find(one);
  EXPECT_THAT(ledger_.Put(claim).pools, IsEmpty());
  EXPECT_EQ(ledger_.snapshot().Find(one), before) << "the same address: nothing has changed";
  EXPECT_THAT(ledger_.Put(claim.Pending()).pools, ElementsAre(one, two));
  EXPECT_THAT(ledger_.Put(claim.Pending()).pools, IsEmpty());
  EXPECT_THAT(ledger_.Remove("uid-a").pools, IsEmpty());
}

// So that who has found no room need not look again.
TEST_F(LedgerTest, ChangesThatGiveNothingBackSaySo) {
  std::vector<bool> only_taken;
  ledger_.Listen([&](const Change& change) { only_taken.push_back(change.only_taken); });
  const Claim claim = Claim("a").Exclusive("gpu-0");
  ledger_.Put(claim);
  ledger_.Put(Claim("a").Exclusive("gpu-1"));
  ledger_.Suspend("uid-a");
  ledger_.Resume("uid-a");
  ledger_.Put(claim.Pending());
  { const Reservation reservation = MustReserve(Claim("b").Exclusive("gpu-0")); }
  EXPECT_THAT(only_taken, ElementsAre(true, false, false, true, false, true, false));
  ledger_.Listen(nullptr);
}

TEST_F(LedgerTest, AClaimThatMovesGivesBackWhatItHad) {
  ledger_.Put(Claim("a").Exclusive("gpu-0"));
  ledger_.Put(Claim("a").Exclusive("gpu-1"));
  EXPECT_EQ(Usage("gpu-0"), nullptr);
  EXPECT_NE(Usage("gpu-1"), nullptr);
}

TEST_F(LedgerTest, ClaimsOfOneNameWithDifferentUidsAreDifferent) {
  api::ResourceClaim again = Claim("a").Exclusive("gpu-1");
  again.metadata.uid = "uid-again";
  ledger_.Put(Claim("a").Exclusive("gpu-0"));
  ledger_.Put(again);
  EXPECT_NE(Usage("gpu-0"), nullptr);
  ledger_.Remove("uid-a");
  EXPECT_EQ(Usage("gpu-0"), nullptr);
  EXPECT_NE(Usage("gpu-1"), nullptr);
}

TEST_F(LedgerTest, AClaimWithoutUidGoesByItsName) {
  api::ResourceClaim a = Claim("a").Exclusive("gpu-0");
  api::ResourceClaim b = Claim("b").Exclusive("gpu-1");
  a.metadata.uid.clear();
  b.metadata.uid.clear();
  ledger_.Put(a);
  ledger_.Put(b);
  EXPECT_NE(Usage("gpu-0"), nullptr);
  ledger_.Remove("ns/a");
  EXPECT_EQ(Usage("gpu-0"), nullptr);
  EXPECT_NE(Usage("gpu-1"), nullptr);
}

TEST_F(LedgerTest, TwoStoredClaimsOnOneDeviceAreBothCounted) {
  ledger_.Put(Claim("a").Exclusive("gpu-0"));
  ledger_.Put(Claim("b").Exclusive("gpu-0"));
  EXPECT_EQ(Usage("gpu-0")->exclusive, 2u);
  ledger_.Remove("uid-a");
  EXPECT_EQ(Usage("gpu-0")->exclusive, 1u) << "one of them still has it";
}

TEST_F(LedgerTest, SnapshotsDoNotChange) {
  ledger_.Put(Claim("a").Exclusive("gpu-0"));
  const Snapshot before = ledger_.snapshot();
  ledger_.Put(Claim("b").Exclusive("gpu-1"));
  ledger_.Remove("uid-a");
  EXPECT_NE(UsageIn(before, "gpu-0"), nullptr);
  EXPECT_EQ(UsageIn(before, "gpu-1"), nullptr);
  EXPECT_EQ(Usage("gpu-0"), nullptr);
}

TEST_F(LedgerTest, MemoryFollowsWhatIsHeld) {
  const std::size_t empty = ledger_.MemoryBytes();
  for (int i = 0; i < 100; ++i) {
    ledger_.Put(Claim("c" + std::to_string(i)).Share("gpu-" + std::to_string(i), {{"m", "1"}}));
  }
  EXPECT_GT(ledger_.MemoryBytes(), empty + 100 * sizeof(DeviceUsage));
}

// --- reservations

TEST_F(LedgerTest, AReservationTakesUntilItGoesOutOfScope) {
  {
    const Reservation reservation = MustReserve(Claim("a").Exclusive("gpu-0"));
    EXPECT_TRUE(reservation.active());
    EXPECT_NE(Usage("gpu-0"), nullptr);
    EXPECT_TRUE(ledger_.InFlight("uid-a"));
  }
  EXPECT_EQ(Usage("gpu-0"), nullptr);
  EXPECT_FALSE(ledger_.InFlight("uid-a"));
}

TEST_F(LedgerTest, AReservationMovesWithItsOwner) {
  Reservation outer;
  {
    Reservation inner = MustReserve(Claim("a").Exclusive("gpu-0"));
    outer = std::move(inner);
    EXPECT_FALSE(inner.active());  // NOLINT: what a moved-from reservation is
  }
  EXPECT_NE(Usage("gpu-0"), nullptr);
  outer = MustReserve(Claim("b").Exclusive("gpu-1"));
  EXPECT_EQ(Usage("gpu-0"), nullptr) << "assigning over it gives it back";
  outer.Release();
  EXPECT_EQ(Usage("gpu-1"), nullptr);
  outer.Release();
}

TEST_F(LedgerTest, ACommittedReservationStaysUntilTheClaimSaysOtherwise) {
  const Claim claim = Claim("a").Exclusive("gpu-0");
  MustReserve(claim).Commit();
  EXPECT_NE(Usage("gpu-0"), nullptr);
  EXPECT_TRUE(ledger_.InFlight("uid-a"));
  ledger_.Put(claim.Pending());  // an event from before the write
  EXPECT_NE(Usage("gpu-0"), nullptr);
  EXPECT_THAT(ledger_.Put(claim).pools, IsEmpty()) << "as was expected";
  EXPECT_FALSE(ledger_.InFlight("uid-a"));
  ledger_.Put(claim.Pending());
  EXPECT_EQ(Usage("gpu-0"), nullptr);
}

// After a new list, the event in which the claim was allocated may never come.
TEST_F(LedgerTest, ANewerPendingFormEndsACommittedReservationWhoseVersionIsKnown) {
  const Claim claim = Claim("a").Exclusive("gpu-0");
  MustReserve(claim).Commit("100");
  ledger_.Put(Claim(claim).Version("99").Pending());
  EXPECT_NE(Usage("gpu-0"), nullptr) << "older than the allocation";
  ledger_.Put(Claim(claim).Version("").Pending());
  EXPECT_NE(Usage("gpu-0"), nullptr) << "of unknown age";
  ledger_.Put(Claim(claim).Version("101").Pending());
  EXPECT_EQ(Usage("gpu-0"), nullptr);
}

// A lost answer: the same devices were stored, given back, and stored once more, and what a watch
// tells of the first time comes last.
TEST_F(LedgerTest, TheEndOfAnEarlierAllocationIsNotThatOfTheOneThatIsStored) {
  const Claim claim = Claim("a").Exclusive("gpu-0");
  for (const bool told_before_the_answer : {false, true}) {
    SCOPED_TRACE(told_before_the_answer);
    Reservation reservation = MustReserve(claim);
    if (told_before_the_answer) ledger_.Put(Claim(claim).Version("90"));
    reservation.Commit("100");
    if (!told_before_the_answer) ledger_.Put(Claim(claim).Version("90"));
    ledger_.Put(Claim(claim).Version("95").Pending());
    EXPECT_NE(Usage("gpu-0"), nullptr);
    EXPECT_TRUE(ledger_.InFlight("uid-a"));
    ledger_.Put(Claim(claim).Version("100"));
    EXPECT_FALSE(ledger_.InFlight("uid-a"));
    ledger_.Put(Claim(claim).Version("101").Pending());
    EXPECT_EQ(Usage("gpu-0"), nullptr);
  }
}

// The watch was faster than the answer: nothing more will come of it.
TEST_F(LedgerTest, AnAnswerAfterItsEventLeavesNothingInFlight) {
  const Claim claim = Claim("a").Exclusive("gpu-0");
  Reservation reservation = MustReserve(claim);
  ledger_.Put(Claim(claim).Version("100"));
  reservation.Commit("100");
  EXPECT_FALSE(ledger_.InFlight("uid-a"));
  ledger_.Put(Claim(claim).Version("101").Pending());
  EXPECT_EQ(Usage("gpu-0"), nullptr);
}

TEST_F(LedgerTest, AWriteForAnotherReasonLeavesAClaimInFlight) {
  const Claim claim = Claim("a").Exclusive("gpu-0");
  Reservation reservation = MustReserve(claim);
  EXPECT_THAT(ledger_.Put(claim.Pending()).pools, IsEmpty());
  EXPECT_TRUE(ledger_.InFlight("uid-a"));
  EXPECT_NE(Usage("gpu-0"), nullptr);
}

TEST_F(LedgerTest, TheStoredAllocationCountsNotTheReserved) {
  Reservation reservation = MustReserve(Claim("a").Exclusive("gpu-0"));
  ledger_.Put(Claim("a").Exclusive("gpu-1"));  // somebody else was faster
  EXPECT_EQ(Usage("gpu-0"), nullptr);
  EXPECT_NE(Usage("gpu-1"), nullptr);
  reservation.Release();
  EXPECT_NE(Usage("gpu-1"), nullptr);
}

TEST_F(LedgerTest, ARemovedClaimGivesBackItsReservationToo) {
  Reservation reservation = MustReserve(Claim("a").Exclusive("gpu-0"));
  ledger_.Remove("uid-a");
  EXPECT_EQ(Usage("gpu-0"), nullptr);
  ledger_.Put(Claim("b").Exclusive("gpu-0"));
  reservation.Release();
  EXPECT_THAT(Holders("gpu-0"), ElementsAre("ns/b"));
}

// Kubernetes gave devices twice when a claim was deallocated and allocated again while the first
// attempt was still on its way: the end of the first undid the second.
TEST_F(LedgerTest, TheEndOfAnEarlierReservationDoesNotTouchALaterOne) {
  const Claim first = Claim("a").Exclusive("gpu-0");
  Reservation early = MustReserve(first);
  ledger_.Put(first);
  ledger_.Put(first.Pending());
  Reservation late = MustReserve(Claim("a").Exclusive("gpu-0"));
  early.Release();
  EXPECT_TRUE(ledger_.InFlight("uid-a"));
  EXPECT_THAT(Holders("gpu-0"), ElementsAre("ns/a"));
  EXPECT_THAT(WhyNot(Claim("b").Exclusive("gpu-0")), HasSubstr("taken by claim ns/a"));
}

TEST_F(LedgerTest, TheCommitOfAnEarlierReservationDoesNotKeepALaterOne) {
  const Claim first = Claim("a").Exclusive("gpu-0");
  Reservation early = MustReserve(first);
  ledger_.Put(first);
  ledger_.Put(first.Pending());
  {
    Reservation late = MustReserve(Claim("a").Exclusive("gpu-1"));
    early.Commit();
  }
  EXPECT_EQ(Usage("gpu-1"), nullptr);
  EXPECT_EQ(Usage("gpu-0"), nullptr);
}

struct RefusalCase {
  std::string name;
  Claim stored;
  Claim wanted;
  std::string why;
  friend void PrintTo(const RefusalCase& c, std::ostream* os) { *os << c.name; }
};
class LedgerRefusalTest : public LedgerTest, public ::testing::WithParamInterface<RefusalCase> {};

TEST_P(LedgerRefusalTest, SaysWhoHasIt) {
  ledger_.Put(GetParam().stored);
  const Snapshot before = ledger_.snapshot();
  EXPECT_EQ(WhyNot(GetParam().wanted), GetParam().why);
  const PoolId pool = dictionary_->InternPool(kDriver, "pool");
  const PoolUsage* now = ledger_.snapshot().Find(pool);
  ASSERT_EQ(now != nullptr, before.Find(pool) != nullptr);
  if (now != nullptr) {
    EXPECT_EQ(*now, *before.Find(pool)) << "nothing has changed";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Reserve, LedgerRefusalTest,
    ::testing::ValuesIn(std::vector<RefusalCase>{
        {"exclusive_on_exclusive", Claim("a").Exclusive("gpu-0"), Claim("b").Exclusive("gpu-0"),
         "claim ns/b: device gpu.example.com/pool/gpu-0 is taken by claim ns/a"},
        {"exclusive_on_share", Claim("a").Share("gpu-0"),
         Claim("b").Exclusive("gpu-1").Exclusive("gpu-0"),
         "claim ns/b: device gpu.example.com/pool/gpu-0 is taken by claim ns/a"},
        {"share_on_exclusive", Claim("a").Exclusive("gpu-0"), Claim("b").Share("gpu-0"),
         "claim ns/b: device gpu.example.com/pool/gpu-0 is taken by claim ns/a"},
        {"twice_in_one_allocation", Claim("a").Exclusive("gpu-9"),
         Claim("b").Exclusive("gpu-0").Exclusive("gpu-0"),
         "claim ns/b: device gpu.example.com/pool/gpu-0 is in the allocation twice"},
        {"allocated_already", Claim("a").Exclusive("gpu-0"), Claim("a").Exclusive("gpu-1"),
         "claim ns/a is allocated already"},
        {"allocated_without_devices", Claim("a").Allocated(), Claim("a").Exclusive("gpu-1"),
         "claim ns/a is allocated already"},
        {"share_on_share_is_fine", Claim("a").Share("gpu-0"), Claim("b").Share("gpu-0"),
         "reserved"},
        {"two_shares_of_one_device_are_fine", Claim("a").Share("gpu-0"),
         Claim("b").Share("gpu-0").Share("gpu-0"), "reserved"},
        {"admin_access_is_always_fine", Claim("a").Exclusive("gpu-0"), Claim("b").Admin("gpu-0"),
         "reserved"},
        {"another_pool_is_fine", Claim("a").In("node-2").Exclusive("gpu-0"),
         Claim("b").Exclusive("gpu-0"), "reserved"},
    }),
    [](const auto& info) { return info.param.name; });

TEST_F(LedgerTest, AClaimInFlightIsNotReservedAgain) {
  Reservation reservation = MustReserve(Claim("a").Exclusive("gpu-0"));
  EXPECT_EQ(WhyNot(Claim("a").Exclusive("gpu-1")), "claim ns/a is being allocated already");
  reservation.Commit();
  EXPECT_EQ(WhyNot(Claim("a").Exclusive("gpu-1")), "claim ns/a is being allocated already");
}

TEST_F(LedgerTest, ClaimsThatAreGoneLeaveNothingBehind) {
  ledger_.Put(Claim("stays").Exclusive("gpu-1"));
  const auto come_and_go = [&](int first, int count) {
    for (int i = first; i < first + count; ++i) {
      const api::ResourceClaim claim =
          Claim("a-claim-with-a-name-that-is-not-short-" + std::to_string(i)).Exclusive("gpu-0");
      ledger_.Put(claim);
      ASSERT_THAT(Holders("gpu-0"), ElementsAre("ns/" + claim.metadata.name));
      ledger_.Remove(claim.metadata.uid);
      if (i % 100 == 99) ledger_.Reclaim();
    }
  };
  come_and_go(0, 1000);
  const std::size_t ledger = ledger_.MemoryBytes();
  const std::size_t names = dictionary_->MemoryBytes();
  come_and_go(1000, 20'000);
  EXPECT_LE(ledger_.MemoryBytes(), ledger + ledger / 10);
  EXPECT_EQ(dictionary_->MemoryBytes(), names);
  EXPECT_THAT(Holders("gpu-1"), ElementsAre("ns/stays"));
}

TEST_F(LedgerTest, ASnapshotKeepsNamesUntilTheyAreReclaimed) {
  ledger_.Put(Claim("a").Exclusive("gpu-0"));
  const Snapshot before = ledger_.snapshot();
  const Holder holder = UsageIn(before, "gpu-0")->holders.front();
  ledger_.Remove("uid-a");
  ledger_.Put(Claim("b").Exclusive("gpu-0"));
  EXPECT_EQ(before.NameOf(holder), "ns/a");
}

}  // namespace
}  // namespace dray::ledger
