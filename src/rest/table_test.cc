// SPDX-License-Identifier: Apache-2.0
#include "rest/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/json.h"
#include "rest/tree_for_test.h"

namespace dray::rest {
namespace {

using ::testing::ElementsAre;

TEST(HumanDuration, HasAtMostTwoUnits) {
  const std::vector<std::pair<std::int64_t, std::string>> cases = {{-5, "<invalid>"},
                                                                   {-1, "0s"},
                                                                   {0, "0s"},
                                                                   {119, "119s"},
                                                                   {120, "2m"},
                                                                   {190, "3m10s"},
                                                                   {600, "10m"},
                                                                   {3 * 3600 - 1, "179m"},
                                                                   {3 * 3600, "3h"},
                                                                   {3 * 3600 + 60, "3h1m"},
                                                                   {8 * 3600, "8h"},
                                                                   {48 * 3600, "2d"},
                                                                   {49 * 3600, "2d1h"},
                                                                   {8 * 86400, "8d"},
                                                                   {729 * 86400, "729d"},
                                                                   {731 * 86400, "2y1d"},
                                                                   {9 * 365 * 86400LL, "9y"}};
  for (const auto& [seconds, want] : cases) EXPECT_EQ(HumanDuration(seconds), want);
}

struct RowCase {
  std::string name;
  std::string object;
  std::vector<std::string> cells;  // those with priority 0
  friend void PrintTo(const RowCase& c, std::ostream* os) { *os << c.name; }
};

class RowTest : public ::testing::TestWithParam<RowCase> {};

TEST_P(RowTest, ShowsWhatPeopleWant) {
  api::JsonDecoder decoder;
  const auto object = DecodeObject(decoder, GetParam().object);
  ASSERT_TRUE(object.ok()) << object.status();
  const auto free = [](const api::ResourceSlice&) { return std::optional<std::int64_t>(1); };
  const std::vector<Cell> cells =
      CellsOf(*object, {.now = base::Time::FromUnix(10), .free_devices = free});
  const auto columns = ColumnsOf(object->kind());
  ASSERT_EQ(cells.size(), columns.size());
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto* number = std::get_if<std::int64_t>(&cells[i]);
    EXPECT_EQ(columns[i].type == "integer", number != nullptr) << columns[i].name;
    if (columns[i].priority > 0) continue;
    shown.push_back(number != nullptr ? std::to_string(*number) : std::get<std::string>(cells[i]));
  }
  EXPECT_EQ(shown, GetParam().cells);
}

constexpr std::string_view kMeta =
    R"("metadata":{"name":"x","namespace":"n","creationTimestamp":"1970-01-01T00:00:05Z"})";
std::string Resource(std::string_view kind, std::string_view rest) {
  return R"({"apiVersion":"resource.k8s.io/v1","kind":")" + std::string(kind) + "\"," +
         std::string(kMeta) + "," + std::string(rest) + "}";
}
std::string Core(std::string_view version, std::string_view kind, std::string_view rest) {
  return R"({"apiVersion":")" + std::string(version) + R"(","kind":")" + std::string(kind) + "\"," +
         std::string(kMeta) + (rest.empty() ? "" : ",") + std::string(rest) + "}";
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, RowTest,
    ::testing::ValuesIn(std::vector<RowCase>{
        {"taint_rule",
         R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRule","metadata":{"name":"r"},)"
         R"("spec":{"taint":{"key":"k","value":"v","effect":"NoExecute"}}})",
         {"r", "k=v:NoExecute", "<unknown>"}},
        {"claim_pending",
         Resource("ResourceClaim", R"("spec":{})"),
         {"x", "pending", "<none>", "<none>", "<none>", "5s"}},
        {"claim_reserved",
         Resource("ResourceClaim",
                  R"("status":{"allocation":{"devices":{"results":[)"
                  R"({"pool":"p","device":"d0"},{"pool":"p","device":"d1"},)"
                  R"({"pool":"p","device":"d2"},{"pool":"p","device":"d3"}]},)"
                  R"("nodeSelector":{"nodeSelectorTerms":[{"matchFields":[)"
                  R"({"key":"metadata.name","operator":"In","values":["node-1"]}]}]}},)"
                  R"("reservedFor":[{"resource":"pods","name":"web","uid":"u"}]})"),
         {"x", "allocated,reserved", "p/d0,p/d1,p/d2 + 1 more", "node-1", "pods/web", "5s"}},
        {"slice",
         Resource("ResourceSlice", R"("spec":{"driver":"d","pool":{"name":"p"},"nodeName":"n1",)"
                                   R"("devices":[{"name":"a"},{"name":"b"}]})"),
         {"x", "n1", "d", "p", "2", "1", "5s"}},
        {"pod_pending",
         Core("v1", "Pod", R"("spec":{"containers":[{"name":"a"}]},"status":{"phase":"Pending"})"),
         {"x", "0/1", "Pending", "0", "5s"}},
        {"pod_gated",
         Core("v1", "Pod",
              R"("spec":{"containers":[{"name":"a"}]},"status":{"phase":"Pending","conditions":[)"
              R"({"type":"PodScheduled","status":"False","reason":"SchedulingGated"}]})"),
         {"x", "0/1", "SchedulingGated", "0", "5s"}},
        {"pod_crashing",
         Core("v1", "Pod",
              R"("spec":{"containers":[{"name":"a"},{"name":"b"}]},"status":{"phase":"Running",)"
              R"("containerStatuses":[{"name":"a","ready":true,"state":{"running":{}}},)"
              R"({"name":"b","restartCount":3,"state":{"waiting":{"reason":"CrashLoopBackOff"}},)"
              R"("lastState":{"terminated":{"finishedAt":"1970-01-01T00:00:08Z"}}}]})"),
         {"x", "1/2", "CrashLoopBackOff", "3 (2s ago)", "5s"}},
        {"pod_done",
         Core(
             "v1", "Pod",
             R"("spec":{"containers":[{"name":"a"}]},"status":{"phase":"Succeeded",)"
             R"("containerStatuses":[{"name":"a","state":{"terminated":{"reason":"Completed"}}}]})"),
         {"x", "0/1", "Completed", "0", "5s"}},
        {"pod_initializing",
         Core("v1", "Pod",
              R"("spec":{"initContainers":[{"name":"i"}],"containers":[{"name":"a"}]},)"
              R"("status":{"phase":"Pending","initContainerStatuses":[{"name":"i",)"
              R"("state":{"running":{}}}]})"),
         {"x", "0/1", "Init:0/1", "0", "5s"}},
        {"node",
         Core("v1", "Node",
              R"("spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready",)"
              R"("status":"True"}],"nodeInfo":{"kubeletVersion":"v1"}})"),
         {"x", "Ready,SchedulingDisabled", "<none>", "5s", "v1"}},
        {"definition",
         Core("apiextensions.k8s.io/v1", "CustomResourceDefinition", R"("spec":{"group":"g"})"),
         {"x", "1970-01-01T00:00:05Z"}},
        {"quota",
         Core("v1", "ResourceQuota",
              R"("status":{"hard":{"pods":"2","limits.cpu":"4"},"used":{"pods":"1"}})"),
         {"x", "pods: 1/2", "limits.cpu: 0/4", "5s"}},
        {"event",
         Core("v1", "Event",
              R"("involvedObject":{"kind":"Pod","name":"p"},"type":"Warning","reason":"R",)"
              R"("message":"m","count":3,"firstTimestamp":"1970-01-01T00:00:05Z",)"
              R"("lastTimestamp":"1970-01-01T00:00:09Z")"),
         {"1s (x3 over 5s)", "Warning", "R", "pod/p", "m"}},
        {"namespace",
         Core("v1", "Namespace", R"("status":{"phase":"Active"})"),
         {"x", "Active", "5s"}},
        {"deployment",
         Core("apps/v1", "Deployment",
              R"("spec":{"replicas":2},"status":{"readyReplicas":1,"updatedReplicas":2})"),
         {"x", "1/2", "2", "0", "5s"}},
        {"replica_set",
         Core("apps/v1", "ReplicaSet", R"("spec":{"replicas":2},"status":{"replicas":2})"),
         {"x", "2", "2", "0", "5s"}},
        {"job",
         Core("batch/v1", "Job",
              R"("spec":{"completions":3},"status":{"succeeded":1,)"
              R"("startTime":"1970-01-01T00:00:06Z"})"),
         {"x", "Running", "1/3", "4s", "5s"}},
        {"lease",
         Core("coordination.k8s.io/v1", "Lease", R"("spec":{"holderIdentity":"me"})"),
         {"x", "me", "5s"}},
        {"priority_class",
         Core("scheduling.k8s.io/v1", "PriorityClass", R"("value":7)"),
         {"x", "7", "false", "5s", "PreemptLowerPriority"}},
        {"class", Resource("DeviceClass", R"("spec":{})"), {"x", "5s"}},
    }),
    [](const auto& info) { return info.param.name; });

TEST(Table, OfAWatchHasHeadersOnlyOnce) {
  api::JsonDecoder decoder;
  const std::vector<api::Object> objects = {
      *DecodeObject(decoder, Resource("DeviceClass", R"("spec":{})"))};
  const DocumentNode first = TreeOf(TableJson(objects[0].kind(), objects, {}, {}));
  const DocumentNode next = TreeOf(TableJson(objects[0].kind(), objects, {.headers = false}, {}));
  EXPECT_EQ(FindIn(first, "columnDefinitions")->items.size(), 2u);
  EXPECT_TRUE(IsNull(*FindIn(next, "columnDefinitions")));
  const DocumentNode& row = FindIn(next, "rows")->items.at(0);
  EXPECT_EQ(TextIn(*FindIn(row, "object"), "kind"), "PartialObjectMetadata");
}

}  // namespace
}  // namespace dray::rest
