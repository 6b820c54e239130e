// SPDX-License-Identifier: Apache-2.0
//
// Nodes and drivers write what is theirs, whatever the verb.
#include "registry/own_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "registry/roles.h"
#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;

const apiserver::User kNode{"system:node:n1", {std::string(kNodes)}};
const apiserver::User kDriver{"dray:driver:gpu.example.com", {std::string(kDrivers)}};
const apiserver::User kDriverOnNode{"system:serviceaccount:dray-drivers:gpu.example.com",
                                    {std::string(kDrivers), "dray:node:n1"}};
constexpr auto kMerge = "application/merge-patch+json";

std::string SliceOf(std::string_view name, std::string_view node, std::string_view driver) {
  return R"({"metadata":{"name":")" + std::string(name) + R"("},"spec":{"driver":")" +
         std::string(driver) + R"(","nodeName":")" + std::string(node) +
         R"(","pool":{"name":"p","generation":1,"resourceSliceCount":1},"devices":[]}})";
}

class OwnTest : public ::testing::Test {
 protected:
  explicit OwnTest(RegistryOptions options = {}) : world_(std::move(options)) {}

  Answer As(const apiserver::User& user, std::string method, std::string path,
            std::string body = {}, std::string content_type = {}) {
    return world_.Ask({.method = std::move(method),
                       .path = std::move(path),
                       .body = std::move(body),
                       .content_type = std::move(content_type),
                       .user = user});
  }
  int Create(const apiserver::User& user, std::string path, std::string body) {
    return As(user, "POST", std::move(path), std::move(body)).status;
  }

  World world_;
  const std::string slices_ = "/apis/resource.k8s.io/v1/resourceslices";
  const std::string nodes_ = "/api/v1/nodes";
  const std::string pods_ = "/api/v1/namespaces/default/pods";
};

TEST_F(OwnTest, SlicesOfOthersAreOutOfReach) {
  EXPECT_EQ(Create(kNode, slices_, SliceOf("a", "n1", "gpu.example.com")), 201);
  EXPECT_EQ(Create(kDriver, slices_, SliceOf("c", "n2", "gpu.example.com")), 201);
  EXPECT_EQ(Create(kDriver, slices_, SliceOf("d", "n2", "nic.example.com")), 403);
  const Answer other = As(kNode, "POST", slices_, SliceOf("b", "n2", "gpu.example.com"));
  EXPECT_EQ(other.status, 403);
  EXPECT_THAT(other.text,
              HasSubstr(R"(resourceslices.resource.k8s.io \"b\" is forbidden: can only create )"
                        "ResourceSlice with the same NodeName as the requesting node"));
  EXPECT_EQ(
      As(kNode, "PATCH", slices_ + "/c", R"({"spec":{"pool":{"generation":2}}})", kMerge).status,
      403);
  EXPECT_EQ(As(kNode, "DELETE", slices_ + "/c").status, 403);
  EXPECT_EQ(As(kNode, "DELETE", slices_ + "/a").status, 200);
}

// All or nothing is not promised; what is not the node's own stays.
TEST_F(OwnTest, ADeletionOfManyLeavesWhatIsOthers) {
  EXPECT_EQ(Create(kDriver, slices_, SliceOf("c", "n2", "gpu.example.com")), 201);
  EXPECT_EQ(As(kNode, "DELETE", slices_).status, 403);
  EXPECT_EQ(world_.Get(slices_ + "/c").status, 200);
}

// Whose it was cannot be read any more.
TEST_F(OwnTest, WhatCannotBeReadIsNobodysOwn) {
  EXPECT_EQ(Create(kDriver, slices_, SliceOf("c", "n1", "gpu.example.com")), 201);
  store::Transaction transaction;
  transaction.Put("/registry/resource.k8s.io/resourceslices/c", "no slice");
  ASSERT_TRUE(world_.store().CommitAndWait(std::move(transaction)).ok());
  const std::string path = slices_ + "/c?ignoreStoreReadErrorWithClusterBreakingPotential=true";
  for (const apiserver::User& user : {kNode, kDriver, kDriverOnNode}) {
    EXPECT_EQ(As(user, "DELETE", path).status, 403) << user.name;
  }
  EXPECT_EQ(world_.Ask({.method = "DELETE", .path = path}).status, 200);
}

TEST_F(OwnTest, ADriverOnANodeIsBoundByBoth) {
  EXPECT_EQ(Create(kDriverOnNode, slices_, SliceOf("a", "n1", "gpu.example.com")), 201);
  EXPECT_EQ(Create(kDriverOnNode, slices_, SliceOf("b", "n2", "gpu.example.com")), 403);
  EXPECT_EQ(Create(kDriverOnNode, slices_, SliceOf("c", "n1", "nic.example.com")), 403);
  EXPECT_EQ(Create(kDriverOnNode, nodes_, R"({"metadata":{"name":"n1"}})"), 403);
}

TEST_F(OwnTest, ANodeIsItselfAndNoOther) {
  EXPECT_EQ(Create(kNode, nodes_, R"({"metadata":{"name":"n1"}})"), 201);
  ASSERT_EQ(world_.Post(nodes_, R"({"metadata":{"name":"n2"}})").status, 201);
  const std::string status = R"({"status":{"capacity":{"cpu":"64"}}})";
  EXPECT_EQ(As(kNode, "PATCH", nodes_ + "/n1/status", status, kMerge).status, 200);
  const Answer refused = As(kNode, "PATCH", nodes_ + "/n2/status", status, kMerge);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.text, HasSubstr(R"(nodes \"n2\" is forbidden: node \"n1\" is not allowed )"
                                      R"(to modify node \"n2\")"));
  EXPECT_EQ(
      As(kNode, "PATCH", nodes_ + "/n2", R"({"metadata":{"labels":{"a":"b"}}})", kMerge).status,
      403);
  EXPECT_EQ(Create(kNode, nodes_, R"({"metadata":{"name":"n3"}})"), 403);
}

TEST_F(OwnTest, ANodeDoesNotFreeItselfOfTaints) {
  ASSERT_EQ(world_
                .Post(nodes_, R"({"metadata":{"name":"n1"},"spec":{"taints":[)"
                              R"({"key":"k","effect":"NoSchedule"}]}})")
                .status,
            201);
  const Answer refused = As(kNode, "PATCH", nodes_ + "/n1", R"({"spec":{"taints":null}})", kMerge);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.text, HasSubstr("is not allowed to modify taints"));
  const Answer label =
      As(kNode, "PATCH", nodes_ + "/n1",
         R"({"metadata":{"labels":{"node-restriction.kubernetes.io/safe":"yes"}}})", kMerge);
  EXPECT_EQ(label.status, 403);
  EXPECT_THAT(label.text, HasSubstr("is not allowed to modify labels: "
                                    "node-restriction.kubernetes.io/safe"));
}

// Kubernetes's labels steer work; a kubelet gives itself those that say what its machine is.
TEST_F(OwnTest, ANodeDoesNotSteerWorkToItself) {
  const auto labelled = [](std::string_view name, std::string_view label) {
    return R"({"metadata":{"name":")" + std::string(name) + R"(","labels":{")" +
           std::string(label) + R"(":"x"}}})";
  };
  const apiserver::User other{"system:node:n2", {std::string(kNodes)}};
  const Answer made = As(other, "POST", nodes_, labelled("n2", "node-role.kubernetes.io/master"));
  EXPECT_EQ(made.status, 403);
  EXPECT_THAT(made.text, HasSubstr("is not allowed to set the following labels: "
                                   "node-role.kubernetes.io/master"));
  ASSERT_EQ(Create(kNode, nodes_, labelled("n1", "kubernetes.io/hostname")), 201);
  const auto label = [&](std::string_view key, std::string_view value) {
    return As(kNode, "PATCH", nodes_ + "/n1",
              R"({"metadata":{"labels":{")" + std::string(key) + "\":" + std::string(value) + "}}}",
              kMerge)
        .status;
  };
  for (const std::string_view key :
       {"node-role.kubernetes.io/control-plane", "kubernetes.io/role", "team.kubernetes.io/x",
        "a.node-restriction.kubernetes.io/x", "k8s.io/x", "x.k8s.io/y"}) {
    EXPECT_EQ(label(key, "\"x\""), 403) << key;
  }
  for (const std::string_view key :
       {"topology.kubernetes.io/zone", "node.kubernetes.io/instance-type", "node.kubernetes.io/x",
        "kubelet.kubernetes.io/x", "a.kubelet.kubernetes.io/x", "rack", "example.com/rack",
        "notkubernetes.io/x", "dray/hollow"}) {
    EXPECT_EQ(label(key, "\"x\""), 200) << key;
  }
  // Nor does it take away what an administrator has given it.
  ASSERT_EQ(world_
                .Ask({.method = "PATCH",
                      .path = nodes_ + "/n1",
                      .body = R"({"metadata":{"labels":{"node-role.kubernetes.io/edge":"x"}}})",
                      .content_type = kMerge})
                .status,
            200);
  EXPECT_EQ(label("node-role.kubernetes.io/edge", "null"), 403);
  EXPECT_EQ(label("rack", "null"), 200);
}

// One that is owned by somebody who is not there is collected, and could come back without its taints.
TEST_F(OwnTest, ANodeDoesNotSayWhoOwnsIt) {
  ASSERT_EQ(Create(kNode, nodes_, R"({"metadata":{"name":"n1"}})"), 201);
  const Answer refused =
      As(kNode, "PATCH", nodes_ + "/n1",
         R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"gone",)"
         R"("uid":"u"}]}})",
         kMerge);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.text, HasSubstr("is not allowed to modify ownerReferences"));
}

TEST_F(OwnTest, ANodeReportsItsOwnStorageDrivers) {
  const std::string nodes = "/apis/storage.k8s.io/v1/csinodes";
  EXPECT_EQ(Create(kNode, nodes, R"({"metadata":{"name":"n1"},"spec":{"drivers":[]}})"), 201);
  const Answer other =
      As(kNode, "POST", nodes, R"({"metadata":{"name":"n2"},"spec":{"drivers":[]}})");
  EXPECT_EQ(other.status, 403);
  EXPECT_THAT(other.text,
              HasSubstr("can only create CSINode with the same name as the requesting node"));
}

TEST_F(OwnTest, ANodeReportsAndEndsItsOwnPodsOnly) {
  const auto pod = [](std::string_view name, std::string_view node) {
    return R"({"metadata":{"name":")" + std::string(name) + R"("},"spec":{"nodeName":")" +
           std::string(node) + R"(","containers":[{"name":"c","image":"i"}]}})";
  };
  ASSERT_EQ(world_.Post(pods_, pod("mine", "n1")).status, 201);
  ASSERT_EQ(world_.Post(pods_, pod("other", "n2")).status, 201);
  const std::string running = R"({"status":{"phase":"Running"}})";
  EXPECT_EQ(As(kNode, "PATCH", pods_ + "/mine/status", running, kMerge).status, 200);
  const Answer status = As(kNode, "PATCH", pods_ + "/other/status", running, kMerge);
  EXPECT_EQ(status.status, 403);
  EXPECT_THAT(status.text, HasSubstr("can only update pod status for pods with spec.nodeName set "
                                     "to itself"));
  const Answer claims =
      As(kNode, "PATCH", pods_ + "/mine/status",
         R"({"status":{"resourceClaimStatuses":[{"name":"x","resourceClaimName":"y"}]}})", kMerge);
  EXPECT_EQ(claims.status, 403) << claims.text;
  const Answer label = As(kNode, "PATCH", pods_ + "/mine/status",
                          R"({"metadata":{"labels":{"app":"billing"}}})", kMerge);
  EXPECT_EQ(label.status, 403);
  EXPECT_THAT(label.text, HasSubstr("cannot update labels through pod status"));
  EXPECT_EQ(As(kNode, "DELETE", pods_ + "/other").status, 403);
  EXPECT_EQ(As(kNode, "POST", pods_ + "/other/eviction", "{}").status, 403);
  EXPECT_EQ(As(kNode, "POST", pods_ + "/mine/eviction", "{}").status, 201);
}

class OwnNodeAllocatableTest : public OwnTest {
 protected:
  static RegistryOptions On() {
    RegistryOptions options;
    options.rules.gates.Set(api::Gate::kDRANodeAllocatableResources, true);
    return options;
  }
  OwnNodeAllocatableTest() : OwnTest(On()) {}
};

// What claims take of a node is the scheduler's to say.
TEST_F(OwnNodeAllocatableTest, ANodeDoesNotSayWhatClaimsTakeOfIt) {
  ASSERT_EQ(world_
                .Post(pods_, R"({"metadata":{"name":"mine"},"spec":{"nodeName":"n1",)"
                             R"("resourceClaims":[{"name":"d","resourceClaimName":"a"}],)"
                             R"("containers":[{"name":"c","image":"i"}]}})")
                .status,
            201);
  const std::string status =
      R"({"status":{"nodeAllocatableResourceClaimStatuses":[{"resourceClaimName":"a",)"
      R"("mapping":[{"name":"cpu","quantity":"2"}]}]}})";
  const Answer refused = As(kNode, "PATCH", pods_ + "/mine/status", status, kMerge);
  EXPECT_EQ(refused.status, 403) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("cannot update node allocatable resource claim statuses"));
  EXPECT_EQ(world_
                .Ask({.method = "PATCH",
                      .path = pods_ + "/mine/status",
                      .body = status,
                      .content_type = kMerge})
                .status,
            200);
}

TEST_F(OwnTest, ANodeRenewsItsOwnLease) {
  ASSERT_EQ(world_.Post("/api/v1/namespaces", R"({"metadata":{"name":"kube-node-lease"}})").status,
            201);
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/";
  EXPECT_EQ(Create(kNode, leases + "kube-node-lease/leases", R"({"metadata":{"name":"n1"}})"), 201);
  EXPECT_EQ(Create(kNode, leases + "kube-node-lease/leases", R"({"metadata":{"name":"n2"}})"), 403);
  EXPECT_EQ(Create(kNode, leases + "default/leases", R"({"metadata":{"name":"n1"}})"), 403);
}

// KEP-4817: entries of status.devices are written by their driver; one that runs on a node does so
// for claims that are allocated for that node.
class DeviceStatusTest : public OwnTest {
 protected:
  void Allocate(std::string_view claim, std::string_view node) {
    ASSERT_EQ(world_
                  .Post(claims_, R"({"metadata":{"name":")" + std::string(claim) +
                                     R"("},"spec":{"devices":{"requests":[{"name":"r",)"
                                     R"("exactly":{"deviceClassName":"gpu"}}]}}})")
                  .status,
              201);
    const Answer allocated = world_.Ask(
        {.method = "PATCH",
         .path = claims_ + "/" + std::string(claim) + "/status",
         .body = R"({"status":{"allocation":{"devices":{"results":[{"request":"r","driver":)"
                 R"("gpu.example.com","pool":"p","device":"d"}]},"nodeSelector":{)"
                 R"("nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In",)"
                 R"("values":[")" +
                 std::string(node) + R"("]}]}]}}}})",
         .content_type = kMerge});
    ASSERT_EQ(allocated.status, 200) << allocated.text;
  }
  int Report(const apiserver::User& user, std::string_view claim) {
    return As(user, "PATCH", claims_ + "/" + std::string(claim) + "/status",
              R"({"status":{"devices":[{"driver":"gpu.example.com","pool":"p","device":"d"}]}})",
              kMerge)
        .status;
  }
  const std::string claims_ = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
};

TEST_F(DeviceStatusTest, IsWrittenByItsDriver) {
  Allocate("here", "n1");
  Allocate("there", "n2");
  EXPECT_EQ(Report({"dray:driver:nic.example.com", {std::string(kDrivers)}}, "here"), 422);
  EXPECT_EQ(Report(kDriver, "there"), 200);
  EXPECT_EQ(Report(kDriverOnNode, "here"), 200);
}

TEST_F(DeviceStatusTest, OfAnotherNodeIsNotForADriverOnANode) {
  Allocate("there", "n2");
  EXPECT_EQ(Report(kDriverOnNode, "there"), 422);
}

}  // namespace
}  // namespace dray::registry
