// SPDX-License-Identifier: Apache-2.0
//
// Ranges by topic: what a list of one node's pods reads.
#include <map>
#include <random>
#include <string>

#include "store/store_for_test.h"

namespace dray::store {
namespace {

using TopicContract = StoreTest;
INSTANTIATE_TEST_SUITE_P(All, TopicContract, ::testing::ValuesIn(AllStores()), MakerName);

TEST_P(TopicContract, ARangeOfATopicHasWhatIsAboutItNow) {
  Put("p/before", "x");
  store().SetTopics("p/", [](const Entry& entry) { return *entry.value; });
  Put("p/a", "x");
  Put("p/b", "y");
  const Revision then = Put("p/c", "x");
  Put("q/a", "x");
  EXPECT_EQ(Show(store().Range("p/", {.topic = "x"})), "p/a=x p/before=x p/c=x");
  Put("p/a", "y");
  Delete("p/c");
  Put("p/d", "x");
  EXPECT_EQ(Show(store().Range("p/", {.topic = "x"})), "p/before=x p/d=x");
  EXPECT_EQ(Show(store().Range("p/", {.topic = "y"})), "p/a=y p/b=y");
  EXPECT_EQ(Show(store().Range("p/", {.topic = "z"})), "");
  EXPECT_EQ(Show(store().Range("p/", {.at = then, .topic = "x"})), "p/a=x p/before=x p/c=x");
  const auto page = store().Range("p/", {.start = "p/b", .limit = 1, .topic = "x", .count = true});
  EXPECT_EQ(Show(page), "p/before=x");
  EXPECT_TRUE(page->more);
  EXPECT_EQ(page->remaining, 1u);
}

// Once what is there is filed, nobody is asked again about what others are about.
TEST_P(TopicContract, ARangeOfATopicDoesNotLookAtTheOthers) {
  int asked = 0;
  store().SetTopics("p/", [&asked](const Entry& entry) {
    ++asked;
    return *entry.value;
  });
  const auto attach = [](const Entry&) { return std::make_shared<int>(1); };
  for (int i = 0; i < 100; ++i) {
    const std::string n = std::to_string(i);
    Commit(Transaction().Put("p/" + n, "node-" + n, std::nullopt, attach));
  }
  asked = 0;
  EXPECT_EQ(Show(store().Range("p/", {.topic = "node-7"})), "p/7=node-7");
  EXPECT_EQ(asked, 0);
}

// What was read from a disk is filed when somebody has decoded it.
TEST(TopicsAfterARestart, AreFiledWhenTheyAreRead) {
  TempFolder folder;
  {
    const auto store = OpenSqlite(folder);
    for (const char* key : {"p/a", "p/b", "p/c"}) {
      ASSERT_TRUE(store->CommitAndWait(Transaction().Put(key, "x")).ok());
    }
  }
  const auto store = OpenSqlite(folder);
  int decoded = 0;
  store->SetTopics("p/", [&decoded](const Entry& entry) {
    if (entry.attachment == nullptr) ++decoded;
    return *entry.value;
  });
  for (const char* key : {"p/a", "p/b"}) store->Attach(*store->Find(key), std::make_shared<int>(1));
  ASSERT_TRUE(store->CommitAndWait(Transaction().Delete("p/b")).ok());
  EXPECT_EQ(decoded, 0);
  EXPECT_EQ(Show(store->Range("p/", {.topic = "x"})), "p/a=x p/c=x");
  EXPECT_EQ(decoded, 1);
  EXPECT_EQ(Show(store->Range("p/", {.topic = "x"})), "p/a=x p/c=x");
  EXPECT_EQ(decoded, 1);
}

// Beside a map that is searched from end to end.
TEST_P(TopicContract, AgreesWithLookingAtEverything) {
  store().SetTopics("p/", [](const Entry& entry) { return *entry.value; });
  std::mt19937 random(7);
  std::map<std::string, std::string> model;
  for (int step = 0; step < 600; ++step) {
    const std::string key = "p/" + std::to_string(random() % 20);
    if (random() % 3 == 0 && model.contains(key)) {
      Delete(key);
      model.erase(key);
    } else {
      const std::string value(1, static_cast<char>('w' + random() % 4));
      const AttachFn attach =
          random() % 2 == 0 ? AttachFn() : [](const Entry&) { return std::make_shared<int>(1); };
      Commit(Transaction().Put(key, value, std::nullopt, attach));
      model[key] = value;
    }
    if (step % 5 != 0) continue;
    std::string expected;
    for (const auto& [k, v] : model) {
      if (v == "x") expected += (expected.empty() ? "" : " ") + k + "=x";
    }
    ASSERT_EQ(Show(store().Range("p/", {.topic = "x"})), expected) << step;
  }
}

}  // namespace
}  // namespace dray::store
