// SPDX-License-Identifier: Apache-2.0
#include "rest/strategic_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/pod.h"
#include "rest/api_error.h"
#include "rest/tree_for_test.h"

namespace dray::rest {
namespace {

using ::testing::HasSubstr;

struct StrategicCase {
  std::string name;
  std::string document;
  std::string patch;
  std::string want;        // the document afterwards, or
  std::string error = {};  // part of the message
  int code = 400;
  friend void PrintTo(const StrategicCase& c, std::ostream* os) { *os << c.name; }
};

class StrategicMergeTest : public ::testing::TestWithParam<StrategicCase> {};

TEST_P(StrategicMergeTest, MergesPods) {
  const StrategicCase& c = GetParam();
  DocumentNode document = TreeOf(c.document);
  const Status status = ApplyStrategicMerge(TreeOf(c.patch), api::TypeInfoOf<api::Pod>(), document);
  if (c.error.empty()) {
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(ToJson(document), c.want);
  } else {
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(FromStatus(status).message, HasSubstr(c.error));
    EXPECT_EQ(FromStatus(status).code, c.code);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Pods, StrategicMergeTest,
    ::testing::ValuesIn(std::vector<StrategicCase>{
        {"maps_are_merged_and_null_removes", R"({"metadata":{"labels":{"a":"1","b":"2"}}})",
         R"({"metadata":{"labels":{"a":null,"c":"3"}}})",
         R"({"metadata":{"labels":{"b":"2","c":"3"}}})"},
        {"items_are_matched_by_their_key",
         R"({"spec":{"containers":[{"name":"a","image":"x"},{"name":"b","image":"y"}]}})",
         R"({"spec":{"containers":[{"name":"b","image":"z"}]}})",
         R"({"spec":{"containers":[{"name":"a","image":"x"},{"name":"b","image":"z"}]}})"},
        // Before the others, as in Kubernetes, unless the patch gives an order.
        {"a_new_item_joins_in_front", R"({"spec":{"containers":[{"name":"a"}]}})",
         R"({"spec":{"containers":[{"name":"b","image":"z","command":null}]}})",
         R"({"spec":{"containers":[{"name":"b","image":"z"},{"name":"a"}]}})"},
        {"an_item_is_deleted", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
         R"({"spec":{"containers":[{"$patch":"delete","name":"a"}]}})",
         R"({"spec":{"containers":[{"name":"b"}]}})"},
        {"a_list_is_replaced", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
         R"({"spec":{"containers":[{"$patch":"replace"},{"name":"c"}]}})",
         R"({"spec":{"containers":[{"name":"c"}]}})"},
        {"a_map_is_replaced", R"({"metadata":{"labels":{"a":"1"}}})",
         R"({"metadata":{"labels":{"$patch":"replace","b":"2"}}})",
         R"({"metadata":{"labels":{"b":"2"}}})"},
        {"a_map_is_emptied", R"({"metadata":{"labels":{"a":"1"}}})",
         R"({"metadata":{"labels":{"$patch":"delete"}}})", R"({"metadata":{"labels":{}}})"},
        {"ports_go_by_their_number",
         R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":80,"name":"x"}]}]}})",
         R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":80,"name":"y"}]}]}})",
         R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":80,"name":"y"}]}]}})"},
        // An atomic list for apply, yet one with a key for this patch.
        {"host_ips_have_a_key", R"({"status":{"hostIPs":[{"ip":"1.1.1.1"}]}})",
         R"({"status":{"hostIPs":[{"ip":"2.2.2.2"}]}})",
         R"({"status":{"hostIPs":[{"ip":"2.2.2.2"},{"ip":"1.1.1.1"}]}})"},
        // A list with keys for apply, yet one that this patch replaces.
        {"claims_of_containers_are_replaced",
         R"({"spec":{"containers":[{"name":"a","resources":{"claims":[{"name":"x"}]}}]}})",
         R"({"spec":{"containers":[{"name":"a","resources":{"claims":[{"name":"y"}]}}]}})",
         R"({"spec":{"containers":[{"name":"a","resources":{"claims":[{"name":"y"}]}}]}})"},
        {"tolerations_are_replaced", R"({"spec":{"tolerations":[{"key":"a"},{"key":"b"}]}})",
         R"({"spec":{"tolerations":[{"key":"c"}]}})", R"({"spec":{"tolerations":[{"key":"c"}]}})"},
        {"finalizers_join", R"({"metadata":{"finalizers":["a/x","b/y"]}})",
         R"({"metadata":{"finalizers":["b/y","c/z"]}})",
         R"({"metadata":{"finalizers":["a/x","b/y","c/z"]}})"},
        {"values_are_deleted", R"({"metadata":{"finalizers":["a/x","b/y"]}})",
         R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a/x"]}})",
         R"({"metadata":{"finalizers":["b/y"]}})"},
        {"kubectl_orders_items",
         R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]}})",
         R"({"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"a"}],)"
         R"("containers":[{"name":"a","image":"x"}]}})",
         R"({"spec":{"containers":[{"name":"b"},{"name":"c"},{"name":"a","image":"x"}]}})"},
        {"retain_keys_clears_the_others", R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}]}})",
         R"({"spec":{"volumes":[{"$retainKeys":["name","hostPath"],"name":"v",)"
         R"("hostPath":{"path":"/x"}}]}})",
         R"({"spec":{"volumes":[{"name":"v","hostPath":{"path":"/x"}}]}})"},
        {"an_item_without_its_key", R"({"spec":{"containers":[{"name":"a"}]}})",
         R"({"spec":{"containers":[{"image":"x"}]}})", "", "does not have \"name\"", 422},
        {"retain_keys_must_name_what_is_set", R"({})",
         R"({"spec":{"$retainKeys":["a"],"nodeName":"b"}})", "",
         "$retainKeys does not name \"nodeName\""},
        {"an_unknown_directive", R"({})", R"({"spec":{"$patch":"merge"}})", "",
         "$patch of a map is replace or delete, not \"merge\""},
        {"a_list_is_no_patch", R"({})", R"([])", "", "is an object, not a array"},
    }),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace dray::rest
