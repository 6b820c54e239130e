// SPDX-License-Identifier: Apache-2.0
#include "controllers/namespace_contents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "api/config_map.h"
#include "api/namespace.h"
#include "api/service_account.h"
#include "controllers/scene_for_test.h"

namespace dray::controllers {
namespace {

class NamespaceContentsTest : public ::testing::Test {
 protected:
  void AddNamespace(std::string_view name) {
    api::Namespace space;
    space.metadata.name = name;
    scene_.Add(space);
    scene_.Settle(controller_);
  }
  std::string Authority(std::string_view space) {
    const auto map = scene_.Get<api::ConfigMap>("kube-root-ca.crt", space);
    const std::string* text = map.data.Find("ca.crt");
    return text == nullptr ? std::string() : *text;
  }

  Scene scene_;
  NamespaceContents controller_{scene_.cluster(), scene_.clock(), "PEM"};
};

TEST_F(NamespaceContentsTest, EveryNamespaceHasThem) {
  AddNamespace("a");
  AddNamespace("b");
  EXPECT_TRUE(scene_.Has<api::ServiceAccount>("default", "a"));
  EXPECT_TRUE(scene_.Has<api::ServiceAccount>("default", "b"));
  EXPECT_EQ(Authority("a"), "PEM");
  EXPECT_EQ(scene_.Settle(controller_), 0u);
}

TEST_F(NamespaceContentsTest, WhatIsDeletedOrChangedComesBack) {
  AddNamespace("a");
  scene_.Delete<api::ServiceAccount>("default", "a");
  scene_.Delete<api::ConfigMap>("kube-root-ca.crt", "a");
  scene_.Settle(controller_);
  EXPECT_TRUE(scene_.Has<api::ServiceAccount>("default", "a"));
  EXPECT_EQ(Authority("a"), "PEM");
  auto map = scene_.Get<api::ConfigMap>("kube-root-ca.crt", "a");
  map.data["ca.crt"] = "another";
  map.data["more"] = "x";
  scene_.Put(map);
  scene_.Settle(controller_);
  EXPECT_EQ(Authority("a"), "PEM");
  EXPECT_EQ(scene_.Get<api::ConfigMap>("kube-root-ca.crt", "a").data.size(), 1u);
}

TEST_F(NamespaceContentsTest, AnAccountThatSomebodyHasChangedStays) {
  AddNamespace("a");
  auto account = scene_.Get<api::ServiceAccount>("default", "a");
  account.automount_service_account_token = false;
  scene_.Put(account);
  scene_.Settle(controller_);
  EXPECT_EQ(scene_.Get<api::ServiceAccount>("default", "a").automount_service_account_token, false);
}

}  // namespace
}  // namespace dray::controllers
