// SPDX-License-Identifier: Apache-2.0
#include "client/internal/inbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/pod.h"

namespace dray::client::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Inbox::Item Item(std::uint64_t revision, const std::string& name) {
  api::Pod pod;
  pod.metadata.name = name;
  return {revision, {api::Change::Kind::kAdded, api::Object::Of(pod)}};
}

std::vector<std::string> Taken(Inbox& inbox) {
  std::vector<std::string> names;
  for (const api::Change& change : inbox.Take()) names.push_back(change.object.metadata().name);
  return names;
}

TEST(Inbox, WhatLiesTogetherIsInTheOrderOfRevisions) {
  Inbox inbox(2, nullptr);
  inbox.Put(0, {Item(0, "first"), Item(5, "e"), Item(9, "i")}, 9);
  inbox.Put(1, {Item(0, "second"), Item(3, "c"), Item(6, "f")}, 6);
  EXPECT_THAT(Taken(inbox), ElementsAre("first", "second", "c", "e", "f", "i"));
  EXPECT_EQ(inbox.Progress(), 6u);
  // Too late to be sorted in, but told.
  inbox.Put(1, {Item(7, "g")}, 7);
  EXPECT_THAT(Taken(inbox), ElementsAre("g"));
}

TEST(Inbox, TellsNothingBeforeEveryFeedWasListed) {
  int woken = 0;
  Inbox inbox(2, [&] { ++woken; });
  inbox.Put(0, {Item(0, "a")}, 1);
  EXPECT_THAT(Taken(inbox), IsEmpty());
  EXPECT_EQ(inbox.Progress(), 0u);
  inbox.Put(1, {}, 1);
  EXPECT_EQ(woken, 2);
  EXPECT_THAT(Taken(inbox), ElementsAre("a"));
  // A bookmark is no news.
  inbox.Put(1, {}, 8);
  EXPECT_EQ(woken, 2);
}

}  // namespace
}  // namespace dray::client::internal
