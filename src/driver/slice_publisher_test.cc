// SPDX-License-Identifier: Apache-2.0
#include "driver/slice_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/forwarding_cluster.h"
#include "api/memory_cluster.h"
#include "api/node.h"
#include "base/uuid.h"
#include "driver/slices_for_test.h"
#include "testing/status_matchers.h"
#include "threads/system_host.h"

namespace dray::driver {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Dev = dray::testing::Device;

const api::KindInfo& SliceKind() { return api::HubKind(api::TypeInfoOf<api::ResourceSlice>()); }

// A watch whose news can be held back.
class LateWatch final : public api::ObjectWatch {
 public:
  LateWatch(std::unique_ptr<api::ObjectWatch> watch, const bool& late, const bool& stale)
      : watch_(std::move(watch)), late_(late), stale_(stale) {}
  std::optional<api::Change> Next() override { return late_ ? std::nullopt : watch_->Next(); }
  Status Stale() const override {
    return stale_ ? base::Unavailable("nobody answers") : watch_->Stale();
  }

 private:
  std::unique_ptr<api::ObjectWatch> watch_;
  const bool& late_;
  const bool& stale_;
};
class LateCluster final : public api::ForwardingCluster {
 public:
  using ForwardingCluster::ForwardingCluster;
  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection) override {
    selections.push_back(selection.fields.ToString());
    return std::make_unique<LateWatch>(inner().Watch(kinds, selection), late, stale);
  }
  bool late = false;
  bool stale = false;
  std::vector<std::string> selections;
};

class PublisherTest : public ::testing::Test {
 protected:
  explicit PublisherTest(api::FeatureGates gates = {})
      : memory_(clock_, random_, {.gates = gates}), cluster_(memory_) {
    api::Node node;
    node.metadata.name = "n1";
    DRAY_CHECK(memory_.Create(api::Object::Of(node)).ok());
  }
  PublisherOptions Options() {
    return {
        .driver = std::string(dray::testing::kDriver),
        .node = "n1",
        .problem = [this](const Status& status) { problems_.emplace_back(base::Message(status)); }};
  }
  std::vector<api::ResourceSlice> Slices() const {
    std::vector<api::ResourceSlice> slices;
    for (const api::Object& object : memory_.All(SliceKind())) {
      slices.push_back(*object.As<api::ResourceSlice>());
    }
    return slices;
  }
  // Whatever is due within `time`, in steps of a second.
  void Run(std::chrono::seconds time) {
    for (auto passed = 0s; passed < time; passed += 1s) {
      publisher_.Step();
      clock_.Advance(1s);
    }
    publisher_.Step();
  }
  void PublishNow(WantedPools pools) {
    publisher_.Publish(std::move(pools));
    publisher_.Step();
  }
  std::int64_t Generation() const { return Slices().at(0).spec.pool.generation; }

  base::ManualClock clock_{base::Time::FromUnix(1'700'000'000)};
  base::SeededRandomSource random_{7};
  api::MemoryCluster memory_;
  LateCluster cluster_;
  std::vector<std::string> problems_;
  SlicePublisher publisher_{cluster_, clock_, Options()};
};
using PublisherAcceptance = PublisherTest;

TEST_F(PublisherTest, WritesWhatIsWantedAtOnceAndNothingMore) {
  PublishNow({{"n1", PoolWith({{"a"}, {"b"}})}});
  ASSERT_THAT(Slices(), SizeIs(2));
  EXPECT_TRUE(Slices()[0].metadata.name.starts_with("00000-gpu.example.com-n1-"));
  EXPECT_THAT(cluster_.selections, ElementsAre("spec.driver=gpu.example.com,spec.nodeName=n1"));
  EXPECT_EQ(publisher_.counts(), (PublishCounts{.creates = 2}));
  Run(200s);
  EXPECT_EQ(publisher_.counts(), (PublishCounts{.creates = 2}));
  EXPECT_TRUE(publisher_.idle());
  EXPECT_THAT(problems_, IsEmpty());
}

TEST_F(PublisherTest, NothingIsTouchedBeforeTheFirstWish) {
  ASSERT_TRUE(memory_
                  .Create(api::Object::Of(api::ResourceSlice(
                      dray::testing::Slice("00000-old").OnNode("n1").With(Dev("a")))))
                  .ok());
  Run(100s);
  EXPECT_THAT(Slices(), SizeIs(1));
  PublishNow({});
  EXPECT_THAT(Slices(), IsEmpty());
}

TEST_F(PublisherTest, SlicesOfOthersAreLeftAlone) {
  const api::ResourceSlice other = dray::testing::Slice("other").OnNode("n2").With(Dev("a"));
  const api::ResourceSlice driver =
      dray::testing::Slice("driver").Driver("x.example.com").OnNode("n1").With(Dev("a"));
  ASSERT_TRUE(memory_.Create(api::Object::Of(other)).ok());
  ASSERT_TRUE(memory_.Create(api::Object::Of(driver)).ok());
  PublishNow({});
  Run(100s);
  EXPECT_THAT(Slices(), SizeIs(2));
}

TEST_F(PublisherAcceptance, Row60SlicesThatOthersDeleteOrEditAreRepairedAfterThirtySeconds) {
  PublishNow({{"n1", PoolWith({{"a"}, {"b"}, {"c"}})}});
  Run(5s);
  ASSERT_TRUE(memory_.Delete(SliceKind(), "", Slices()[1].metadata.name).ok());
  Run(29s);
  EXPECT_THAT(Slices(), SizeIs(2));
  Run(2s);
  ASSERT_THAT(Slices(), SizeIs(3));
  EXPECT_EQ(Generation(), 2);
  // An edit: the settle time begins anew with every further one.
  api::ResourceSlice edited = Slices()[0];
  edited.spec.devices->clear();
  auto stored = memory_.Update(api::Object::Of(edited));
  ASSERT_TRUE(stored.ok());
  Run(20s);
  edited = *stored->As<api::ResourceSlice>();
  edited.metadata.labels["by"] = "hand";
  ASSERT_TRUE(memory_.Update(api::Object::Of(edited)).ok());
  Run(29s);
  EXPECT_THAT(*Slices()[0].spec.devices, IsEmpty());
  Run(2s);
  EXPECT_THAT(*Slices()[0].spec.devices, SizeIs(1));
  EXPECT_EQ(Generation(), 2);
  // All of them, as an agent does that starts.
  for (const api::ResourceSlice& slice : Slices()) {
    ASSERT_TRUE(memory_.Delete(SliceKind(), "", slice.metadata.name).ok());
  }
  Run(32s);
  EXPECT_THAT(Slices(), SizeIs(3));
  EXPECT_THAT(problems_, IsEmpty());
}

TEST_F(PublisherAcceptance, Row61GenerationStaysForOneSliceAndGrowsForMore) {
  PublishNow({{"n1", PoolWith({{"a"}, {"b"}, {"c"}})}});
  ASSERT_EQ(Generation(), 1);
  PublishNow({{"n1", PoolWith({{"a"}, {"b2"}, {"c"}})}});
  EXPECT_EQ(Generation(), 1);
  EXPECT_EQ(publisher_.counts(), (PublishCounts{.creates = 3, .updates = 1}));
  PublishNow({{"n1", PoolWith({{"a"}, {"b3"}, {"c3"}})}});
  EXPECT_EQ(publisher_.counts(), (PublishCounts{.creates = 3, .updates = 4}));
  EXPECT_EQ(Generation(), 2);
  PublishNow({{"n1", PoolWith({{"a"}, {"b3"}, {"c3"}, {"d"}})}});
  ASSERT_THAT(Slices(), SizeIs(4));
  for (const api::ResourceSlice& slice : Slices()) {
    EXPECT_EQ(slice.spec.pool.generation, 3);
    EXPECT_EQ(slice.spec.pool.resource_slice_count, 4);
  }
}

class GatedPublisherTest : public PublisherTest {
 protected:
  GatedPublisherTest() : PublisherTest(WithoutTaints()) {}
  static api::FeatureGates WithoutTaints() {
    auto gates = api::FeatureGates::Parse("DRADeviceTaints=false", {});
    DRAY_CHECK(gates.ok());
    return *gates;
  }
  static WantedPools Tainted(std::string_view device = "a") {
    WantedPool pool = PoolWith({{"b"}, {"c"}});
    pool.slices[0].devices.push_back(Dev(device).Taint("broken"));
    return {{"n1", pool}};
  }
};
using GatedAcceptance = GatedPublisherTest;

TEST_F(GatedAcceptance, Row62AFieldThatAGateDropsIsReportedOnceAndNotWrittenAgain) {
  PublishNow(Tainted());
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("DRADeviceTaints is probably off")));
  EXPECT_EQ(publisher_.counts(), (PublishCounts{.creates = 2}));
  Run(200s);
  PublishNow(Tainted());
  Run(200s);
  EXPECT_EQ(publisher_.counts(), (PublishCounts{.creates = 2}));
  EXPECT_THAT(problems_, SizeIs(1));
  PublishNow(Tainted("a2"));  // a change is still written
  EXPECT_EQ(publisher_.counts(), (PublishCounts{.creates = 2, .updates = 1}));
  Run(200s);
  EXPECT_EQ(publisher_.counts(), (PublishCounts{.creates = 2, .updates = 1}));
  EXPECT_THAT(problems_, SizeIs(1));
}

// The watch may be minutes late: what was written here counts meanwhile.
TEST_F(PublisherTest, OwnWritesAreTrustedForAMinute) {
  PublishNow({{"n1", PoolWith({{"a"}, {"b"}})}});
  cluster_.late = true;
  PublishNow({{"n1", PoolWith({{"a"}, {"b"}, {"c"}})}});
  PublishNow({{"n1", PoolWith({{"a"}, {"b"}, {"d"}})}});
  EXPECT_EQ(publisher_.counts(), (PublishCounts{.creates = 3, .updates = 3}));
  Run(50s);
  cluster_.late = false;
  Run(100s);
  EXPECT_EQ(publisher_.counts(), (PublishCounts{.creates = 3, .updates = 3}));
  EXPECT_THAT(problems_, IsEmpty());
}

// Somebody deleted it right after it was made, and the watch never had it: after a minute it is
// looked at again.
TEST_F(PublisherTest, TrustEnds) {
  PublishNow({{"n1", PoolWith({{"a"}})}});
  cluster_.late = true;
  PublishNow({{"n1", PoolWith({{"a"}, {"b"}})}});
  ASSERT_TRUE(memory_.Delete(SliceKind(), "", Slices()[1].metadata.name).ok());
  Run(58s);
  EXPECT_THAT(Slices(), SizeIs(1));
  cluster_.late = false;
  Run(32s);
  EXPECT_THAT(Slices(), SizeIs(2));
}

TEST_F(PublisherTest, NothingIsWrittenWhileTheWatchIsBlind) {
  cluster_.stale = true;
  PublishNow({{"n1", PoolWith({{"a"}})}});
  Run(100s);
  EXPECT_THAT(Slices(), IsEmpty());
  cluster_.stale = false;
  Run(2s);
  EXPECT_THAT(Slices(), SizeIs(1));
}

TEST_F(PublisherTest, FailedWritesAreTriedAgain) {
  int failures = 3;
  memory_.SetWriteHook([&](api::Verb, const api::Object&) -> Status {
    return failures-- > 0 ? base::Unavailable("away") : Status();
  });
  PublishNow({{"n1", PoolWith({{"a"}, {"b"}})}});
  EXPECT_THAT(Slices(), IsEmpty());
  EXPECT_FALSE(publisher_.idle());
  Run(10s);
  EXPECT_THAT(Slices(), SizeIs(2));
  EXPECT_THAT(problems_, SizeIs(3));
  EXPECT_THAT(problems_[0], HasSubstr("pool \"n1\": create 00000-gpu.example.com-n1-: away"));
  EXPECT_TRUE(publisher_.idle());
}

// The answer to a creation is lost: the watch tells that it was done before it is done again.
TEST_F(PublisherTest, ACreationOfWhichNobodyKnowsIsNotDoneTwice) {
  int lost = 1;
  memory_.SetAnswerHook([&](api::Verb, const api::Object&) -> Status {
    return lost-- > 0 ? api::OutcomeUnknown("no answer") : Status();
  });
  PublishNow({{"n1", PoolWith({{"a"}, {"b"}})}});
  Run(60s);
  EXPECT_THAT(Slices(), SizeIs(2));
  EXPECT_EQ(publisher_.counts().creates + publisher_.counts().deletes, 1u);
}

TEST_F(PublisherTest, AWrongPoolIsReportedAndNotTriedAgain) {
  PublishNow({{"bad", PoolWith({{"a"}, {"a"}})}, {"n1", PoolWith({{"a"}})}});
  Run(100s);
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("device \"a\" appears twice")));
  EXPECT_THAT(Slices(), SizeIs(1));
}

TEST_F(PublisherTest, WaitsForItsNode) {
  ASSERT_TRUE(memory_.Delete(api::HubKind(api::TypeInfoOf<api::Node>()), "", "n1").ok());
  PublishNow({{"n1", PoolWith({{"a"}})}});
  Run(30s);
  EXPECT_THAT(Slices(), IsEmpty());
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("node \"n1\" does not exist yet")));
  api::Node node;
  node.metadata.name = "n1";
  ASSERT_TRUE(memory_.Create(api::Object::Of(node)).ok());
  Run(12s);
  ASSERT_THAT(Slices(), SizeIs(1));
  EXPECT_FALSE(Slices()[0].metadata.owner_references.at(0).uid.empty());
}

// Somebody who never stops editing does not keep it from being repaired.
TEST_F(PublisherTest, WhoeverKeepsWritingIsOverruledInTheEnd) {
  PublishNow({{"n1", PoolWith({{"a"}})}});
  int repaired = 0;
  for (int i = 0; i < 30; ++i) {
    api::ResourceSlice slice = Slices().at(0);
    if (i > 0 && !slice.spec.devices->empty()) ++repaired;
    slice.spec.devices->clear();
    slice.metadata.labels["i"] = std::to_string(i);
    ASSERT_TRUE(memory_.Update(api::Object::Of(slice)).ok());
    Run(10s);
  }
  EXPECT_GE(repaired, 2);
  EXPECT_LE(repaired, 3);
}

TEST(PublisherThread, PublishesOnAThreadOfItsOwn) {
  base::SystemClock clock;
  base::SeededRandomSource random(1);
  api::MemoryCluster memory(clock, random);
  PublisherThread thread(memory, clock, {.driver = "gpu.example.com"}, threads::TheSystemHost());
  WantedPool pool = PoolWith({{"a"}});
  pool.all_nodes = true;
  thread.Publish({{"p", pool}});
  while (!thread.idle()) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(thread.counts().creates, 1u);
}

}  // namespace
}  // namespace dray::driver
