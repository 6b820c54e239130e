// SPDX-License-Identifier: Apache-2.0
//
// What a running control plane says in numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "api/namespace.h"
#include "api/pod.h"
#include "base/uuid.h"
#include "logs/output_for_test.h"
#include "plane/internal/plane_metrics.h"
#include "plane/internal/scheduler_page.h"
#include "plane/internal/watch_metrics.h"
#include "plane/plane_for_test.h"
#include "registry/registry.h"
#include "store/memory/memory_store.h"

namespace dray::plane {
namespace {

using ::testing::HasSubstr;

std::set<std::string> NamesIn(const std::string& text) {
  std::set<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, type, name;
    words >> hash >> type >> name;
    if (hash == "#" && type == "TYPE") names.insert(name);
  }
  return names;
}

// The first cells of the tables' rows, where they are code.
std::set<std::string> NamesOnThePage() {
  const char* source = std::getenv("DRAY_SOURCE");
  std::ifstream page(std::string(source == nullptr ? "." : source) + "/docs/metrics.md");
  std::set<std::string> names;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    names.insert(line.substr(3, line.find_first_of("`{", 3) - 3));
  }
  return names;
}

TEST(Metrics, ThePageAndTheOutputNameTheSame) {
  const auto store = store::MakeMemoryStore();
  const base::ManualClock clock;
  const registry::Objects objects(*store);
  internal::PlaneMetrics metrics(clock, {}, "v1");
  metrics.Watch(objects, "", [] { return apiserver::ServerStats(); });
  std::string logged;
  logs::Log log({}, clock, std::make_unique<logs::StringOutput>(logged));
  internal::AddLogMetrics(metrics.registry(), log);
  logs::LineWriter writer(std::make_unique<logs::StringOutput>(logged));
  const audit::Auditor auditor({}, clock, writer);
  internal::AddAuditMetrics(metrics.registry(), auditor);
  internal::AddHealthMetrics(metrics.registry(),
                             [] { return std::span<const registry::HealthCheck>(); });
  std::set<std::string> shown = NamesIn(metrics.Text());
  shown.merge(NamesIn(internal::PodResourcesText(objects)));
  // The control plane's own: of both of its registries, its queues and its loops.
  const internal::SchedulerPage page(clock, {.lease = "x", .log = &log});
  shown.merge(NamesIn(page.registry().Text()));
  shown.insert({"dray_unreadable_objects", "dray_store_longest_commit_seconds",
                "dray_request_queue_oldest_seconds", "dray_loop_turn_seconds"});
  EXPECT_EQ(NamesOnThePage(), shown);
}

TEST(Metrics, TellTheLifeOfPodsAndDevices) {
  TestPlane plane;
  plane.Start();
  for (int i = 0; i < 3; ++i) plane.Create(PodFromTemplate("p" + std::to_string(i)));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(plane.Await("p" + std::to_string(i), api::kPodRunning));
  api::Pod far = PodFromTemplate("far");
  far.spec.node_selector["nowhere"] = "true";
  plane.Create(far);
  ASSERT_TRUE(plane.AwaitEvent("far", "FailedScheduling"));
  // Numbers follow within a second or two of what they are about.
  const auto says = [&](const std::string& line) {
    const bool said = plane.Until(
        [&] { return plane.plane().Metrics().find("\n" + line + "\n") != std::string::npos; });
    return said ? "" : plane.plane().Metrics();
  };
  for (
      const std::string line :
      {R"(scheduler_schedule_attempts_total{result="scheduled",profile="default-scheduler"} 3)",
       R"(scheduler_pod_scheduling_attempts_count 3)",
       R"(scheduler_pending_pods{queue="unschedulable"} 1)",
       R"(scheduler_unschedulable_pods{plugin="NodeAffinity",profile="default-scheduler"} 1)",
       R"(scheduler_cache_size{type="nodes"} 2)",
       R"(dynamic_resource_allocation_resource_claims{allocated="true",admin_access="false",source="resource_claim_template"} 3)",
       R"(resourceclaim_controller_resource_claims{admin_access="false",allocated="false",source="resource-claim-template"} 1)",
       R"(dynamic_resource_allocation_resourceclaim_creates_total{status="success",admin_access="false",owner_api_group="",owner_api_kind="Pod"} 4)",
       R"(resourceclaim_controller_creates_total{status="success",admin_access="false"} 4)",
       R"(dray_devices{class="gpu.example.com",state="allocated"} 3)",
       R"(dray_devices{class="gpu.example.com",state="free"} 5)",
       R"(apiserver_storage_objects{resource="pods"} 4)",
       R"(kubernetes_feature_enabled{name="DRAConsumableCapacity",stage="BETA"} 1)",
       R"(workqueue_depth{name="resource_claim"} 0)"}) {
    EXPECT_EQ(says(line), "") << line;
  }
  const std::string text = plane.plane().Metrics();
  EXPECT_THAT(text, HasSubstr("scheduler_framework_extension_point_duration_seconds_bucket{"
                              "extension_point=\"Filter\",status=\"Success\""));
  EXPECT_THAT(text, HasSubstr("dray_scheduling_refusals_total{plugin=\"NodeAffinity\""));
  EXPECT_THAT(text, HasSubstr("dray_store_commits_total{status=\"success\"}"));
}

TEST(Metrics, DevicesAreCountedByStateAndClass) {
  const auto store = store::MakeMemoryStore();
  base::ManualClock clock;
  base::SystemRandomSource random;
  registry::Registry objects(*store, clock, random, {});
  internal::Census census(objects.objects(), clock);
  const auto add = [&](api::Object object) {
    objects.Create(std::move(object), "default", {},
                   [](const auto& created) { EXPECT_TRUE(created.ok()) << created.status(); });
  };
  api::Namespace space;
  space.metadata.name = "default";
  add(api::Object::Of(space));
  for (api::Object& object : SmallCluster()) {
    if (auto* slice = object.Mutable<api::ResourceSlice>()) {
      slice->spec.devices->front().taints.push_back({.key = "k", .effect = "NoSchedule"});
    }
    if (object.As<api::ResourceClaimTemplate>() == nullptr) add(object);
  }
  api::DeviceClass none;
  none.metadata.name = "none";
  none.spec.selectors.emplace_back().cel.emplace().expression = "device.driver == 'other'";
  add(api::Object::Of(none));
  const internal::CensusResult counted = census.Count();
  EXPECT_EQ(counted.devices.at("gpu.example.com").free, 6u);
  EXPECT_EQ(counted.devices.at("gpu.example.com").tainted, 2u);
  EXPECT_EQ(counted.devices.at("none").free, 0u);
  // A newer generation of a pool takes the place of the older one.
  for (const api::Object& object : SmallCluster()) {
    const auto* old = object.As<api::ResourceSlice>();
    if (old == nullptr || old->spec.node_name != "node-a") continue;
    api::ResourceSlice slice = *old;
    slice.metadata.name = "newer";
    slice.spec.pool.generation = 2;
    slice.spec.devices->resize(1);
    add(api::Object::Of(slice));
  }
  clock.Advance(std::chrono::seconds(2));
  EXPECT_EQ(census.Count().devices.at("gpu.example.com").free, 3u + 1u);
}

TEST(Metrics, WhatPodsAskForHasAPage) {
  const auto store = store::MakeMemoryStore();
  const base::ManualClock clock;
  base::SystemRandomSource random;
  registry::Registry objects(*store, clock, random, {});
  api::Namespace space;
  space.metadata.name = "default";
  objects.Create(api::Object::Of(space), "", {}, [](const auto&) {});
  api::Pod pod = PodFromTemplate("p");
  pod.spec.containers[0].resources.requests["cpu"] = *base::Quantity::Parse("1500m");
  pod.spec.containers[0].resources.limits["memory"] = *base::Quantity::Parse("1Ki");
  objects.Create(api::Object::Of(pod), "default", {},
                 [](const auto& created) { EXPECT_TRUE(created.ok()) << created.status(); });
  const std::string text = internal::PodResourcesText(objects.objects());
  EXPECT_THAT(text,
              HasSubstr("kube_pod_resource_request{namespace=\"default\",pod=\"p\",node=\"\","));
  EXPECT_THAT(text, HasSubstr("resource=\"cpu\",unit=\"cores\"} 1.5\n"));
  EXPECT_THAT(text, HasSubstr("resource=\"memory\",unit=\"bytes\"} 1024\n"));
}

}  // namespace
}  // namespace dray::plane
