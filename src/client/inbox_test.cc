// SPDX-License-Identifier: Apache-2.0
#include "client/internal/inbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "api/pod.h"
#include "base/clock.h"

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
  const base::ManualClock clock;
  Inbox inbox(2, nullptr, clock, std::chrono::seconds(75));
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
  const base::ManualClock clock;
  Inbox inbox(
      2, [&] { ++woken; }, clock, std::chrono::seconds(75));
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

// A connection that stands and says nothing is no better than none.
TEST(Inbox, AFeedOfWhichNothingIsHeardIsTrouble) {
  base::ManualClock clock;
  Inbox inbox(2, nullptr, clock, std::chrono::seconds(75));
  inbox.Put(0, {}, 1);
  inbox.Put(1, {}, 1);
  clock.Advance(std::chrono::seconds(75));
  EXPECT_TRUE(inbox.Trouble().ok());
  inbox.Put(0, {}, 2);  // a bookmark
  clock.Advance(std::chrono::seconds(1));
  EXPECT_EQ(base::Message(inbox.Trouble()),
            "a watch: the server has said nothing for more than 75 s");
  inbox.SetTrouble(1, {});  // the watch was begun anew
  EXPECT_TRUE(inbox.Trouble().ok());
  // Of a kind that the server does not have nothing is to be heard.
  inbox.SetAbsent(0);
  clock.Advance(std::chrono::seconds(70));
  EXPECT_TRUE(inbox.Trouble().ok());
}

}  // namespace
}  // namespace dray::client::internal
