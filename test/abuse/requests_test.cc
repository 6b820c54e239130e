// SPDX-License-Identifier: Apache-2.0
//
// Requests that should not have been made: each gets one clear answer.
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "abuse/up_for_test.h"
#include "fmt/format.h"

namespace dray::abuse {
namespace {

using process::Call;
using ::testing::HasSubstr;

struct BadCase {
  std::string name;
  Call call;
  std::vector<int> statuses;
  std::string says = {};
  friend void PrintTo(const BadCase& c, std::ostream* os) { *os << c.name; }
};

class BadRequestTest : public UpTest, public ::testing::WithParamInterface<BadCase> {};

TEST_P(BadRequestTest, IsAnsweredClearly) {
  process::Requests requests = Admin();
  const apiserver::ClientResponse response = requests.Do(GetParam().call);
  EXPECT_THAT(GetParam().statuses, ::testing::Contains(response.status)) << response.body;
  EXPECT_THAT(response.body, HasSubstr(GetParam().says));
  EXPECT_LT(response.body.size(), 200'000u);
}

std::string Templates() { return std::string(kTemplates); }

Call Post(std::string body, std::string type = "application/json") {
  return {.method = "POST",
          .path = Templates(),
          .body = std::move(body),
          .content_type = std::move(type)};
}

Call Patch(std::string body, std::string_view type, std::string query = "") {
  return {.method = "PATCH",
          .path = fmt::format("{}/patched{}", kTemplates, query),
          .body = std::move(body),
          .content_type = fmt::format("application/{}", type)};
}

Call Get(std::string path) { return {.path = std::move(path)}; }

std::string Token(std::string_view json) {
  return std::string(absl::WebSafeBase64Escape(base::ToAbsl(json)));
}

std::string Deep(std::string_view open, std::size_t count, std::string_view inside,
                 std::string_view close) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += open;
  text += inside;
  for (std::size_t i = 0; i < count; ++i) text += close;
  return text;
}

std::string CopyBomb() {
  std::string patch = R"([{"op":"add","path":"/metadata/annotations/a0","value":")" +
                      std::string(1'000'000, 'x') + "\"}";
  for (int i = 1; i < 9'000; ++i) {
    patch += fmt::format(
        R"(,{{"op":"copy","from":"/metadata/annotations/a0","path":"/metadata/annotations/a{}"}})",
        i);
  }
  return patch + "]";
}

std::string AliasBomb() {
  std::string bomb = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\na: &a " +
                     std::string(1'000'000, 'x') + "\nb: [";
  for (int i = 0; i < 100'000; ++i) bomb += "*a, ";
  return bomb + "x]\n";
}

INSTANTIATE_TEST_SUITE_P(
    Url, BadRequestTest,
    ::testing::ValuesIn(std::vector<BadCase>{
        {"unknown_method", {.method = "BREW", .path = "/api/v1/pods"}, {405}},
        {"long_path", Get("/api/v1/" + std::string(60'000, 'x')), {404}},
        {"longer_path", Get("/api/v1/" + std::string(70'000, 'x')), {431}},
        {"long_query", Get("/api/v1/pods?labelSelector=" + std::string(60'000, 'x')), {400}},
        {"many_selectors",
         Get("/api/v1/pods?labelSelector=" + Deep("a=b,", 10'000, "a=b", "")),
         {200, 400}},
        {"broken_escape", Get("/api/v1/namespaces/%zz/pods"), {400}},
        {"null_in_path", Get("/api/v1/namespaces/a%00b/pods/x"), {400}},
        {"way_up", Get("/api/v1/namespaces/../../../etc/passwd"), {400}, "the path"},
        {"hidden_way_up", Get("/healthz/%2e%2e/metrics"), {400}, "the path"},
        {"double_slash", Get("/api//v1/pods"), {400}, "the path"},
        {"slash_in_name", Get("/api/v1/namespaces/default/pods/..%2f..%2fx"), {400}},
        {"bad_selector", Get("/api/v1/pods?labelSelector=a%20in%20("), {400}},
        {"unknown_field_selector", Get("/api/v1/pods?fieldSelector=spec.x=1"), {400}, "spec.x"},
        {"limit_is_no_number", Get("/api/v1/pods?limit=many"), {400}, "limit"},
        {"limit_is_too_large", Get("/api/v1/pods?limit=99999999999999999999"), {400}, "limit"},
        {"timeout_is_no_number", Get("/api/v1/pods?watch=1&timeoutSeconds=x"), {400}},
    }),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Revision, BadRequestTest,
    ::testing::ValuesIn(std::vector<BadCase>{
        {"no_number", Get("/api/v1/pods?resourceVersion=now"), {400, 422}, "resourceVersion"},
        {"negative", Get("/api/v1/pods?resourceVersion=-5"), {400, 422}},
        {"future", Get("/api/v1/pods?resourceVersion=99999999999"), {504}, "Too large"},
        {"watch_from_the_future",
         Get("/api/v1/pods?watch=1&resourceVersion=99999999999"),
         {504},
         "Too large"},
        {"token_is_no_token", Get("/api/v1/pods?limit=1&continue=!!"), {400}, "continue"},
        {"token_is_no_json", Get("/api/v1/pods?limit=1&continue=" + Token("{")), {400}},
        {"token_of_another_version",
         Get("/api/v1/pods?limit=1&continue=" + Token(R"({"v":"x","rv":1,"start":"/a"})")),
         {400}},
        {"token_of_the_future",
         Get("/api/v1/pods?limit=1&continue=" +
             Token(R"({"v":"meta.k8s.io/v1","rv":99999999999,"start":"/a"})")),
         {400, 504}},
        {"token_out_of_the_list",
         Get("/api/v1/namespaces/default/pods?limit=1&continue=" +
             Token(R"({"v":"meta.k8s.io/v1","rv":1,"start":"../kube-system"})")),
         {400, 410}},
        {"token_with_a_negative_revision",
         Get("/api/v1/pods?limit=1&continue=" +
             Token(R"({"v":"meta.k8s.io/v1","rv":-9223372036854775808,"start":"/a"})")),
         {200, 400, 410}},
    }),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Body, BadRequestTest,
    ::testing::ValuesIn(std::vector<BadCase>{
        {"no_json", Post("hello"), {400}},
        {"half", Post(TemplateBody("half").substr(0, 60)), {400}},
        {"nothing_but_space", Post(std::string(1'000'000, ' ')), {400}},
        {"deep_lists", Post(Deep("[", 400'000, "", "]")), {400}},
        {"deep_maps", Post(Deep("{\"a\":", 200'000, "1", "}")), {400}},
        {"deep_and_unknown",
         Post(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","x":)" +
              Deep("[", 100'000, "", "]") + "}"),
         {400}},
        {"many_values", Post("[" + Deep("0,", 1'400'000, "0", "") + "]"), {413}},
        {"not_utf_8", Post(TemplateBody("utf", "\xff\xfe\xc0\x80")), {400}},
        {"another_kind",
         Post(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}})"),
         {400}},
        {"two_documents", Post(TemplateBody("one") + TemplateBody("two")), {400}},
        {"long_annotation", Post(TemplateBody("long", std::string(2'900'000, 'x'))), {422}},
        {"larger_than_the_limit", Post(TemplateBody("larger", std::string(3'200'000, 'x'))), {413}},
        {"protobuf_that_is_none",
         Post(std::string("k8s\0", 4) + std::string(5'000, '\xff'),
              "application/vnd.kubernetes.protobuf"),
         {400, 415}},
        {"unknown_content_type", Post(TemplateBody("cbor"), "application/cbor"), {415}},
        {"compressed",
         {.method = "POST",
          .path = Templates(),
          .body = std::string("\x1f\x8b\x08\0\0\0\0\0\0\3", 10) + std::string(1'000, 'x'),
          .headers = "Content-Encoding: gzip\r\n"},
         {400, 415}},
        {"yaml_alias_bomb", Post(AliasBomb(), "application/yaml"), {400}, "expand to more"},
        {"list_of_many", Post(R"({"apiVersion":"v1","kind":"List","items":[]})"), {400}},
    }),
    [](const auto& info) { return info.param.name; });

class PatchTest : public UpTest {
 protected:
  void SetUp() override {
    UpTest::SetUp();
    process::Requests requests = Admin();
    const int status = requests.Do(Post(TemplateBody("patched"))).status;
    ASSERT_TRUE(status == 201 || status == 409) << status;
  }
  int Do(const Call& call) {
    process::Requests requests = Admin();
    const apiserver::ClientResponse response = requests.Do(call);
    EXPECT_LT(response.body.size(), 10'000u);
    return response.status;
  }
};

TEST_F(PatchTest, CopiesAreBounded) {
  EXPECT_EQ(Do(Patch(CopyBomb(), "json-patch+json")), 413);
  EXPECT_EQ(Do(Patch(AliasBomb(), "apply-patch+yaml", "?fieldManager=x")), 400);
}

TEST_F(PatchTest, DepthIsBounded) {
  for (const char* type : {"merge-patch+json", "strategic-merge-patch+json", "json-patch+json"}) {
    EXPECT_EQ(Do(Patch(Deep("{\"a\":", 100'000, "1", "}"), type)), 400) << type;
  }
  std::string path;
  std::string patch = "[";
  for (int i = 0; i < 500; ++i) {
    patch += fmt::format(R"({}{{"op":"add","path":"{}/a","value":{{}}}})", i > 0 ? "," : "", path);
    path += "/a";
  }
  EXPECT_EQ(Do(Patch(patch + "]", "json-patch+json")), 422);
}

// An index is a number; as many signs as fit into a request are none.
TEST_F(PatchTest, AnIndexIsNoLongText) {
  const std::string patch = R"([{"op":"add","path":"/metadata/finalizers","value":["a.b/c"]},)"
                            R"({"op":"add","path":"/metadata/finalizers/)" +
                            std::string(2'900'000, '-') + R"(1","value":"a.b/d"}])";
  EXPECT_EQ(Do(Patch(patch, "json-patch+json")), 422);
}

TEST_F(PatchTest, WidthIsBounded) {
  std::string wide = R"({"metadata":{"annotations":{)";
  for (int i = 0; i < 100'000; ++i) wide += fmt::format(R"("k{}":"v",)", i);
  wide += R"("k":"v"}}})";
  for (const char* type : {"merge-patch+json", "strategic-merge-patch+json"}) {
    const int status = Do(Patch(wide, type));
    EXPECT_TRUE(status == 400 || status == 413 || status == 422) << type << ": " << status;
  }
}

}  // namespace
}  // namespace dray::abuse
