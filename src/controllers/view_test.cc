// SPDX-License-Identifier: Apache-2.0
#include "controllers/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include "controllers/scene_for_test.h"
#include "testing/status_matchers.h"

namespace dray::controllers {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::StatusIs;

class Writes final : public View::Listener {
 public:
  void OnChange(const api::Object* before, const api::Object* after) override {
    const std::string& name = (after != nullptr ? after : before)->metadata().name;
    heard.push_back((before == nullptr ? "+" : after == nullptr ? "-" : "~") + name);
  }
  std::vector<std::string> Take() { return std::exchange(heard, {}); }
  std::vector<std::string> heard;
};

class ViewTest : public ::testing::Test {
 protected:
  const api::Object& Seen(std::string_view name) {
    return *view_.Find(ObjectKey::Of<api::Pod>("ns", name));
  }
  Scene scene_;
  Writes writes_;
  const std::array<const api::KindInfo*, 1> kinds_ = {&KindOf<api::Pod>()};
  View view_{scene_.cluster(), kinds_, writes_};
};

TEST_F(ViewTest, TellsWhatHasHappened) {
  scene_.Add(PodNamed("a"));
  EXPECT_EQ(view_.Pull(), 1u);
  scene_.SetPhase("a", api::kPodRunning);
  scene_.Delete<api::Pod>("a");
  EXPECT_EQ(view_.Pull(), 2u);
  EXPECT_THAT(writes_.Take(), ElementsAre("+a", "~a", "-a"));
  EXPECT_EQ(view_.Find<api::Pod>("ns", "a"), nullptr);
}

TEST_F(ViewTest, WhatItWritesIsSeenAtOnceAndIsNoNewsLater) {
  ASSERT_THAT(view_.Create(api::Object::Of(PodNamed("a"))), IsOk());
  EXPECT_NE(view_.Find<api::Pod>("ns", "a"), nullptr);
  EXPECT_THAT(writes_.Take(), ElementsAre("+a"));
  EXPECT_EQ(view_.Pull(), 0u);
  EXPECT_THAT(writes_.Take(), IsEmpty());
  EXPECT_EQ(view_.writes(), 1u);
}

TEST_F(ViewTest, ALateWatchDoesNotTakeAWriteBack) {
  scene_.Add(PodNamed("a"));
  view_.Pull();
  scene_.SetPhase("a", api::kPodRunning);  // the watch has this one before ours
  ASSERT_THAT(view_.EditStatus(Seen("a"),
                               [](api::Object& pod) {
                                 pod.Mutable<api::Pod>()->status.message = "ours";
                                 return true;
                               }),
              IsOk());
  view_.Pull();
  EXPECT_EQ(view_.Find<api::Pod>("ns", "a")->status.message, "ours");
  EXPECT_EQ(view_.Find<api::Pod>("ns", "a")->status.phase, api::kPodRunning);
}

TEST_F(ViewTest, AnotherOneByTheSameNameIsAnotherOne) {
  scene_.Add(PodNamed("a"));
  view_.Pull();
  writes_.Take();
  const api::Object old = Seen("a");
  scene_.Delete<api::Pod>("a");
  scene_.Add(PodNamed("a"));
  EXPECT_THAT(view_.Delete(old), StatusIs(StatusCode::kAborted, _));
  EXPECT_TRUE(scene_.Has<api::Pod>("a"));
  view_.Pull();
  EXPECT_THAT(writes_.Take(), ElementsAre("-a", "+a"));
}

TEST_F(ViewTest, AnObjectIsToldToGoOnce) {
  api::Pod pod = PodNamed("a");
  pod.metadata.finalizers = {"example.com/wait"};
  scene_.Add(pod);
  view_.Pull();
  const api::Object seen = Seen("a");
  EXPECT_FALSE(view_.Leaving(seen));
  EXPECT_THAT(view_.Delete(seen), IsOk());
  EXPECT_TRUE(view_.Leaving(seen));
  EXPECT_THAT(view_.Delete(seen), IsOk());
  EXPECT_EQ(view_.writes(), 1u);
}

TEST_F(ViewTest, DeletingWhatIsGoneIsNoWrite) {
  scene_.Add(PodNamed("a"));
  view_.Pull();
  scene_.Delete<api::Pod>("a");
  EXPECT_THAT(view_.Delete(api::Object(Seen("a"))), IsOk());
  EXPECT_EQ(view_.writes(), 0u);
}

TEST_F(ViewTest, AnEditThatHasNothingToChangeIsNoWrite) {
  scene_.Add(PodNamed("a"));
  view_.Pull();
  EXPECT_THAT(view_.EditStatus(Seen("a"), [](api::Object&) { return false; }), IsOk());
  EXPECT_EQ(view_.writes(), 0u);
}

TEST_F(ViewTest, AnEditOfWhatIsGoneFails) {
  scene_.Add(PodNamed("a"));
  view_.Pull();
  const api::Object old = Seen("a");
  scene_.Delete<api::Pod>("a");
  scene_.Add(PodNamed("a"));
  const auto edit = [](api::Object& pod) {
    pod.Mutable<api::Pod>()->status.message = "ours";
    return true;
  };
  EXPECT_THAT(view_.EditStatus(old, edit), StatusIs(StatusCode::kNotFound, _));
  EXPECT_EQ(scene_.Get<api::Pod>("a").status.message, "");
}

TEST_F(ViewTest, AnUpdateOfWhatIsNotTheNewestFails) {
  scene_.Add(PodNamed("a"));
  view_.Pull();
  const api::Object old = Seen("a");
  scene_.SetPhase("a", api::kPodRunning);
  EXPECT_THAT(view_.UpdateStatus(old), StatusIs(StatusCode::kAborted, _));
}

}  // namespace
}  // namespace dray::controllers
