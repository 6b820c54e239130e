// SPDX-License-Identifier: Apache-2.0
//
// Verbs and their options: what each combination answers, as Kubernetes does. One row is one
// request against a world that has a class "c" and pods "p" and "q"; whatever is refused must have
// left all of it as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;

const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kClasses = "/apis/resource.k8s.io/v1/deviceclasses";

std::string Pod(std::string_view name) {
  return fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{"containers":[)"
                     R"({{"name":"a","image":"x"}}]}}}})",
                     name);
}

struct Row {
  std::string_view method;
  std::string_view path;  // with the query, after the class or the pods: see PathOf
  std::string_view body;
  int status;
  std::string_view reason = "";   // of a refusal
  std::string_view options = "";  // details.kind
  std::string_view field = "";    // of its first cause
};

// How a row shows in a failing test.
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.method << ' ' << row.path << ' ' << row.body;
}

std::string PathOf(std::string_view path) {
  if (path.starts_with("pods")) return kPods + std::string(path.substr(4));
  return kClasses + std::string(path.substr(7));
}

std::string_view ContentType(const Row& row) {
  if (row.method == "PATCH") return "application/merge-patch+json";
  return row.method == "APPLY" ? "application/apply-patch+yaml" : "application/json";
}

class OptionsTest : public ::testing::TestWithParam<Row> {
 protected:
  OptionsTest() {
    Made(world_.Post(kClasses, R"({"metadata":{"name":"c"},"spec":{}})"));
    Made(world_.Post(kPods, Pod("p")));
    Made(world_.Post(kPods, Pod("q")));
  }
  static void Made(const Answer& answer) { EXPECT_EQ(answer.status, 201) << answer.text; }

  Answer Ask(const Row& row) {
    return world_.Ask({.method = row.method == "APPLY" ? "PATCH" : std::string(row.method),
                       .path = PathOf(row.path),
                       .body = std::string(row.body),
                       .content_type = std::string(ContentType(row))});
  }

  World world_;
};

TEST_P(OptionsTest, AreAnsweredAsTheTableSays) {
  const Row& row = GetParam();
  const store::Revision before = world_.store().revision();
  const Answer answer = Ask(row);
  EXPECT_EQ(answer.status, row.status) << answer.text;
  const rest::DocumentNode json = answer.Json();
  if (row.reason.empty()) return;
  EXPECT_EQ(rest::TextIn(json, "reason"), row.reason) << answer.text;
  EXPECT_EQ(world_.store().revision(), before) << "refused, and done all the same";
  if (row.options.empty()) return;
  const rest::DocumentNode* details = rest::FindIn(json, "details");
  ASSERT_NE(details, nullptr) << answer.text;
  EXPECT_EQ(rest::TextIn(*details, "kind"), row.options);
  EXPECT_EQ(rest::TextIn(*details, "group"), "meta.k8s.io");
  const rest::DocumentNode* causes = rest::FindIn(*details, "causes");
  ASSERT_TRUE(causes != nullptr && !causes->items.empty()) << answer.text;
  EXPECT_EQ(rest::TextIn(causes->items[0], "field"), row.field) << answer.text;
}

constexpr std::string_view kClass = R"({"metadata":{"name":"d"},"spec":{}})";
constexpr std::string_view kSame = R"({"metadata":{"name":"c"},"spec":{}})";
constexpr std::string_view kLabel = R"({"metadata":{"labels":{"a":"b"}}})";
constexpr std::string_view kConfig =
    "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata:\n  name: c\n";

INSTANTIATE_TEST_SUITE_P(Get, OptionsTest,
                         ::testing::ValuesIn(std::vector<Row>{
                             {"GET", "classes/c?resourceVersion=0", "", 200},
                             {"GET", "classes/c?resourceVersion=1", "", 200},
                             {"GET", "classes/c?resourceVersion=999999999", "", 504, "Timeout"},
                             {"GET", "classes/c?resourceVersion=x", "", 400, "BadRequest"},
                             {"GET", "classes/c?watch=1", "", 200},
                             {"GET", "classes/c?unheard=of", "", 200},
                         }));

INSTANTIATE_TEST_SUITE_P(
    List, OptionsTest,
    ::testing::ValuesIn(std::vector<Row>{
        {"GET", "pods?limit=1", "", 200},
        {"GET", "pods?limit=", "", 400, "BadRequest"},
        {"GET", "pods?limit=two", "", 400, "BadRequest"},
        {"GET", "pods?timeoutSeconds=abc", "", 400, "BadRequest"},
        {"GET", "pods?labelSelector=a%3D%3D%3Db", "", 400, "BadRequest"},
        {"GET", "pods?fieldSelector=spec.unknown%3Da", "", 400, "BadRequest"},
        {"GET", "pods?resourceVersion=x", "", 400, "BadRequest"},
        {"GET", "pods?resourceVersion=-1", "", 400, "BadRequest"},
        {"GET", "pods?resourceVersion=999999999", "", 504, "Timeout"},
        {"GET", "pods?resourceVersion=1&resourceVersionMatch=NotOlderThan", "", 200},
        {"GET", "pods?resourceVersion=0&resourceVersionMatch=NotOlderThan", "", 200},
        {"GET", "pods?resourceVersion=3&resourceVersionMatch=Exact", "", 200},
        {"GET", "pods?resourceVersionMatch=Exact", "", 422, "Invalid", "ListOptions",
         "resourceVersionMatch"},
        {"GET", "pods?resourceVersion=0&resourceVersionMatch=Exact", "", 422, "Invalid",
         "ListOptions", "resourceVersionMatch"},
        {"GET", "pods?resourceVersion=1&resourceVersionMatch=Foo", "", 422, "Invalid",
         "ListOptions", "resourceVersionMatch"},
        {"GET", "pods?resourceVersion=1&resourceVersionMatch=Exact&continue=x", "", 422, "Invalid",
         "ListOptions", "resourceVersionMatch"},
        {"GET", "pods?resourceVersion=1&continue=x", "", 400, "BadRequest"},
        {"GET", "pods?continue=x", "", 400, "BadRequest"},
        {"GET", "pods?sendInitialEvents=true", "", 422, "Invalid", "ListOptions",
         "sendInitialEvents"},
        {"GET", "pods?watch=false", "", 200},
        {"GET", "pods?watch=0&limit=1", "", 200},
    }));

INSTANTIATE_TEST_SUITE_P(
    Watch, OptionsTest,
    ::testing::ValuesIn(std::vector<Row>{
        {"GET", "pods?watch=1", "", 200},
        {"GET", "pods?watch=", "", 200},
        {"GET", "pods?watch=true&timeoutSeconds=abc", "", 400, "BadRequest"},
        {"GET", "pods?watch=true&resourceVersion=x", "", 400, "BadRequest"},
        {"GET", "pods?watch=true&continue=x", "", 422, "Invalid", "ListOptions",
         "resourceVersionMatch"},
        {"GET", "pods?watch=true&sendInitialEvents=true", "", 422, "Invalid", "ListOptions",
         "resourceVersionMatch"},
        {"GET", "pods?watch=true&resourceVersion=1&resourceVersionMatch=NotOlderThan", "", 422,
         "Invalid", "ListOptions", "resourceVersionMatch"},
        {"GET", "pods?watch=true&sendInitialEvents=true&resourceVersionMatch=Exact", "", 422,
         "Invalid", "ListOptions", "resourceVersionMatch"},
        {"GET", "pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "",
         200},
    }));

INSTANTIATE_TEST_SUITE_P(
    Create, OptionsTest,
    ::testing::ValuesIn(std::vector<Row>{
        {"POST", "classes?dryRun=All", kClass, 201},
        {"POST", "classes?dryRun=All&dryRun=All", kClass, 201},
        {"POST", "classes?dryRun=", kClass, 422, "Invalid", "CreateOptions", "dryRun"},
        {"POST", "classes?dryRun=Some", kClass, 422, "Invalid", "CreateOptions", "dryRun"},
        {"POST", "classes?dryRun=All&dryRun=Foo", kClass, 422, "Invalid", "CreateOptions",
         "dryRun"},
        {"POST", "classes?fieldValidation=Foo", kClass, 422, "Invalid", "CreateOptions",
         "fieldValidation"},
        {"POST", "classes?fieldValidation=Strict", kClass, 201},
        {"POST", "classes?fieldManager=a%0Ab", kClass, 422, "Invalid", "CreateOptions",
         "fieldManager"},
        {"POST", "classes", R"({"kind":7,"metadata":{"name":"d"},"spec":{}})", 400, "BadRequest"},
    }));

INSTANTIATE_TEST_SUITE_P(Update, OptionsTest,
                         ::testing::ValuesIn(std::vector<Row>{
                             {"PUT", "classes/c", kSame, 200},
                             {"PUT", "classes/c?dryRun=", kSame, 422, "Invalid", "UpdateOptions",
                              "dryRun"},
                             {"PUT", "classes/c?fieldValidation=Foo", kSame, 422, "Invalid",
                              "UpdateOptions", "fieldValidation"},
                         }));

INSTANTIATE_TEST_SUITE_P(
    Patch, OptionsTest,
    ::testing::ValuesIn(std::vector<Row>{
        {"PATCH", "classes/c?dryRun=All", kLabel, 200},
        {"PATCH", "classes/c?dryRun=None", kLabel, 422, "Invalid", "PatchOptions", "dryRun"},
        {"PATCH", "classes/c?force=true", kLabel, 422, "Invalid", "PatchOptions", "force"},
        {"PATCH", "classes/c?force=false", kLabel, 422, "Invalid", "PatchOptions", "force"},
        {"PATCH", "classes/c?fieldValidation=Foo", kLabel, 422, "Invalid", "PatchOptions",
         "fieldValidation"},
        {"APPLY", "classes/c?fieldManager=m", kConfig, 200},
        {"APPLY", "classes/c?fieldManager=m&force=1", kConfig, 200},
        {"APPLY", "classes/c", kConfig, 422, "Invalid", "PatchOptions", "fieldManager"},
        {"APPLY", "classes/c?fieldManager=m&dryRun=", kConfig, 422, "Invalid", "PatchOptions",
         "dryRun"},
    }));

// Each of these is refused for one object and for a collection alike.
std::vector<Row> BadDeletions() {
  std::vector<Row> rows;
  for (const std::string_view path : {"pods/p?", "pods?"}) {
    const auto query = [&](std::string_view text) -> std::string_view {
      static std::vector<std::unique_ptr<std::string>> kept;
      kept.push_back(std::make_unique<std::string>(fmt::format("{}{}", path, text)));
      return *kept.back();
    };
    const std::string_view kind = "DeleteOptions";
    rows.push_back({"DELETE", query("dryRun="), "", 422, "Invalid", kind, "dryRun"});
    rows.push_back({"DELETE", query("dryRun=Foo"), "", 422, "Invalid", kind, "dryRun"});
    rows.push_back({"DELETE", query("dryRun=All&dryRun=Foo"), "", 422, "Invalid", kind, "dryRun"});
    rows.push_back({"DELETE", path, R"({"dryRun":["Foo"]})", 422, "Invalid", kind, "dryRun"});
    rows.push_back({"DELETE", path, R"({"dryRun":"All"})", 400, "BadRequest"});
    rows.push_back({"DELETE", path, R"({"dryrun":["All"]})", 400, "BadRequest"});
    rows.push_back({"DELETE", query("dryrun=All"), "", 400, "BadRequest"});
    rows.push_back(
        {"DELETE", query("propagationPolicy=Foo"), "", 422, "Invalid", kind, "propagationPolicy"});
    rows.push_back(
        {"DELETE", query("propagationPolicy="), "", 422, "Invalid", kind, "propagationPolicy"});
    rows.push_back({"DELETE", path, R"({"propagationPolicy":"Foo"})", 422, "Invalid", kind,
                    "propagationPolicy"});
    rows.push_back({"DELETE", path, R"({"propagationPolicy":"Orphan","orphanDependents":true})",
                    422, "Invalid", kind, "propagationPolicy"});
    rows.push_back({"DELETE", path, R"({"orphanDependents":"yes"})", 400, "BadRequest"});
    rows.push_back({"DELETE", path, R"({"gracePeriodSeconds":"soon"})", 400, "BadRequest"});
    rows.push_back({"DELETE", query("gracePeriodSeconds=soon"), "", 400, "BadRequest"});
    rows.push_back({"DELETE", path, R"({"preconditions":{"uid":"other"}})", 409, "Conflict"});
    rows.push_back({"DELETE", path, R"({"preconditions":{"uid":""}})", 409, "Conflict"});
    rows.push_back(
        {"DELETE", path, R"({"preconditions":{"resourceVersion":"1"}})", 409, "Conflict"});
    rows.push_back({"DELETE", query("resourceVersion=1"), "", 409, "Conflict"});
    rows.push_back({"DELETE", query("uid=other"), "", 409, "Conflict"});
    rows.push_back({"DELETE", path,
                    R"({"ignoreStoreReadErrorWithClusterBreakingPotential":true,"dryRun":["All"]})",
                    422, "Invalid", kind, "ignoreStoreReadErrorWithClusterBreakingPotential"});
    rows.push_back({"DELETE", path, R"({"kind":"Pod"})", 400, "BadRequest"});
    rows.push_back({"DELETE", path, R"({"kind":7})", 400, "BadRequest"});
    rows.push_back(
        {"DELETE", path, R"({"kind":"DeleteOptions","apiVersion":"none/v7"})", 400, "BadRequest"});
    rows.push_back({"DELETE", path, "[]", 400, "BadRequest"});
    rows.push_back({"DELETE", path, "{", 400, "BadRequest"});
  }
  return rows;
}
INSTANTIATE_TEST_SUITE_P(Delete, OptionsTest, ::testing::ValuesIn(BadDeletions()));

INSTANTIATE_TEST_SUITE_P(
    DeleteCollection, OptionsTest,
    ::testing::ValuesIn(std::vector<Row>{
        {"DELETE", "pods?resourceVersionMatch=Exact", "", 422, "Invalid", "ListOptions",
         "resourceVersionMatch"},
        {"DELETE", "pods?limit=all", "", 400, "BadRequest"},
        {"DELETE", "pods", R"({"ignoreStoreReadErrorWithClusterBreakingPotential":true})", 422,
         "Invalid", "DeleteOptions", "ignoreStoreReadErrorWithClusterBreakingPotential"},
        {"DELETE", "pods?sendInitialEvents=1", "", 422, "Invalid", "ListOptions",
         "sendInitialEvents"},
    }));

INSTANTIATE_TEST_SUITE_P(
    Eviction, OptionsTest,
    ::testing::ValuesIn(std::vector<Row>{
        {"POST", "pods/p/eviction?dryRun=", "{}", 422, "Invalid", "DeleteOptions", "dryRun"},
        {"POST", "pods/p/eviction", R"({"deleteOptions":{"dryRun":["Foo"]}})", 422, "Invalid",
         "DeleteOptions", "dryRun"},
        {"POST", "pods/p/eviction", R"({"deleteOptions":{"dryRun":"All"}})", 400, "BadRequest"},
        {"POST", "pods/p/eviction", R"({"deleteOptions":null})", 201},
        {"POST", "pods/p/eviction", R"({"kind":"Binding"})", 400, "BadRequest"},
    }));

// Client-go puts the options of a deletion into the body, of a collection as of one object.
TEST_F(OptionsTest, ADryRunDeletesNothingWhereverItIsAskedFor) {
  const store::Revision before = world_.store().revision();
  for (const std::string& path : {kPods, kPods + "/p", kClasses, kClasses + "/c"}) {
    const std::string body = R"({"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]})";
    EXPECT_EQ(world_.Ask({.method = "DELETE", .path = path, .body = body}).status, 200) << path;
    EXPECT_EQ(world_.Ask({.method = "DELETE", .path = path + "?dryRun=All"}).status, 200) << path;
    // Asked for in the query, and not taken back by what else the body says.
    EXPECT_EQ(world_
                  .Ask({.method = "DELETE",
                        .path = path + "?dryRun=All",
                        .body = R"({"propagationPolicy":"Background"})"})
                  .status,
              200);
    EXPECT_EQ(world_.store().revision(), before) << path;
  }
}

TEST_F(OptionsTest, ACollectionIsDeletedAsItsOptionsSay) {
  const Answer waits = world_.Ask(
      {.method = "DELETE", .path = kPods, .body = R"({"propagationPolicy":"Foreground"})"});
  EXPECT_EQ(waits.status, 200) << waits.text;
  EXPECT_THAT(world_.Get(kPods + "/p").text, HasSubstr("foregroundDeletion"));
  EXPECT_THAT(world_.Get(kPods + "/q").text, HasSubstr("foregroundDeletion"));
  const Answer table = world_.Ask({.method = "DELETE",
                                   .path = kClasses,
                                   .accept = "application/json;as=Table;v=v1;g=meta.k8s.io"});
  EXPECT_EQ(rest::TextIn(table.Json(), "kind"), "Table") << table.text;
  EXPECT_EQ(world_.Get(kClasses + "/c").status, 404);
}

// One that is not the one that was meant spares the others, too.
TEST_F(OptionsTest, PreconditionsOfACollectionHoldForAllOfIt) {
  const rest::DocumentNode pod = world_.Get(kPods + "/p").Json();
  const std::string uid(rest::TextIn(*rest::FindIn(pod, "metadata"), "uid"));
  const std::string body = fmt::format(R"({{"preconditions":{{"uid":"{}"}}}})", uid);
  EXPECT_EQ(world_.Ask({.method = "DELETE", .path = kPods, .body = body}).status, 409);
  EXPECT_EQ(world_.Get(kPods + "/p").status, 200);
  EXPECT_EQ(world_
                .Ask({.method = "DELETE",
                      .path = kPods + "?fieldSelector=metadata.name%3Dp",
                      .body = body})
                .status,
            200);
  EXPECT_EQ(world_.Get(kPods + "/p").status, 404);
}

// Client-go sends both: which list is meant in the query, how to delete in the body.
TEST_F(OptionsTest, TheRevisionOfAListIsNoPreconditionBesideABody) {
  const std::string path = kPods + "?resourceVersion=0&labelSelector=";
  const Answer answer = world_.Ask({.method = "DELETE", .path = path, .body = "{}"});
  EXPECT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(world_.Get(kPods + "/p").status, 404);
}

TEST_F(OptionsTest, OrphanDependentsIsTheOlderWordForThePolicy) {
  const Answer orphans = world_.Ask(
      {.method = "DELETE", .path = kClasses + "/c", .body = R"({"orphanDependents":true})"});
  EXPECT_EQ(orphans.status, 200) << orphans.text;
  EXPECT_THAT(world_.Get(kClasses + "/c").text, HasSubstr(R"("finalizers":["orphan"])"));
  const Answer gone = world_.Ask({.method = "DELETE", .path = kPods + "/p?orphanDependents=false"});
  EXPECT_EQ(gone.status, 200) << gone.text;
  EXPECT_EQ(world_.Get(kPods + "/p").status, 404);
}

TEST_F(OptionsTest, ANegativeGraceIsAShortOne) {
  std::string bound = Pod("r");
  bound.insert(bound.find("\"containers\""), R"("nodeName":"n",)");
  Made(world_.Post(kPods, bound));
  const Answer answer = world_.Ask(
      {.method = "DELETE", .path = kPods + "/r", .body = R"({"gracePeriodSeconds":-5})"});
  EXPECT_THAT(answer.text, HasSubstr(R"("deletionGracePeriodSeconds":1)"));
  EXPECT_EQ(world_.Get(kPods + "/r").status, 200);
}

TEST_F(OptionsTest, NamespacesThatAClusterNeedsStay) {
  for (const std::string name : {"default", "kube-system"}) {
    const Answer answer = world_.Ask({.method = "DELETE", .path = "/api/v1/namespaces/" + name});
    EXPECT_EQ(answer.status, 403) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("this namespace may not be deleted"));
  }
}

}  // namespace
}  // namespace dray::registry
