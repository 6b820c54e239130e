// SPDX-License-Identifier: Apache-2.0
#include "plane/identities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registry/roles.h"

namespace dray::plane {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

api::UserInfo UserOf(std::string_view who, std::string_view node = "") {
  const auto client = ClientFor(who, node);
  EXPECT_TRUE(client.ok()) << client.status();
  return client.ok() ? api::UserInfo{client->user, client->groups} : api::UserInfo{};
}

TEST(Identities, AreKnownToTheRoles) {
  EXPECT_EQ(registry::NodeOf(UserOf("node/n1")), "n1");
  EXPECT_EQ(registry::DriverOf(UserOf("node/n1")), "");
  EXPECT_EQ(registry::DriverOf(UserOf("driver/gpu.example.com")), "gpu.example.com");
  EXPECT_EQ(registry::NodeOf(UserOf("driver/gpu.example.com")), "");
  EXPECT_EQ(registry::DriverOf(UserOf("driver/gpu.example.com", "n1")), "gpu.example.com");
  EXPECT_EQ(registry::NodeOf(UserOf("driver/gpu.example.com", "n1")), "n1");
  EXPECT_THAT(UserOf("viewer/eve").groups, ElementsAre("dray:viewers"));
  EXPECT_THAT(UserOf("admin/ann").groups, ElementsAre("system:masters"));
}

TEST(Identities, WhatIsWrongIsSaid) {
  const auto message = [](std::string_view who, std::string_view node = "") {
    return ClientFor(who, node).status().ToString();
  };
  EXPECT_THAT(message("robot/r2"), HasSubstr("expected node/NAME, driver/NAME"));
  EXPECT_THAT(message("node"), HasSubstr("expected node/NAME"));
  EXPECT_THAT(message("node/../x"), HasSubstr("lower-case letters"));
  EXPECT_THAT(message("viewer/system:masters"), HasSubstr("lower-case letters"));
  EXPECT_THAT(message("node/n1", "n2"), HasSubstr("for a driver, not for node/n1"));
}

}  // namespace
}  // namespace dray::plane
