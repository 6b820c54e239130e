// SPDX-License-Identifier: Apache-2.0
#include "controllers/rollout.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <variant>

#include "api/json.h"
#include "api/kinds.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

// What spells no words.
constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";

std::int32_t Resolve(const std::optional<api::IntOrString>& amount, std::int64_t of, bool up) {
  std::int64_t percent = 25;
  if (amount.has_value()) {
    if (const auto* number = std::get_if<std::int32_t>(&amount->value)) return *number;
    const auto& text = std::get<std::string>(amount->value);
    percent = 0;
    std::from_chars(text.data(), text.data() + text.size(), percent);
  }
  return static_cast<std::int32_t>((of * percent + (up ? 99 : 0)) / 100);
}

api::PodTemplateSpec WithoutHash(api::PodTemplateSpec made_from) {
  made_from.metadata.labels.erase(api::kPodTemplateHashLabel);
  return made_from;
}

}  // namespace

RolloutLimits LimitsOf(const api::DeploymentSpec& spec) {
  if (spec.strategy.type == api::kStrategyRecreate) return {};
  const std::int32_t replicas = spec.replicas.value_or(1);
  std::optional<api::IntOrString> surge;
  std::optional<api::IntOrString> unavailable;
  if (spec.strategy.rolling_update.has_value()) {
    surge = spec.strategy.rolling_update->max_surge;
    unavailable = spec.strategy.rolling_update->max_unavailable;
  }
  RolloutLimits limits{Resolve(surge, replicas, true), Resolve(unavailable, replicas, false)};
  if (limits.surge == 0 && limits.unavailable == 0) limits.unavailable = 1;
  return limits;
}

std::int32_t ReplicasOf(const api::Object& set) {
  return set.As<api::ReplicaSet>()->spec.replicas.value_or(1);
}
std::int32_t AvailableOf(const api::Object& set) {
  return set.As<api::ReplicaSet>()->status.available_replicas;
}

std::string HashOf(const api::PodTemplateSpec& made_from, std::int32_t collisions) {
  std::string text;
  const api::PodTemplateSpec plain = WithoutHash(made_from);
  api::EncodeJson(api::TypeInfoOf<api::PodTemplateSpec>(), &plain, text);
  if (collisions > 0) text += fmt::format_int(collisions).str();
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  std::string encoded = fmt::format_int(hash).str();
  for (char& c : encoded) c = kAlphabet[static_cast<unsigned char>(c) % kAlphabet.size()];
  return encoded;
}

bool SameTemplate(const api::PodTemplateSpec& a, const api::PodTemplateSpec& b) {
  return SemanticEqual(WithoutHash(a), WithoutHash(b));
}

std::int64_t RevisionOf(const api::ObjectMeta& metadata) {
  const std::string* text = metadata.annotations.Find(api::kDeploymentRevisionAnnotation);
  std::int64_t revision = 0;
  if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), revision);
  return revision;
}

}  // namespace dray::controllers
