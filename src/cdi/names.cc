// SPDX-License-Identifier: Apache-2.0
#include "cdi/names.h"

#include <algorithm>

#include "fmt/format.h"

namespace dray::cdi {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsLetterOrDigit(char c) { return IsLetter(c) || (c >= '0' && c <= '9'); }

bool HasForm(std::string_view s, bool first_ok, std::string_view between) {
  return !s.empty() && first_ok && IsLetterOrDigit(s.back()) && std::ranges::all_of(s, [&](char c) {
    return IsLetterOrDigit(c) || between.find(c) != between.npos;
  });
}

}  // namespace

bool IsVendor(std::string_view s) { return HasForm(s, !s.empty() && IsLetter(s.front()), "_-."); }
bool IsClass(std::string_view s) { return IsVendor(s); }
bool IsDeviceName(std::string_view s) {
  return HasForm(s, !s.empty() && IsLetterOrDigit(s.front()), "_-.:");
}

StatusOr<Kind> ParseKind(std::string_view kind) {
  const std::size_t slash = kind.find('/');
  if (slash == kind.npos) {
    return base::InvalidArgument(
        fmt::format("\"{}\" must have the form vendor/class, such as gpu.example.com/gpu", kind));
  }
  Kind parts{.vendor = std::string(kind.substr(0, slash)),
             .device_class = std::string(kind.substr(slash + 1))};
  if (!IsVendor(parts.vendor) || !IsClass(parts.device_class)) {
    return base::InvalidArgument(fmt::format(
        "{} \"{}\" must begin with a letter, end with a letter or digit, and have letters, digits, "
        "'_', '-' and '.' between them",
        IsVendor(parts.vendor) ? "class" : "vendor",
        IsVendor(parts.vendor) ? parts.device_class : parts.vendor));
  }
  return parts;
}

StatusOr<QualifiedName> ParseQualifiedName(std::string_view name) {
  const std::size_t equals = name.find('=');
  if (equals == name.npos) {
    return base::InvalidArgument(fmt::format(
        "\"{}\" must have the form vendor/class=name, such as gpu.example.com/gpu=gpu-0", name));
  }
  QualifiedName parts{.kind = std::string(name.substr(0, equals)),
                      .name = std::string(name.substr(equals + 1))};
  if (const auto kind = ParseKind(parts.kind); !kind.ok()) return kind.status();
  if (!IsDeviceName(parts.name)) {
    return base::InvalidArgument(
        fmt::format("device name \"{}\" must begin and end with a letter or digit, and have "
                    "letters, digits, '_', '-', '.' and ':' between them",
                    parts.name));
  }
  return parts;
}

}  // namespace dray::cdi
