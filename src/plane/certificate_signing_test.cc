// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/certificate_signing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "api/memory_cluster.h"
#include "apiserver/requests_for_test.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "rbac/bootstrap.h"
#include "rbac/policy.h"

namespace dray::plane::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;
using Request = api::CertificateSigningRequest;

class Roles final : public api::Authorizer {
 public:
  api::AuthorizationDecision Authorize(const api::AuthorizationRequest& request) const override {
    return policy_.Authorize(request);
  }

 private:
  const rbac::Policy policy_{rbac::BootstrapObjects()};
};

class SigningTest : public ::testing::Test {
 protected:
  // As the server stores it: who asks is in it.
  void Ask(std::string_view pem, std::string_view signer, std::vector<std::string> usages,
           std::string_view user, std::vector<std::string> groups) {
    Request request;
    request.metadata.name = "r";
    request.spec = {.request = {std::string(pem)},
                    .signer_name = std::string(signer),
                    .expiration_seconds = 3600,
                    .usages = std::move(usages),
                    .username = std::string(user),
                    .uid = {},
                    .groups = std::move(groups),
                    .extra = {},
                    .unknown = {}};
    const auto made = cluster_.Create(api::Object::Of(std::move(request)));
    ASSERT_TRUE(made.ok()) << made.status();
    Settle();
  }
  void Settle() {
    while (controller_.Sync() > 0) {
    }
  }
  bool There() {
    const auto found = cluster_.Find(api::HubKind(api::TypeInfoOf<Request>()), "", "r");
    return found.ok() && found->has_value();
  }
  Request Stored() {
    const auto found = cluster_.Find(api::HubKind(api::TypeInfoOf<Request>()), "", "r");
    return *(*found)->As<Request>();
  }
  void Decide(std::string_view type) {
    Request request = Stored();
    request.status.conditions.push_back({.type = std::string(type), .status = "True"});
    ASSERT_TRUE(cluster_.UpdateStatus(api::Object::Of(std::move(request))).ok());
    Settle();
  }

  base::ManualClock clock_{base::Time::FromUnix(1'800'000'000)};
  base::SeededRandomSource random_{1};
  api::MemoryCluster cluster_{clock_, random_};
  Roles roles_;
  apiserver::KeyPair authority_ = *apiserver::MakeAuthority("ca", clock_.Now(), 8760h);
  CertificateSigning controller_{cluster_, clock_, roles_, authority_};
};

const std::vector<std::string> kClientUses = {"digital signature", "client auth"};

TEST_F(SigningTest, AMachineThatJoinsGetsItsCertificate) {
  Ask(apiserver::kNodeRequest, api::kSignerKubeletClient, kClientUses, "system:bootstrap:abcdef",
      {"system:bootstrappers", "system:authenticated"});
  const Request request = Stored();
  ASSERT_NE(api::FindCondition(request, api::kCertificateApproved), nullptr);
  EXPECT_EQ(api::FindCondition(request, api::kCertificateApproved)->reason, "AutoApproved");
  const auto info = apiserver::ReadCertificate(request.status.certificate.data);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->common_name, "system:node:n1");
  EXPECT_THAT(info->organizations, ElementsAre("system:nodes"));
  EXPECT_LE(info->not_after, clock_.Now() + 3600s);
  EXPECT_GT(info->not_after, clock_.Now() + 3500s);
}

TEST_F(SigningTest, ANodeGetsTheNextOneForItselfAlone) {
  Ask(apiserver::kNodeRequest, api::kSignerKubeletClient, kClientUses, "system:node:n2",
      {"system:nodes"});
  EXPECT_TRUE(Stored().status.conditions.empty());
}

TEST_F(SigningTest, ANodeGetsTheNextOne) {
  Ask(apiserver::kNodeRequest, api::kSignerKubeletClient, kClientUses, "system:node:n1",
      {"system:nodes"});
  EXPECT_FALSE(Stored().status.certificate.data.empty());
}

TEST_F(SigningTest, AServingCertificateWaitsForSomebody) {
  Ask(apiserver::kServingRequest, api::kSignerKubeletServing,
      {"digital signature", "key encipherment", "server auth"}, "system:node:n1", {"system:nodes"});
  EXPECT_TRUE(Stored().status.conditions.empty());
  Decide("Approved");
  const auto info = apiserver::ReadCertificate(Stored().status.certificate.data);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_THAT(info->hosts, ::testing::UnorderedElementsAre("n1", "10.0.0.5"));
}

// Whoever has approved it has seen one host, and no address.
TEST_F(SigningTest, AHostWhoseNameIsAListIsNotSigned) {
  Ask(apiserver::kListAsHostRequest, api::kSignerKubeletServing,
      {"digital signature", "key encipherment", "server auth"}, "system:node:n1", {"system:nodes"});
  Decide("Approved");
  const Request request = Stored();
  EXPECT_TRUE(request.status.certificate.data.empty());
  const auto* failed = api::FindCondition(request, api::kCertificateFailed);
  ASSERT_NE(failed, nullptr);
  EXPECT_THAT(failed->message, HasSubstr("\"n1,IP:10.0.0.6\" cannot be a host"));
}

TEST_F(SigningTest, AClientsCertificateIsSignedWhenApproved) {
  Ask(apiserver::kClientRequest, api::kSignerClient, {"client auth"}, "ann", {"team"});
  EXPECT_TRUE(Stored().status.conditions.empty());
  Decide("Approved");
  const auto info = apiserver::ReadCertificate(Stored().status.certificate.data);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->common_name, "ann");
}

TEST_F(SigningTest, WhatTheSignerDoesNotSignFails) {
  Ask(apiserver::kClientRequest, api::kSignerKubeletClient, kClientUses, "ann", {"team"});
  Decide("Approved");
  const Request request = Stored();
  const auto* failed = api::FindCondition(request, api::kCertificateFailed);
  ASSERT_NE(failed, nullptr);
  EXPECT_THAT(failed->message, HasSubstr("organization"));
}

TEST_F(SigningTest, OthersSignersAreForOthers) {
  Ask(apiserver::kClientRequest, "example.com/own", {"client auth"}, "ann", {"team"});
  Decide("Approved");
  EXPECT_TRUE(Stored().status.certificate.data.empty());
  clock_.Advance(48h);
  Settle();
  EXPECT_TRUE(There());
}

TEST_F(SigningTest, OldOnesGo) {
  Ask(apiserver::kClientRequest, api::kSignerClient, {"client auth"}, "ann", {"team"});
  clock_.Advance(23h);
  Settle();
  EXPECT_TRUE(There());
  clock_.Advance(1h);
  Settle();
  EXPECT_FALSE(There());
}

TEST_F(SigningTest, WhatWasDecidedGoesSooner) {
  Ask(apiserver::kClientRequest, api::kSignerClient, {"client auth"}, "ann", {"team"});
  Decide("Denied");
  clock_.Advance(59min);
  Settle();
  EXPECT_TRUE(There());
  clock_.Advance(1min);
  Settle();
  EXPECT_FALSE(There());
}

}  // namespace
}  // namespace dray::plane::internal
