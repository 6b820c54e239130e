// SPDX-License-Identifier: Apache-2.0
//
// The verbs over HTTP, beyond what was recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fmt/format.h"
#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kClasses = "/apis/resource.k8s.io/v1/deviceclasses";

std::string Pod(std::string_view name, std::string_view more = "") {
  return R"({"metadata":{"name":")" + std::string(name) +
         R"("},"spec":{"containers":[{"name":"a","image":"x"}])" + std::string(more) + "}}";
}

std::string Text(const rest::DocumentNode& node, std::string_view first, std::string_view second) {
  const rest::DocumentNode* part = rest::FindIn(node, first);
  return part == nullptr ? "" : std::string(rest::TextIn(*part, second));
}

TEST(Verbs, ADryRunWritesNothing) {
  World world;
  const auto before = world.store().revision();
  const Answer made = world.Post(kPods + "?dryRun=All", Pod("p"));
  EXPECT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(Text(made.Json(), "metadata", "resourceVersion"), "");
  EXPECT_EQ(world.store().revision(), before);
  EXPECT_EQ(world.Post(kPods + "?dryRun=Some", Pod("p")).status, 422);
}

// Whoever reads it slowly holds no copy of it, and is told how it was.
TEST(Verbs, ALongListIsMadeAsItIsRead) {
  World world;
  for (int i = 100; i < 150; ++i) {
    std::string pod = Pod("p" + std::to_string(i));
    pod.insert(pod.find("},\"spec\""),
               R"(,"annotations":{"a":")" + std::string(10'000, 'x') + "\"}");
    ASSERT_EQ(world.Post(kPods, pod).status, 201);
  }
  Answer list = world.Get(kPods);
  ASSERT_NE(list.stream, nullptr);
  EXPECT_TRUE(list.stream->Finite());
  for (const char* name : {"/p100", "/p149"}) {
    ASSERT_EQ(world.Ask({.method = "DELETE", .path = kPods + name}).status, 200);
  }
  std::string text;
  std::vector<apiserver::Bytes> pieces;
  list.stream->Start([] {});
  for (bool more = true; more;) {
    pieces.clear();
    more = list.stream->Pull(pieces) == apiserver::StreamSource::State::kMore;
    for (const apiserver::Bytes& piece : pieces) {
      EXPECT_LT(piece->size(), 300'000u);
      text += *piece;
    }
  }
  const auto tree = rest::ReadTree(text);
  ASSERT_TRUE(tree.ok()) << tree.status();
  const rest::DocumentNode* items = rest::FindIn(*tree, "items");
  ASSERT_EQ(items->items.size(), 50u);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(Text(items->items[static_cast<std::size_t>(i)], "metadata", "name"),
              "p" + std::to_string(100 + i));
  }
  // A short one has a length.
  EXPECT_EQ(world.Get(kPods + "?limit=3").stream, nullptr);
}

TEST(Verbs, AnUpdateThatChangesNothingIsNone) {
  World world;
  ASSERT_EQ(world.Post(kPods, Pod("p")).status, 201);
  const Answer got = world.Get(kPods + "/p");
  const auto before = world.store().revision();
  const Answer put = world.Ask({.method = "PUT", .path = kPods + "/p", .body = got.text});
  EXPECT_EQ(put.status, 200) << put.text;
  EXPECT_EQ(put.text, got.text);
  EXPECT_EQ(world.store().revision(), before);
}

TEST(Verbs, NamesAndNamespacesMustAgree) {
  World world;
  const Answer other = world.Post(kPods, R"({"metadata":{"name":"p","namespace":"other"}})");
  EXPECT_EQ(other.status, 400);
  EXPECT_THAT(other.text, HasSubstr("does not match the namespace sent on the request"));
  EXPECT_EQ(world.Post(kPods, R"({"metadata":{"name":"p","resourceVersion":"1"}})").status, 400);
  EXPECT_EQ(world.Post("/api/v1/pods", Pod("p")).status, 405);
  const Answer nameless = world.Post(kClasses, R"({"spec":{}})");
  EXPECT_EQ(nameless.status, 422);
  EXPECT_THAT(nameless.text, HasSubstr("name or generateName is required"));
}

TEST(Verbs, APodIsBoundOnce) {
  World world;
  ASSERT_EQ(world.Post(kPods, Pod("p")).status, 201);
  const std::string binding =
      R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"name":"n1"}})";
  const Answer bound = world.Post(kPods + "/p/binding", binding);
  EXPECT_EQ(bound.status, 201) << bound.text;
  EXPECT_EQ(rest::TextIn(bound.Json(), "status"), "Success");
  EXPECT_EQ(Text(world.Get(kPods + "/p").Json(), "spec", "nodeName"), "n1");
  EXPECT_EQ(world.Post(kPods + "/p/binding", binding).status, 409);
  EXPECT_EQ(world.Post("/api/v1/namespaces/default/bindings", binding).status, 409);
  EXPECT_EQ(world.Post(kPods + "/none/binding", R"({"target":{"name":"n1"}})").status, 404);
  EXPECT_EQ(world.Post(kPods + "/p/binding", R"({"metadata":{}})").status, 422);
}

// A binding is for the pod that its scheduler has seen, and gives it what the scheduler says.
TEST(Verbs, ABindingMustMeanThePodAndANode) {
  World world;
  ASSERT_EQ(world.Post(kPods, Pod("p")).status, 201);
  const std::string path = kPods + "/p/binding";
  const std::string target = R"("target":{"name":"n1"})";
  const auto status = [&](const std::string& body) { return world.Post(path, body).status; };
  EXPECT_EQ(status(R"({"metadata":{"name":"q"},)" + target + "}"), 400);
  EXPECT_EQ(status(R"({"metadata":{"namespace":"other"},)" + target + "}"), 400);
  EXPECT_EQ(status(R"({"kind":"Eviction",)" + target + "}"), 400);
  EXPECT_EQ(status(R"({"target":{"name":"n1","kind":"Pod"}})"), 422);
  EXPECT_EQ(status(R"({"metadata":{"resourceVersion":"1"},)" + target + "}"), 409);
  EXPECT_EQ(status(R"({"metadata":{"uid":"other"},)" + target + "}"), 409);
  // What no other door lets in: nobody could have changed the pod again.
  for (const std::string_view metadata :
       {R"("labels":{"-bad-":"x"})", R"("labels":{"a":"no blanks"})",
        R"("annotations":{"a b":""})"}) {
    EXPECT_EQ(status("{\"metadata\":{" + std::string(metadata) + "}," + target + "}"), 422)
        << metadata;
  }
  EXPECT_EQ(Text(world.Get(kPods + "/p").Json(), "spec", "nodeName"), "");
  EXPECT_EQ(
      status(R"({"metadata":{"labels":{"zone":"z"},"annotations":{"a":"b"}},)" + target + "}"),
      201);
  const Answer bound = world.Get(kPods + "/p");
  EXPECT_THAT(bound.text, HasSubstr(R"("labels":{"zone":"z"})"));
  EXPECT_THAT(bound.text, HasSubstr(R"("annotations":{"a":"b"})"));
}

TEST(Verbs, ARuleOfV1IsReplacedOnlyWithItsVersion) {
  World world;
  const std::string v1 = "/apis/resource.k8s.io/v1/devicetaintrules";
  const std::string beta = "/apis/resource.k8s.io/v1beta2/devicetaintrules";
  const std::string rule =
      R"({"metadata":{"name":"r"},"spec":{"deviceSelector":{"driver":"d.example.com"},)"
      R"("taint":{"key":"example.com/k","effect":"NoSchedule"}}})";
  ASSERT_EQ(world.Post(v1, rule).status, 201);
  const Answer refused = world.Ask({.method = "PUT", .path = v1 + "/r", .body = rule});
  EXPECT_EQ(refused.status, 422) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("metadata.resourceVersion"));
  EXPECT_EQ(world.Ask({.method = "PUT", .path = beta + "/r", .body = rule}).status, 200);
  const Answer deleted = world.Ask({.method = "DELETE", .path = v1 + "/r"});
  EXPECT_EQ(rest::TextIn(deleted.Json(), "kind"), "Status") << deleted.text;
}

TEST(Verbs, ARevisionOfZeroIsNone) {
  World world;
  const std::string zero = R"({"metadata":{"name":"c","resourceVersion":"0"},"spec":{}})";
  const std::string some = R"({"metadata":{"name":"d","resourceVersion":"7"},"spec":{}})";
  EXPECT_EQ(world.Post(kClasses, zero).status, 201);
  EXPECT_EQ(world.Ask({.method = "PUT", .path = kClasses + "/c", .body = zero}).status, 200);
  EXPECT_EQ(world.Post(kClasses, some).status, 400);
  EXPECT_EQ(world.Post(kClasses + "?dryRun=All", some).status, 201);
}

TEST(Verbs, ARunningPodGetsItsGrace) {
  World world;
  ASSERT_EQ(
      world.Post(kPods, Pod("p", R"(,"nodeName":"n1","terminationGracePeriodSeconds":7)")).status,
      201);
  const Answer deleted = world.Ask({.method = "DELETE", .path = kPods + "/p"});
  EXPECT_EQ(deleted.status, 200) << deleted.text;
  const rest::DocumentNode metadata = *rest::FindIn(deleted.Json(), "metadata");
  EXPECT_EQ(rest::FindIn(metadata, "deletionGracePeriodSeconds")->text, "7");
  EXPECT_EQ(world.Get(kPods + "/p").status, 200);
  // The node lets go: with no grace left it is gone.
  EXPECT_EQ(world.Ask({.method = "DELETE", .path = kPods + "/p?gracePeriodSeconds=0"}).status, 200);
  EXPECT_EQ(world.Get(kPods + "/p").status, 404);
}

// As nanoseconds, so many seconds are a time in the past: the pod's node would kill it at once.
TEST(Verbs, AGraceLongerThanAnybodyWaitsIsInTheFuture) {
  for (const std::string_view grace : {"9223372036854775807", "13000000000"}) {
    World world;
    ASSERT_EQ(world.Post(kPods, Pod("p", R"(,"nodeName":"n1")")).status, 201);
    const Answer deleted = world.Ask(
        {.method = "DELETE", .path = fmt::format("{}/p?gracePeriodSeconds={}", kPods, grace)});
    EXPECT_EQ(deleted.status, 200) << deleted.text;
    const rest::DocumentNode metadata = *rest::FindIn(deleted.Json(), "metadata");
    EXPECT_EQ(rest::FindIn(metadata, "deletionGracePeriodSeconds")->text, grace);
    EXPECT_GT(rest::TextIn(metadata, "deletionTimestamp"), "2100");
    EXPECT_LT(rest::TextIn(metadata, "deletionTimestamp"), "2200");
    // It can be read again, and shortened.
    EXPECT_EQ(world.Get(kPods + "/p").status, 200);
    EXPECT_EQ(world.Ask({.method = "DELETE", .path = kPods + "/p?gracePeriodSeconds=0"}).status,
              200);
    EXPECT_EQ(world.Get(kPods + "/p").status, 404);
  }
}

// An eviction is a deletion that says so, with the grace and the preconditions of one.
TEST(Verbs, AnEvictedPodSaysSo) {
  World world;
  ASSERT_EQ(world.Post(kPods, Pod("p", R"(,"nodeName":"n1")")).status, 201);
  const std::string path = kPods + "/p/eviction";
  EXPECT_EQ(world.Post(path, R"({"metadata":{"name":"q"}})").status, 400);
  EXPECT_EQ(world.Post(path, R"({"deleteOptions":{"preconditions":{"uid":"other"}}})").status, 409);
  EXPECT_EQ(world.Post(path, R"({"deleteOptions":{"dryRun":["All"]}})").status, 201);
  EXPECT_THAT(world.Get(kPods + "/p").text, Not(HasSubstr("deletionTimestamp")));
  EXPECT_EQ(world.Post(path, R"({"deleteOptions":{"gracePeriodSeconds":9}})").status, 201);
  const Answer evicted = world.Get(kPods + "/p");
  EXPECT_THAT(evicted.text, HasSubstr(R"("deletionGracePeriodSeconds":9)"));
  EXPECT_THAT(evicted.text, HasSubstr(R"("reason":"EvictionByEvictionAPI")"));
  EXPECT_EQ(world.Post(kPods + "/none/eviction", "{}").status, 404);
}

TEST(Verbs, AnEvictionDeletes) {
  World world;
  ASSERT_EQ(world.Post(kPods, Pod("p")).status, 201);
  for (const std::string other : {R"({"name":"q"})", R"({"namespace":"other"})"}) {
    EXPECT_EQ(world.Post(kPods + "/p/eviction", R"({"metadata":)" + other + "}").status, 400);
  }
  const Answer evicted =
      world.Post(kPods + "/p/eviction", R"({"apiVersion":"policy/v1","kind":"Eviction"})");
  EXPECT_EQ(evicted.status, 201) << evicted.text;
  EXPECT_EQ(world.Get(kPods + "/p").status, 404);
}

TEST(Verbs, StatusAndSpecHaveTheirOwnDoors) {
  World world;
  ASSERT_EQ(world.Post(kPods, Pod("p")).status, 201);
  const std::string both = R"({"metadata":{"labels":{"a":"b"}},"status":{"phase":"Running"}})";
  const std::string merge = "application/merge-patch+json";
  ASSERT_EQ(
      world.Ask({.method = "PATCH", .path = kPods + "/p", .body = both, .content_type = merge})
          .status,
      200);
  EXPECT_EQ(Text(world.Get(kPods + "/p").Json(), "status", "phase"), "Pending");
  const Answer patched = world.Ask(
      {.method = "PATCH", .path = kPods + "/p/status", .body = both, .content_type = merge});
  ASSERT_EQ(patched.status, 200) << patched.text;
  EXPECT_EQ(Text(patched.Json(), "status", "phase"), "Running");
  // A class has no status.
  ASSERT_EQ(world.Post(kClasses, R"({"metadata":{"name":"c"},"spec":{}})").status, 201);
  EXPECT_EQ(world.Get(kClasses + "/c/status").status, 404);
}

TEST(Verbs, ANamespaceWaitsUntilItIsEmptied) {
  World world;
  const std::string path = "/api/v1/namespaces/team";
  ASSERT_EQ(world.Post("/api/v1/namespaces", R"({"metadata":{"name":"team"}})").status, 201);
  const Answer deleted = world.Ask({.method = "DELETE", .path = path});
  EXPECT_EQ(Text(deleted.Json(), "status", "phase"), "Terminating") << deleted.text;
  const Answer refused = world.Post(path + "/pods", Pod("p"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.text, HasSubstr("NamespaceTerminating"));
  rest::DocumentNode emptied = world.Get(path).Json();
  rest::SetIn(*rest::FindIn(emptied, "spec"), "finalizers", rest::ListNode());
  const Answer finalized =
      world.Ask({.method = "PUT", .path = path + "/finalize", .body = ToJson(emptied)});
  EXPECT_EQ(finalized.status, 200) << finalized.text;
  EXPECT_EQ(world.Get(path).status, 404);
}

// Or its secrets would be those of the next tenant by that name.
TEST(Verbs, NobodyLeavesBehindWhatIsInANamespace) {
  World world;
  const std::string path = "/api/v1/namespaces/team";
  ASSERT_EQ(world.Post("/api/v1/namespaces", R"({"metadata":{"name":"team"}})").status, 201);
  const auto keeps = [&] {
    return world.Get(path).text.find(R"("finalizers":["kubernetes"])") != std::string::npos;
  };
  const auto empty_it = [&] {
    const std::string patch = R"({"spec":{"finalizers":[]}})";
    EXPECT_EQ(world
                  .Ask({.method = "PATCH",
                        .path = path,
                        .body = patch,
                        .content_type = "application/merge-patch+json"})
                  .status,
              200);
    EXPECT_TRUE(keeps()) << "patched";
    rest::DocumentNode tree = world.Get(path).Json();
    rest::SetIn(*rest::FindIn(tree, "spec"), "finalizers", rest::ListNode());
    for (const char* door : {"", "/status"}) {
      EXPECT_EQ(world.Ask({.method = "PUT", .path = path + door, .body = ToJson(tree)}).status,
                200);
      EXPECT_TRUE(keeps()) << door;
    }
    const Answer applied =
        world.Ask({.method = "PATCH",
                   .path = path + "?fieldManager=m&force=true",
                   .body = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"},)"
                           R"("spec":{"finalizers":[]}})",
                   .content_type = "application/apply-patch+yaml"});
    EXPECT_EQ(applied.status, 200) << applied.text;
    EXPECT_TRUE(keeps()) << "applied";
  };
  empty_it();
  ASSERT_EQ(world.Ask({.method = "DELETE", .path = path}).status, 200);
  empty_it();
}

// Policies tell namespaces by it.
TEST(Verbs, ANamespaceIsLabelledWithItsOwnName) {
  World world;
  const std::string path = "/api/v1/namespaces/team";
  ASSERT_EQ(world
                .Post("/api/v1/namespaces",
                      R"({"metadata":{"name":"team","labels":{"kubernetes.io/metadata.name":)"
                      R"("kube-system"}}})")
                .status,
            201);
  const auto label = [&](const std::string& door, const std::string& value) {
    const Answer patched = world.Ask(
        {.method = "PATCH",
         .path = path + door,
         .body = R"({"metadata":{"labels":{"kubernetes.io/metadata.name":)" + value + "}}}",
         .content_type = "application/merge-patch+json"});
    EXPECT_EQ(patched.status, 200) << patched.text;
    EXPECT_THAT(world.Get(path).text, HasSubstr(R"("kubernetes.io/metadata.name":"team")"));
  };
  for (const char* door : {"", "/status"}) {
    label(door, R"("kube-system")");
    label(door, "null");
  }
}

TEST(Verbs, PrioritiesComeFromTheirClass) {
  World world;
  const std::string path = "/apis/scheduling.k8s.io/v1/priorityclasses";
  ASSERT_EQ(world.Post(path, R"({"metadata":{"name":"high"},"value":7})").status, 201);
  const Answer high = world.Post(kPods, Pod("p", R"(,"priorityClassName":"high")"));
  ASSERT_EQ(high.status, 201) << high.text;
  EXPECT_EQ(rest::FindIn(*rest::FindIn(high.Json(), "spec"), "priority")->text, "7");
  const Answer none = world.Post(kPods, Pod("q", R"(,"priorityClassName":"none")"));
  EXPECT_EQ(none.status, 403);
  EXPECT_THAT(none.text, HasSubstr("no PriorityClass with name none was found"));
}

// Who made a class whose pods push out nobody has said so to those who use it.
TEST(Verbs, WhetherAPodPushesOutOthersComesFromItsClass) {
  World world;
  ASSERT_EQ(world
                .Post("/apis/scheduling.k8s.io/v1/priorityclasses",
                      R"({"metadata":{"name":"quiet"},"value":7,"preemptionPolicy":"Never"})")
                .status,
            201);
  const Answer quiet = world.Post(kPods, Pod("p", R"(,"priorityClassName":"quiet")"));
  ASSERT_EQ(quiet.status, 201) << quiet.text;
  EXPECT_THAT(quiet.text, HasSubstr(R"("preemptionPolicy":"Never")"));
  const auto refused = [&](std::string_view spec, std::string_view says) {
    const Answer answer = world.Post(kPods, Pod("q", spec));
    EXPECT_EQ(answer.status, 403);
    EXPECT_THAT(answer.text, HasSubstr(std::string(says)));
  };
  refused(R"(,"priorityClassName":"quiet","preemptionPolicy":"PreemptLowerPriority")",
          "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod "
          "spec; priority admission controller computed Never from the given PriorityClass name");
  refused(R"(,"preemptionPolicy":"Never")", "computed PreemptLowerPriority");
  EXPECT_EQ(
      world.Post(kPods, Pod("q", R"(,"priorityClassName":"quiet","preemptionPolicy":"Never")"))
          .status,
      201);
}

const std::string kPriorities = "/apis/scheduling.k8s.io/v1/priorityclasses";

TEST(Verbs, OnePriorityIsTheDefault) {
  World world;
  const auto made = [&](std::string_view name, int value) {
    return world.Post(
        kPriorities,
        fmt::format(R"({{"metadata":{{"name":"{}"}},"value":{},"globalDefault":true}})", name,
                    value));
  };
  ASSERT_EQ(made("a", 5).status, 201);
  const Answer second = made("b", 3);
  EXPECT_EQ(second.status, 403);
  EXPECT_THAT(
      second.text,
      HasSubstr("PriorityClass a is already marked as default. Only one default can exist"));
  const auto write = [&](std::string_view name, int value, bool is_default) {
    return world
        .Ask(
            {.method = "PUT",
             .path = fmt::format("{}/{}", kPriorities, name),
             .body = fmt::format(
                 R"({{"metadata":{{"name":"{}"}},"value":{},"globalDefault":{},"description":"d"}})",
                 name, value, is_default)})
        .status;
  };
  EXPECT_EQ(write("a", 5, true), 200);
  ASSERT_EQ(world.Post(kPriorities, R"({"metadata":{"name":"b"},"value":3})").status, 201);
  EXPECT_EQ(write("b", 3, true), 403);
  EXPECT_EQ(write("a", 5, false), 200);
  EXPECT_EQ(write("b", 3, true), 200);
}

TEST(Verbs, APriorityStaysWhatPodsWereAdmittedWith) {
  World world;
  ASSERT_EQ(world.Post(kPriorities, R"({"metadata":{"name":"a"},"value":5})").status, 201);
  const auto patched = [&](std::string_view change) {
    return world.Ask({.method = "PATCH",
                      .path = kPriorities + "/a",
                      .body = std::string(change),
                      .content_type = "application/merge-patch+json"});
  };
  const Answer value = patched(R"({"value":6})");
  EXPECT_EQ(value.status, 422);
  EXPECT_THAT(value.text, HasSubstr("value: Forbidden: may not be changed in an update."));
  const Answer policy = patched(R"({"preemptionPolicy":"Never"})");
  EXPECT_EQ(policy.status, 422);
  EXPECT_THAT(policy.text, HasSubstr("field is immutable"));
  // What is left out is filled in, and is what it was.
  EXPECT_EQ(patched(R"({"preemptionPolicy":null,"description":"d"})").status, 200);
}

TEST(Verbs, ThePrioritiesOfTheSystemStay) {
  World world;
  ASSERT_EQ(
      world.Post(kPriorities, R"({"metadata":{"name":"system-node-critical"},"value":2000001000})")
          .status,
      201);
  const Answer refused =
      world.Ask({.method = "DELETE", .path = kPriorities + "/system-node-critical"});
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.text, HasSubstr("this is a system priority class and cannot be deleted"));
}

TEST(Verbs, DeletionsOfOtherKindsAnswerWithAStatus) {
  World world;
  ASSERT_EQ(world.Post("/api/v1/nodes", R"({"metadata":{"name":"n"}})").status, 201);
  const Answer deleted = world.Ask({.method = "DELETE", .path = "/api/v1/nodes/n"});
  EXPECT_EQ(rest::TextIn(deleted.Json(), "status"), "Success") << deleted.text;
  EXPECT_EQ(Text(deleted.Json(), "details", "name"), "n");
}

TEST(Verbs, OwnersAreOrphanedOrDeletedFirstWhenAsked) {
  World world;
  ASSERT_EQ(world.Post(kClasses, R"({"metadata":{"name":"c"},"spec":{}})").status, 201);
  const Answer waits = world.Ask({.method = "DELETE",
                                  .path = kClasses + "/c",
                                  .body = R"({"propagationPolicy":"Foreground"})"});
  EXPECT_THAT(waits.text, HasSubstr("foregroundDeletion"));
  EXPECT_EQ(world
                .Ask({.method = "DELETE",
                      .path = kClasses + "/c",
                      .body = R"({"propagationPolicy":"Sideways"})"})
                .status,
            422);
}

TEST(Verbs, ObjectsAreServedInTheShapesThatClientsAskFor) {
  World world;
  ASSERT_EQ(world.Post(kPods, Pod("p")).status, 201);
  const Answer partial =
      world.Ask({.path = kPods,
                 .accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"});
  EXPECT_EQ(rest::TextIn(partial.Json(), "kind"), "PartialObjectMetadataList");
  EXPECT_THAT(partial.text, ::testing::Not(HasSubstr("\"spec\"")));
  const Answer yaml = world.Ask({.path = kPods + "/p", .accept = "application/yaml"});
  EXPECT_EQ(yaml.headers.Find("content-type"), "application/yaml");
  const Answer table = world.Ask({.path = kPods + "/p?includeObject=None",
                                  .accept = "application/json;as=Table;v=v1;g=meta.k8s.io"});
  EXPECT_EQ(rest::TextIn(table.Json(), "kind"), "Table") << table.text;
}

// A device that claims share is free for another one until some capacity of it is used up.
TEST(Verbs, ASharedDeviceWithRoomIsFree) {
  World world;
  const std::string resource = "/apis/resource.k8s.io/v1/";
  const std::string claims = resource + "namespaces/default/resourceclaims";
  ASSERT_EQ(
      world
          .Post(resource + "resourceslices",
                R"({"metadata":{"name":"s"},"spec":{"driver":"gpu.example.com","nodeName":"n",)"
                R"("pool":{"name":"p","generation":1,"resourceSliceCount":1},"devices":[)"
                R"({"name":"g","allowMultipleAllocations":true,)"
                R"("capacity":{"memory":{"value":"10"}}}]}})")
          .status,
      201);
  const auto free = [&] {
    const Answer table = world.Ask({.path = resource + "resourceslices?includeObject=None",
                                    .accept = "application/json;as=Table;v=v1;g=meta.k8s.io"});
    const std::size_t at = table.text.find("\"cells\":[");
    return table.text.substr(at, table.text.find(']', at) - at);
  };
  EXPECT_THAT(free(), HasSubstr(",1,\"1\","));
  const auto hold = [&](const std::string& name, const std::string& amount) {
    ASSERT_EQ(world
                  .Post(claims, R"({"metadata":{"name":")" + name +
                                    R"("},"spec":{"devices":{"requests":[{"name":"r",)"
                                    R"("exactly":{"deviceClassName":"c"}}]}}})")
                  .status,
              201);
    const Answer held =
        world.Ask({.method = "PATCH",
                   .path = claims + "/" + name + "/status",
                   .body = R"({"status":{"allocation":{"devices":{"results":[{"request":"r",)"
                           R"("driver":"gpu.example.com","pool":"p","device":"g",)"
                           R"("shareID":"00000000-0000-4000-8000-00000000000)" +
                           name + R"(","consumedCapacity":{"gpu.example.com/memory":")" + amount +
                           R"("}}]}}}})",
                   .content_type = "application/merge-patch+json"});
    ASSERT_EQ(held.status, 200) << held.text;
  };
  hold("1", "4");
  EXPECT_THAT(free(), HasSubstr(",1,\"1\",")) << "six are left";
  hold("2", "6");
  EXPECT_THAT(free(), HasSubstr(",1,\"0\","));
}

TEST(Verbs, PathsThatAreNoResourcesAreAnswered) {
  World world;
  EXPECT_EQ(world.Get("/healthz").text, "ok");
  EXPECT_EQ(world.Get("/nothing").status, 404);
  EXPECT_EQ(world.Get("/openapi/v3/apis/resource.k8s.io/v1").status, 200);
  EXPECT_EQ(world.Get("/openapi/v2").status, 200);
  EXPECT_EQ(world.Get("/apis/none.example.com").status, 404);
  EXPECT_EQ(world.Ask({.path = "/apis", .user = {}}).status, 403);
  EXPECT_EQ(world.Ask({.path = "/livez", .user = {}}).status, 200);
  const Answer all =
      world.Ask({.path = "/apis",
                 .accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"});
  EXPECT_THAT(std::string(all.headers.Find("Content-Type")), HasSubstr("apidiscovery.k8s.io"));
}

TEST(Verbs, WhatHollowNodesCannotDoIsRefusedWithItsReason) {
  World world;
  ASSERT_EQ(world.Post("/api/v1/nodes", R"({"metadata":{"name":"n"}})").status, 201);
  ASSERT_EQ(world.Post(kPods, Pod("p")).status, 201);
  ASSERT_EQ(world.Post(kPods + "/p/binding", R"({"target":{"name":"n"}})").status, 201);
  const Answer log = world.Get(kPods + "/p/log");
  EXPECT_EQ(log.status, 501);
  EXPECT_THAT(log.text, HasSubstr("no containers run: there is no log"));
  EXPECT_EQ(world.Post(kPods + "/p/exec?command=ls&stdout=true", "").status, 501);
  EXPECT_EQ(world.Get(kPods + "/p/nonsense").status, 404);
}

Answer Patch(World& world, const std::string& path, const std::string& body,
             const std::string& kind = "merge-patch+json") {
  return world.Ask(
      {.method = "PATCH", .path = path, .body = body, .content_type = "application/" + kind});
}

// The documented ways to get rid of managed fields.
TEST(Verbs, ManagedFieldsAreClearedWhenAskedFor) {
  for (const std::string nothing : {"[{}]", "[]"}) {
    World world;
    ASSERT_EQ(world
                  .Post(kClasses + "?fieldManager=m",
                        R"({"metadata":{"name":"c","labels":{"a":"b"}},"spec":{}})")
                  .status,
              201);
    EXPECT_THAT(world.Get(kClasses + "/c").text, HasSubstr("managedFields"));
    const Answer cleared =
        Patch(world, kClasses + "/c", R"({"metadata":{"managedFields":)" + nothing + "}}");
    EXPECT_EQ(cleared.status, 200) << cleared.text;
    EXPECT_THAT(cleared.text, Not(HasSubstr("managedFields")));
    EXPECT_EQ(Patch(world, kClasses + "/c", R"({"metadata":{"labels":{"a":"c"}}})").status, 200);
    EXPECT_THAT(world.Get(kClasses + "/c").text, Not(HasSubstr("managedFields")));
  }
  World world;
  ASSERT_EQ(
      world.Post(kClasses, R"({"metadata":{"name":"c","labels":{"a":"b"}},"spec":{}})").status,
      201);
  const Answer put = world.Ask(
      {.method = "PUT",
       .path = kClasses + "/c",
       .body = R"({"metadata":{"name":"c","labels":{"a":"b"},"managedFields":[]},"spec":{}})"});
  EXPECT_EQ(put.status, 200) << put.text;
  EXPECT_THAT(put.text, Not(HasSubstr("managedFields")));
}

// What a patch leaves is read as strictly as a body, and told as Kubernetes does: 422, of the patch.
TEST(Verbs, APatchThatLeavesNoObjectIsUnprocessable) {
  World world;
  ASSERT_EQ(world.Post(kClasses, R"({"metadata":{"name":"c"},"spec":{}})").status, 201);
  const std::string path = kClasses + "/c";
  const auto refused = [&](const Answer& answer, std::string_view why) {
    EXPECT_EQ(answer.status, 422) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(R"("field":"patch")"));
    EXPECT_THAT(answer.text, HasSubstr(why));
  };
  for (const std::string kind : {"merge-patch+json", "strategic-merge-patch+json"}) {
    refused(Patch(world, path, R"({"spec":{"selectors":7}})", kind), "selectors");
    refused(Patch(world, path + "?fieldValidation=Strict", R"({"spec":{"foo":7}})", kind),
            "unknown field");
    refused(Patch(world, path + "?fieldValidation=Strict",
                  R"({"metadata":{"labels":{"a":"1","a":"2"}}})", kind),
            "duplicate field");
  }
  refused(Patch(world, path + "?fieldValidation=Strict",
                R"([{"op":"add","path":"/metadata/labels","value":{"a":"1","a":"2"}}])",
                "json-patch+json"),
          "json patch duplicate field");
  const Answer told = Patch(world, path, R"({"metadata":{"labels":{"a":"1","a":"2"}}})");
  EXPECT_EQ(told.status, 200) << told.text;
  EXPECT_THAT(std::string(told.headers.Find("Warning")), HasSubstr("metadata.labels.a"));
  EXPECT_EQ(Patch(world, path, R"({"metadata":{"uid":"other"}})").status, 422);
  std::string many = "[";
  for (int i = 0; i <= 10'000; ++i) {
    many +=
        std::string(i == 0 ? "" : ",") + R"({"op":"test","path":"/kind","value":"DeviceClass"})";
  }
  EXPECT_EQ(Patch(world, path, many + "]", "json-patch+json").status, 413);
}

TEST(Verbs, StrictBodiesHaveNoKeyTwice) {
  World world;
  const auto post = [&](const std::string& yaml) {
    return world.Ask({.method = "POST",
                      .path = kClasses + "?fieldValidation=Strict",
                      .body = yaml,
                      .content_type = "application/yaml"});
  };
  const Answer label = post("metadata:\n  name: c\n  labels: {a: b, a: c}\nspec: {}\n");
  EXPECT_EQ(label.status, 400) << label.text;
  EXPECT_THAT(label.text, HasSubstr("metadata.labels.a"));
  EXPECT_EQ(post("kind: DeviceClass\nkind: DeviceClass\nmetadata: {name: c}\nspec: {}\n").status,
            400);
  // Inside of what nobody here reads.
  EXPECT_EQ(post("metadata: {name: c}\nspec: {config: [{opaque: {driver: d.example.com, "
                 "parameters: {a: 1, a: 2}}}]}\n")
                .status,
            400);
}

TEST(Verbs, OwnersThatAreTheSameAreKeptOnce) {
  World world;
  const std::string owner = R"({"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"})";
  const Answer made = world.Post(kClasses, R"({"metadata":{"name":"c","ownerReferences":[)" +
                                               owner + "," + owner + R"(]},"spec":{}})");
  EXPECT_EQ(made.status, 201) << made.text;
  EXPECT_THAT(std::string(made.headers.Find("Warning")), HasSubstr("ownerReferences"));
  EXPECT_EQ(rest::FindIn(*rest::FindIn(made.Json(), "metadata"), "ownerReferences")->items.size(),
            1u);
}

// What is only unwise is not told to somebody whose object is refused.
TEST(Verbs, WarningsAreForWhatIsTaken) {
  World world;
  const std::string slices = "/apis/resource.k8s.io/v1/resourceslices";
  const auto slice = [](const std::string& node) {
    return R"({"metadata":{"name":"s"},"spec":{"driver":"GPU.example.com","nodeName":")" + node +
           R"(","pool":{"name":"p","generation":1,"resourceSliceCount":1}}})";
  };
  const Answer refused = world.Post(slices, slice("Not a node"));
  EXPECT_EQ(refused.status, 422) << refused.text;
  EXPECT_EQ(refused.headers.Find("Warning"), "");
  const Answer taken = world.Post(slices, slice("n"));
  EXPECT_EQ(taken.status, 201) << taken.text;
  EXPECT_THAT(std::string(taken.headers.Find("Warning")), HasSubstr("lowercase"));
}

// v1beta1 has plain values where v1 has optional ones, and says nothing by writing them empty.
TEST(Verbs, EmptyNodesOfAV1beta1SliceAreNone) {
  World world;
  const std::string beta = "/apis/resource.k8s.io/v1beta1/resourceslices";
  const auto slice = [](std::string_view name, std::string_view where) {
    return fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{"driver":"gpu.example.com",{},)"
                       R"("pool":{{"name":"p","generation":1,"resourceSliceCount":1}}}}}})",
                       name, where);
  };
  EXPECT_EQ(world.Post(beta, slice("a", R"("nodeName":"n","allNodes":false)")).status, 201);
  EXPECT_EQ(world.Post(beta, slice("b", R"("nodeName":"","allNodes":true)")).status, 201);
  const std::string v1 = "/apis/resource.k8s.io/v1/resourceslices";
  EXPECT_EQ(world.Post(v1, slice("c", R"("nodeName":"n","allNodes":false)")).status, 422);
}

TEST(Verbs, AQuantityMayHaveBlanksAroundIt) {
  World world;
  const std::string slice =
      R"({"metadata":{"name":"s"},"spec":{"driver":"gpu.example.com","nodeName":"n",)"
      R"("pool":{"name":"p","generation":1,"resourceSliceCount":1},"devices":[)"
      R"({"name":"g","capacity":{"memory":{"value":" 1Gi "}}}]}})";
  const Answer made = world.Post("/apis/resource.k8s.io/v1/resourceslices", slice);
  EXPECT_EQ(made.status, 201) << made.text;
  EXPECT_THAT(made.text, HasSubstr(R"("value":"1Gi")"));
}

TEST(Verbs, AnApplySaysWhatItIsAbout) {
  World world;
  const std::string head = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\n";
  const auto apply = [&](const std::string& yaml, const std::string& query = "") {
    return Patch(world, kClasses + "/c?fieldManager=me" + query, yaml, "apply-patch+yaml");
  };
  EXPECT_EQ(apply("kind: DeviceClass\nmetadata: {name: c}\n").status, 400);
  EXPECT_EQ(apply("apiVersion: resource.k8s.io/v1\nmetadata: {name: c}\n").status, 400);
  EXPECT_EQ(apply(head + "metadata: {}\n").status, 400);
  EXPECT_EQ(apply(head + "metadata: {name: c, uid: u}\n").status, 409);
  EXPECT_EQ(apply(head + "metadata: {name: c}\nspec: {foo: 1}\n").status, 400);
  EXPECT_EQ(
      apply(head + "metadata: {name: c, labels: {a: b, a: c}}\n", "&fieldValidation=Strict").status,
      400);
  EXPECT_EQ(world.Get(kClasses + "/c").status, 404);
  // A class is in no namespace, whatever its file says.
  EXPECT_EQ(apply(head + "metadata: {name: c, namespace: default}\n").status, 201);
}

TEST(Verbs, ApplyAnswersCreatedOnlyTheFirstTime) {
  World world;
  const Asking apply{.method = "PATCH",
                     .path = kClasses + "/c?fieldManager=me",
                     .body =
                         "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\n"
                         "metadata:\n  name: c\n  labels:\n    a: b\n",
                     .content_type = "application/apply-patch+yaml"};
  const Answer created = world.Ask(apply);
  EXPECT_EQ(created.status, 201) << created.text;
  const auto revision = world.store().revision();
  EXPECT_EQ(world.Ask(apply).status, 200);
  EXPECT_EQ(world.store().revision(), revision);
  Asking forced = apply;
  forced.path = kClasses + "/other?fieldManager=me";
  EXPECT_THAT(world.Ask(forced).text, HasSubstr("does not match the name on the URL"));
}

}  // namespace
}  // namespace dray::registry
