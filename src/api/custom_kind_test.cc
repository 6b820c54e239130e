// SPDX-License-Identifier: Apache-2.0
#include "api/custom_kind.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "api/json.h"

namespace dray::api {
namespace {

CustomKindNames Names(std::string version = "v1", std::string kind = "Widget") {
  return {.group = "atoms.example.com",
          .version = std::move(version),
          .kind = std::move(kind),
          .plural = "widgets",
          .namespaced = true};
}

TEST(CustomKinds, AreTheSameRowWheneverAsked) {
  const KindInfo* row = *CustomKind(Names());
  EXPECT_EQ(row, *CustomKind(Names()));
  EXPECT_EQ(row->ApiVersion(), "atoms.example.com/v1");
  EXPECT_TRUE(IsCustom(*row));
  EXPECT_EQ(FindKind("atoms.example.com/v1", "Widget"), row);
  EXPECT_EQ(FindKind("atoms.example.com/v9", "Widget"), nullptr);
}

TEST(CustomKinds, VersionsShareTheHubAndOtherKindsDoNot) {
  const KindInfo* first = *CustomKind(Names());
  const KindInfo* second = *CustomKind(Names("v2"));
  EXPECT_NE(first, second);
  EXPECT_EQ(first->hub, second->hub);
  EXPECT_EQ(&HubKind(*second->hub), first);
  EXPECT_NE((*CustomKind(Names("v1", "Gadget")))->hub, first->hub);
}

TEST(CustomKinds, ObjectsKeepWhatTheyWereSent) {
  const KindInfo* row = *CustomKind(Names());
  JsonDecoder decoder;
  constexpr std::string_view kText =
      R"({"apiVersion":"atoms.example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"b":[1,2.5,null]}})";
  auto object = DecodeObject(decoder, kText);
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ(&object->kind(), row);
  EXPECT_EQ(object->metadata().name, "a");
  EXPECT_EQ(object->ToJson(), kText);
  ASSERT_NE(CustomIn(*object), nullptr);
  EXPECT_EQ(object->ToJson(**CustomKind(Names("v2"))).find("atoms.example.com/v2"), 15U);
}

TEST(CustomKinds, MayBeAskedForFromManyThreads) {
  std::vector<std::thread> threads;
  std::vector<const KindInfo*> rows(8);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    threads.emplace_back([&rows, i] {
      for (int n = 0; n < 50; ++n) rows[i] = *CustomKind(Names("v" + std::to_string(n)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const KindInfo* row : rows) EXPECT_EQ(row, rows.front());
}

}  // namespace
}  // namespace dray::api
