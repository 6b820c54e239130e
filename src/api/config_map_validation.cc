// SPDX-License-Identifier: Apache-2.0
//
// ConfigMaps, Secrets and ServiceAccounts: names of keys, sizes, what a type of secret needs, what
// may change.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "api/config_map.h"
#include "api/document.h"
#include "api/internal/kind_validation.h"
#include "api/service_account.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

constexpr std::size_t kMaxKeyLength = 253;
constexpr std::string_view kLocked = "field is immutable when `immutable` is set";

// A key becomes the name of a file.
void CheckKey(Report& report, const Path& at, std::string_view key) {
  const bool characters = std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  if (key.size() > kMaxKeyLength) report.Invalid(at, key, "must be no more than 253 characters");
  if (key.empty() || !characters) {
    report.Invalid(at, key,
                   "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
                   "(e.g. 'key.name', or 'KEY_NAME', or 'key-name')");
  } else if (key == ".") {
    report.Invalid(at, key, "must not be '.'");
  } else if (key == "..") {
    report.Invalid(at, key, "must not be '..'");
  } else if (key.starts_with("..")) {
    report.Invalid(at, key, "must not start with '..'");
  }
}

void CheckTotal(Report& report, std::string_view field, std::size_t size) {
  if (size > kMaxSettingsSize) report.TooLong(Path(field), kMaxSettingsSize);
}

template <typename Object>
void CheckLocked(Report& report, const Object& object, const Object* old, bool same_data) {
  if (old == nullptr || !old->immutable.value_or(false)) return;
  const Path data("data");
  if (!object.immutable.value_or(false)) {
    report.Forbidden(Path("immutable"), kLocked);
  }
  if (!same_data) report.Forbidden(data, kLocked);
}

struct SecretKeys {
  std::string_view type;
  std::string_view all;     // each of them
  std::string_view either;  // or at least one of these
};
constexpr std::array<SecretKeys, 5> kSecretKeys = {{
    {kSecretTypeDockercfg, ".dockercfg", ""},
    {kSecretTypeDockerConfigJson, ".dockerconfigjson", ""},
    {kSecretTypeBasicAuth, "", "username,password"},
    {kSecretTypeSshAuth, "ssh-privatekey", ""},
    {kSecretTypeTls, "tls.crt,tls.key", ""},
}};

bool HasKey(const Secret& secret, std::string_view key) {
  return secret.data.contains(key) || secret.string_data.contains(key);
}

void CheckJson(Report& report, const Path& at, const Secret& secret, std::string_view key) {
  const Bytes* bytes = secret.data.Find(key);
  const Path data = at.Key(key);
  if (bytes == nullptr) return;
  std::vector<Diagnostic> diagnostics;
  ParseJson(bytes->data, diagnostics);
  if (!diagnostics.empty()) report.Invalid(data, "<secret contents redacted>", "must be JSON");
}

void CheckType(Report& report, const Secret& secret) {
  const Path data("data");
  if (secret.type == kSecretTypeServiceAccountToken) {
    const std::string* account = secret.metadata.annotations.Find(kServiceAccountNameAnnotation);
    const Path metadata("metadata");
    const Path annotations = metadata.Child("annotations");
    if (account == nullptr || account->empty()) {
      report.Required(annotations.Key(kServiceAccountNameAnnotation), "");
    }
    return;
  }
  const auto* row =
      std::ranges::find(kSecretKeys, std::string_view(secret.type), &SecretKeys::type);
  if (row == kSecretKeys.end()) return;
  const auto words = [](std::string_view text) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(','), text.size());
      parts.push_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
  };
  for (const std::string_view key : words(row->all)) {
    if (!HasKey(secret, key)) report.Required(data.Key(key), "");
    if (key.starts_with(".docker")) CheckJson(report, data, secret, key);
  }
  const auto either = words(row->either);
  const auto has = [&](std::string_view key) { return HasKey(secret, key); };
  if (!either.empty() && std::ranges::none_of(either, has)) {
    for (const std::string_view key : either) report.Required(data.Key(key), "");
  }
}

}  // namespace

void ValidateConfigMap(Report& report, const ConfigMap& map, const ConfigMap* old) {
  const Path data("data");
  const Path binary("binaryData");
  std::size_t size = 0;
  for (const auto& [key, value] : map.data) {
    CheckKey(report, data.Key(key), key);
    size += value.size();
    if (map.binary_data.contains(key)) {
      report.Invalid(data.Key(key), key, fmt::format("duplicate of key present in binaryData"));
    }
  }
  for (const auto& [key, value] : map.binary_data) {
    CheckKey(report, binary.Key(key), key);
    size += value.data.size();
  }
  CheckTotal(report, "data", size);
  CheckLocked(report, map, old,
              old == nullptr || (map.data == old->data && map.binary_data == old->binary_data));
}

void ValidateSecret(Report& report, const Secret& secret, const Secret* old) {
  const Path data("data");
  std::size_t size = 0;
  for (const auto& [key, value] : secret.data) {
    CheckKey(report, data.Key(key), key);
    size += value.data.size();
  }
  CheckTotal(report, "data", size);
  CheckType(report, secret);
  if (old != nullptr && secret.type != old->type) {
    report.Invalid(Path("type"), secret.type, "field is immutable");
  }
  CheckLocked(report, secret, old, old == nullptr || secret.data == old->data);
}

}  // namespace dray::api::internal
