// SPDX-License-Identifier: Apache-2.0
//
// A server in this process and the real kubectl as its client.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "apiserver/authentication.h"
#include "apiserver/server.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "cel/device_env.h"
#include "registry/handler.h"
#include "registry/policies.h"
#include "registry/registry.h"
#include "registry/roles.h"
#include "store/store.h"

namespace dray::e2e {

struct Output {
  int code = 0;
  std::string text;  // standard output and error
};

// One thread.
class Cluster {
 public:
  Cluster();
  ~Cluster();

  // "" when kubectl can be run, else why not.
  static std::string WhyNot();

  // Runs `kubectl ARGUMENTS` as an administrator, or as a viewer; `input` is its standard input.
  Output Kubectl(std::string_view arguments, std::string_view input = "",
                 std::string_view user = "admin");

  // What is stored under a key, whatever wrote it.
  void Overwrite(std::string_view key, std::string_view bytes);

 private:
  std::string folder_;
  base::SystemClock clock_;
  base::SystemRandomSource random_;
  cel::DeviceExpressionChecker expressions_;
  registry::RoleAuthorizer roles_;
  registry::PolicyAdmission policies_{roles_};
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<registry::Registry> registry_;
  std::unique_ptr<registry::PolicyAdmission::Following> following_policies_;
  std::unique_ptr<registry::RestHandler> handler_;
  apiserver::Authenticator authenticator_;
  std::unique_ptr<apiserver::Server> server_;
};

}  // namespace dray::e2e
