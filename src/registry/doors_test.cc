// SPDX-License-Identifier: Apache-2.0
//
// Every kind of path with every method and every kind of client: what each is answered, as a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

struct Row {
  std::string path;
  // GET, POST, PUT, PATCH, DELETE, OPTIONS, BREW; without a body.
  std::vector<int> answers;
};

const std::vector<std::string> kMethods = {"GET",    "POST",    "PUT", "PATCH",
                                           "DELETE", "OPTIONS", "BREW"};

// Whoever is refused is told so by a Status, with the reason that belongs to its code; but for paths
// of nothing that there is.
void ExpectReason(const Answer& answer, const std::string& about) {
  const std::map<int, std::string> reasons = {
      {400, "BadRequest"},       {403, "Forbidden"},     {404, "NotFound"},
      {405, "MethodNotAllowed"}, {406, "NotAcceptable"}, {415, "UnsupportedMediaType"}};
  if (answer.status < 400 || answer.text == "404 page not found\n") return;
  const rest::DocumentNode status = answer.Json();
  ASSERT_TRUE(rest::IsMap(status)) << about << ": " << answer.text;
  EXPECT_EQ(rest::TextIn(status, "kind"), "Status") << about;
  EXPECT_EQ(rest::TextIn(status, "reason"), reasons.at(answer.status)) << about;
}

const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kPod =
    R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})";

void ExpectTable(const apiserver::User& user, const apiserver::Headers& headers,
                 const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    std::vector<int> answers;
    for (const std::string& method : kMethods) {
      World world;  // one that no other request has changed
      world.Post(kPods, kPod);
      const Answer answer =
          world.Ask({.method = method, .path = row.path, .user = user, .headers = headers});
      answers.push_back(answer.status);
      ExpectReason(answer, method + " " + row.path);
    }
    EXPECT_THAT(answers, ::testing::ElementsAreArray(row.answers)) << row.path;
  }
}

// Anything but reading one of these is a matter of who asks, before it is one of what there is.
TEST(Doors, OfNobody) {
  ExpectTable({}, {},
              {
                  {"/healthz", {200, 403, 403, 403, 403, 403, 403}},
                  {"/livez", {200, 403, 403, 403, 403, 403, 403}},
                  {"/healthzz", {403, 403, 403, 403, 403, 403, 403}},
                  {"/version", {200, 403, 403, 403, 403, 403, 403}},
                  {"/apis", {403, 403, 403, 403, 403, 403, 403}},
                  {"/metrics", {403, 403, 403, 403, 403, 403, 403}},
                  {"/nosuch", {403, 403, 403, 403, 403, 403, 403}},
                  {kPods, {403, 403, 403, 403, 403, 403, 403}},
                  {kPods + "/p", {403, 403, 403, 403, 403, 403, 403}},
                  {"/apis/nosuch/v1/x", {403, 403, 403, 403, 403, 403, 403}},
              });
}

const std::vector<Row> kOfAViewer = {
    {"/healthz", {200, 403, 403, 403, 403, 403, 403}},
    {"/version", {200, 403, 403, 403, 403, 403, 403}},
    {"/apis", {200, 403, 403, 403, 403, 403, 403}},
    {"/nosuch", {403, 403, 403, 403, 403, 403, 403}},
    {kPods, {200, 403, 403, 403, 403, 403, 403}},
    {kPods + "/p", {200, 403, 403, 403, 403, 403, 403}},
    {kPods + "/p/binding", {403, 403, 403, 403, 403, 403, 403}},
    {"/apis/nosuch/v1/x", {403, 403, 403, 403, 403, 403, 403}},
};
TEST(Doors, OfAViewer) {
  ExpectTable({"eve", {std::string(kViewers), "system:authenticated"}}, {}, kOfAViewer);
}

TEST(Doors, OfAnAdministratorInAViewersName) {
  ExpectTable({"admin", {std::string(kMasters)}},
              {.list = {{"Impersonate-User", "eve"}, {"Impersonate-Group", std::string(kViewers)}}},
              kOfAViewer);
}

TEST(Doors, OfAViewerInAnAdministratorsName) {
  const std::vector<int> forbidden(kMethods.size(), 403);
  ExpectTable(
      {"eve", {std::string(kViewers)}},
      {.list = {{"Impersonate-User", "admin"}, {"Impersonate-Group", std::string(kMasters)}}},
      {{"/healthz", forbidden},
       {"/version", forbidden},
       {"/nosuch", forbidden},
       {kPods, forbidden},
       {kPods + "/p", forbidden}});
}

TEST(Doors, OfAnAdministrator) {
  ExpectTable({"admin", {std::string(kMasters)}}, {},
              {
                  {"/healthz", {200, 405, 405, 405, 405, 405, 405}},
                  {"/version", {200, 405, 405, 405, 405, 405, 405}},
                  {"/nosuch", {404, 405, 405, 405, 405, 405, 405}},
                  {kPods, {200, 400, 405, 405, 200, 405, 405}},
                  {kPods + "/p", {200, 405, 400, 415, 200, 405, 405}},
                  {kPods + "/none", {404, 405, 400, 415, 404, 405, 405}},
                  {kPods + "/p/status", {200, 405, 400, 415, 405, 405, 405}},
                  {kPods + "/p/nosuch", {404, 404, 404, 404, 404, 404, 404}},
                  {"/api/v1/pods/p", {404, 404, 404, 404, 404, 404, 404}},
                  {"/api/v1/nosuch", {404, 404, 404, 404, 404, 404, 404}},
                  {"/apis/nosuch/v1/x", {404, 404, 404, 404, 404, 404, 404}},
              });
}

// What a proxy or a careless client makes of a path is another path, or none.
TEST(Doors, OfEveryFormOfAPath) {
  struct Form {
    std::string path;
    int status = 0;
  };
  const std::vector<Form> forms = {
      {kPods, 200},
      {kPods + "/", 200},
      {kPods + "/p", 200},
      {kPods + "/p/", 200},
      {kPods + "/p?pretty=true", 200},
      {kPods + "/p/status", 200},
      {kPods + "/p/status/more", 404},
      {kPods + "/P", 404},
      {kPods + "/p;v=1", 404},
      {kPods + ";v=1", 404},
      {kPods + "/p.", 404},
      {kPods + "/ p", 404},
      {"/api/v1/namespaces/default/Pods", 404},
      {"/api/v1/namespaces/default/pod", 404},
      {"/api/v1/namespaces/Default/pods", 200},  // of a namespace that nobody has: an empty list
      {"/api/v1/pods", 200},
      {"/api/v1/pods/p", 404},
      {"/api/v1/pods/p/status", 404},
      {"/api/v1/pods/p/log", 404},
      {"/api/v1/watch/pods", 404},
      {"/api/V1/pods", 404},
      {"/API/v1/pods", 404},
      {"/apis/v1/pods", 404},
      {"/apis/core/v1/pods", 404},
      {"/api/v1", 200},
      {"/api/v1/", 200},
      {"/api", 200},
      {"/apis/resource.k8s.io", 200},
      {"/apis/resource.k8s.io/v1", 200},
      {"/apis/resource.k8s.io/v2", 404},
      {"/apis/RESOURCE.k8s.io/v1", 404},
      {"/healthz/nosuch", 404},
      {"/.well-known/openid-configuration", 404},
  };
  for (const Form& form : forms) {
    World world;
    world.Post(kPods, kPod);
    const Answer answer = world.Get(form.path);
    EXPECT_EQ(answer.status, form.status) << form.path << ": " << answer.text;
    ExpectReason(answer, form.path);
  }
}

// What a client can read decides before anything is done for it.
TEST(Doors, OfEveryAccept) {
  struct Shape {
    std::string accept;
    // One, a list, a watch, a new one, the same again, a deletion, that of all.
    std::vector<int> answers;
  };
  const std::vector<int> all = {200, 200, 200, 201, 200, 200, 200};
  const std::vector<int> none(7, 406);
  const std::string json = "application/json";
  const std::string meta = ";v=v1;g=meta.k8s.io";
  const std::vector<Shape> shapes = {
      {"", all},
      {"*/*", all},
      {"application/*", all},
      {json, all},
      {"Application/JSON; charset=utf-8", all},
      {json + ";q=0.1,application/yaml", all},
      {"application/yaml", all},
      {"application/vnd.kubernetes.protobuf," + json, all},
      {"text/html,application/xml;q=0.9,*/*;q=0.8", all},
      {json + ";as=Table" + meta, all},
      {json + ";as=Table;v=v1beta1;g=meta.k8s.io", none},
      {json + ";as=Table;v=v1beta1;g=meta.k8s.io," + json, all},
      {json + ";as=PartialObjectMetadata" + meta, {200, 406, 200, 201, 200, 200, 406}},
      {json + ";as=PartialObjectMetadataList" + meta, {406, 200, 200, 406, 406, 406, 200}},
      {json + ";as=Nonsense" + meta, none},
      {"text/html", none},
      {"application/cbor", none},
      {"json", none},
      {";", none},
  };
  const std::string other =
      R"({"metadata":{"name":"q"},"spec":{"containers":[{"name":"c","image":"i"}]}})";
  for (const Shape& shape : shapes) {
    const std::vector<Asking> askings = {
        {.path = kPods + "/p"},
        {.path = kPods},
        {.path = kPods + "?watch=1"},
        {.method = "POST", .path = kPods, .body = other},
        {.method = "PUT", .path = kPods + "/p", .body = kPod},
        {.method = "DELETE", .path = kPods + "/p"},
        {.method = "DELETE", .path = kPods},
    };
    std::vector<int> answers;
    for (Asking asking : askings) {
      World world;
      world.Post(kPods, kPod);
      const auto before = world.store().revision();
      asking.accept = shape.accept;
      const Answer answer = world.Ask(asking);
      answers.push_back(answer.status);
      ExpectReason(answer, asking.method + " as " + shape.accept);
      if (answer.status == 406) {
        EXPECT_EQ(world.store().revision(), before) << asking.method << " as " << shape.accept;
      }
    }
    EXPECT_THAT(answers, ::testing::ElementsAreArray(shape.answers)) << shape.accept;
  }
}

// Errors come in what the client can read, at whichever door it is turned away.
TEST(Doors, ErrorsOfEveryAccept) {
  const apiserver::User viewer{"v", {std::string(kViewers)}};
  const std::vector<std::pair<int, Asking>> askings = {
      {404, {.path = kPods + "/none"}},
      {400, {.path = kPods + "?limit=x"}},
      {400, {.method = "POST", .path = kPods, .body = "{"}},
      {422, {.method = "POST", .path = kPods, .body = R"({"metadata":{"name":"-"}})"}},
      {409, {.method = "POST", .path = kPods, .body = kPod}},
      {405, {.method = "PUT", .path = kPods, .body = kPod}},
      {404, {.path = "/api/v1/namespaces/default/nonsense"}},
      {403, {.method = "DELETE", .path = kPods, .user = viewer}},
      {403, {.path = "/snapshot", .user = viewer}},
  };
  const std::vector<std::pair<std::string, std::string>> accepts = {
      {"", "application/json"},
      {"application/json", "application/json"},
      {"application/yaml", "application/yaml"},
      {"text/html,application/yaml", "application/yaml"},
      {"application/json;as=Table;v=v1;g=meta.k8s.io,application/yaml", "application/json"},
      {"application/vnd.kubernetes.protobuf,application/yaml", "application/yaml"},
  };
  World world;
  world.Post(kPods, kPod);
  for (const auto& [accept, type] : accepts) {
    for (const auto& [code, given] : askings) {
      Asking asking = given;
      asking.accept = accept;
      const Answer answer = world.Ask(asking);
      EXPECT_EQ(answer.status, code) << asking.method << asking.path << answer.text;
      EXPECT_EQ(answer.headers.Find("Content-Type"), type)
          << asking.method << " " << asking.path << " as " << accept;
      const auto status = rest::ReadTree(answer.text, type == "application/yaml");
      ASSERT_TRUE(status.ok()) << answer.text;
      EXPECT_EQ(rest::TextIn(*status, "kind"), "Status") << answer.text;
    }
  }
}

TEST(Doors, OfEveryKindOfBody) {
  struct Type {
    std::string type;
    std::string body;
    std::vector<int> answers;  // POST, PUT, PATCH, DELETE
  };
  const std::string typed = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},)"
                            R"("spec":{"containers":[{"name":"c","image":"i"}]}})";
  const std::string options = R"({"kind":"DeleteOptions","apiVersion":"v1"})";
  const std::vector<int> bodies = {201, 200, 415, 200};
  const std::vector<int> patches = {415, 415, 200, 415};
  const std::vector<int> neither(4, 415);
  const std::vector<Type> types = {
      {"", typed, bodies},
      {"application/json", typed, bodies},
      {"application/json; charset=utf-8", typed, bodies},
      {"APPLICATION/JSON", typed, bodies},
      {"application/yaml", typed, bodies},
      {"application/vnd.kubernetes.protobuf", typed, {400, 400, 415, 400}},
      {"application/json-patch+json", "[]", patches},
      {"application/merge-patch+json", "{}", patches},
      {"application/strategic-merge-patch+json", "{}", patches},
      {"application/apply-patch+yaml", typed, patches},
      {"application/apply-patch+json", typed, neither},
      {"application/apply-patch+cbor", typed, neither},
      {"application/cbor", typed, neither},
      {"application/x-www-form-urlencoded", typed, neither},
      {"multipart/form-data; boundary=x", typed, neither},
      {"text/plain", typed, neither},
      {"json", typed, neither},
  };
  const auto path = [](std::string_view method) {
    if (method == "POST") return kPods;
    return kPods + (method == "PATCH" ? "/p?fieldManager=m" : "/p");
  };
  for (const Type& type : types) {
    std::vector<int> answers;
    for (const std::string method : {"POST", "PUT", "PATCH", "DELETE"}) {
      World world;
      if (method != "POST") world.Post(kPods, kPod);
      const auto before = world.store().revision();
      const Answer answer = world.Ask({.method = method,
                                       .path = path(method),
                                       .body = method == "DELETE" ? options : type.body,
                                       .content_type = type.type});
      answers.push_back(answer.status);
      ExpectReason(answer, method + " of " + type.type);
      if (answer.status >= 400) {
        EXPECT_EQ(world.store().revision(), before) << method << " of " << type.type;
      }
    }
    EXPECT_THAT(answers, ::testing::ElementsAreArray(type.answers)) << type.type;
  }
}

}  // namespace
}  // namespace dray::registry
