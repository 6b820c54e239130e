// SPDX-License-Identifier: Apache-2.0
#include "cel/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cel/device_env.h"
#include "cel/library_reader.h"

namespace dray::cel {
namespace {

using ::testing::IsNull;
using ::testing::NotNull;

TEST(Library, OverloadsAreReadWithTheirTypeParameters) {
  TypePool pool;
  const Overload global = ReadOverload("f_a (A, list(B)) -> map(A, B)", pool);
  EXPECT_EQ(global.id, "f_a");
  EXPECT_EQ(global.type_params, 2u);
  EXPECT_FALSE(global.member);
  const Overload member = ReadOverload("f_m net.IP.(int) -> bool", pool);
  EXPECT_TRUE(member.member);
  EXPECT_EQ(member.params[0], pool.Opaque("net.IP"));
  EXPECT_EQ(member.result, Type::Bool());
}

TEST(DeviceEnvironment, FeaturesChangeWhatThereIs) {
  const auto all = DeviceEnvironment({.kubernetes_only = true});
  const auto none = DeviceEnvironment(
      {.consumable_capacity = false, .list_type_attributes = false, .kubernetes_only = true});
  const auto field = [](const Environment& environment, std::string_view name) {
    return environment.FindObject(kDeviceTypeName)->FindField(name);
  };
  EXPECT_THAT(all->FindFunction("includes"), NotNull());
  EXPECT_THAT(none->FindFunction("includes"), IsNull());
  EXPECT_THAT(field(*all, "allowMultipleAllocations"), NotNull());
  EXPECT_THAT(field(*none, "allowMultipleAllocations"), IsNull());
  EXPECT_EQ(field(*all, "attributes")->type.ToString(), "map(string, map(string, dyn))");
  EXPECT_EQ(field(*none, "attributes")->type.ToMessage(), "map(string, map(string, any))");
}

TEST(DeviceEnvironment, DrayAddsANameAndInclude) {
  const auto ours = DeviceEnvironment({});
  const auto theirs = DeviceEnvironment({.kubernetes_only = true});
  EXPECT_THAT(ours->FindObject(kDeviceTypeName)->FindField("name"), NotNull());
  EXPECT_THAT(ours->FindFunction("include"), NotNull());
  EXPECT_THAT(theirs->FindObject(kDeviceTypeName)->FindField("name"), IsNull());
  EXPECT_THAT(theirs->FindFunction("include"), IsNull());
}

TEST(DeviceEnvironment, IsMadeOnce) { EXPECT_EQ(DeviceEnvironment({}), DeviceEnvironment({})); }

TEST(DeviceEnvironment, OnlyTypesOfTheLanguageAreIdentifiers) {
  const auto environment = DeviceEnvironment({});
  EXPECT_THAT(environment->FindTypeName("net.IP"), NotNull());
  EXPECT_THAT(environment->FindTypeName("google.protobuf.Duration"), NotNull());
  EXPECT_THAT(environment->FindTypeName("kubernetes.Quantity"), IsNull());
}

}  // namespace
}  // namespace dray::cel
