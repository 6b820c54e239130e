// SPDX-License-Identifier: Apache-2.0
//
// Deciders inside of the server's process and beside it: of each kind one decides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "api/lease.h"
#include "plane/internal/cluster_identity.h"
#include "plane/plane_for_test.h"
#include "plane/remote_controllers.h"
#include "plane/remote_scheduler.h"
#include "store/memory/memory_store.h"
#include "store/shared_log_for_test.h"
#include "testing/status_matchers.h"

namespace dray::plane {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class DecidersTest : public ::testing::Test {
 protected:
  void Start(bool scheduler, bool controllers, std::uint16_t port = 0) {
    plane_.StartWith({.port = port,
                      .scheduler = scheduler,
                      .controllers = controllers,
                      .objects = SmallCluster()});
  }
  std::uint16_t Port() const {
    const std::string& url = const_cast<TestPlane&>(plane_).plane().url();
    return static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  }
  template <typename Options>
  Options With(const std::string& who, std::string identity) {
    Options options;
    options.access =
        *client::LoadAccess({.kubeconfig = plane_.folder() + "/" + who + ".kubeconfig"});
    options.identity = std::move(identity);
    options.lease.duration = std::chrono::seconds(2);
    options.lease.renew_deadline = std::chrono::milliseconds(1'500);
    options.lease.retry = std::chrono::milliseconds(200);
    return options;
  }
  std::string Holder(const std::string& name) {
    const auto found = plane_.plane().cluster().Find(api::HubKind(api::TypeInfoOf<api::Lease>()),
                                                     "kube-system", name);
    EXPECT_THAT(found, IsOk());
    if (!found.ok() || !*found) return "nobody";
    return (*found)->As<api::Lease>()->spec.holder_identity.value_or("");
  }

  const base::SystemClock clock_{};
  TestPlane plane_;
};

TEST_F(DecidersTest, WhileThereAreSomeInsideThoseBesideWait) {
  Start(true, true);
  const auto scheduler =
      *RemoteScheduler::Start(With<RemoteSchedulerOptions>("scheduler", "beside"), clock_);
  const auto controllers =
      *RemoteControllers::Start(With<RemoteControllersOptions>("controllers", "beside"), clock_);
  ASSERT_TRUE(plane_.Until(
      [&] { return scheduler->leader() == "dray-up" && controllers->leader() == "dray-up"; }));
  plane_.Create(PodFromTemplate("p"));
  EXPECT_TRUE(plane_.Await("p", api::kPodRunning));
  EXPECT_FALSE(scheduler->leading());
  EXPECT_FALSE(controllers->leading());
  EXPECT_EQ(scheduler->statistics().attempts, 0u);
}

// The server is started again without them: those beside it go on at once.
TEST_F(DecidersTest, WhatAServerWithThemHasLeftOneWithoutThemGivesBack) {
  Start(true, true);
  const std::uint16_t port = Port();
  const auto scheduler =
      *RemoteScheduler::Start(With<RemoteSchedulerOptions>("scheduler", "beside"), clock_);
  const auto controllers =
      *RemoteControllers::Start(With<RemoteControllersOptions>("controllers", "beside"), clock_);
  ASSERT_TRUE(plane_.Until([&] { return scheduler->leader() == "dray-up"; }));
  Start(false, false, port);
  EXPECT_TRUE(plane_.Until([&] { return scheduler->leading() && controllers->leading(); }));
  plane_.Create(PodFromTemplate("p"));
  EXPECT_TRUE(plane_.Await("p", api::kPodRunning));
  EXPECT_EQ(Holder("default-scheduler"), "beside");
}

// And the other way: those inside wait until those beside have ended.
TEST_F(DecidersTest, WhileThereAreSomeBesideThoseInsideWait) {
  Start(false, true);
  const std::uint16_t port = Port();
  auto scheduler =
      *RemoteScheduler::Start(With<RemoteSchedulerOptions>("scheduler", "beside"), clock_);
  ASSERT_TRUE(plane_.Until([&] { return scheduler->leading(); }));
  Start(true, true, port);
  plane_.Create(PodFromTemplate("p"));
  EXPECT_TRUE(plane_.Await("p", api::kPodRunning));
  EXPECT_TRUE(scheduler->Health().ok());
  EXPECT_EQ(Holder("default-scheduler"), "beside");
  scheduler = nullptr;
  EXPECT_TRUE(plane_.Until([&] { return Holder("default-scheduler") == "dray-up"; }));
  plane_.Create(PodFromTemplate("q"));
  EXPECT_TRUE(plane_.Await("q", api::kPodRunning));
  EXPECT_THAT(plane_.plane().Health(), IsOk());
}

// Killed, and started again: it was its own lease.
TEST_F(DecidersTest, AServerThatComesBackGoesOnAtOnce) {
  Start(true, true);
  ASSERT_TRUE(plane_.Until([&] { return Holder("dray-controllers") == "dray-up"; }));
  plane_.Stop();
  Start(true, true);
  plane_.Create(PodFromTemplate("p"));
  EXPECT_TRUE(plane_.Await("p", api::kPodRunning));
}

// Two whole control planes on one store.
TEST_F(DecidersTest, OfTwoServersOnOneStoreOneDecidesAndTheOtherGoesOnAfterIt) {
  store::SharedDisk disk;
  store::Wire wires[2];
  TestPlane planes[2];
  const auto start = [&](int i) {
    PlaneOptions options;
    options.objects = SmallCluster();
    options.open_store = [&disk, wire = &wires[i]]() -> StatusOr<std::unique_ptr<store::Store>> {
      return store::MakeSharedStore(disk, *wire);
    };
    planes[i].StartWith(std::move(options));
  };
  start(0);
  std::filesystem::create_directories(planes[1].folder() + "/pki");
  std::filesystem::permissions(planes[1].folder() + "/pki", std::filesystem::perms::owner_all);
  for (const char* name : {"/pki/ca.crt", "/pki/ca.key", "/pki/sa.key"}) {
    std::filesystem::copy_file(planes[0].folder() + name, planes[1].folder() + name);
  }
  start(1);
  planes[1].Create(PodFromTemplate("p"));
  EXPECT_TRUE(planes[0].Await("p", api::kPodRunning));
  const auto holder = [&] {
    const auto found = planes[1].plane().cluster().Find(api::HubKind(api::TypeInfoOf<api::Lease>()),
                                                        "kube-system", "default-scheduler");
    return (*found)->As<api::Lease>()->spec.holder_identity.value_or("");
  };
  const std::string first = holder();
  EXPECT_NE(first, "");
  planes[0].Stop();
  planes[1].Create(PodFromTemplate("q"));
  EXPECT_TRUE(planes[1].Await("q", api::kPodRunning));
  EXPECT_NE(holder(), first);
  EXPECT_THAT(planes[1].plane().Health(), IsOk());
}

TEST(ClusterIdentity, ServersOfOneStoreHaveTheSameKeys) {
  using internal::CheckIdentity;
  store::SharedDisk disk;
  store::Wire wires[2];
  const auto a = store::MakeSharedStore(disk, wires[0]);
  const auto b = store::MakeSharedStore(disk, wires[1]);
  ASSERT_THAT(CheckIdentity(*a, {.authority = "x", .tokens = "y"}), IsOk());
  std::promise<void> shown;
  b->Current([&](const Status&) { shown.set_value(); });
  shown.get_future().get();
  EXPECT_THAT(CheckIdentity(*b, {.authority = "x", .tokens = "y"}), IsOk());
  EXPECT_THAT(CheckIdentity(*b, {.authority = "other", .tokens = "y"}),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("another authority"),
                             HasSubstr("copy pki/ca.crt, pki/ca.key and pki/sa.key"))));
  EXPECT_THAT(CheckIdentity(*b, {.authority = "x", .tokens = "other"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("another key for tokens")));
  // Whoever is alone may begin anew.
  const auto alone = store::MakeMemoryStore();
  EXPECT_THAT(CheckIdentity(*alone, {.authority = "x", .tokens = "y"}), IsOk());
  EXPECT_THAT(CheckIdentity(*alone, {.authority = "z", .tokens = "y"}), IsOk());
}

}  // namespace
}  // namespace dray::plane
