// SPDX-License-Identifier: Apache-2.0
#include "registry/local_cluster.h"

#include "api/namespace.h"
#include "base/clock.h"
#include "registry/registry.h"
#include "store/memory/memory_store.h"
#include "testing/cluster_contract.h"

namespace dray::testing {
namespace {

class LocalHolder final : public ClusterHolder {
 public:
  explicit LocalHolder(store::HistoryOptions history = {})
      : store_(store::MakeMemoryStore(history)),
        registry_(*store_, clock_, random_, {}),
        cluster_(registry_, "test") {
    for (const std::string_view name : {"default", "ns", "elsewhere", "a", "a-b", "b"}) {
      api::Namespace space;
      space.metadata.name = name;
      EXPECT_THAT(cluster_.Create(api::Object::Of(space)), IsOk());
    }
  }
  api::Cluster& cluster() override { return cluster_; }

 private:
  base::ManualClock clock_{base::Time::FromUnix(1'000'000)};
  base::SystemRandomSource random_;
  std::unique_ptr<store::Store> store_;
  registry::Registry registry_;
  registry::LocalCluster cluster_;
};

INSTANTIATE_TEST_SUITE_P(Local, ClusterContract,
                         ::testing::Values(ClusterMaker{
                             "Registry", [] { return std::make_unique<LocalHolder>(); }}),
                         NameOf);

TEST(LocalCluster, ARefusalOfWhatHasNoNameYetIsNotAttributedToAnEmptyOne) {
  LocalHolder holder;
  api::Pod pod = PodNamed("");
  pod.metadata.generate_name = "web-";
  pod.metadata.namespace_ = "nowhere";
  const auto refused = holder.cluster().Create(api::Object::Of(pod));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(std::string(base::Message(refused.status())),
              ::testing::AllOf(::testing::HasSubstr("nowhere"),
                               ::testing::Not(::testing::HasSubstr("nowhere/\""))));
}

// Draws each number as often as it is told to.
class RepeatingSource final : public base::RandomSource {
 public:
  std::uint64_t Next() override {
    if (left_-- > 0) return 1;
    return ++next_;
  }
  void Repeat(int times) { left_ = times; }

 private:
  int left_ = 0;
  std::uint64_t next_ = 1;
};

// Of ten thousand pods of one workload every thousandth new one would be refused.
TEST(LocalCluster, AGeneratedNameThatIsTakenIsDrawnAgain) {
  base::ManualClock clock(base::Time::FromUnix(1'000'000));
  RepeatingSource random;
  const auto store = store::MakeMemoryStore({});
  registry::Registry registry(*store, clock, random, {});
  registry::LocalCluster cluster(registry, "test");
  api::Namespace space;
  space.metadata.name = "ns";
  ASSERT_THAT(cluster.Create(api::Object::Of(space)), IsOk());
  const auto create = [&] {
    api::Pod pod = PodNamed("");
    pod.metadata.generate_name = "web-";
    pod.metadata.namespace_ = "ns";
    return cluster.Create(api::Object::Of(pod));
  };
  // A uid takes two numbers, a name one.
  random.Repeat(3);
  const auto first = create();
  ASSERT_THAT(first, IsOk());
  random.Repeat(3);
  const auto second = create();
  ASSERT_THAT(second, IsOk());
  EXPECT_NE(first->metadata().name, second->metadata().name);
  random.Repeat(100);
  const auto never = create();
  EXPECT_EQ(never.status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(base::Message(never.status())),
              ::testing::HasSubstr("the server was not able to generate a unique name"));
}

// A watch that nobody looked at while the history went by tells what is different.
TEST(LocalWatch, ThatFellBehindMissesNothing) {
  LocalHolder holder({.events = 4, .bytes = 1 << 20});
  api::Cluster& cluster = holder.cluster();
  const auto create = [&](std::string_view name) {
    EXPECT_THAT(cluster.Create(api::Object::Of(PodNamed(name))), IsOk());
  };
  create("stays");
  create("goes");
  const std::vector<const api::KindInfo*> kinds = {&KindOf<api::Pod>()};
  const auto watch = cluster.Watch(kinds);
  while (watch->Next()) {
  }
  ASSERT_THAT(cluster.Delete(KindOf<api::Pod>(), "ns", "goes"), IsOk());
  for (int i = 0; i < 50; ++i) create("p" + std::to_string(i));
  int added = 0;
  int deleted = 0;
  while (const auto change = watch->Next()) {
    added += change->kind == api::Change::Kind::kAdded ? 1 : 0;
    deleted += change->kind == api::Change::Kind::kDeleted ? 1 : 0;
    EXPECT_NE(change->object.metadata().name, "stays");
  }
  EXPECT_EQ(added, 50);
  EXPECT_EQ(deleted, 1);
}

}  // namespace
}  // namespace dray::testing
