// SPDX-License-Identifier: Apache-2.0
#include "registry/route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fmt/format.h"

namespace dray::registry {
namespace {

struct RouteCase {
  std::string name;
  std::string path;
  std::string want;  // "group version resource namespace name subresource kind", or empty
  friend void PrintTo(const RouteCase& c, std::ostream* os) { *os << c.name; }
};

class RouteTest : public ::testing::TestWithParam<RouteCase> {};

TEST_P(RouteTest, IsTakenApart) {
  const auto route = ParseRoute(GetParam().path);
  if (GetParam().want.empty()) {
    EXPECT_FALSE(route.has_value());
    return;
  }
  ASSERT_TRUE(route.has_value());
  EXPECT_EQ(fmt::format("{}|{}|{}|{}|{}|{}|{}", route->group, route->version, route->resource,
                        route->namespace_, route->name, route->subresource,
                        route->kind == nullptr ? "" : route->kind->kind),
            GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Paths, RouteTest,
    ::testing::ValuesIn(std::vector<RouteCase>{
        {"all_pods", "/api/v1/pods", "|v1|pods||||Pod"},
        {"pods_of_a_namespace", "/api/v1/namespaces/n/pods", "|v1|pods|n|||Pod"},
        {"one_pod", "/api/v1/namespaces/n/pods/p", "|v1|pods|n|p||Pod"},
        {"binding", "/api/v1/namespaces/n/pods/p/binding", "|v1|pods|n|p|binding|Pod"},
        {"namespaces", "/api/v1/namespaces", "|v1|namespaces||||Namespace"},
        {"one_namespace", "/api/v1/namespaces/n", "|v1|namespaces||n||Namespace"},
        {"status_of_a_namespace", "/api/v1/namespaces/n/status",
         "|v1|namespaces||n|status|Namespace"},
        {"finalize", "/api/v1/namespaces/n/finalize", "|v1|namespaces||n|finalize|Namespace"},
        {"group", "/apis/resource.k8s.io/v1/deviceclasses/c",
         "resource.k8s.io|v1|deviceclasses||c||DeviceClass"},
        {"older_version", "/apis/resource.k8s.io/v1beta1/namespaces/n/resourceclaims",
         "resource.k8s.io|v1beta1|resourceclaims|n|||ResourceClaim"},
        {"escapes", "/api/v1/namespaces/a%2Fb/pods/p%20q", "|v1|pods|a/b|p q||Pod"},
        {"unknown_resource", "/apis/resource.k8s.io/v1/nonsense",
         "resource.k8s.io|v1|nonsense||||"},
        {"cluster_wide_kind_in_a_namespace", "/api/v1/namespaces/n/nodes", "|v1|nodes|n|||"},
        {"too_long", "/api/v1/namespaces/n/pods/p/status/x", "|v1|pods|n|p|status/x|Pod"},
        {"slash_at_the_end", "/api/v1/pods/", "|v1|pods||||Pod"},
        {"discovery", "/apis/resource.k8s.io/v1", ""},
        {"core_discovery", "/api/v1", ""},
        {"health", "/healthz", ""},
        {"root", "/", ""},
        {"no_path", "xapi/v1/pods", ""},
    }),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace dray::registry
