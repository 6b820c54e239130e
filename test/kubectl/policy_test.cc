// SPDX-License-Identifier: Apache-2.0
//
// Admission policies and requests for certificates, with the real kubectl.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "api/values.h"
#include "apiserver/requests_for_test.h"
#include "kubectl.h"

namespace dray::e2e {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr std::string_view kPolicy = R"(
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: small}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  validations:
  - expression: object.spec.replicas <= int(params.data.most)
    messageExpression: "'at most ' + params.data.most + ' replicas'"
---
apiVersion: v1
kind: ConfigMap
metadata: {name: limits, namespace: default}
data: {most: "2"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: small}
spec:
  policyName: small
  validationActions: [ACTION]
  paramRef: {name: limits, namespace: default, parameterNotFoundAction: Deny}
)";

class PolicyKubectl : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = Cluster::WhyNot(); !why.empty()) GTEST_SKIP() << why;
    cluster_ = std::make_unique<Cluster>();
  }
  std::string Ok(std::string_view arguments, std::string_view input = "") {
    const Output output = cluster_->Kubectl(arguments, input);
    EXPECT_EQ(output.code, 0) << "kubectl " << arguments << "\n" << output.text;
    return output.text;
  }
  static std::string With(std::string_view action) {
    std::string text(kPolicy);
    text.replace(text.find("ACTION"), 6, action);
    return text;
  }

  std::unique_ptr<Cluster> cluster_;
};

TEST_F(PolicyKubectl, RefusesWhatItsParametersDoNotAllow) {
  Ok("apply -f -", With("Deny"));
  EXPECT_THAT(Ok("get validatingadmissionpolicies"), ContainsRegex("small +1 +v1/ConfigMap"));
  EXPECT_THAT(Ok("get validatingadmissionpolicybindings"),
              ContainsRegex("small +small +default/limits"));
  const Output refused = cluster_->Kubectl("create deployment web --image=i --replicas=3");
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.text, HasSubstr("ValidatingAdmissionPolicy 'small' with binding 'small' "
                                      "denied request: at most 2 replicas"));
  Ok("create deployment web --image=i --replicas=2");
  EXPECT_THAT(Ok("apply -f -", With("Deny")), HasSubstr("unchanged"));
  EXPECT_THAT(Ok("explain validatingadmissionpolicy.spec.validations"), HasSubstr("expression"));
  Ok("delete validatingadmissionpolicybinding small");
  Ok("create deployment more --image=i --replicas=3");
}

TEST_F(PolicyKubectl, WarnsOfThem) {
  Ok("apply -f -", With("Warn"));
  EXPECT_THAT(Ok("create deployment web --image=i --replicas=3"),
              HasSubstr("Warning: Validation failed for ValidatingAdmissionPolicy 'small' with "
                        "binding 'small': at most 2 replicas"));
}

TEST_F(PolicyKubectl, CertificatesAreApprovedAndDenied) {
  const auto request = [](std::string_view name) {
    return "apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: "
           "{name: " +
           std::string(name) + "}\nspec: {signerName: example.com/own, usages: [client auth], " +
           "expirationSeconds: 3600, request: " +
           api::Base64Of({std::string(apiserver::kClientRequest)}) + "}\n";
  };
  Ok("create -f -", request("ann"));
  Ok("create -f -", request("bob"));
  EXPECT_THAT(Ok("get csr"), ContainsRegex("ann +[0-9]+s +example.com/own +admin +"
                                           "60m +Pending"));
  EXPECT_THAT(Ok("certificate approve ann"), HasSubstr("approved"));
  EXPECT_THAT(Ok("certificate deny bob"), HasSubstr("denied"));
  EXPECT_THAT(Ok("get csr ann"), HasSubstr("Approved"));
  EXPECT_THAT(Ok("get csr bob"), HasSubstr("Denied"));
  EXPECT_NE(cluster_->Kubectl("certificate deny ann").code, 0);
  Ok("describe csr ann");
}

}  // namespace
}  // namespace dray::e2e
