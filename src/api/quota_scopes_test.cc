// SPDX-License-Identifier: Apache-2.0
#include "api/quota_scopes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "api/custom_kind.h"
#include "api/event.h"
#include "api/lease.h"
#include "api/workloads.h"

namespace dray::api {
namespace {

Pod PodNamed(std::string_view name) {
  Pod pod;
  pod.metadata.namespace_ = "ns";
  pod.metadata.name = name;
  pod.spec.containers.push_back({.name = "c", .image = "i"});
  return pod;
}
bool Counts(const ResourceQuotaSpec& quota, const Pod& pod) {
  return QuotaCounts(quota, Object::Of(pod));
}

TEST(QuotaScopes, FitOrDoNot) {
  struct Case {
    ScopedResourceSelectorRequirement requirement;
    bool plain;      // no deadline, no priority, requests something
    bool important;  // a deadline, the class "high", best effort
  };
  const Case cases[] = {
      {{.scope_name = "Terminating"}, false, true},
      {{.scope_name = "NotTerminating"}, true, false},
      {{.scope_name = "BestEffort"}, false, true},
      {{.scope_name = "NotBestEffort"}, true, false},
      {{.scope_name = "PriorityClass", .operator_ = "Exists"}, false, true},
      {{.scope_name = "PriorityClass", .operator_ = "DoesNotExist"}, true, false},
      {{.scope_name = "PriorityClass", .operator_ = "In", .values = {"high"}}, false, true},
      {{.scope_name = "PriorityClass", .operator_ = "NotIn", .values = {"high"}}, true, false},
      {{.scope_name = "CrossNamespacePodAffinity"}, false, false},
      {{.scope_name = "Unheard"}, false, false},
  };
  Pod plain = PodNamed("a");
  plain.status.qos_class = "Burstable";
  Pod important = PodNamed("b");
  important.status.qos_class = "BestEffort";
  important.spec.active_deadline_seconds = 0;
  important.spec.priority_class_name = "high";
  for (const Case& c : cases) {
    ResourceQuotaSpec quota;
    quota.scope_selector.emplace().match_expressions.push_back(c.requirement);
    EXPECT_EQ(Counts(quota, plain), c.plain) << c.requirement.scope_name;
    EXPECT_EQ(Counts(quota, important), c.important) << c.requirement.scope_name;
  }
  Pod abroad = PodNamed("c");
  auto& term = abroad.spec.affinity.emplace().pod_affinity.emplace().required.emplace_back();
  term.namespaces = {"elsewhere"};
  ResourceQuotaSpec quota;
  quota.scopes = {std::string(kQuotaScopeCrossNamespacePodAffinity)};
  EXPECT_TRUE(Counts(quota, abroad));
}

// An init container that asks for something makes the pod more than best effort, and so do amounts
// of the pod as a whole.
TEST(QuotaScopes, BestEffortIsThatOfTheWholePod) {
  ResourceQuotaSpec quota;
  quota.scopes = {std::string(kQuotaScopeBestEffort)};
  EXPECT_TRUE(Counts(quota, PodNamed("a")));
  Pod devices = PodNamed("b");
  devices.spec.containers[0].resources.limits["example.com/gpu"] = base::Quantity::FromInt(1);
  EXPECT_TRUE(Counts(quota, devices));
  Pod init = PodNamed("c");
  init.spec.init_containers.push_back({.name = "i", .image = "i"});
  init.spec.init_containers[0].resources.requests["cpu"] = base::Quantity::FromInt(1);
  EXPECT_FALSE(Counts(quota, init));
  Pod whole = PodNamed("d");
  whole.spec.resources.emplace().requests["memory"] = base::Quantity::FromInt(1);
  EXPECT_FALSE(Counts(quota, whole));
}

TEST(QuotaScopes, OnlyPodsAreInOne) {
  const Object deployment = Object::Of(Deployment());
  ResourceQuotaSpec quota;
  EXPECT_TRUE(QuotaCounts(quota, deployment));
  quota.scopes = {std::string(kQuotaScopeNotTerminating)};
  EXPECT_FALSE(QuotaCounts(quota, deployment));
}

TEST(QuotaScopes, EveryKindInANamespaceIsCountedButEvents) {
  EXPECT_TRUE(IsCounted(HubKind(TypeInfoOf<Deployment>())));
  EXPECT_TRUE(IsCounted(HubKind(TypeInfoOf<Lease>())));
  EXPECT_FALSE(IsCounted(HubKind(TypeInfoOf<Event>())));
  EXPECT_FALSE(IsCounted(*FindKind("v1", "Node")));
  EXPECT_EQ(CountQuotaName(HubKind(TypeInfoOf<Deployment>())), "count/deployments.apps");
  EXPECT_EQ(CountQuotaName(HubKind(TypeInfoOf<Pod>())), "count/pods");
  CustomKindNames names{.group = "quota.example.com",
                        .version = "v1",
                        .kind = "Widget",
                        .plural = "widgets",
                        .namespaced = true};
  const KindInfo& widget = **CustomKind(names);
  EXPECT_TRUE(IsCounted(widget));
  EXPECT_EQ(CountQuotaName(widget), "count/widgets.quota.example.com");
  names.namespaced = false;
  EXPECT_FALSE(IsCounted(**CustomKind(names)));
}

}  // namespace
}  // namespace dray::api
