// SPDX-License-Identifier: Apache-2.0
//
// The checker finds what cannot be true, and nothing in what can: a slow model, which tries every order,
// says which is which.
#include "parts/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "fmt/format.h"

namespace dray::parts {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = Operation::Kind;
using Outcome = Operation::Outcome;

Moment At(int second) { return Moment() + std::chrono::seconds(second); }

Operation Write(std::string value, std::int64_t revision, int began, int ended,
                Outcome outcome = Outcome::kDone) {
  return {.kind = Kind::kWrite,
          .name = "x",
          .value = std::move(value),
          .outcome = outcome,
          .revision = revision,
          .seen = "",
          .began = At(began),
          .ended = At(ended),
          .client = "c"};
}
Operation Read(std::string seen, std::int64_t revision, int began, int ended) {
  return {.kind = Kind::kRead,
          .name = "x",
          .value = "",
          .outcome = Outcome::kDone,
          .revision = revision,
          .seen = std::move(seen),
          .began = At(began),
          .ended = At(ended),
          .client = "c"};
}
Operation Delete(int began, int ended, Outcome outcome = Outcome::kDone) {
  return {.kind = Kind::kDelete,
          .name = "x",
          .value = "",
          .outcome = outcome,
          .revision = 0,
          .seen = "",
          .began = At(began),
          .ended = At(ended),
          .client = "c"};
}

std::vector<std::string> Check(const std::vector<Operation>& operations,
                               std::vector<Change> changes) {
  return Contradictions(operations, {{"x", std::move(changes)}});
}

TEST(History, WhatCanBeTrueIsNotComplainedAbout) {
  EXPECT_THAT(Check({Read("", 0, 0, 1), Write("a", 5, 1, 3), Read("", 0, 2, 3), Read("a", 5, 2, 4),
                     Write("b", 0, 5, 6, Outcome::kUnknown), Read("b", 7, 7, 8),
                     Write("c", 0, 7, 8, Outcome::kNotDone), Delete(9, 11), Read("b", 7, 10, 11),
                     Read("", 0, 12, 13), Write("d", 9, 13, 14)},
                    {{5, "a"}, {7, "b"}, {8, std::nullopt}, {9, "d"}}),
              IsEmpty());
}

TEST(History, EachFaultIsFound) {
  EXPECT_THAT(Check({Write("a", 5, 0, 1)}, {}),
              ElementsAre(HasSubstr("was acknowledged, and is not there")));
  EXPECT_THAT(Check({Write("a", 5, 0, 1, Outcome::kNotDone)}, {{5, "a"}}),
              ElementsAre(HasSubstr("is there, and was refused")));
  EXPECT_THAT(Check({Write("a", 0, 0, 1, Outcome::kUnknown)}, {{5, "a"}, {6, "a"}}),
              ElementsAre(HasSubstr("was done more than once")));
  EXPECT_THAT(Check({}, {{5, "a"}}), ElementsAre(HasSubstr("nobody has asked for \"a\"")));
  EXPECT_THAT(
      Check({Write("a", 5, 0, 1), Write("b", 6, 2, 3), Read("a", 5, 4, 5)}, {{5, "a"}, {6, "b"}}),
      ElementsAre(HasSubstr("is older than revision 6, which was known")));
  EXPECT_THAT(Check({Write("a", 6, 0, 1), Write("b", 5, 2, 3)}, {{5, "b"}, {6, "a"}}),
              ElementsAre(HasSubstr("is older than revision 6")));
  EXPECT_THAT(Check({Write("a", 5, 3, 4), Read("a", 5, 0, 1)}, {{5, "a"}}),
              ::testing::Contains(HasSubstr("saw what nobody had asked for yet")));
  EXPECT_THAT(Check({Write("a", 5, 0, 1), Read("b", 5, 2, 3)}, {{5, "a"}}),
              ElementsAre(HasSubstr("saw what never was")));
  EXPECT_THAT(Check({Write("a", 5, 0, 1), Read("", 0, 2, 3)}, {{5, "a"}}),
              ElementsAre(HasSubstr("found nothing, though revision 5 was known")));
  EXPECT_THAT(Check({Write("a", 5, 0, 1), Delete(2, 3)}, {{5, "a"}}),
              ElementsAre(HasSubstr("deleted 0 times, 1 deletions were acknowledged")));
  EXPECT_THAT(
      Check({Write("a", 5, 0, 1), Delete(2, 3, Outcome::kNotDone)}, {{5, "a"}, {6, std::nullopt}}),
      ElementsAre(HasSubstr("deleted 1 times, 0 deletions were acknowledged and 0 are open")));
  EXPECT_THAT(Check({Write("a", 5, 0, 1), Write("b", 6, 0, 1)}, {{6, "b"}, {5, "a"}}),
              ::testing::Contains(HasSubstr("the watch told revision 5 after 6")));
}

// A register that is right by construction: each operation takes effect at one moment between its
// beginning and its end.
struct Made {
  std::vector<Operation> operations;
  std::vector<Change> changes;
};
Made Random(std::mt19937_64& dice) {
  const auto upto = [&](int most) {
    return static_cast<int>(dice() % (static_cast<unsigned>(most) + 1));
  };
  struct Planned {
    Operation operation;
    int effect;
    bool done;
  };
  std::vector<Planned> planned;
  for (int i = 0; i < 3 + upto(12); ++i) {
    const int began = upto(40);
    const int effect = began + upto(6);
    const Kind kind = static_cast<Kind>(upto(2));
    Operation operation = Read("", 0, began, effect + upto(6));
    operation.kind = kind;
    if (kind == Kind::kWrite) operation.value = fmt::format("v{}", i);
    planned.push_back({operation, effect, true});
  }
  std::ranges::stable_sort(planned, {}, &Planned::effect);
  Made made;
  std::optional<std::string> now;
  std::int64_t revision = 4;
  std::int64_t at = 0;
  for (Planned& one : planned) {
    Operation& operation = one.operation;
    operation.outcome = Outcome::kDone;
    // A lost answer: the change comes when it likes, or never.
    const bool lost = operation.kind != Kind::kRead && upto(5) == 0;
    const bool done = !lost || upto(1) == 0;
    if (lost) operation.outcome = Outcome::kUnknown;
    if (operation.kind == Kind::kRead) {
      operation.seen = now.value_or("");
      operation.revision = now ? at : 0;
    } else if (operation.kind == Kind::kDelete && !now) {
      operation.outcome = Outcome::kNotDone;
    } else if (done) {
      now = operation.kind == Kind::kWrite ? std::optional(operation.value) : std::nullopt;
      at = ++revision;
      made.changes.push_back({revision, now});
      if (!lost && operation.kind == Kind::kWrite) operation.revision = revision;
    }
    made.operations.push_back(operation);
  }
  return made;
}

TEST(HistoryProperty, WhatHappenedInSomeOrderIsNeverComplainedAbout) {
  std::mt19937_64 dice(20261118);
  for (int i = 0; i < 20'000; ++i) {
    const Made made = Random(dice);
    ASSERT_THAT(Check(made.operations, made.changes), IsEmpty()) << i;
  }
}

// What a server does that shows its own old state: the read gets what was there before something that
// had ended when it began.
TEST(HistoryProperty, AStaleReadIsFound) {
  std::mt19937_64 dice(7);
  int planted = 0;
  for (int i = 0; i < 5'000; ++i) {
    Made made = Random(dice);
    for (Operation& read : made.operations) {
      if (read.kind != Kind::kRead || read.revision == 0) continue;
      // The newest write that was acknowledged before it began.
      std::int64_t known = 0;
      for (const Operation& write : made.operations) {
        if (write.kind == Kind::kWrite && write.outcome == Outcome::kDone &&
            write.ended < read.began) {
          known = std::max(known, write.revision);
        }
      }
      const Change* older = nullptr;
      for (const Change& change : made.changes) {
        if (change.value && change.revision < known) older = &change;
      }
      if (older == nullptr) continue;
      read.seen = *older->value;
      read.revision = older->revision;
      ++planted;
      EXPECT_FALSE(Check(made.operations, made.changes).empty()) << i;
      break;
    }
  }
  EXPECT_GT(planted, 500);
}

}  // namespace
}  // namespace dray::parts
