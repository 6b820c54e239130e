// SPDX-License-Identifier: Apache-2.0
#include "api/authorization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dray::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FakeNamespaces final : public NamespaceLabels {
 public:
  StatusOr<Map<std::string>> LabelsOf(std::string_view namespace_) const override {
    if (namespace_ == "admin") return Map<std::string>{{std::string(kAdminAccessLabel), "true"}};
    if (namespace_ == "false") return Map<std::string>{{std::string(kAdminAccessLabel), "false"}};
    if (namespace_ == "plain") return Map<std::string>{};
    return base::NotFound("no such namespace");
  }
};

class FakeAuthorizer final : public Authorizer {
 public:
  explicit FakeAuthorizer(AuthorizationDecision decision) : decision_(std::move(decision)) {}
  AuthorizationDecision Authorize(const AuthorizationRequest& request) const override {
    asked_.push_back(request);
    return decision_;
  }
  const std::vector<AuthorizationRequest>& asked() const { return asked_; }

 private:
  AuthorizationDecision decision_;
  mutable std::vector<AuthorizationRequest> asked_;
};

ResourceClaim AdminClaim(std::string namespace_) {
  ResourceClaim claim;
  claim.metadata.namespace_ = std::move(namespace_);
  claim.spec.devices.requests.resize(3);
  claim.spec.devices.requests[1].exactly = ExactDeviceRequest{.admin_access = false};
  claim.spec.devices.requests[2].exactly = ExactDeviceRequest{.admin_access = true};
  return claim;
}

TEST(AdminAccess, NeedsALabelledNamespace) {
  const FakeNamespaces namespaces;
  EXPECT_THAT(CheckAdminAccess(Object::Of(AdminClaim("admin")), namespaces), IsEmpty());
  for (const std::string namespace_ : {"plain", "false"}) {
    const ErrorList errors = CheckAdminAccess(Object::Of(AdminClaim(namespace_)), namespaces);
    ASSERT_THAT(errors, SizeIs(1));
    EXPECT_EQ(errors[0].type, ErrorType::kForbidden);
    EXPECT_EQ(errors[0].field.ToString(), "spec.devices.requests[2].adminAccess");
  }
}

TEST(AdminAccess, OfATemplateIsReportedAtTheSamePath) {
  ResourceClaimTemplate tmpl;
  tmpl.metadata.namespace_ = "plain";
  tmpl.spec.spec = AdminClaim("").spec;
  const ErrorList errors = CheckAdminAccess(Object::Of(tmpl), FakeNamespaces());
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].field.ToString(), "spec.devices.requests[2].adminAccess");
}

TEST(AdminAccess, ANamespaceThatCannotBeReadIsAnInternalError) {
  const ErrorList errors = CheckAdminAccess(Object::Of(AdminClaim("gone")), FakeNamespaces());
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].type, ErrorType::kInternal);
}

TEST(AdminAccess, OfAStatusThatHadItIsNotAskedAgain) {
  ResourceClaim old;
  ResourceClaim claim;
  claim.metadata.namespace_ = "plain";
  claim.status.allocation.emplace();
  claim.status.allocation->devices.results = {{.admin_access = true}};
  const ErrorList errors = CheckAdminAccessOfStatus(claim, old, FakeNamespaces());
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].field.ToString(), "status.allocation.devices.results[0].adminAccess");
  EXPECT_THAT(CheckAdminAccessOfStatus(claim, claim, FakeNamespaces()), IsEmpty());
}

ResourceClaimStatus StatusOn(std::string node) {
  ResourceClaimStatus status;
  status.allocation.emplace();
  status.allocation->node_selector.emplace();
  status.allocation->node_selector->node_selector_terms = {
      {.match_fields = {{.key = "metadata.name", .operator_ = "In", .values = {node}}}}};
  status.devices = {{.driver = "b", .pool = "p", .device = "d"},
                    {.driver = "a", .pool = "p", .device = "d"}};
  return status;
}

RequestInfo RequestFrom(std::string user, std::string node) {
  RequestInfo request{.user = {.name = std::move(user)}, .verb = "patch", .namespace_ = "ns"};
  request.user.extra["authentication.kubernetes.io/node-name"] = {std::move(node)};
  return request;
}

TEST(DeviceStatus, EachDriverIsAskedForInTheNamespaceOfTheRequest) {
  const FakeAuthorizer authorizer({.allowed = true});
  const auto request = RequestFrom("system:serviceaccount:ns:sa", "n");
  EXPECT_THAT(CheckDeviceStatus(StatusOn("other"), {}, request, authorizer), IsEmpty());
  ASSERT_THAT(authorizer.asked(), SizeIs(2));
  EXPECT_EQ(authorizer.asked()[0].verb, "arbitrary-node:patch");
  EXPECT_EQ(authorizer.asked()[0].name, "a");
  EXPECT_EQ(authorizer.asked()[1].name, "b");
  EXPECT_EQ(authorizer.asked()[0].namespace_, "ns");
  EXPECT_EQ(authorizer.asked()[0].subresource, "driver");
}

TEST(DeviceStatus, OnlyAServiceAccountOnTheNodeIsAssociatedWithIt) {
  const auto first_verb = [](std::string user, std::string node) {
    const FakeAuthorizer authorizer({.allowed = true});
    CheckDeviceStatus(StatusOn("n"), {}, RequestFrom(std::move(user), std::move(node)), authorizer);
    return authorizer.asked().at(0).verb;
  };
  EXPECT_EQ(first_verb("system:serviceaccount:ns:sa", "n"), "associated-node:patch");
  EXPECT_EQ(first_verb("system:serviceaccount:ns:sa", "m"), "arbitrary-node:patch");
  EXPECT_EQ(first_verb("system:node:n", "n"), "arbitrary-node:patch");
  EXPECT_EQ(first_verb("system:serviceaccount:ns", "n"), "arbitrary-node:patch");
  EXPECT_EQ(first_verb("system:serviceaccount:ns:sa:x", "n"), "arbitrary-node:patch");
}

TEST(DeviceStatus, ARefusalSaysWhatFailedOnTheWay) {
  const FakeAuthorizer authorizer(
      {.allowed = false, .reason = "no rule", .error = base::Unavailable("webhook is down")});
  const ErrorList errors = CheckDeviceStatus(
      StatusOn("n"), {}, RequestFrom("system:serviceaccount:ns:sa", "n"), authorizer);
  ASSERT_THAT(errors, SizeIs(2));
  EXPECT_THAT(errors[0].detail,
              HasSubstr("verb=\"[associated-node:patch arbitrary-node:patch]\" permission: "
                        "resourceclaims.resource.k8s.io \"a\" is forbidden"));
  EXPECT_THAT(errors[0].detail, HasSubstr("webhook is down: no rule"));
  EXPECT_THAT(authorizer.asked(), SizeIs(4));
}

TEST(StatusUpdate, ChecksFollowTheGatesAndTheAllocation) {
  const auto asked = [](const ResourceClaim& claim, const ResourceClaim& old, FeatureGates gates) {
    const FakeAuthorizer authorizer({.allowed = true});
    AuthorizeStatusUpdate(claim, old, {}, gates, authorizer, FakeNamespaces());
    std::vector<std::string> subresources;
    for (const auto& request : authorizer.asked()) subresources.push_back(request.subresource);
    return subresources;
  };
  ResourceClaim empty;
  ResourceClaim full;
  full.status = StatusOn("n");
  EXPECT_THAT(asked(full, empty, {}), ElementsAre("binding", "driver", "driver"));
  // Who takes the allocation away may take the devices' status with it.
  EXPECT_THAT(asked(empty, full, {}), ElementsAre("binding"));
  FeatureGates off;
  off.Set(Gate::kDRAResourceClaimGranularStatusAuthorization, false);
  EXPECT_THAT(asked(full, empty, off), IsEmpty());
}

}  // namespace
}  // namespace dray::api
