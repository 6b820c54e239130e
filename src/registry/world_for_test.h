// SPDX-License-Identifier: Apache-2.0
//
// A whole API for tests: a store, a clock that stands still, and requests as functions.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/http.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "cel/device_env.h"
#include "registry/handler.h"
#include "registry/policies.h"
#include "registry/registry.h"
#include "registry/roles.h"
#include "rest/tree.h"
#include "store/store.h"

namespace dray::registry {

struct Answer {
  int status = 0;
  apiserver::Headers headers;
  std::string text;
  std::unique_ptr<apiserver::StreamSource> stream;

  // The body as JSON; null when it is none.
  rest::DocumentNode Json() const;
};

struct Asking {
  std::string method = "GET";
  std::string path;  // with the query
  std::string body = {};
  std::string content_type = {};
  std::string accept = {};
  apiserver::User user = {"admin", {std::string(kMasters)}};
  apiserver::Headers headers = {};
};

class World {
 public:
  // With `metrics`, requests are counted there.
  explicit World(RegistryOptions options = {}, metrics::Registry* metrics = nullptr,
                 HandlerOptions handling = {});
  ~World();

  // The answer; a write is waited for.
  Answer Ask(const Asking& asking);
  Answer Get(std::string path) { return Ask({.path = std::move(path)}); }
  Answer Post(std::string path, std::string body);
  // All events of a watch until it has nothing more to say and its time is over.
  std::vector<rest::DocumentNode> Events(apiserver::StreamSource& stream);

  // From here on with these options, which may know what is stored.
  void Serve(HandlerOptions handling);
  // Roles and bindings are objects from here on: those that a cluster begins with, for a start.
  void StoreRoles();

  base::ManualClock& clock() { return clock_; }
  store::Store& store() { return *store_; }
  Registry& registry() { return *registry_; }
  const PolicyAdmission& policies() const { return policies_; }
  RestHandler& handler() { return *handler_; }

 private:
  base::ManualClock clock_;
  base::SystemRandomSource random_;
  std::unique_ptr<api::ExpressionChecker> expressions_;
  RoleAuthorizer roles_;
  PolicyAdmission policies_{roles_};
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<RoleAuthorizer::Following> following_;
  std::unique_ptr<PolicyAdmission::Following> following_policies_;
  std::unique_ptr<RequestMetrics> metrics_;
  std::unique_ptr<RestHandler> handler_;
};

}  // namespace dray::registry
