// SPDX-License-Identifier: Apache-2.0
#include "registry/bootstrap_tokens.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <string>
#include <utility>

#include "api/config_map.h"
#include "base/time.h"

namespace dray::registry {
namespace {

constexpr std::string_view kType = "bootstrap.kubernetes.io/token";
constexpr std::string_view kGroup = "system:bootstrappers";
constexpr std::size_t kIdSize = 6;
constexpr std::size_t kSecretSize = 16;

bool AllLowerAlphanumeric(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

std::string_view TextIn(const api::Secret& secret, std::string_view key) {
  const api::Bytes* value = secret.data.Find(key);
  return value == nullptr ? std::string_view() : std::string_view(value->data);
}

// How long it takes does not depend on how much of it is right.
bool Same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// Groups that a Secret may add: they begin with system:bootstrappers:.
bool AddGroups(std::string_view list, std::vector<std::string>& groups) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view group = list.substr(0, end);
    if (!group.starts_with("system:bootstrappers:")) return false;
    groups.emplace_back(group);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return true;
}

}  // namespace

std::optional<apiserver::User> BootstrapTokens::Read(std::string_view token) const {
  const std::size_t dot = token.find('.');
  if (dot != kIdSize || token.size() != kIdSize + 1 + kSecretSize) return std::nullopt;
  const std::string_view id = token.substr(0, dot);
  const std::string_view secret = token.substr(dot + 1);
  if (!AllLowerAlphanumeric(id) || !AllLowerAlphanumeric(secret)) return std::nullopt;
  const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<api::Secret>());
  const auto found = objects_.Find(kind, "kube-system", std::string("bootstrap-token-").append(id));
  if (!found.ok() || !*found) return std::nullopt;
  const auto& stored = *(*found)->object().As<api::Secret>();
  if (stored.metadata.deletion_timestamp || stored.type != kType) return std::nullopt;
  if (TextIn(stored, "token-id") != id || !Same(TextIn(stored, "token-secret"), secret)) {
    return std::nullopt;
  }
  if (TextIn(stored, "usage-bootstrap-authentication") != "true") return std::nullopt;
  if (const std::string_view text = TextIn(stored, "expiration"); !text.empty()) {
    const auto ends = base::Time::ParseRfc3339(text);
    if (!ends.ok() || *ends <= clock_.Now()) return std::nullopt;
  }
  apiserver::User user{.name = std::string("system:bootstrap:").append(id),
                       .groups = {std::string(kGroup)}};
  if (!AddGroups(TextIn(stored, "auth-extra-groups"), user.groups)) return std::nullopt;
  user.groups.emplace_back(apiserver::kAuthenticated);
  return user;
}

}  // namespace dray::registry
