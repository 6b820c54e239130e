// SPDX-License-Identifier: Apache-2.0
#include "controllers/definition_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "api/custom_kind.h"
#include "api/forwarding_cluster.h"
#include "controllers/definitions_for_test.h"
#include "controllers/hiding_cluster_for_test.h"
#include "fmt/format.h"
#include "testing/status_matchers.h"

namespace dray::controllers {
namespace {

using ::testing::IsEmpty;
using testing::IsOk;
using ::testing::SizeIs;

// Watches do not tell that definitions go, as one does not that was cut off meanwhile.
class CutOffCluster final : public api::ForwardingCluster {
 public:
  using ForwardingCluster::ForwardingCluster;
  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection = {}) override {
    return std::make_unique<CutOffWatch>(inner().Watch(kinds, selection));
  }

 private:
  class CutOffWatch final : public api::ObjectWatch {
   public:
    explicit CutOffWatch(std::unique_ptr<api::ObjectWatch> watch) : watch_(std::move(watch)) {}
    std::optional<api::Change> Next() override {
      for (;;) {
        auto change = watch_->Next();
        const bool skipped = change && change->kind == api::Change::Kind::kDeleted &&
                             change->object.kind().hub == api::DefinitionKind().hub;
        if (!skipped) return change;
      }
    }

   private:
    std::unique_ptr<api::ObjectWatch> watch_;
  };
};

class DefinitionTest : public ::testing::Test {
 protected:
  void Define(std::string_view plural, std::string_view kind, bool established = true,
              bool held = true) {
    controllers::Define(scene_, plural, kind, {.established = established, .held = held});
  }
  void Add(const api::KindInfo& kind, std::string_view name, std::string_view finalizer = {}) {
    AddCustom(scene_, kind, name, finalizer);
  }
  void Delete(std::string_view plural) {
    ASSERT_THAT(scene_.cluster().Delete(api::DefinitionKind(), "", FullName(plural)), IsOk());
  }
  bool Has(std::string_view plural) {
    return scene_.cluster().Stored(api::DefinitionKind(), "", FullName(plural)).has_value();
  }
  // Long enough for everything that failed to be tried again.
  void Wait(DefinitionController& controller) {
    for (int i = 0; i < 20; ++i) {
      controller.Sync();
      scene_.clock().Advance(std::chrono::minutes(20));
    }
  }
  Scene scene_;
};

TEST_F(DefinitionTest, ADeletedOneTakesItsObjectsWithIt) {
  DefinitionController controller{scene_.cluster(), scene_.clock()};
  Define("widgets", "Widget");
  Define("others", "Other");
  Add(Named("widgets", "Widget"), "a");
  Add(Named("widgets", "Widget"), "b");
  Add(Named("others", "Other"), "a");
  controller.Sync();
  Delete("widgets");
  EXPECT_TRUE(Has("widgets"));
  controller.Sync();
  EXPECT_FALSE(Has("widgets"));
  EXPECT_THAT(scene_.cluster().All(Named("widgets", "Widget")), IsEmpty());
  EXPECT_THAT(scene_.cluster().All(Named("others", "Other")), SizeIs(1));
  EXPECT_EQ(controller.Sync(), 0u);
}

TEST_F(DefinitionTest, LostAnswersChangeNothingInTheEnd) {
  DefinitionController controller{scene_.cluster(), scene_.clock()};
  Define("widgets", "Widget");
  for (const char* name : {"a", "b", "c"}) Add(Named("widgets", "Widget"), name);
  controller.Sync();
  Delete("widgets");
  int writes = 0;
  scene_.cluster().SetAnswerHook([&](api::Verb, const api::Object&) {
    return ++writes % 2 == 1 ? api::OutcomeUnknown("the answer was lost") : Status();
  });
  Wait(controller);
  EXPECT_GT(writes, 3);
  EXPECT_FALSE(Has("widgets"));
  EXPECT_THAT(scene_.cluster().All(Named("widgets", "Widget")), IsEmpty());
}

TEST_F(DefinitionTest, AnObjectThatCannotBeDeletedDoesNotKeepTheOthers) {
  DefinitionController controller{scene_.cluster(), scene_.clock()};
  Define("widgets", "Widget");
  for (const char* name : {"a", "b", "c"}) Add(Named("widgets", "Widget"), name);
  controller.Sync();
  scene_.cluster().SetWriteHook([](api::Verb verb, const api::Object& object) {
    const bool refused = verb == api::Verb::kDelete && object.metadata().name == "a";
    return refused ? base::FailedPrecondition("a policy says no") : Status();
  });
  Delete("widgets");
  Wait(controller);
  EXPECT_TRUE(Has("widgets"));
  EXPECT_THAT(scene_.cluster().All(Named("widgets", "Widget")), SizeIs(1));
  scene_.cluster().SetWriteHook(nullptr);
  Wait(controller);
  EXPECT_FALSE(Has("widgets"));
}

TEST_F(DefinitionTest, ItWaitsForAnObjectThatIsHeld) {
  DefinitionController controller{scene_.cluster(), scene_.clock()};
  Define("widgets", "Widget");
  Add(Named("widgets", "Widget"), "held", "example.com/wait");
  Add(Named("widgets", "Widget"), "free");
  controller.Sync();
  Delete("widgets");
  Wait(controller);
  EXPECT_TRUE(Has("widgets"));
  ASSERT_THAT(scene_.cluster().All(Named("widgets", "Widget")), SizeIs(1));
  api::Object held = scene_.cluster().All(Named("widgets", "Widget"))[0];
  EXPECT_TRUE(held.metadata().deletion_timestamp.has_value());
  held.MutableMetadata().finalizers.clear();
  ASSERT_THAT(scene_.cluster().Update(held), IsOk());
  controller.Sync();
  EXPECT_FALSE(Has("widgets"));
}

// A controller may end anywhere between two of its writes; the next one goes on from there.
TEST_F(DefinitionTest, OneThatBeginsAnewInTheMiddleGoesOn) {
  for (int done = 0; done < 8; ++done) {
    const std::string plural = fmt::format("middle{}s", done);
    const std::string kind = fmt::format("Middle{}", done);
    Define(plural, kind);
    for (const char* name : {"a", "b", "c"}) Add(Named(plural, kind), name);
    Delete(plural);
    int left = done;
    scene_.cluster().SetWriteHook([&](api::Verb, const api::Object&) {
      return left-- > 0 ? Status() : base::MakeStatus(StatusCode::kUnavailable, "it has ended");
    });
    {
      DefinitionController first{scene_.cluster(), scene_.clock()};
      first.Sync();
    }
    scene_.cluster().SetWriteHook(nullptr);
    DefinitionController second{scene_.cluster(), scene_.clock()};
    second.Sync();
    EXPECT_FALSE(Has(plural)) << done;
    EXPECT_THAT(scene_.cluster().All(Named(plural, kind)), IsEmpty()) << done;
  }
}

// What nobody can read is not gone: a definition that went before it would leave it behind.
TEST_F(DefinitionTest, ItStaysWhileAnObjectCannotBeRead) {
  HidingCluster cluster(scene_.cluster());
  const api::KindInfo& kind = Named("widgets", "Widget");
  Define("widgets", "Widget");
  Add(kind, "broken");
  Add(kind, "fine");
  cluster.Hide({kind.hub, "ns", "broken"});
  DefinitionController controller{cluster, scene_.clock()};
  controller.Sync();
  Delete("widgets");
  Wait(controller);
  EXPECT_TRUE(Has("widgets"));
  EXPECT_THAT(scene_.cluster().All(kind), SizeIs(1));
  cluster.Show();
  Wait(controller);
  EXPECT_FALSE(Has("widgets"));
  EXPECT_THAT(scene_.cluster().All(kind), IsEmpty());
}

// Between the look that finds nothing left and the write that lets the definition go.
TEST_F(DefinitionTest, ChangesInBetweenAreNotOverwritten) {
  DefinitionController controller{scene_.cluster(), scene_.clock()};
  Define("widgets", "Widget");
  const auto stored = [&] {
    return *scene_.cluster().Stored(api::DefinitionKind(), "", FullName("widgets"));
  };
  api::Object watched = stored();
  watched.MutableMetadata().finalizers.emplace_back("example.com/wait");
  ASSERT_THAT(scene_.cluster().Update(watched), IsOk());
  controller.Sync();
  Delete("widgets");
  bool once = true;
  scene_.cluster().SetWriteHook([&](api::Verb verb, const api::Object&) {
    if (verb != api::Verb::kUpdate || !std::exchange(once, false)) return Status();
    api::Object other = stored();
    other.MutableMetadata().annotations["who"] = "another";
    EXPECT_THAT(scene_.cluster().Update(other), IsOk());
    return Status();
  });
  Wait(controller);
  ASSERT_TRUE(Has("widgets"));
  EXPECT_FALSE(once);
  EXPECT_THAT(stored().metadata().finalizers, ::testing::ElementsAre("example.com/wait"));
  EXPECT_NE(stored().metadata().annotations.Find("who"), nullptr);
}

TEST_F(DefinitionTest, NamesThatBecomeFreeConcernThoseWhoWait) {
  DefinitionController controller{scene_.cluster(), scene_.clock()};
  for (int i = 0; i < 50; ++i) Define(fmt::format("served{}", i), fmt::format("Served{}", i));
  Define("waiting", "Waiting", false);
  Define("widgets", "Widget");
  controller.Sync();
  int touched = 0;
  scene_.cluster().SetWriteHook([&](api::Verb verb, const api::Object& object) {
    const bool waits = object.metadata().name == FullName("waiting");
    if (verb == api::Verb::kUpdateStatus && waits) ++touched;
    return Status();
  });
  const std::size_t before = controller.reconciled();
  Delete("widgets");
  controller.Sync();
  EXPECT_FALSE(Has("widgets"));
  EXPECT_GT(touched, 0);
  EXPECT_LT(controller.reconciled() - before, 10u);
}

TEST_F(DefinitionTest, OneThatComesAgainWithAnotherKindTakesThoseObjects) {
  CutOffCluster cluster(scene_.cluster());
  DefinitionController controller{cluster, scene_.clock()};
  Define("widgets", "Widget", true, false);
  controller.Sync();
  Delete("widgets");
  Define("widgets", "Gadget");
  Add(Named("widgets", "Gadget"), "a");
  controller.Sync();
  Delete("widgets");
  scene_.clock().Advance(std::chrono::minutes(1));
  Wait(controller);
  EXPECT_THAT(scene_.cluster().All(Named("widgets", "Gadget")), IsEmpty());
  EXPECT_FALSE(Has("widgets"));
}

}  // namespace
}  // namespace dray::controllers
