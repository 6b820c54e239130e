// SPDX-License-Identifier: Apache-2.0
//
// One `dray up` that all abuse of this binary is done to, with an honest client beside it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "abuse/bystander.h"
#include "process/requests.h"
#include "process/up_process.h"

namespace dray::abuse {

inline constexpr std::string_view kTemplates =
    "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates";

// A claim template, which nothing happens to by itself.
std::string TemplateBody(std::string_view name, std::string_view annotation = "");

// Started before the first test, ended after the last, which must go well. One thread.
class World : public ::testing::Environment {
 public:
  void SetUp() override;
  void TearDown() override;

  static World& Get();
  process::UpProcess& server() { return *server_; }
  Bystander& bystander() { return *bystander_; }
  const std::string& data() const { return data_; }

 private:
  process::Folder folder_;
  std::string data_;
  std::unique_ptr<process::UpProcess> server_;
  std::unique_ptr<Bystander> bystander_;
};

// After every test: the server is there, others were served meanwhile, and memory is bounded.
class UpTest : public ::testing::Test {
 protected:
  void SetUp() override { World::Get().bystander().Take(); }
  void TearDown() override;

  process::UpProcess& server() { return World::Get().server(); }
  process::Requests Admin() { return {server().port(), server().Tls()}; }
  apiserver::TestClient Connect() { return apiserver::TestClient(server().port(), server().Tls()); }
};

}  // namespace dray::abuse
