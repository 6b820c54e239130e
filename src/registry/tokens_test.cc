// SPDX-License-Identifier: Apache-2.0
//
// Tokens of service accounts: asked for, believed, and refused once something of what they say is no
// longer so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/certificates.h"
#include "apiserver/token_keys.h"
#include "fmt/format.h"
#include "registry/account_tokens.h"
#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

const std::string kAccounts = "/api/v1/namespaces/default/serviceaccounts";
const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kReviews = "/apis/authentication.k8s.io/v1/tokenreviews";
const std::string kHere = "https://kubernetes.default.svc.cluster.local";
const std::string kRobot = "system:serviceaccount:default:robot";

apiserver::TokenKeys NewKeys() {
  const auto pair = apiserver::MakeAuthority("x", base::Time::FromUnix(1'800'000'000), 1h);
  return *apiserver::TokenKeys::FromPem({pair->key});
}

// As every pod has one that does not say that it wants none.
constexpr std::string_view kTokenVolume =
    R"({"name":"t","projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}})";

class TokenTest : public ::testing::Test {
 protected:
  TokenTest() {
    HandlerOptions handling;
    handling.tokens = &tokens_;
    handling.token_user = [](std::string_view token) -> std::optional<apiserver::User> {
      if (token != "static") return std::nullopt;
      return apiserver::User{"ann", {"system:authenticated"}};
    };
    world_.Serve(std::move(handling));
    EXPECT_EQ(world_.Post(kAccounts, R"({"metadata":{"name":"robot"}})").status, 201);
    EXPECT_EQ(world_.Post("/api/v1/nodes", R"({"metadata":{"name":"n1"}})").status, 201);
  }

  Answer Request(const std::string& spec = "{}", const std::string& account = "robot",
                 apiserver::User user = {"admin", {std::string(kMasters)}}) {
    return world_.Ask({.method = "POST",
                       .path = kAccounts + "/" + account + "/token",
                       .body = R"({"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1",)"
                               R"("spec":)" +
                               spec + "}",
                       .user = std::move(user)});
  }
  std::string Token(const std::string& spec = "{}") {
    const Answer answer = Request(spec);
    EXPECT_EQ(answer.status, 201) << answer.text;
    const rest::DocumentNode tree = answer.Json();
    const rest::DocumentNode* status = rest::FindIn(tree, "status");
    return status == nullptr ? std::string() : std::string(rest::TextIn(*status, "token"));
  }
  void MakePod(std::string_view name, std::string_view account = "robot",
               std::string_view node = "n1", std::string_view volumes = kTokenVolume) {
    const Answer made = world_.Post(
        kPods, fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{"nodeName":"{}",)"
                           R"("serviceAccountName":"{}","volumes":[{}],"containers":[{{"name":"c",)"
                           R"("image":"x"}}]}}}})",
                           name, node, account, volumes));
    ASSERT_EQ(made.status, 201) << made.text;
  }
  std::string UidOf(const std::string& path) {
    const rest::DocumentNode tree = world_.Get(path).Json();
    const rest::DocumentNode* metadata = rest::FindIn(tree, "metadata");
    return metadata == nullptr ? std::string() : std::string(rest::TextIn(*metadata, "uid"));
  }
  std::string Bound(const std::string& kind, const std::string& name, const std::string& uid) {
    return R"({"boundObjectRef":{"kind":")" + kind + R"(","apiVersion":"v1","name":")" + name +
           R"(","uid":")" + uid + R"("}})";
  }
  std::string Review(const std::string& token, const std::string& audiences = "[]") {
    return world_
        .Post(kReviews, R"({"spec":{"token":")" + token + R"(","audiences":)" + audiences + "}}")
        .text;
  }
  // Why it is not believed; empty: it is.
  std::string Why(const std::string& token) {
    const auto judged = tokens_.Judge(token, tokens_.options().audiences);
    return judged.ok() ? std::string() : std::string(base::Message(judged.status()));
  }
  void Delete(const std::string& path) {
    EXPECT_EQ(world_.Ask({.method = "DELETE", .path = path + "?gracePeriodSeconds=0"}).status, 200);
  }

  const apiserver::TokenKeys keys_ = NewKeys();
  base::SystemRandomSource random_;
  World world_;
  AccountTokens tokens_{keys_, world_.registry().objects(), world_.clock(), random_};
};

TEST_F(TokenTest, SaysWhoItIsFor) {
  const Answer answer = Request();
  EXPECT_EQ(answer.status, 201) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr(R"("kind":"TokenRequest")"));
  EXPECT_THAT(answer.text, HasSubstr(R"("expirationSeconds":3600)"));
  EXPECT_THAT(answer.text, HasSubstr(R"("expirationTimestamp":"2027-01-15T09:00:00Z")"));
  const auto user = tokens_.Read(Token());
  ASSERT_TRUE(user.has_value());
  EXPECT_EQ(user->name, kRobot);
  EXPECT_EQ(user->uid, UidOf(kAccounts + "/robot"));
  EXPECT_THAT(user->groups, ElementsAre("system:serviceaccounts", "system:serviceaccounts:default",
                                        "system:authenticated"));
}

TEST_F(TokenTest, EndsWithItsTime) {
  const std::string token = Token(R"({"expirationSeconds":600})");
  EXPECT_EQ(Why(token), "");
  world_.clock().Advance(599s);
  EXPECT_EQ(Why(token), "");
  world_.clock().Advance(1s);
  EXPECT_EQ(Why(token), "service account token has expired");
  const Answer brief = Request(R"({"expirationSeconds":599})");
  EXPECT_EQ(brief.status, 422);
  EXPECT_THAT(brief.text, HasSubstr("may not specify a duration less than 10 minutes"));
  EXPECT_EQ(Request(R"({"expirationSeconds":4294967297})").status, 422);
}

TEST_F(TokenTest, EndsWithItsAccount) {
  const std::string token = Token();
  Delete(kAccounts + "/robot");
  EXPECT_EQ(Why(token), "service account token has been invalidated");
  ASSERT_EQ(world_.Post(kAccounts, R"({"metadata":{"name":"robot"}})").status, 201);
  EXPECT_THAT(Why(token), HasSubstr("does not match")) << "another one by that name";
  EXPECT_EQ(Request("{}", "gone").status, 404);
}

TEST_F(TokenTest, EndsWithItsPod) {
  MakePod("web");
  const std::string uid = UidOf(kPods + "/web");
  const std::string token = Token(Bound("Pod", "web", uid));
  const auto user = tokens_.Read(token);
  ASSERT_TRUE(user.has_value());
  EXPECT_THAT(user->extra.at("authentication.kubernetes.io/pod-name"), ElementsAre("web"));
  EXPECT_THAT(user->extra.at("authentication.kubernetes.io/pod-uid"), ElementsAre(uid));
  EXPECT_THAT(user->extra.at("authentication.kubernetes.io/node-name"), ElementsAre("n1"));
  Delete(kPods + "/web");
  EXPECT_EQ(Why(token), "service account token has been invalidated");
  MakePod("web");
  EXPECT_THAT(Why(token), HasSubstr("does not match service account pod ref claim"));
}

TEST_F(TokenTest, IsBoundToWhatFits) {
  MakePod("other", "someone-else");
  const Answer other = Request(Bound("Pod", "other", ""));
  EXPECT_EQ(other.status, 400);
  EXPECT_THAT(other.text, HasSubstr("to pod running with different serviceaccount name"));
  EXPECT_EQ(Request(Bound("Pod", "gone", "")).status, 404);
  MakePod("web");
  const Answer stale = Request(Bound("Pod", "web", "123"));
  EXPECT_EQ(stale.status, 409);
  EXPECT_THAT(stale.text, HasSubstr("does not match the UID in record"));
  EXPECT_EQ(Request(Bound("Deployment", "web", "")).status, 400);
  const std::string token = Token(Bound("Node", "n1", ""));
  EXPECT_EQ(Why(token), "");
  Delete("/api/v1/nodes/n1");
  EXPECT_EQ(Why(token), "service account token has been invalidated");
}

TEST_F(TokenTest, AnotherAudiencesTokenIsNotForThisServer) {
  const std::string token = Token(R"({"audiences":["vault"]})");
  EXPECT_EQ(Why(token),
            "token audiences [\"vault\"] is invalid for the target audiences [\"" + kHere + "\"]");
  EXPECT_FALSE(tokens_.Read(token).has_value());
  EXPECT_THAT(Review(token), Not(HasSubstr(R"("authenticated":true)")));
  EXPECT_THAT(Review(token, R"(["vault","x"])"), HasSubstr(R"("audiences":["vault"])"));
}

TEST_F(TokenTest, ReviewsSayWhoseItIs) {
  EXPECT_THAT(Review(Token()), HasSubstr(R"("authenticated":true,"user":{"username":")" + kRobot));
  EXPECT_THAT(Review("static"), HasSubstr(R"("user":{"username":"ann")"));
  EXPECT_THAT(Review("static", R"(["vault"])"), Not(HasSubstr("ann")))
      << "it was given to nobody else";
  EXPECT_THAT(Review("wrong"), HasSubstr(R"("error":"invalid bearer token")"));
  const std::string token = Token();
  world_.clock().Advance(2h);
  EXPECT_THAT(Review(token),
              HasSubstr("[invalid bearer token, service account token has expired]"));
  EXPECT_EQ(world_.Post(kReviews, R"({"spec":{}})").status, 400);
}

// A kubelet asks for tokens of its own pods.
TEST_F(TokenTest, ANodeGetsThoseOfItsPods) {
  const apiserver::User node{"system:node:n1", {std::string(kNodes), "system:authenticated"}};
  MakePod("web");
  MakePod("elsewhere", "robot", "n2");
  const std::string uid = UidOf(kPods + "/web");
  EXPECT_EQ(Request(Bound("Pod", "web", uid), "robot", node).status, 201);
  const Answer loose = Request("{}", "robot", node);
  EXPECT_EQ(loose.status, 403);
  EXPECT_THAT(loose.text, HasSubstr("node requested token not bound to a pod"));
  EXPECT_THAT(Request(Bound("Pod", "web", ""), "robot", node).text,
              HasSubstr("node requested token with a pod binding without a uid"));
  EXPECT_THAT(Request(Bound("Pod", "elsewhere", UidOf(kPods + "/elsewhere")), "robot", node).text,
              HasSubstr("node requested token bound to a pod scheduled on a different node"));
  const Answer unrelated = Request(Bound("Pod", "web", uid), "boss", node);
  EXPECT_EQ(unrelated.status, 403);
  EXPECT_THAT(unrelated.text, HasSubstr("no relationship found between node 'n1'"));
}

// Whoever takes over a node does not get tokens for services that its pods have nothing to do with.
TEST_F(TokenTest, ANodeGetsThemForWhomVolumesOfThePodWantThem) {
  const apiserver::User node{"system:node:n1", {std::string(kNodes), "system:authenticated"}};
  const auto ask = [&](const std::string& pod, const std::string& audiences) {
    std::string spec = Bound("Pod", pod, UidOf(kPods + "/" + pod));
    spec.insert(1, R"("audiences":)" + audiences + ",");
    return Request(spec, "robot", node);
  };
  MakePod("web");
  EXPECT_EQ(ask("web", "[]").status, 201);
  const Answer vault = ask("web", R"(["vault"])");
  EXPECT_EQ(vault.status, 403);
  EXPECT_THAT(vault.text, HasSubstr(R"(audience \"vault\" not found in pod spec volume)"));
  EXPECT_THAT(ask("web", R"(["a","b"])").text, HasSubstr("node may only request 0 or 1 audiences"));
  MakePod("none", "robot", "n1", "");
  EXPECT_EQ(ask("none", "[]").status, 403);
  MakePod("vault", "robot", "n1",
          R"({"name":"t","projected":{"sources":[{"serviceAccountToken":{"path":"t",)"
          R"("audience":"vault"}}]}})");
  EXPECT_EQ(ask("vault", R"(["vault"])").status, 201);
  EXPECT_EQ(ask("vault", "[]").status, 403);
  // Drivers of volumes say for whom they want some.
  const std::string storage = "/apis/storage.k8s.io/v1/csidrivers";
  ASSERT_EQ(world_
                .Post(storage, R"({"metadata":{"name":"csi.example.com"},"spec":{"tokenRequests":)"
                               R"([{"audience":"store"}]}})")
                .status,
            201);
  MakePod("inline", "robot", "n1", R"({"name":"v","csi":{"driver":"csi.example.com"}})");
  EXPECT_EQ(ask("inline", R"(["store"])").status, 201);
  EXPECT_EQ(ask("web", R"(["store"])").status, 403);
  ASSERT_EQ(world_
                .Post("/api/v1/persistentvolumes",
                      R"({"metadata":{"name":"pv"},"spec":{"capacity":{"storage":"1Gi"},)"
                      R"("accessModes":["ReadWriteOnce"],"csi":{"driver":"csi.example.com",)"
                      R"("volumeHandle":"h"}}})")
                .status,
            201);
  ASSERT_EQ(world_
                .Post("/api/v1/namespaces/default/persistentvolumeclaims",
                      R"({"metadata":{"name":"data"},"spec":{"volumeName":"pv","accessModes":)"
                      R"(["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})")
                .status,
            201);
  MakePod("claims", "robot", "n1", R"({"name":"v","persistentVolumeClaim":{"claimName":"data"}})");
  EXPECT_EQ(ask("claims", R"(["store"])").status, 201);
  // A role may let nodes have others.
  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/";
  world_.StoreRoles();
  ASSERT_EQ(world_
                .Post(rbac + "clusterroles",
                      R"({"metadata":{"name":"vault"},"rules":[{"verbs":)"
                      R"(["request-serviceaccounts-token-audience"],"apiGroups":[""],)"
                      R"("resources":["vault"]}]})")
                .status,
            201);
  ASSERT_EQ(world_
                .Post(rbac + "clusterrolebindings",
                      R"({"metadata":{"name":"vault"},"roleRef":{"apiGroup":)"
                      R"("rbac.authorization.k8s.io","kind":"ClusterRole","name":"vault"},)"
                      R"("subjects":[{"kind":"Group","name":"system:nodes","apiGroup":)"
                      R"("rbac.authorization.k8s.io"}]})")
                .status,
            201);
  EXPECT_EQ(ask("web", R"(["vault"])").status, 201);
}

// Whoever has a key of their own, or none, or a token of another kind, is nobody.
TEST_F(TokenTest, ForgeriesAreNobodys) {
  const std::string claims = fmt::format(
      R"({{"aud":["{0}"],"exp":9999999999,"iat":1,"nbf":1,"iss":"{0}","sub":"{1}",)"
      R"("kubernetes.io":{{"namespace":"default","serviceaccount":{{"name":"robot","uid":"{2}"}}}}}})",
      kHere, kRobot, UidOf(kAccounts + "/robot"));
  EXPECT_TRUE(tokens_.Read(*keys_.Sign(claims)).has_value()) << "the claims are good";
  EXPECT_FALSE(tokens_.Read(*NewKeys().Sign(claims)).has_value());
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string other = claims;
    other.replace(other.find(from), from.size(), to);
    return *keys_.Sign(other);
  };
  // Signed by us, were that possible, and wrong all the same.
  EXPECT_FALSE(tokens_.Read(with("\"iss\":\"https", "\"iss\":\"http")).has_value());
  EXPECT_FALSE(tokens_.Read(with("\"exp\":9999999999", "\"exp\":\"never\"")).has_value());
  EXPECT_FALSE(tokens_.Read(with("\"exp\":9999999999,", "")).has_value());
  EXPECT_FALSE(tokens_.Read(with("\"nbf\":1,", "\"nbf\":9999999998,")).has_value());
  EXPECT_FALSE(tokens_.Read(with("default:robot\"", "kube-system:robot\"")).has_value())
      << "the subject of another namespace";
  EXPECT_FALSE(
      tokens_.Read(with("\"namespace\":\"default\"", "\"namespace\":\"kube-system\"")).has_value());
  EXPECT_FALSE(tokens_.Read(with("\"aud\":[", "\"aud\":[[")).has_value());
  EXPECT_FALSE(tokens_.Read("").has_value());
  EXPECT_FALSE(tokens_.Read("a.b.c").has_value());
  EXPECT_FALSE(tokens_.Read(std::string(1 << 20, 'a')).has_value());
}

TEST_F(TokenTest, KeysCanBeHad) {
  const apiserver::User account{kRobot, {"system:serviceaccounts", "system:authenticated"}};
  const Answer keys = world_.Ask({.path = "/openid/v1/jwks", .user = account});
  EXPECT_EQ(keys.status, 200);
  EXPECT_EQ(keys.text, keys_.Jwks());
  Asking asking{.path = "/.well-known/openid-configuration", .user = account};
  asking.headers.Add("Host", "10.0.0.1:6443");
  const Answer about = world_.Ask(asking);
  EXPECT_THAT(about.text, HasSubstr(R"("jwks_uri":"https://10.0.0.1:6443/openid/v1/jwks")"));
  EXPECT_THAT(about.text, HasSubstr("\"issuer\":\"" + kHere));
  EXPECT_EQ(world_.Ask({.path = "/openid/v1/jwks", .user = {}}).status, 403);
}

TEST_F(TokenTest, ManyTokensAreNotRememberedForEver) {
  std::vector<std::string> tokens;
  for (int i = 0; i < 1'100; ++i) tokens.push_back(Token());
  for (const std::string& token : tokens) EXPECT_EQ(Why(token), "");
  EXPECT_EQ(Why(tokens.front()), "");
}

}  // namespace
}  // namespace dray::registry
