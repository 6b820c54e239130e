// SPDX-License-Identifier: Apache-2.0
#include "plane/store_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace dray::plane {
namespace {

using ::dray::testing::IsOkAndHolds;
using ::dray::testing::StatusIs;
using ::testing::HasSubstr;
using Kind = StoreAddress::Kind;

TEST(StoreAddress, IsAFileMemoryOrEtcd) {
  EXPECT_THAT(StoreAddress::Parse("sqlite:/var/lib/dray.db"),
              IsOkAndHolds(StoreAddress{.kind = Kind::kSqlite, .path = "/var/lib/dray.db"}));
  EXPECT_THAT(StoreAddress::Parse("memory"), IsOkAndHolds(StoreAddress::Memory()));
  EXPECT_THAT(StoreAddress::Parse("etcd://a:2379,[::1]:2380"),
              IsOkAndHolds(StoreAddress{.kind = Kind::kEtcd,
                                        .path = "",
                                        .endpoints = {"a:2379", "[::1]:2380"},
                                        .prefix = "/dray"}));
  EXPECT_EQ(StoreAddress::Parse("etcd://a:2379/blue/green/")->prefix, "/blue/green");
  EXPECT_EQ(StoreAddress::Parse("etcd://a:2379/")->prefix, "/dray");
  EXPECT_TRUE(StoreAddress::Parse("etcds://a:2379")->tls);
  EXPECT_EQ(StoreAddress::In(StoreAddress::Parse("etcds://a:2379,b:1/blue")->Etcd()),
            *StoreAddress::Parse("etcds://a:2379,b:1/blue"));
}

TEST(StoreAddress, WhatIsNoneIsToldWhatWouldBe) {
  for (const char* text : {"", "sqlite:", "mysql://a", "/var/lib/dray.db"}) {
    EXPECT_THAT(StoreAddress::Parse(text),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("must be sqlite:FILE")))
        << text;
  }
  for (const char* text : {"etcd://", "etcd://a", "etcd://a:", "etcd://a:0", "etcd://a:1,",
                           "etcd://:1", "etcd://a:99999", "etcd://a:1x"}) {
    EXPECT_THAT(StoreAddress::Parse(text),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("a host and a port")))
        << text;
  }
}

TEST(StoreAddress, WithoutOneItIsInTheDataFolder) {
  EXPECT_EQ(StoreAddress().File("/d"), "/d/dray.db");
  EXPECT_EQ(StoreAddress().Text("/d"), "/d/dray.db");
  EXPECT_EQ(StoreAddress::Memory().File("/d"), "");
  EXPECT_EQ(StoreAddress::Parse("etcds://a:2379,b:1/blue")->Text("/d"),
            "etcd at a:2379, b:1 over TLS, keys below /blue");
}

}  // namespace
}  // namespace dray::plane
