// SPDX-License-Identifier: Apache-2.0
//
// Paths that are about no resource: health, keys, the version, discovery, OpenAPI.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "fmt/format.h"
#include "registry/account_tokens.h"
#include "registry/handler.h"
#include "registry/internal/documents.h"
#include "registry/internal/exchange.h"
#include "rest/api_error.h"
#include "rest/discovery.h"
#include "rest/openapi.h"
#include "rest/tree.h"

namespace dray::registry {
namespace {

std::string VersionJson(std::string_view version) {
  return fmt::format(R"({{"major":"1","minor":"38","gitVersion":{},"gitCommit":"","gitTreeState":)"
                     R"("clean","buildDate":"1970-01-01T00:00:00Z","goVersion":"","compiler":"",)"
                     R"("platform":"linux/amd64"}})",
                     ToJson(rest::StringNode(version)));
}

// Something to be kept for an hour, as Kubernetes says of keys.
void SendDocument(internal::Exchange& exchange, std::string_view type, std::string text) {
  apiserver::Response response = exchange.Begin(200, type);
  response.headers.Add("Cache-Control", "public, max-age=3600");
  response.body = std::make_shared<const std::string>(std::move(text));
  exchange.Answer(std::move(response));
}

}  // namespace

void RestHandler::HandleOther(const internal::ExchangePtr& exchange) {
  const apiserver::Request& request = exchange->request;
  std::string_view path = request.path;
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const api::AuthorizationRequest asked{.user = exchange->user(),
                                        .verb = absl::AsciiStrToLower(base::ToAbsl(request.method)),
                                        .path = std::string(path)};
  const api::AuthorizationDecision decision = authorizer_.Authorize(asked);
  if (exchange->trail != nullptr) exchange->trail->Decided(decision.allowed, decision.reason);
  if (!decision.allowed) return exchange->SendError(ForbiddenPath(asked, decision.reason));
  if (request.method != "GET" && request.method != "HEAD") {
    return exchange->SendError(rest::MethodNotAllowed());
  }
  if (const auto health = health_.Answer(path, exchange->query)) {
    return exchange->SendText(health->code, health->text);
  }
  if (options_.tokens != nullptr && path == "/openid/v1/jwks") {
    return SendDocument(*exchange, "application/jwk-set+json", options_.tokens->Jwks());
  }
  if (options_.tokens != nullptr && path == "/.well-known/openid-configuration") {
    const std::string url = fmt::format("https://{}", request.headers.Find("Host"));
    return SendDocument(*exchange, "application/json", options_.tokens->Discovery(url));
  }
  if (path == "/version") return exchange->Send(200, VersionJson(options_.version));
  if (options_.other) {
    if (auto response = options_.other(request)) {
      return exchange->Answer(*std::move(response));
    }
  }
  if (options_.later && options_.later(request, [exchange](apiserver::Response response) {
        exchange->Answer(std::move(response));
      })) {
    return;
  }
  if (path == "/openapi/v2" && rest::AsksForOpenApiV2Protobuf(request.headers.Find("Accept"))) {
    apiserver::Response response = exchange->Begin(200, rest::kOpenApiV2ProtobufType);
    response.body = documents_->Find(exchange->kinds, kOpenApiV2AsProtobuf, false, {});
    return exchange->Answer(std::move(response));
  }
  const auto format = ParseAccept(request.headers.Find("Accept"));
  const bool aggregated = format.ok() && format->shape == Shape::kDiscovery;
  apiserver::Bytes document =
      documents_->Find(exchange->kinds, path, aggregated, request.headers.Find("Host"));
  if (document == nullptr) return exchange->SendNoSuchPath();
  if (!format.ok()) return exchange->SendError(format.status());
  const bool whole = aggregated && (path == "/api" || path == "/apis");
  apiserver::Response response =
      exchange->Begin(200, whole ? rest::kAggregatedContentType : "application/json");
  response.body = std::move(document);
  exchange->Answer(std::move(response));
}

}  // namespace dray::registry
