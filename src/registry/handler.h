// SPDX-License-Identifier: Apache-2.0
//
// RestHandler: the API over HTTP, without a socket: requests in, responses out. What is asked for
// is read here; what it means is the registry's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/http.h"
#include "audit/auditor.h"
#include "registry/health.h"
#include "registry/node_door.h"
#include "registry/registry.h"
#include "registry/request_log.h"
#include "registry/request_metrics.h"
#include "registry/roles.h"

namespace dray::apiserver {
struct Refusal;
}  // namespace dray::apiserver

namespace dray::registry {

class AccountTokens;

namespace internal {
struct Exchange;
}  // namespace internal

struct HandlerOptions {
  std::string version = "v1.38.0";  // gitVersion: what kubectl compares itself with
  // "/metrics" and whatever else is not the API's; nothing for a path that it does not know.
  std::function<std::optional<apiserver::Response>(const apiserver::Request&)> other = nullptr;
  // Likewise for what takes its time: whether `send` will be called, once, from whatever thread.
  std::function<bool(const apiserver::Request&, std::function<void(apiserver::Response)> send)>
      later = nullptr;
  // Beside ping and the store.
  std::vector<HealthCheck> checks = {};
  RequestMetrics* metrics = nullptr;  // null: nobody counts. Outlives the handler
  RequestLogOptions log = {};
  audit::Auditor* auditor = nullptr;  // null: nobody writes down. Outlives the handler
  // Tokens of service accounts; null: there are none. Outlives the handler.
  const AccountTokens* tokens = nullptr;
  // Whose another token is; for reviews.
  std::function<std::optional<apiserver::User>(std::string_view token)> token_user = nullptr;
  NodeDoor* nodes = nullptr;  // null: nodes cannot be asked. Outlives the handler
  // Where lists and tables are made, which may be large: whoever moves bytes has others to serve.
  // Null: by the caller.
  std::function<void(std::function<void()>)> post_reads = nullptr;
};

// Thread-safe.
class RestHandler final : public apiserver::Handler {
 public:
  // Both outlive it.
  RestHandler(Registry& registry, const RoleAuthorizer& authorizer, HandlerOptions options = {});
  ~RestHandler() override;

  void Handle(apiserver::Request request, std::shared_ptr<apiserver::Responder> responder) override;
  // What the server has answered itself, once it had asked who sends it.
  void Refused(const apiserver::Refusal& refusal) const;
  const Health& health() const { return health_; }

 private:
  class Documents;

  // Health, discovery, OpenAPI: paths that are about no resource.
  void HandleOther(const std::shared_ptr<internal::Exchange>& exchange);

  Registry& registry_;
  const RoleAuthorizer& authorizer_;
  const HandlerOptions options_;
  const RequestLog log_;
  const Health health_;
  const std::unique_ptr<Documents> documents_;
};

}  // namespace dray::registry
