// SPDX-License-Identifier: Apache-2.0
#include "allocator/transport.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace dray::allocator {
namespace {

using base::BitSet;

struct Question {
  std::vector<std::uint32_t> supply;
  std::vector<std::uint32_t> bucket;  // by item
  std::vector<std::uint32_t> room;
  struct Group {
    std::uint32_t need = 0;
    BitSet allowed;
  };
  std::vector<Group> groups;
};

bool Answer(Transport& transport, const Question& question) {
  transport.Reset(question.supply.size(), question.room.size());
  for (std::size_t b = 0; b < question.room.size(); ++b) transport.SetBucket(b, question.room[b]);
  for (std::size_t i = 0; i < question.supply.size(); ++i) {
    transport.SetItem(i, question.supply[i], question.bucket[i]);
  }
  for (const auto& group : question.groups) transport.AddGroup(group.need, group.allowed);
  return transport.Feasible();
}

// Every way to give one group after the other its items.
bool Enumerate(const Question& question, std::size_t group, std::size_t item, std::uint32_t have,
               std::vector<std::uint32_t>& supply, std::vector<std::uint32_t>& room) {
  if (group == question.groups.size()) return true;
  const auto& asking = question.groups[group];
  if (have == asking.need) return Enumerate(question, group + 1, 0, 0, supply, room);
  for (; item < supply.size(); ++item) {
    const std::uint32_t bucket = question.bucket[item];
    if (!asking.allowed.Test(item) || supply[item] == 0) continue;
    if (bucket != Transport::kNoBucket && room[bucket] == 0) continue;
    --supply[item];
    if (bucket != Transport::kNoBucket) --room[bucket];
    const bool fits = Enumerate(question, group, item + 1, have + 1, supply, room);
    ++supply[item];
    if (bucket != Transport::kNoBucket) ++room[bucket];
    if (fits) return true;
  }
  return false;
}

TEST(Transport, AgreesWithEnumeration) {
  constexpr int kQuestions = 20'000;
  std::mt19937_64 random(7);
  const auto upto = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % (n + 1)); };
  Transport transport;
  int feasible = 0;
  for (int n = 0; n < kQuestions; ++n) {
    Question question;
    const std::uint32_t items = 1 + upto(5);
    for (std::uint32_t b = upto(2); b > 0; --b) question.room.push_back(upto(3));
    for (std::uint32_t i = 0; i < items; ++i) {
      question.supply.push_back(upto(2));
      const auto buckets = static_cast<std::uint32_t>(question.room.size());
      const std::uint32_t bucket = upto(buckets);
      question.bucket.push_back(bucket == buckets ? Transport::kNoBucket : bucket);
    }
    for (std::uint32_t g = 1 + upto(3); g > 0; --g) {
      BitSet allowed(items);
      for (std::uint32_t i = 0; i < items; ++i) allowed.Assign(i, upto(2) != 0);
      question.groups.push_back({upto(3), allowed});
    }
    auto supply = question.supply;
    auto room = question.room;
    const bool wanted = Enumerate(question, 0, 0, 0, supply, room);
    feasible += static_cast<int>(wanted);
    ASSERT_EQ(Answer(transport, question), wanted) << "question " << n;
  }
  EXPECT_GT(feasible, kQuestions / 10);
  EXPECT_LT(feasible, kQuestions * 9 / 10);
}

TEST(Transport, AGroupDoesNotHaveOneItemTwice) {
  BitSet one(1);
  one.Set(0);
  Transport transport;
  EXPECT_FALSE(
      Answer(transport,
             {.supply = {5}, .bucket = {Transport::kNoBucket}, .room = {}, .groups = {{2, one}}}));
  EXPECT_TRUE(Answer(transport, {.supply = {5},
                                 .bucket = {Transport::kNoBucket},
                                 .room = {},
                                 .groups = {{1, one}, {1, one}}}));
}

}  // namespace
}  // namespace dray::allocator
