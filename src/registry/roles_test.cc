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
const std::string kKnown = "system:authenticated";
api::UserInfo Viewer() { return {"eve", {std::string(kViewers), kKnown}}; }
api::UserInfo Scheduler() { return {std::string(kSchedulerUser), {kKnown}}; }
api::UserInfo NodeUser() { return {"system:node:n1", {std::string(kNodes), kKnown}}; }
api::UserInfo Driver() { return {"dray:driver:gpu.example.com", {std::string(kDrivers), kKnown}}; }
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
  const RoleAuthorizer roles;
  const auto may = [&](api::UserInfo user, std::string path) {
    return roles.Authorize({.user = std::move(user), .verb = "get", .path = std::move(path)})
        .allowed;
  };
  EXPECT_TRUE(may(Anonymous(), "/readyz"));
  EXPECT_TRUE(may(Anonymous(), "/readyz/store"));
  EXPECT_FALSE(may(Anonymous(), "/metrics"));
  EXPECT_FALSE(may(Anonymous(), "/apis"));
  EXPECT_TRUE(may(Viewer(), "/metrics"));
  EXPECT_FALSE(may(NodeUser(), "/metrics"));
  EXPECT_FALSE(may(Driver(), "/metrics/resources"));
  EXPECT_TRUE(may(Driver(), "/version"));
  EXPECT_FALSE(may(Viewer(), "/snapshot"));
  EXPECT_TRUE(may({.name = "a", .groups = {"system:masters"}}, "/snapshot"));
  EXPECT_EQ(base::Message(ForbiddenPath({.user = Anonymous(), .verb = "get", .path = "/metrics"})),
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
