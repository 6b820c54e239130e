// SPDX-License-Identifier: Apache-2.0
//
// Requests that are made for somebody else: kubectl --as, --as-group, --as-uid.
#include "registry/impersonation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using HeaderList = std::vector<std::pair<std::string, std::string>>;

const std::string kWho = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const std::string kMay = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const apiserver::User kAdmin{"admin", {std::string(kMasters)}};
const apiserver::User kEve{"eve", {std::string(kViewers), "system:authenticated"}};

Answer Who(World& world, HeaderList headers, const apiserver::User& user = kAdmin) {
  return world.Ask({.method = "POST",
                    .path = kWho,
                    .body = "{}",
                    .user = user,
                    .headers = {.list = std::move(headers)}});
}

TEST(Impersonation, TheRequestIsTheirsWithTheirRights) {
  World world;
  const std::string body = R"({"metadata":{"name":"as-bob"}})";
  const Answer refused = world.Ask({.method = "POST",
                                    .path = "/api/v1/namespaces",
                                    .body = body,
                                    .headers = {.list = {{"Impersonate-User", "bob"}}}});
  EXPECT_EQ(refused.status, 403) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr(R"(User \"bob\" cannot create resource \"namespaces\")"));
  EXPECT_EQ(world.Get("/api/v1/namespaces/as-bob").status, 404);
  const HeaderList viewer = {{"impersonate-user", "bob"}, {"Impersonate-Group", "dray:viewers"}};
  EXPECT_EQ(world.Ask({.path = "/api/v1/namespaces", .headers = {.list = viewer}}).status, 200);
  const HeaderList master = {{"Impersonate-User", "bob"}, {"Impersonate-Group", "system:masters"}};
  const Answer made = world.Ask(
      {.method = "POST", .path = "/api/v1/namespaces", .body = body, .headers = {.list = master}});
  EXPECT_EQ(made.status, 201) << made.text;
}

TEST(Impersonation, PathsThatAreNoResourceAreAskedForAsThemToo) {
  World world;
  const HeaderList bob = {{"Impersonate-User", "bob"}};
  EXPECT_EQ(world.Ask({.path = "/metrics", .headers = {.list = bob}}).status, 403);
  EXPECT_EQ(world.Ask({.path = "/healthz", .headers = {.list = bob}}).status, 200);
  EXPECT_EQ(world.Ask({.path = "/apis", .headers = {.list = bob}}).status, 200);
  EXPECT_EQ(
      world.Ask({.path = "/apis", .headers = {.list = {{"Impersonate-User", "system:anonymous"}}}})
          .status,
      403);
}

TEST(Impersonation, ReviewsAreAboutThem) {
  World world;
  const Answer who = Who(world, {{"Impersonate-User", "bob"},
                                 {"Impersonate-Group", "dev"},
                                 {"Impersonate-Group", "ops"},
                                 {"Impersonate-Uid", "42"},
                                 {"Impersonate-Extra-Example.com%2Fscopes", "read"},
                                 {"Impersonate-Extra-example.com%2fscopes", "write"}});
  EXPECT_EQ(who.status, 201) << who.text;
  EXPECT_THAT(
      who.text,
      HasSubstr(R"("userInfo":{"username":"bob","uid":"42","groups":["dev","ops",)"
                R"("system:authenticated"],"extra":{"example.com/scopes":["read","write"]}})"));
  const std::string asks =
      R"({"spec":{"resourceAttributes":{"verb":"create","resource":"pods","namespace":"default"}}})";
  const Answer may = world.Ask({.method = "POST",
                                .path = kMay,
                                .body = asks,
                                .headers = {.list = {{"Impersonate-User", "bob"}}}});
  EXPECT_THAT(may.text, HasSubstr(R"("status":{"allowed":false})"));
}

TEST(Impersonation, AServiceAccountIsInItsGroups) {
  World world;
  const std::string account = "system:serviceaccount:team:builder";
  EXPECT_THAT(Who(world, {{"Impersonate-User", account}}).text,
              HasSubstr(R"("groups":["system:serviceaccounts","system:serviceaccounts:team",)"
                        R"("system:authenticated"])"));
  EXPECT_THAT(Who(world, {{"Impersonate-User", account}, {"Impersonate-Group", "dev"}}).text,
              HasSubstr(R"("groups":["dev","system:authenticated"])"));
}

TEST(Impersonation, WhoeverSaysUnauthenticatedIs) {
  World world;
  const Answer who =
      Who(world, {{"Impersonate-User", "bob"}, {"Impersonate-Group", "system:unauthenticated"}});
  EXPECT_EQ(who.status, 403) << who.text;
}

struct RightCase {
  std::string name;
  HeaderList headers;
  std::string says;
  friend void PrintTo(const RightCase& c, std::ostream* os) { *os << c.name; }
};
class ImpersonationRightTest : public ::testing::TestWithParam<RightCase> {};

TEST_P(ImpersonationRightTest, IsAskedForEveryPartOfWhoItIs) {
  World world;
  for (const apiserver::User& sender :
       {kEve, apiserver::User{}, apiserver::User{"system:kube-scheduler", {}},
        apiserver::User{"system:node:n1", {std::string(kNodes)}},
        apiserver::User{"dray:driver:gpu.example.com", {std::string(kDrivers)}}}) {
    const Answer answer = Who(world, GetParam().headers, sender);
    EXPECT_EQ(answer.status, 403) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(GetParam().says));
    EXPECT_THAT(answer.text, HasSubstr("User \\\"" + sender.name + "\\\" cannot impersonate"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Parts, ImpersonationRightTest,
    ::testing::ValuesIn(std::vector<RightCase>{
        {"user", {{"Impersonate-User", "bob"}}, R"(users \"bob\" is forbidden)"},
        // Not even for themselves: the header is a wish of its own.
        {"oneself", {{"Impersonate-User", "eve"}}, R"(resource \"users\" in API group \"\")"},
        {"service_account",
         {{"Impersonate-User", "system:serviceaccount:team:a"}},
         R"(resource \"serviceaccounts\" in API group \"\" in the namespace \"team\")"},
    }),
    [](const auto& info) { return info.param.name; });

// Allows everything but one resource.
class AllBut final : public api::Authorizer {
 public:
  explicit AllBut(std::string resource) : resource_(std::move(resource)) {}
  api::AuthorizationDecision Authorize(const api::AuthorizationRequest& request) const override {
    EXPECT_EQ(request.verb, "impersonate");
    return {.allowed = request.resource != resource_};
  }

 private:
  std::string resource_;
};

TEST(Impersonation, OneRightThatIsMissingIsEnoughToRefuse) {
  for (const std::string resource : {"users", "groups", "uids", "userextras", "none"}) {
    apiserver::Request request{.user = kEve};
    request.headers.list = {{"Impersonate-User", "bob"},
                            {"Impersonate-Group", "dev"},
                            {"Impersonate-Uid", "1"},
                            {"Impersonate-Extra-scopes", "x"},
                            {"Accept", "*/*"}};
    const Status allowed = Impersonate(request, AllBut(resource));
    EXPECT_EQ(allowed.ok(), resource == "none") << resource;
    EXPECT_EQ(request.user.name, allowed.ok() ? "bob" : "eve");
    EXPECT_EQ(request.sender.has_value(), allowed.ok());
    if (!allowed.ok()) continue;
    EXPECT_EQ(request.sender->name, "eve");
    EXPECT_EQ(request.headers.list.size(), 1u);
  }
}

TEST(Impersonation, HeadersThatNameNobodyAreRefused) {
  World world;
  for (const HeaderList& headers : std::vector<HeaderList>{
           {{"Impersonate-Group", "system:masters"}},
           {{"Impersonate-Uid", "1"}},
           {{"Impersonate-Extra-scopes", "x"}},
           {{"Impersonate-User", ""}},
           {{"Impersonate-User", "bob"}, {"Impersonate-User", "eve"}},
           {{"Impersonate-User", "bob"}, {"Impersonate-Uid", "1"}, {"Impersonate-Uid", "2"}},
           {{"Impersonate-User", "bob"}, {"Impersonate-Groups", "dev"}},
       }) {
    const Answer answer = Who(world, headers);
    EXPECT_EQ(answer.status, 400) << answer.text;
    EXPECT_THAT(answer.text, Not(HasSubstr("username")));
  }
}

}  // namespace
}  // namespace dray::registry
