// SPDX-License-Identifier: Apache-2.0
#include "controllers/token_cleanup.h"

#include <array>
#include <chrono>
#include <optional>
#include <string_view>

#include "api/config_map.h"
#include "base/time.h"

namespace dray::controllers {
namespace {

constexpr std::string_view kType = "bootstrap.kubernetes.io/token";
constexpr std::string_view kNamespace = "kube-system";
constexpr std::string_view kExpiration = "expiration";

std::array<const api::KindInfo*, 1> Kinds() { return {&KindOf<api::Secret>()}; }

// Nothing: it has no end, or is no such token. An end that nobody can read is none at which
// something could be deleted; such a token lets nobody in.
std::optional<base::Time> EndOf(const api::Object& object) {
  const auto& secret = *object.As<api::Secret>();
  if (secret.metadata.namespace_ != kNamespace || secret.type != kType) return std::nullopt;
  const api::Bytes* text = secret.data.Find(kExpiration);
  if (text == nullptr) return std::nullopt;
  const auto end = base::Time::ParseRfc3339(text->data);
  return end.ok() ? std::optional(*end) : std::nullopt;
}

}  // namespace

TokenCleanup::TokenCleanup(const Source& source, const base::Clock& clock)
    : Reconciler(source, clock, Kinds()) {}

void TokenCleanup::OnChange(const api::Object*, const api::Object* after) {
  if (after == nullptr || !EndOf(*after)) return;
  queue().Add(ObjectKey::Of(*after));
}

Status TokenCleanup::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr || view().Leaving(*found)) return {};
  const auto end = EndOf(*found);
  if (!end) return {};
  const auto left = *end - clock().Now();
  if (left > std::chrono::nanoseconds(0)) {
    queue().AddAfter(key, left);
    return {};
  }
  return view().Delete(api::Object(*found));
}

}  // namespace dray::controllers
