// SPDX-License-Identifier: Apache-2.0
//
// The service account of a new pod.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kAccounts = "/api/v1/namespaces/default/serviceaccounts";

RegistryOptions WithAccounts() {
  RegistryOptions options;
  options.service_accounts = true;
  return options;
}

class AccountTest : public ::testing::Test {
 protected:
  Answer Pod(const std::string& spec) {
    return world_.Post(kPods, R"({"metadata":{"generateName":"p-"},"spec":{"containers":[)"
                              R"({"name":"c","image":"x"}])" +
                                  spec + "}}");
  }
  void Account(const std::string& body) {
    const Answer made = world_.Post(kAccounts, body);
    ASSERT_EQ(made.status, 201) << made.text;
  }

  World world_{WithAccounts()};
};

TEST_F(AccountTest, APodHasOneAndItsToken) {
  const Answer pod = Pod("");
  EXPECT_EQ(pod.status, 201) << pod.text;
  EXPECT_THAT(pod.text, HasSubstr(R"("serviceAccountName":"default")"));
  EXPECT_THAT(pod.text, HasSubstr(R"("serviceAccount":"default")"));
  EXPECT_THAT(pod.text, HasSubstr(R"("serviceAccountToken":{)"));
  EXPECT_THAT(pod.text, HasSubstr(R"("expirationSeconds":3607)"));
  EXPECT_THAT(pod.text, HasSubstr(R"("name":"kube-root-ca.crt")"));
  EXPECT_THAT(pod.text, HasSubstr(R"("fieldPath":"metadata.namespace")"));
  EXPECT_THAT(pod.text,
              HasSubstr(R"("mountPath":"/var/run/secrets/kubernetes.io/serviceaccount")"));
  EXPECT_THAT(pod.text, HasSubstr(R"("name":"kube-api-access-)"));
}

TEST_F(AccountTest, OneThatIsNotThereIsRefused) {
  const Answer pod = Pod(R"(,"serviceAccountName":"gone")");
  EXPECT_EQ(pod.status, 403);
  EXPECT_THAT(pod.text, HasSubstr(R"(error looking up service account default/gone: )"
                                  R"(serviceaccount \"gone\" not found)"));
}

TEST_F(AccountTest, WhoWantsNoTokenGetsNone) {
  Account(R"({"metadata":{"name":"quiet"},"automountServiceAccountToken":false})");
  EXPECT_THAT(Pod(R"(,"serviceAccountName":"quiet")").text, Not(HasSubstr("kube-api-access")));
  EXPECT_THAT(Pod(R"(,"automountServiceAccountToken":false)").text,
              Not(HasSubstr("kube-api-access")));
  EXPECT_THAT(Pod(R"(,"serviceAccountName":"quiet","automountServiceAccountToken":true)").text,
              HasSubstr("kube-api-access"));
}

TEST_F(AccountTest, WhatThePodSaysItselfStays) {
  const Answer pod = world_.Post(
      kPods, R"({"metadata":{"name":"own"},"spec":{"volumes":[{"name":"mine","emptyDir":{}}],)"
             R"("containers":[{"name":"c","image":"x","volumeMounts":[{"name":"mine",)"
             R"("mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}]}]}})");
  EXPECT_EQ(pod.status, 201) << pod.text;
  EXPECT_THAT(pod.text, Not(HasSubstr("kube-api-access")));
}

TEST_F(AccountTest, PullSecretsAreTheAccounts) {
  Account(R"({"metadata":{"name":"puller"},"imagePullSecrets":[{"name":"registry"}]})");
  EXPECT_THAT(Pod(R"(,"serviceAccountName":"puller")").text,
              HasSubstr(R"("imagePullSecrets":[{"name":"registry"}])"));
  EXPECT_THAT(Pod(R"(,"serviceAccountName":"puller","imagePullSecrets":[{"name":"own"}])").text,
              Not(HasSubstr("registry")));
}

}  // namespace
}  // namespace dray::registry
