// SPDX-License-Identifier: Apache-2.0
#include "registry/roles.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/kinds.h"
#include "registry/world_for_test.h"
#include "rest/api_error.h"

namespace dray::registry {
namespace {

api::UserInfo Admin() { return {"admin", {std::string(kMasters)}}; }
api::UserInfo Viewer() { return {"eve", {std::string(kViewers)}}; }
api::UserInfo Scheduler() { return {std::string(kSchedulerUser), {}}; }
api::UserInfo NodeUser() { return {"system:node:n1", {std::string(kNodes)}}; }
api::UserInfo Driver() { return {"dray:driver:gpu.example.com", {std::string(kDrivers)}}; }
api::UserInfo DriverOnNode() {
  return {"system:serviceaccount:dray-drivers:gpu.example.com",
          {std::string(kDrivers), "dray:node:n1"}};
}
api::UserInfo Anonymous() { return {"system:anonymous", {"system:unauthenticated"}}; }

struct RoleCase {
  std::string name;
  api::UserInfo user;
  std::string verb;
  std::string group;
  std::string resource;
  std::string subresource;
  bool allowed;
  std::string object = {};
  friend void PrintTo(const RoleCase& c, std::ostream* os) { *os << c.name; }
};

class RoleTest : public ::testing::TestWithParam<RoleCase> {};

TEST_P(RoleTest, MayDoWhatItsRoleSays) {
  const RoleCase& c = GetParam();
  EXPECT_EQ(RoleAuthorizer()
                .Authorize({.user = c.user,
                            .verb = c.verb,
                            .api_group = c.group,
                            .resource = c.resource,
                            .subresource = c.subresource,
                            .namespace_ = "default",
                            .name = c.object})
                .allowed,
            c.allowed);
}

constexpr auto kGroup = "resource.k8s.io";
INSTANTIATE_TEST_SUITE_P(
    Roles, RoleTest,
    ::testing::ValuesIn(std::vector<RoleCase>{
        {"admin_deletes_nodes", Admin(), "delete", "", "nodes", "", true},
        {"viewer_reads", Viewer(), "list", kGroup, "resourceclaims", "", true},
        {"viewer_does_not_write", Viewer(), "create", "", "pods", "", false},
        {"scheduler_binds", Scheduler(), "create", "", "pods", "binding", true},
        {"scheduler_allocates", Scheduler(), "update", kGroup, "resourceclaims", "status", true},
        {"scheduler_may_change_allocations", Scheduler(), "update", kGroup, "resourceclaims",
         "binding", true},
        {"scheduler_makes_no_pods", Scheduler(), "create", "", "pods", "", false},
        {"node_publishes_slices", NodeUser(), "create", kGroup, "resourceslices", "", true},
        {"node_does_not_bind", NodeUser(), "create", "", "pods", "binding", false},
        {"node_does_not_allocate", NodeUser(), "update", kGroup, "resourceclaims", "binding",
         false},
        {"driver_reports_its_devices", Driver(), "arbitrary-node:update", kGroup, "resourceclaims",
         "driver", true, "gpu.example.com"},
        {"driver_does_not_report_others", Driver(), "arbitrary-node:update", kGroup,
         "resourceclaims", "driver", false, "nic.example.com"},
        {"driver_on_a_node_reports_there", DriverOnNode(), "associated-node:update", kGroup,
         "resourceclaims", "driver", true, "gpu.example.com"},
        {"driver_on_a_node_reports_nowhere_else", DriverOnNode(), "arbitrary-node:update", kGroup,
         "resourceclaims", "driver", false, "gpu.example.com"},
        {"anonymous_gets_nothing", Anonymous(), "get", "", "pods", "", false},
    }),
    [](const auto& info) { return info.param.name; });

TEST(Roles, HealthIsForEverybody) {
  EXPECT_TRUE(RoleAuthorizer().MayRead(Anonymous(), "/readyz"));
  EXPECT_FALSE(RoleAuthorizer().MayRead(Anonymous(), "/metrics"));
  EXPECT_TRUE(RoleAuthorizer().MayRead(Viewer(), "/metrics"));
  EXPECT_FALSE(RoleAuthorizer().MayRead(NodeUser(), "/metrics"));
  EXPECT_FALSE(RoleAuthorizer().MayRead(Driver(), "/metrics/resources"));
  EXPECT_TRUE(RoleAuthorizer().MayRead(Driver(), "/version"));
  EXPECT_FALSE(RoleAuthorizer().MayRead(Viewer(), "/snapshot"));
  EXPECT_TRUE(RoleAuthorizer().MayRead({.name = "a", .groups = {"system:masters"}}, "/snapshot"));
  EXPECT_EQ(base::Message(ForbiddenPath(Anonymous(), "GET", "/metrics")),
            "forbidden: User \"system:anonymous\" cannot get path \"/metrics\"");
}

TEST(Roles, RefusalsReadAsInKubernetes) {
  const api::KindInfo& pods = *api::FindKind("v1", "Pod");
  EXPECT_EQ(base::Message(ForbiddenFor({.user = Viewer(),
                                        .verb = "delete",
                                        .api_group = "",
                                        .resource = "pods",
                                        .subresource = "",
                                        .namespace_ = "default",
                                        .name = "web"},
                                       pods)),
            "pods \"web\" is forbidden: User \"eve\" cannot delete resource \"pods\" in API group "
            "\"\" in the namespace \"default\"");
}

// KEP-4817: the status of a claim is written in parts, by those whose part it is.
TEST(Roles, AllocationsAreTheSchedulersAlone) {
  World world;
  const std::string claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
  ASSERT_EQ(
      world
          .Post(claims, R"({"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"r",)"
                        R"("exactly":{"deviceClassName":"gpu"}}]}}})")
          .status,
      201);
  const Asking allocate{
      .method = "PATCH",
      .path = claims + "/c/status",
      .body = R"({"status":{"allocation":{"devices":{"results":[{"request":"r","driver":)"
              R"("gpu.example.com","pool":"p","device":"d"}]}},"reservedFor":[]}})",
      .content_type = "application/merge-patch+json"};
  Asking as_driver = allocate;
  as_driver.user = {"dray:driver:gpu.example.com", {std::string(kDrivers)}};
  const Answer refused = world.Ask(as_driver);
  EXPECT_EQ(refused.status, 422) << refused.text;
  Asking as_scheduler = allocate;
  as_scheduler.user = {std::string(kSchedulerUser), {}};
  const Answer done = world.Ask(as_scheduler);
  EXPECT_EQ(done.status, 200) << done.text;
}

}  // namespace
}  // namespace dray::registry
