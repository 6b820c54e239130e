// SPDX-License-Identifier: Apache-2.0
//
// The whole control plane in this process: pods come, get devices, run and go.
#include "plane/control_plane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "api/namespace.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "plane/plane_for_test.h"
#include "store/sqlite/sqlite_store.h"

namespace dray::plane {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(ControlPlane, PodsWithTemplatesRunWithTheirDevices) {
  TestPlane plane;
  plane.Start();
  for (int i = 0; i < 3; ++i) plane.Create(PodFromTemplate("p" + std::to_string(i)));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(plane.Await("p" + std::to_string(i), api::kPodRunning));
  }
  int allocated = 0;
  for (const auto& claim : plane.All<api::ResourceClaim>()) {
    allocated += claim.status.allocation.has_value() ? 1 : 0;
    EXPECT_THAT(claim.status.reserved_for, SizeIs(1));
  }
  EXPECT_EQ(allocated, 3);
}

TEST(ControlPlane, ARefusalIsAnEventWithAReason) {
  TestPlane plane;
  plane.Start();
  api::Pod pod = PodFromTemplate("greedy");
  pod.spec.node_selector["nowhere"] = "true";
  plane.Create(pod);
  EXPECT_TRUE(plane.AwaitEvent("greedy", "FailedScheduling"));
}

TEST(ControlPlane, AfterARestartItGoesOnFromWhatIsStored) {
  TestPlane plane;
  plane.Start();
  plane.Create(PodFromTemplate("before"));
  EXPECT_TRUE(plane.Await("before", api::kPodRunning));
  const auto claims = plane.All<api::ResourceClaim>();
  plane.Start();
  EXPECT_EQ(plane.All<api::ResourceClaim>(), claims);
  plane.Create(PodFromTemplate("after"));
  EXPECT_TRUE(plane.Await("after", api::kPodRunning));
  EXPECT_THAT(plane.All<api::ResourceClaim>(), SizeIs(2));
}

// Nobody could repair what a server that does not start has stored.
TEST(ControlPlane, StartsWithWhatCannotBeRead) {
  TestPlane plane;
  const std::string file = plane.folder() + "/objects.db";
  const auto start = [&] {
    plane.StartWith({.store = *StoreAddress::Parse("sqlite:" + file), .objects = SmallCluster()});
  };
  start();
  plane.Stop();
  const std::string keys[] = {"/registry/core/namespaces/default",
                              "/registry/core/namespaces/kube-system",
                              "/registry/scheduling.k8s.io/priorityclasses/system-node-critical",
                              "/registry/rbac.authorization.k8s.io/clusterroles/cluster-admin",
                              "/registry/resource.k8s.io/deviceclasses/gpu.example.com"};
  {
    const auto store = store::OpenSqliteStore({.path = file});
    ASSERT_TRUE(store.ok()) << store.status();
    store::Transaction transaction;
    for (const std::string& key : keys) {
      EXPECT_NE((*store)->Find(key), nullptr) << key;
      transaction.Put(key, R"({"metadata":{"name":[]}})");
    }
    // Nor does a policy keep it from starting, be it that nobody knows what it forbids.
    const std::string policies = "/registry/admissionregistration.k8s.io/validatingadmissionpolic";
    transaction.Put(policies + "ies/p", R"({"metadata":{"name":[]}})");
    transaction.Put(policies + "ybindings/p",
                    R"({"metadata":{"name":"p"},"spec":{"policyName":"p"}})");
    ASSERT_TRUE((*store)->CommitAndWait(std::move(transaction)).ok());
  }
  start();
  const auto& spaces = api::HubKind(api::TypeInfoOf<api::Namespace>());
  EXPECT_EQ(plane.plane().cluster().Find(spaces, "", "default").status().code(),
            StatusCode::kDataLoss);
  EXPECT_TRUE(plane.plane().cluster().Find(spaces, "", "kube-public").ok());
}

TEST(ControlPlane, DeletedPodsGoAndGiveTheirDevicesBack) {
  TestPlane plane;
  plane.Start();
  plane.Create(PodFromTemplate("p"));
  EXPECT_TRUE(plane.Await("p", api::kPodRunning));
  plane.Delete<api::Pod>("p");
  EXPECT_TRUE(plane.Until([&] { return plane.All<api::Pod>().empty(); }));
  EXPECT_TRUE(plane.Until([&] { return plane.All<api::ResourceClaim>().empty(); }));
}

TEST(ControlPlane, TheDataBelongsToOneProcess) {
  TestPlane plane;
  plane.Start();
  const base::SystemClock clock;
  const auto second = ControlPlane::Start(plane.Placed(), clock);
  EXPECT_EQ(second.status().code(), StatusCode::kFailedPrecondition) << second.status();
}

TEST(ControlPlane, AnObjectThatIsRefusedIsNamed) {
  api::Pod pod = PodFromTemplate("Bad_Name");
  TestPlane plane;
  const base::SystemClock clock;
  const auto started = ControlPlane::Start(
      {.data = plane.folder(), .store = StoreAddress::Memory(), .objects = {api::Object::Of(pod)}},
      clock);
  EXPECT_THAT(started.status().ToString(), HasSubstr("Bad_Name"));
}

}  // namespace
}  // namespace dray::plane
