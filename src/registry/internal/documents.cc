// SPDX-License-Identifier: Apache-2.0
#include "registry/internal/documents.h"

#include <optional>
#include <utility>

#include "fmt/format.h"
#include "rest/discovery.h"
#include "rest/openapi.h"

namespace dray::registry {
namespace {

// Of /api/{version} or /apis/{group}/{version}.
template <typename F>
std::optional<std::string> Versioned(const rest::ServedKinds& kinds, std::string_view path,
                                     F make) {
  if (path.starts_with("/api/")) return make(std::string_view(), path.substr(5), kinds);
  if (!path.starts_with("/apis/")) return std::nullopt;
  path.remove_prefix(6);
  const std::size_t slash = path.find('/');
  if (slash == path.npos) return std::nullopt;
  return make(path.substr(0, slash), path.substr(slash + 1), kinds);
}

std::optional<std::string> Make(const rest::ServedKinds& kinds, std::string_view path,
                                bool aggregated, std::string_view host) {
  if (path == "/api") {
    return aggregated ? rest::AggregatedDiscoveryJson(true, kinds) : rest::ApiVersionsJson(host);
  }
  if (path == "/apis") {
    return aggregated ? rest::AggregatedDiscoveryJson(false, kinds) : rest::ApiGroupListJson(kinds);
  }
  if (path == "/openapi/v2") return rest::OpenApiV2Json(kinds);
  if (path == kOpenApiV2AsProtobuf) return rest::OpenApiV2Protobuf(kinds);
  if (path == "/openapi/v3") return rest::OpenApiV3RootJson(kinds);
  if (path.starts_with("/openapi/v3/")) {
    return Versioned(kinds, path.substr(std::string_view("/openapi/v3").size()),
                     rest::OpenApiV3Json);
  }
  if (path.starts_with("/apis/") && path.find('/', 6) == path.npos) {
    return rest::ApiGroupJson(path.substr(6), kinds);
  }
  return Versioned(kinds, path, rest::ApiResourceListJson);
}

}  // namespace

apiserver::Bytes RestHandler::Documents::Find(const std::shared_ptr<const rest::ServedKinds>& kinds,
                                              std::string_view path, bool aggregated,
                                              std::string_view host) {
  const std::string key =
      fmt::format("{}{}{}", path, aggregated ? "?aggregated" : "", path == "/api" ? host : "");
  const base::MutexLock lock(mutex_);
  if (kinds != of_) {
    made_.clear();
    of_ = kinds;
  }
  const auto it = made_.find(key);
  if (it != made_.end()) return it->second;
  auto text = Make(*kinds, path, aggregated, host);
  if (!text) return nullptr;
  // The host is a client's word: do not keep one document per word.
  auto bytes = std::make_shared<const std::string>(*std::move(text));
  if (path != "/api" || aggregated) made_.emplace(key, bytes);
  return bytes;
}

}  // namespace dray::registry
