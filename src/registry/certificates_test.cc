// SPDX-License-Identifier: Apache-2.0
//
// Requests for certificates as clients see them: who may ask, approve, sign, and what stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "api/certificate_signing_request.h"
#include "api/values.h"
#include "apiserver/certificates.h"
#include "apiserver/requests_for_test.h"
#include "fmt/format.h"
#include "registry/local_cluster.h"
#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

const apiserver::User kAnn{"ann", {"team", "system:authenticated"}};

std::string Body(std::string_view name, std::string_view pem, std::string_view signer,
                 std::string_view usages = R"("client auth")", std::string_view more = {}) {
  return fmt::format(
      R"({{"metadata":{{"name":"{}"}},"spec":{{"request":"{}","signerName":"{}","usages":[{}]{}}}}})",
      name, api::Base64Of({std::string(pem)}), signer, usages, more);
}

class CertificateTest : public ::testing::Test {
 protected:
  CertificateTest() { world_.StoreRoles(); }

  Answer Make(std::string_view signer = api::kSignerClient, std::string_view name = "r") {
    return world_.Post(kPath, Body(name, apiserver::kClientRequest, signer));
  }
  // kubectl certificate approve: the whole object, with a condition.
  Answer Decide(std::string_view type, apiserver::User user = {"admin", {std::string(kMasters)}},
                std::string_view part = "approval", std::string_view status = "True") {
    return world_.Ask(
        {.method = "PATCH",
         .path = kPath + "/r/" + std::string(part),
         .body = fmt::format(R"({{"status":{{"conditions":[{{"type":"{}","status":"{}",)"
                             R"("reason":"KubectlApprove","message":"yes"}}]}}}})",
                             type, status),
         .content_type = "application/merge-patch+json",
         .user = std::move(user)});
  }
  void Allow(std::string_view role_rules) {
    const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/";
    EXPECT_EQ(world_
                  .Post(rbac + "clusterroles", fmt::format(R"({{"metadata":{{"name":"given"}},)"
                                                           R"("rules":[{}]}})",
                                                           role_rules))
                  .status,
              201);
    EXPECT_EQ(world_
                  .Post(rbac + "clusterrolebindings",
                        R"({"metadata":{"name":"given"},"roleRef":{"apiGroup":)"
                        R"("rbac.authorization.k8s.io","kind":"ClusterRole","name":"given"},)"
                        R"("subjects":[{"kind":"User","name":"ann"}]})")
                  .status,
              201);
  }

  World world_;
};

TEST_F(CertificateTest, TheServerWritesDownWhoAsks) {
  Allow(R"({"verbs":["create"],"apiGroups":["certificates.k8s.io"],)"
        R"("resources":["certificatesigningrequests"]})");
  const Answer made = world_.Ask(
      {.method = "POST",
       .path = kPath,
       .body = Body("mine", apiserver::kClientRequest, api::kSignerClient, R"("client auth")",
                    R"(,"username":"root","groups":["system:masters"])"),
       .user = kAnn});
  EXPECT_EQ(made.status, 201) << made.text;
  EXPECT_THAT(made.text, HasSubstr(R"("username":"ann")"));
  EXPECT_THAT(made.text, HasSubstr(R"("groups":["team","system:authenticated"])"));
  EXPECT_THAT(made.text, Not(HasSubstr("root")));
}

TEST_F(CertificateTest, WhatIsWrongIsTold) {
  const auto refused = [&](const std::string& body, std::string_view why, int code = 422) {
    const Answer answer = world_.Post(kPath, body);
    EXPECT_EQ(answer.status, code) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(std::string(why)));
  };
  refused(Body("a", "no request", api::kSignerClient),
          "PEM block type must be CERTIFICATE REQUEST");
  refused(Body("a", apiserver::kClientRequest, api::kSignerClient, ""), "spec.usages");
  refused(Body("a", apiserver::kClientRequest, api::kSignerClient, R"("fun")"),
          R"(Unsupported value: \"fun\")");
  refused(Body("a", apiserver::kClientRequest, "kubernetes.io/legacy-unknown"),
          "the legacy signerName is not allowed");
  refused(Body("a", apiserver::kClientRequest, "signer"),
          "must be a fully qualified domain and path");
  refused(Body("a", apiserver::kClientRequest, api::kSignerClient, R"("client auth")",
               R"(,"expirationSeconds":599)"),
          "may not specify a duration less than 600 seconds");
  refused(Body("a", apiserver::kMasterRequest, api::kSignerClient),
          "signer with system:masters group is not allowed", 403);
}

TEST_F(CertificateTest, ARequestChangesInNothingButMetadata) {
  EXPECT_EQ(Make().status, 201);
  const Answer changed = world_.Ask({.method = "PATCH",
                                     .path = kPath + "/r",
                                     .body = R"({"metadata":{"labels":{"a":"b"}},"spec":)"
                                             R"({"signerName":"example.com/other"}})",
                                     .content_type = "application/merge-patch+json"});
  EXPECT_EQ(changed.status, 200) << changed.text;
  EXPECT_THAT(changed.text, HasSubstr(R"("a":"b")"));
  EXPECT_THAT(changed.text, HasSubstr(std::string(api::kSignerClient)));
}

TEST_F(CertificateTest, WhoMayApproveDoesOnceAndForAll) {
  EXPECT_EQ(Make().status, 201);
  const std::string part = R"({"verbs":["update","patch"],"apiGroups":["certificates.k8s.io"],)"
                           R"("resources":["certificatesigningrequests/approval"]})";
  Allow(part);
  const Answer refused = Decide("Approved", kAnn);
  EXPECT_EQ(refused.status, 403) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("user not permitted to approve requests with signerName"));
  const Answer more =
      world_.Ask({.method = "PATCH",
                  .path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/given",
                  .body = R"({"rules":[)" + part +
                          R"(,{"verbs":["approve"],"apiGroups":["certificates.k8s.io"],)"
                          R"("resources":["signers"],"resourceNames":["kubernetes.io/*"]}]})",
                  .content_type = "application/merge-patch+json"});
  EXPECT_EQ(more.status, 200) << more.text;
  const Answer approved = Decide("Approved", kAnn);
  EXPECT_EQ(approved.status, 200) << approved.text;
  EXPECT_THAT(approved.text, HasSubstr(R"("reason":"KubectlApprove")"));
  EXPECT_THAT(approved.text, HasSubstr(R"("lastUpdateTime":"2027-01-15T08:00:00Z")"));
  const Answer denied = Decide("Denied");
  EXPECT_EQ(denied.status, 422) << denied.text;
  EXPECT_THAT(denied.text, HasSubstr("may not remove a condition of type"));
  const Answer table =
      world_.Ask({.path = kPath, .accept = "application/json;as=Table;v=v1;g=meta.k8s.io"});
  EXPECT_THAT(table.text, HasSubstr(R"("name":"RequestedDuration")"));
  EXPECT_THAT(table.text, HasSubstr(R"("Approved"])"));
}

TEST_F(CertificateTest, ASignerWritesTheCertificateOnceAndNoDecision) {
  EXPECT_EQ(Make("example.com/own").status, 201);
  EXPECT_EQ(Decide("Approved", {"admin", {std::string(kMasters)}}, "status").status, 422);
  EXPECT_EQ(Decide("Approved").status, 200);
  const auto write = [&](std::string_view text, apiserver::User user) {
    return world_.Ask({.method = "PATCH",
                       .path = kPath + "/r/status",
                       .body = fmt::format(R"({{"status":{{"certificate":"{}"}}}})",
                                           api::Base64Of({std::string(text)})),
                       .content_type = "application/merge-patch+json",
                       .user = std::move(user)});
  };
  Allow(R"({"verbs":["patch"],"apiGroups":["certificates.k8s.io"],)"
        R"("resources":["certificatesigningrequests/status"]})");
  const auto pair = apiserver::MakeAuthority("x", world_.clock().Now(), std::chrono::hours(1));
  const auto other = apiserver::MakeAuthority("y", world_.clock().Now(), std::chrono::hours(1));
  const Answer refused = write(pair->certificate, kAnn);
  EXPECT_EQ(refused.status, 403) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("user not permitted to sign requests with signerName"));
  const apiserver::User admin{"admin", {std::string(kMasters)}};
  const Answer none = write("no certificate", admin);
  EXPECT_EQ(none.status, 422) << none.text;
  EXPECT_THAT(none.text, HasSubstr("must contain at least one CERTIFICATE PEM block"));
  EXPECT_EQ(write(pair->certificate, admin).status, 200);
  const Answer again = write(other->certificate, admin);
  EXPECT_EQ(again.status, 422) << again.text;
  EXPECT_THAT(again.text, HasSubstr("updates may not modify existing certificate content"));
}

}  // namespace
}  // namespace dray::registry
