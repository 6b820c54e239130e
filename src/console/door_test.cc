// SPDX-License-Identifier: Apache-2.0
#include "console/door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "console/assets.h"
#include "console/console_for_test.h"

namespace dray::console {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kToken = "0123456789012345678901234567890123456789012";

DoorOptions LocalDoor() {
  return {.token = std::string(kToken),
          .hosts = {"127.0.0.1:8080", "localhost:8080", "[::1]:8080"}};
}

// One thing is different from a request of the page.
struct RefusalCase {
  std::string name;
  std::string method = "GET";
  std::string path = "/console/api/v1/fleet";
  std::vector<std::pair<std::string, std::string>> headers;
  bool host = true;
  bool token = true;
  bool marked = true;
  int want = 0;  // 0: it may go on
  friend void PrintTo(const RefusalCase& c, std::ostream* os) { *os << c.name; }
};
class LocalDoorTest : public ::testing::TestWithParam<RefusalCase> {};

TEST_P(LocalDoorTest, LetsItsOwnPageInAndNobodyElse) {
  const RefusalCase& of = GetParam();
  Door door(LocalDoor());
  apiserver::Request request;
  request.method = of.method;
  request.path = of.path;
  if (of.host) request.headers.Add("Host", "127.0.0.1:8080");
  if (of.token) request.headers.Add("Authorization", "Bearer " + std::string(kToken));
  if (of.marked) request.headers.Add("X-Dray-Console", "1");
  for (const auto& [name, value] : of.headers) request.headers.Add(name, value);
  const auto refused = door.Refuse(request, 0);
  EXPECT_EQ(refused ? refused->status : 0, of.want) << (refused ? BodyOf(*refused) : "");
  if (refused) {
    EXPECT_TRUE(refused->headers.Find("Access-Control-Allow-Origin").empty());
    EXPECT_THAT(BodyOf(*refused), HasSubstr("\"kind\":\"Status\""));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, LocalDoorTest,
    ::testing::ValuesIn(std::vector<RefusalCase>{
        {.name = "the_page_itself"},
        {.name = "for_another", .headers = {{"Impersonate-User", "bob"}}, .want = 400},
        {.name = "for_a_group", .headers = {{"impersonate-group", "a"}}, .want = 400},
        {.name = "post_of_json",
         .method = "POST",
         .headers = {{"Content-Type", "application/json; charset=utf-8"}}},
        {.name = "delete", .method = "DELETE", .path = "/console/api/v1/simulations/s1"},
        // DNS rebinding: the browser takes us for evil.example.
        {.name = "another_host", .headers = {{"Host", "evil.example"}}, .host = false, .want = 421},
        {.name = "our_host_and_another_port",
         .headers = {{"Host", "127.0.0.1:8081"}},
         .host = false,
         .want = 421},
        {.name = "no_port", .headers = {{"Host", "localhost"}}, .host = false, .want = 421},
        {.name = "localhost", .headers = {{"Host", "localhost:8080"}}, .host = false},
        {.name = "ipv6", .headers = {{"Host", "[::1]:8080"}}, .host = false},
        {.name = "no_host", .host = false, .want = 421},
        {.name = "two_hosts", .headers = {{"Host", "evil.example"}}, .want = 421},
        {.name = "another_host_for_the_page",
         .path = "/console/",
         .headers = {{"Host", "evil.example"}},
         .host = false,
         .want = 421},
        {.name = "a_path_around_the_check", .path = "/x/../console/api/v1/fleet", .want = 404},
        {.name = "an_escaped_slash", .path = "/console/api%2fv1/fleet", .want = 404},
        {.name = "an_empty_part", .path = "/console//api/v1/fleet", .want = 404},
        {.name = "a_foreign_origin", .headers = {{"Origin", "https://evil.example"}}, .want = 403},
        {.name = "the_origin_of_a_file", .headers = {{"Origin", "null"}}, .want = 403},
        {.name = "https_is_not_us", .headers = {{"Origin", "https://127.0.0.1:8080"}}, .want = 403},
        {.name = "our_origin", .headers = {{"Origin", "http://127.0.0.1:8080"}}},
        {.name = "two_origins",
         .headers = {{"Origin", "http://127.0.0.1:8080"}, {"Origin", "https://evil.example"}},
         .want = 403},
        {.name = "cross_site", .headers = {{"Sec-Fetch-Site", "cross-site"}}, .want = 403},
        // Another port of this machine is the same site.
        {.name = "same_site", .headers = {{"Sec-Fetch-Site", "same-site"}}, .want = 403},
        {.name = "same_origin", .headers = {{"Sec-Fetch-Site", "same-origin"}}},
        {.name = "typed", .headers = {{"Sec-Fetch-Site", "none"}}},
        {.name = "a_link_to_data",
         .headers = {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}},
         .want = 403},
        {.name = "a_link_to_the_page",
         .path = "/console/",
         .headers = {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}},
         .token = false,
         .marked = false},
        {.name = "the_page_as_an_image",
         .path = "/console/icon.svg",
         .headers = {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "no-cors"}},
         .want = 403},
        {.name = "preflight", .method = "OPTIONS", .want = 405},
        {.name = "preflight_of_the_page", .method = "OPTIONS", .path = "/console/", .want = 405},
        {.name = "put", .method = "PUT", .want = 405},
        {.name = "post_to_the_page", .method = "POST", .path = "/console/", .want = 405},
        {.name = "no_token", .token = false, .want = 401},
        {.name = "a_wrong_token",
         .headers = {{"Authorization", "Bearer 1123456789012345678901234567890123456789012"}},
         .token = false,
         .want = 401},
        {.name = "a_part_of_the_token",
         .headers = {{"Authorization", "Bearer 0123456789"}},
         .token = false,
         .want = 401},
        {.name = "another_scheme",
         .headers = {{"Authorization", "Basic " + std::string(kToken)}},
         .token = false,
         .want = 401},
        {.name = "two_tokens", .headers = {{"Authorization", "Bearer x"}}, .want = 401},
        {.name = "the_page_needs_no_token",
         .path = "/console/claims/default/a",
         .token = false,
         .marked = false},
        {.name = "no_header_of_ours", .marked = false, .want = 403},
        {.name = "a_form",
         .method = "POST",
         .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
         .want = 415},
        {.name = "a_text",
         .method = "POST",
         .headers = {{"Content-Type", "text/plain"}},
         .want = 415},
        {.name = "no_type", .method = "POST", .want = 415},
    }),
    [](const auto& info) { return info.param.name; });

TEST(DoorTest, WhoGuessesIsSlowedDownAndWhoKnowsIsNot) {
  Door door(LocalDoor());
  apiserver::Request wrong = GetOf("/console/api/v1/fleet");
  wrong.headers.Add("Authorization", "Bearer wrong");
  apiserver::Request right = GetOf("/console/api/v1/fleet");
  right.headers.Add("Authorization", "Bearer " + std::string(kToken));
  int slowed = 0;
  for (int i = 0; i < 100; ++i) slowed += door.Refuse(wrong, 0)->status == 429 ? 1 : 0;
  EXPECT_EQ(slowed, 80);
  EXPECT_FALSE(door.Refuse(right, 0).has_value());
  // Who shows nothing does not guess.
  EXPECT_EQ(door.Refuse(GetOf("/console/api/v1/fleet"), 0)->status, 401);
  EXPECT_EQ(door.Refuse(wrong, 60)->status, 401);
}

TEST(DoorTest, ServersKnowTheirUsers) {
  Door door({.scheme = "https"});
  apiserver::Request request = GetOf("/console/api/v1/fleet");
  EXPECT_EQ(door.Refuse(request, 0)->status, 401);
  request.user.name = "ann";
  EXPECT_FALSE(door.Refuse(request, 0).has_value());
  // A certificate travels by itself, the header does not.
  apiserver::Request ambient = request;
  ambient.headers.list.clear();
  ambient.headers.Add("Host", "127.0.0.1:6443");
  EXPECT_EQ(door.Refuse(ambient, 0)->status, 403);
  request.headers.Add("Origin", "https://127.0.0.1:8080");
  EXPECT_FALSE(door.Refuse(request, 0).has_value());
  request.headers.list.back().second = "http://127.0.0.1:8080";
  EXPECT_EQ(door.Refuse(request, 0)->status, 403);
}

TEST(DoorTest, TokensAreLongAndDifferent) {
  const std::string one = NewToken();
  EXPECT_EQ(one.size(), 43U);
  EXPECT_NE(one, NewToken());
  EXPECT_TRUE(SameSecret(one, one));
  EXPECT_FALSE(SameSecret(one, one.substr(1)));
}

TEST(PageTest, HasItsHeadersAndAnETag) {
  const auto response = ServePage(GetOf("/console/fleet"));
  EXPECT_THAT(std::string(response.headers.Find("Content-Security-Policy")),
              HasSubstr("default-src 'none'"));
  EXPECT_THAT(std::string(response.headers.Find("Content-Security-Policy")),
              HasSubstr("frame-ancestors 'none'"));
  EXPECT_EQ(response.headers.Find("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(response.headers.Find("Referrer-Policy"), "no-referrer");
  EXPECT_EQ(response.headers.Find("Cross-Origin-Opener-Policy"), "same-origin");
  EXPECT_EQ(response.headers.Find("Cross-Origin-Resource-Policy"), "same-origin");
  EXPECT_EQ(ServePage(GetOf("/")).headers.Find("Location"), "/console/");
  EXPECT_EQ(ServePage(GetOf("/console")).status, 302);
  if (Assets().empty()) GTEST_SKIP() << "the page is not built";
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.Find("Content-Type"), "text/html; charset=utf-8");
  // A view is the same page; a file that is not there is none.
  EXPECT_EQ(BodyOf(response), BodyOf(ServePage(GetOf("/console/claims/default/a.js"))));
  EXPECT_EQ(ServePage(GetOf("/console/other.js")).status, 404);
  const auto script = ServePage(GetOf("/console/app.js"));
  EXPECT_EQ(script.headers.Find("Content-Type"), "text/javascript; charset=utf-8");
  apiserver::Request again = GetOf("/console/app.js");
  again.headers.Add("If-None-Match", std::string(script.headers.Find("ETag")));
  EXPECT_EQ(ServePage(again).status, 304);
}

}  // namespace
}  // namespace dray::console
