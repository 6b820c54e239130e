// SPDX-License-Identifier: Apache-2.0
//
// Each judge finds what is wrong and complains about nothing else: truths are made at random, clients are
// played that see them as they are, and then a lie is planted.
#include "parts/judges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <random>

#include "fmt/format.h"

namespace dray::parts {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

StoredChange Put(std::string key, std::string value) {
  return {.key = std::move(key), .value = std::move(value)};
}
StoredChange Gone(std::string key) { return {.key = std::move(key), .value = "", .deleted = true}; }

StoredChange Claim(const std::string& name, const std::vector<std::string>& devices,
                   const std::string& uid = "u", std::string_view extra = "") {
  std::string results;
  for (const std::string& device : devices) {
    results += fmt::format(R"({}{{"request":"r","driver":"d","pool":"p","device":"{}"{}}})",
                           results.empty() ? "" : ",", device, extra);
  }
  const std::string status =
      devices.empty()
          ? "{}"
          : fmt::format(R"({{"allocation":{{"devices":{{"results":[{}]}}}}}})", results);
  return Put("/registry/resource.k8s.io/resourceclaims/ns/" + name,
             fmt::format(R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":)"
                         R"({{"name":"{}","namespace":"ns","uid":"{}"}},"spec":{{}},"status":{}}})",
                         name, uid, status));
}
StoredChange ClaimGone(const std::string& name) {
  return Gone("/registry/resource.k8s.io/resourceclaims/ns/" + name);
}
StoredChange Pod(const std::string& name, const std::string& node, const std::string& uid = "u",
                 const std::string& phase = "Pending") {
  return Put("/registry/core/pods/ns/" + name,
             fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":)"
                         R"("ns","uid":"{}"}},"spec":{{"nodeName":"{}","containers":[]}},"status":)"
                         R"({{"phase":"{}"}}}})",
                         name, uid, node, phase));
}
StoredChange Map(const std::string& name, const std::string& value, const std::string& space) {
  return Put(fmt::format("/registry/core/configmaps/{}/{}", space, name),
             fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}",)"
                         R"("namespace":"{}"}},"data":{{"v":"{}"}}}})",
                         name, space, value));
}
StoredChange Quota(const std::string& hard) {
  return Put("/registry/core/resourcequotas/ns/q",
             fmt::format(R"({{"apiVersion":"v1","kind":"ResourceQuota","metadata":{{"name":"q",)"
                         R"("namespace":"ns"}},"spec":{{"hard":{{{}}}}}}})",
                         hard));
}

template <typename J>
Complaints Of(const std::vector<std::vector<StoredChange>>& revisions) {
  J judge;
  std::int64_t revision = 1;
  for (const auto& changes : revisions) judge.On({.revision = ++revision, .changes = changes});
  return judge.complaints();
}

TEST(DeviceJudge, ADeviceThatIsGivenTwiceIsFound) {
  EXPECT_THAT(Of<DeviceJudge>({{Claim("a", {"g0", "g1"})}, {Claim("b", {"g1"})}}),
              ElementsAre(HasSubstr("d/p/g1 is given to /registry/resource.k8s.io/resourceclaims/"
                                    "ns/b at 3")));
  // In one revision, whoever comes first in it.
  EXPECT_EQ(Of<DeviceJudge>({{Claim("a", {"g0"}), Claim("b", {"g0"})}}).size(), 1U);
  EXPECT_EQ(Of<DeviceJudge>({{Claim("a", {"g0"})}, {Claim("a", {"g1"})}}).size(), 1U);
}

TEST(DeviceJudge, ADeviceThatCameBackMayBeGivenAgain) {
  EXPECT_THAT(Of<DeviceJudge>({{Claim("a", {"g0"})}, {Claim("a", {})}, {Claim("b", {"g0"})}}),
              IsEmpty());
  EXPECT_THAT(Of<DeviceJudge>({{Claim("a", {"g0"})}, {ClaimGone("a")}, {Claim("b", {"g0"})}}),
              IsEmpty());
  EXPECT_THAT(Of<DeviceJudge>({{Claim("a", {"g0"})}, {Claim("b", {"g0"}), ClaimGone("a")}}),
              IsEmpty());
  EXPECT_THAT(Of<DeviceJudge>({{Claim("a", {"g0"})}, {Claim("a", {"g1"}, "another")}}), IsEmpty());
  const std::string_view admin = R"(,"adminAccess":true)";
  EXPECT_THAT(Of<DeviceJudge>({{Claim("a", {"g0"})}, {Claim("b", {"g0"}, "u", admin)}}), IsEmpty());
}

TEST(BindingJudge, APodThatIsMovedIsFound) {
  EXPECT_THAT(Of<BindingJudge>({{Pod("p", "")}, {Pod("p", "n1")}, {Pod("p", "n1")}}), IsEmpty());
  EXPECT_THAT(Of<BindingJudge>({{Pod("p", "n1")}, {Pod("p", "n2", "another")}}), IsEmpty());
  EXPECT_THAT(Of<BindingJudge>({{Pod("p", "n1")}, {Pod("p", "n2")}}),
              ElementsAre(HasSubstr("is on n1, and on n2 at 3")));
}

TEST(QuotaJudge, WhatIsMoreThanAllowedIsFound) {
  EXPECT_THAT(Of<QuotaJudge>({{Quota(R"("pods":"1")")}, {Pod("a", "")}, {Pod("b", "")}}),
              ElementsAre(HasSubstr("namespace ns has 2 pods at 4, quota q allows 1")));
  EXPECT_THAT(Of<QuotaJudge>(
                  {{Quota(R"("count/configmaps":"1")")}, {Map("a", "", "ns"), Map("b", "", "ns")}}),
              ElementsAre(HasSubstr("has 2 count/configmaps")));
  EXPECT_THAT(
      Of<QuotaJudge>({{Quota(R"("count/resourceclaims.resource.k8s.io":"0")")}, {Claim("a", {})}}),
      ElementsAre(HasSubstr("allows 0")));
}

TEST(QuotaJudge, WhatIsAllowedIsNotComplainedAbout) {
  EXPECT_THAT(Of<QuotaJudge>({{Quota(R"("pods":"1","count/pods":"2")")},
                              {Pod("a", "")},
                              {Pod("a", "", "u", "Succeeded")},
                              {Pod("b", "")},
                              {Gone("/registry/core/pods/ns/a")},
                              {Map("a", "", "ns")}}),
              IsEmpty());
  // What was there before the quota may stay, and what is in other namespaces is not its business.
  EXPECT_THAT(Of<QuotaJudge>({{Pod("a", ""), Pod("b", "")},
                              {Quota(R"("pods":"1")")},
                              {Pod("a", "n1")},
                              {Map("a", "", "other")}}),
              IsEmpty());
}

TEST(RegisterTruth, IsWhatWasStored) {
  RegisterTruth judge("ns");
  judge.On({.revision = 2, .changes = {Map("a", "1", "ns"), Map("b", "x", "other")}});
  judge.On({.revision = 3, .changes = {Gone("/registry/core/configmaps/ns/a")}});
  ASSERT_EQ(judge.truth().size(), 1U);
  EXPECT_EQ(judge.truth().at("a")[0].value, "1");
  EXPECT_EQ(judge.truth().at("a")[1].value, std::nullopt);
  EXPECT_THAT(judge.complaints(), IsEmpty());
}

// A few names that change, several of them at one revision now and then.
Truth Random(std::mt19937_64& dice, std::int64_t revisions) {
  Truth truth;
  for (std::int64_t revision = 1; revision <= revisions; ++revision) {
    const std::size_t changes = dice() % 4 == 0 ? 3 : 1;
    for (std::size_t i = 0; i < changes; ++i) {
      auto& all = truth[fmt::format("r{}", dice() % 5)];
      if (!all.empty() && all.back().revision == revision) continue;
      const bool there = !all.empty() && all.back().value.has_value();
      Change change{.revision = revision};
      if (!there || dice() % 3 != 0) change.value = fmt::format("v{}-{}", revision, i);
      all.push_back(std::move(change));
    }
  }
  return truth;
}

// Who sees everything, and goes on now and then where it was.
Watched Follow(const Truth& truth, std::int64_t from, std::int64_t upto, std::mt19937_64& dice) {
  std::map<std::int64_t, std::vector<Shown>> all;
  for (const auto& [name, changes] : truth) {
    bool there = false;
    for (const Change& change : changes) {
      const bool was = std::exchange(there, change.value.has_value());
      if (change.revision <= from || change.revision > upto) continue;
      all[change.revision].push_back({.type = !there ? "DELETED"
                                              : was  ? "MODIFIED"
                                                     : "ADDED",
                                      .name = name,
                                      .revision = change.revision,
                                      .value = change.value.value_or("")});
    }
  }
  Watched watched{.client = "w", .from = from, .events = {}, .complete = upto};
  watched.resumed.insert(from);
  // What the list has is told again where several changes share its revision.
  std::vector<Shown> listed;
  for (const auto& [name, changes] : truth) {
    for (const Change& change : changes) {
      if (change.revision == from) listed.push_back({"MODIFIED", name, from, ""});
    }
  }
  if (listed.size() > 1) watched.events = listed;
  for (auto& [revision, shown] : all) {
    std::ranges::shuffle(shown, dice);
    for (const Shown& one : shown) watched.events.push_back(one);
    if (dice() % 5 != 0) continue;
    watched.resumed.insert(revision);
    // Nobody knows what of it had arrived.
    if (dice() % 2 == 0) watched.events.push_back(shown.front());
  }
  return watched;
}

Listing ListOf(const Truth& truth, std::int64_t at) {
  Listing listing{.client = "l", .revision = at, .items = {}};
  for (const auto& [name, changes] : truth) {
    for (const Change& change : changes) {
      if (change.revision > at) break;
      listing.items.erase(name);
      if (change.value) listing.items[name] = {change.revision, *change.value};
    }
  }
  return listing;
}

TEST(ShownProperty, WhatWasShownAsItWasIsNotComplainedAbout) {
  std::mt19937_64 dice(1160);
  for (int i = 0; i < 3'000; ++i) {
    const Truth truth = Random(dice, 30);
    const auto from = static_cast<std::int64_t>(dice() % 20);
    const auto upto = from + static_cast<std::int64_t>(dice() % 10);
    Watched watched = Follow(truth, from, upto, dice);
    ASSERT_THAT(CheckWatched(watched, truth), IsEmpty()) << i;
    ASSERT_THAT(CheckListing(ListOf(truth, from), truth), IsEmpty()) << i;
    // Broken off within a revision, and not told that there was nothing else.
    watched.complete = watched.from;
    if (!watched.events.empty()) watched.events.pop_back();
    ASSERT_THAT(CheckWatched(watched, truth), IsEmpty()) << i;
  }
}

// How often a lie about a watch was planted, and that it was found each time.
int Planted(const std::function<bool(Watched&, std::mt19937_64&)>& lie) {
  std::mt19937_64 dice(7);
  int planted = 0;
  for (int i = 0; i < 500; ++i) {
    const Truth truth = Random(dice, 30);
    Watched watched = Follow(truth, 3, 30, dice);
    if (watched.events.size() < 4 || !lie(watched, dice)) continue;
    ++planted;
    EXPECT_FALSE(CheckWatched(watched, truth).empty()) << i;
  }
  return planted;
}

TEST(ShownProperty, EveryLieAboutAWatchIsFound) {
  const auto any = [](Watched& watched, std::mt19937_64& dice) -> Shown& {
    return watched.events[dice() % watched.events.size()];
  };
  // Not told again, neither of the list.
  const auto once = [](const Watched& watched, const Shown& one) {
    return one.revision != watched.from &&
           std::ranges::count_if(watched.events, [&](const Shown& other) {
             return other.revision == one.revision && other.name == one.name;
           }) == 1;
  };
  EXPECT_GT(Planted([&](Watched& watched, std::mt19937_64& dice) {  // lost
              const std::size_t at = dice() % watched.events.size();
              if (!once(watched, watched.events[at])) return false;
              watched.events.erase(watched.events.begin() + static_cast<std::ptrdiff_t>(at));
              return true;
            }),
            300);
  EXPECT_GT(Planted([&](Watched& watched, std::mt19937_64& dice) {  // doubled
              const Shown one = any(watched, dice);
              if (watched.resumed.contains(one.revision)) return false;
              watched.events.push_back(one);
              return true;
            }),
            300);
  EXPECT_GT(Planted([&](Watched& watched, std::mt19937_64& dice) {  // out of order
              const std::size_t at = dice() % (watched.events.size() - 1);
              if (watched.events[at].revision == watched.events[at + 1].revision) return false;
              std::swap(watched.events[at], watched.events[at + 1]);
              return true;
            }),
            200);
  EXPECT_GT(Planted([&](Watched& watched, std::mt19937_64& dice) {  // as something else
              Shown& one = any(watched, dice);
              if (!once(watched, one)) return false;
              one.type = one.type == "ADDED" ? "MODIFIED" : "ADDED";
              return true;
            }),
            300);
  EXPECT_GT(Planted([&](Watched& watched, std::mt19937_64& dice) {  // with another value
              Shown& one = any(watched, dice);
              if (one.type == "DELETED" || !once(watched, one)) return false;
              one.value += "?";
              return true;
            }),
            200);
  EXPECT_GT(Planted([&](Watched& watched, std::mt19937_64& dice) {  // at another revision
              Shown& one = any(watched, dice);
              if (!once(watched, one)) return false;
              one.revision = 31;
              return true;
            }),
            300);
}

TEST(ShownProperty, EveryLieAboutAListIsFound) {
  std::mt19937_64 dice(8);
  int planted = 0;
  for (int i = 0; i < 500; ++i) {
    const Truth truth = Random(dice, 30);
    const Listing right = ListOf(truth, 20);
    if (right.items.size() < 2) continue;
    ++planted;
    const auto item =
        std::next(right.items.begin(), static_cast<std::ptrdiff_t>(dice() % right.items.size()));
    Listing missing = right;
    missing.items.erase(item->first);
    EXPECT_FALSE(CheckListing(missing, truth).empty());
    Listing old = right;
    old.items[item->first].first -= 1;
    EXPECT_FALSE(CheckListing(old, truth).empty());
    Listing other = right;
    other.items[item->first].second += "?";
    EXPECT_FALSE(CheckListing(other, truth).empty());
    Listing more = right;
    more.items["nobody"] = {5, "v"};
    EXPECT_FALSE(CheckListing(more, truth).empty());
    // Objects of different moments, each of which was there once.
    Listing torn = ListOf(truth, 12);
    if (torn.items == right.items) continue;
    torn.revision = 20;
    EXPECT_FALSE(CheckListing(torn, truth).empty());
  }
  EXPECT_GT(planted, 300);
}

}  // namespace
}  // namespace dray::parts
