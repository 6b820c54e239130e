// SPDX-License-Identifier: Apache-2.0
#include "ledger/variation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "testing/claim_builder.h"

namespace dray::ledger {
namespace {

using testing::kDriver;
using Claim = testing::AllocatedClaim;

class VariationTest : public ::testing::Test {
 protected:
  PoolId Pool() const { return dictionary_->InternPool(kDriver, "pool"); }
  const DeviceUsage* Usage(const Snapshot& snapshot, std::string_view device) const {
    const PoolUsage* usage = snapshot.Find(Pool());
    return usage == nullptr ? nullptr : usage->Find(dictionary_->Intern(device));
  }

  std::shared_ptr<inventory::Dictionary> dictionary_ = std::make_shared<inventory::Dictionary>();
  Ledger ledger_{dictionary_};
};

TEST_F(VariationTest, ClaimsGiveBackWhatTheyHoldAndTheLedgerKeepsIt) {
  ledger_.Put(Claim("a").Exclusive("d1"));
  ledger_.Put(Claim("b").Exclusive("d2"));
  const PoolUsage before = *ledger_.snapshot().Find(Pool());
  Variation what_if(ledger_);
  what_if.TakeOut("uid-a");
  EXPECT_EQ(Usage(what_if.snapshot(), "d1"), nullptr);
  EXPECT_NE(Usage(what_if.snapshot(), "d2"), nullptr);
  what_if.PutBack("uid-a");
  EXPECT_EQ(*what_if.snapshot().Find(Pool()), before);
  EXPECT_EQ(*ledger_.snapshot().Find(Pool()), before);
}

TEST_F(VariationTest, AReservationCanBeTakenOutToo) {
  const Claim claim = Claim("a").Exclusive("d1");
  const auto reservation = ledger_.Reserve(claim.Pending(), claim.allocation());
  ASSERT_TRUE(reservation.ok()) << reservation.status();
  Variation what_if(ledger_);
  what_if.TakeOut("uid-a");
  EXPECT_EQ(what_if.snapshot().Find(Pool()), nullptr);
}

TEST_F(VariationTest, WhatIsKeptForSomebodyIsTakenWhoeverHasIt) {
  ledger_.Put(Claim("a").Exclusive("d1"));
  const Claim wanted = Claim("b").Exclusive("d1").Exclusive("d2");
  Variation what_if(ledger_);
  what_if.Add("ns/b", wanted.allocation());
  const DeviceUsage* both = Usage(what_if.snapshot(), "d1");
  ASSERT_NE(both, nullptr);
  EXPECT_EQ(both->exclusive, 2u);
  what_if.TakeOut("uid-a");
  const DeviceUsage* one = Usage(what_if.snapshot(), "d1");
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(one->exclusive, 1u);
  EXPECT_EQ(what_if.snapshot().NameOf(one->holders[0]), "ns/b");
  EXPECT_EQ(Usage(ledger_.snapshot(), "d2"), nullptr);
}

TEST_F(VariationTest, WhatIsUnknownOrDoneTwiceChangesNothing) {
  ledger_.Put(Claim("a").Exclusive("d1"));
  const PoolUsage* before = ledger_.snapshot().Find(Pool());
  Variation what_if(ledger_);
  what_if.TakeOut("uid-nobody");
  what_if.PutBack("uid-a");
  EXPECT_EQ(what_if.snapshot().Find(Pool()), before);
  what_if.TakeOut("uid-a");
  what_if.TakeOut("uid-a");
  EXPECT_EQ(what_if.snapshot().Find(Pool()), nullptr);
  what_if.TakeOut("uid-a");
  what_if.PutBack("uid-a");
  EXPECT_NE(Usage(what_if.snapshot(), "d1"), nullptr);
}

}  // namespace
}  // namespace dray::ledger
