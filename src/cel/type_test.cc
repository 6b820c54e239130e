// SPDX-License-Identifier: Apache-2.0
#include "cel/type.h"

#include <gtest/gtest.h>

#include "cel/internal/unifier.h"
#include "cel/library_reader.h"

namespace dray::cel {
namespace {

TEST(Type, HasTheNamesThatMessagesUse) {
  TypePool pool;
  const Type attributes = pool.Map(Type::String(), pool.Map(Type::String(), Type::Any()));
  EXPECT_EQ(attributes.ToMessage(), "map(string, map(string, any))");
  EXPECT_EQ(attributes.ToString(), "map(string, map(string, google.protobuf.Any))");
  EXPECT_EQ(Type::Null().ToMessage(), "null");
  EXPECT_EQ(Type::Null().ToString(), "null_type");
  EXPECT_EQ(pool.List(Type::Duration()).ToMessage(), "list(duration)");
  EXPECT_EQ(pool.TypeOf(pool.Optional(Type::Int())).ToString(), "type(optional_type(int))");
  EXPECT_EQ(pool.Opaque("net.IP").ToString(), "net.IP");
  EXPECT_EQ(Type::Wrapper(TypeKind::kInt).ToString(), "wrapper(int)");
}

TEST(Type, IsEqualAcrossPools) {
  TypePool a, b;
  EXPECT_EQ(a.List(Type::Int()), b.List(Type::Int()));
  EXPECT_NE(a.List(Type::Int()), b.List(Type::Uint()));
  EXPECT_NE(a.Object("x"), b.Opaque("x"));
  EXPECT_EQ(Type::Wrapper(TypeKind::kInt), Type::Int());
}

TEST(Type, CountsSharedPartsEachTime) {
  TypePool pool;
  Type type = Type::Int();
  for (int i = 0; i < 40; ++i) type = pool.Map(type, type);
  EXPECT_EQ(type.size(), 0xffffffff);
}

class UnifierTest : public ::testing::Test {
 protected:
  Type Read(std::string_view text) { return ReadType(text, pool_); }
  bool Assign(std::string_view from, std::string_view to) {
    return unifier_.Assign(Read(from), Read(to));
  }

  TypePool pool_;
  internal::Unifier unifier_{pool_};
};

TEST_F(UnifierTest, DynGoesBothWays) {
  EXPECT_TRUE(Assign("dyn", "int"));
  EXPECT_TRUE(Assign("int", "any"));
  EXPECT_TRUE(Assign("list(dyn)", "list(string)"));
  EXPECT_FALSE(Assign("list(int)", "list(string)"));
  EXPECT_FALSE(Assign("list(int)", "map(int, int)"));
}

TEST_F(UnifierTest, NullGoesWhereAnObjectIsWanted) {
  EXPECT_TRUE(Assign("null", "timestamp"));
  EXPECT_TRUE(Assign("null", "kubernetes.Semver"));
  EXPECT_TRUE(Assign("optional_type(int)", "null"));
  EXPECT_FALSE(Assign("null", "string"));
  EXPECT_FALSE(Assign("null", "list(int)"));
}

TEST_F(UnifierTest, AParameterStandsForWhatItMet) {
  const Type param = unifier_.NewTypeParam();
  EXPECT_TRUE(unifier_.Assign(Type::Int(), param));
  EXPECT_FALSE(unifier_.Assign(Type::String(), param));
  EXPECT_EQ(unifier_.Resolve(pool_.List(param)), Read("list(int)"));
}

TEST_F(UnifierTest, AParameterBecomesMoreGeneral) {
  const Type param = unifier_.NewTypeParam();
  EXPECT_TRUE(unifier_.Assign(Type::Int(), param));
  EXPECT_TRUE(unifier_.Assign(Type::Dyn(), param));
  EXPECT_EQ(unifier_.Resolve(param), Type::Dyn());
}

TEST_F(UnifierTest, AFailureChangesNothing) {
  const Type param = unifier_.NewTypeParam();
  const Type from[] = {Type::Int(), Type::String()};
  const Type to[] = {param, Type::Bool()};
  EXPECT_FALSE(unifier_.AssignAll(from, to));
  EXPECT_EQ(unifier_.Resolve(param), param);
  EXPECT_EQ(unifier_.ResolveOrDyn(param), Type::Dyn());
}

TEST_F(UnifierTest, AParameterDoesNotOccurInItself) {
  const Type param = unifier_.NewTypeParam();
  EXPECT_FALSE(unifier_.Assign(pool_.List(param), param));
}

TEST_F(UnifierTest, ChainsThatDoubleEnd) {
  Type below = unifier_.NewTypeParam();
  const Type first = below;
  for (int i = 0; i < 60; ++i) {
    const Type next = unifier_.NewTypeParam();
    EXPECT_TRUE(unifier_.Assign(pool_.Map(next, next), below) || unifier_.gave_up());
    below = next;
  }
  unifier_.Resolve(first);
  EXPECT_TRUE(unifier_.gave_up());
}

}  // namespace
}  // namespace dray::cel
