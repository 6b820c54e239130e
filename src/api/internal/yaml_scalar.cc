// SPDX-License-Identifier: Apache-2.0
#include "api/internal/yaml_scalar.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <optional>

#include "absl/strings/escaping.h"
#include "base/status.h"
#include "fmt/format.h"
#include "simdjson.h"

namespace dray::api::internal {
namespace {

constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (text == word) return true;
  }
  return false;
}

// A decimal number text, or nothing. YAML 1.1 also has 0x, 0o, 0b and a leading 0 for octal.
std::optional<std::string> ResolveInteger(std::string_view rest) {
  bool negative = false;
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) {
    negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  if (rest.empty() || rest[0] < '0' || rest[0] > '9') return std::nullopt;
  int radix = 10;
  if (rest.size() > 2 && rest[0] == '0' && (rest[1] == 'x' || rest[1] == 'X')) {
    radix = 16;
    rest.remove_prefix(2);
  } else if (rest.size() > 2 && rest[0] == '0' && (rest[1] == 'b' || rest[1] == 'B')) {
    radix = 2;
    rest.remove_prefix(2);
  } else if (rest.size() > 2 && rest[0] == '0' && (rest[1] == 'o' || rest[1] == 'O')) {
    radix = 8;
    rest.remove_prefix(2);
  } else if (rest.size() > 1 && rest[0] == '0') {
    radix = 8;
    rest.remove_prefix(1);
  }
  std::uint64_t magnitude = 0;
  const auto result = std::from_chars(rest.data(), rest.data() + rest.size(), magnitude, radix);
  if (result.ec != std::errc() || result.ptr != rest.data() + rest.size()) return std::nullopt;
  if (negative && magnitude > std::uint64_t{1} << 63) return std::nullopt;
  return (negative && magnitude != 0 ? "-" : "") + std::to_string(magnitude);
}

// Whether the text is a plain decimal float: [-+]? digits with a point or an exponent.
bool LooksLikeFloat(std::string_view text) {
  std::size_t i = 0;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  std::size_t digits = 0;
  while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i, ++digits;
  if (i < text.size() && text[i] == '.') {
    ++i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i, ++digits;
  }
  if (digits == 0) return false;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    std::size_t exponent = 0;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i, ++exponent;
    if (exponent == 0) return false;
  }
  return i == text.size();
}

// As Go prints a float in JSON: the fewest digits that mean it, filled up with zeros unless there
// would be very many. A whole number beyond 64 bits is therefore not the one that was written, and
// no integer either.
std::string GoJsonNumber(double number) {
  char buffer[64];
  const auto result =
      std::to_chars(buffer, buffer + sizeof(buffer), number, std::chars_format::scientific);
  std::string_view text(buffer, static_cast<std::size_t>(result.ptr - buffer));
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::size_t e = text.find('e');
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c != '.') digits += c;
  }
  int exponent = 0;  // of the first digit
  const std::string_view after = text.substr(e + (text[e + 1] == '+' ? 2 : 1));
  std::from_chars(after.data(), after.data() + after.size(), exponent);
  std::string out = negative ? "-" : "";
  if (number == 0) return out + "0";
  if (exponent < -6 || exponent >= 21) {
    out += digits[0];
    if (digits.size() > 1) out.append(".").append(digits, 1);
    return out + fmt::format("e{}{}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) {
    return out + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  }
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0');
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::optional<std::string> ResolveFloat(std::string_view text) {
  if (!LooksLikeFloat(text)) return std::nullopt;
  const std::string copy(text);
  const double number = std::strtod(copy.c_str(), nullptr);
  if (!std::isfinite(number)) return std::nullopt;
  return GoJsonNumber(number);
}

// A number begins with a sign or a digit, and may have underscores then; or with a point.
std::optional<std::string> ResolveNumber(std::string_view text) {
  const char first = text.front();
  if (first == '.') return ResolveFloat(text);
  if (first != '-' && first != '+' && (first < '0' || first > '9')) return std::nullopt;
  std::string digits;
  std::ranges::copy_if(text, std::back_inserter(digits), [](char c) { return c != '_'; });
  auto number = ResolveInteger(digits);
  return number ? number : ResolveFloat(digits);
}

bool Resolves(std::string_view tag) {
  return IsOneOf(tag, {"bool", "int", "float", "null", "timestamp"});
}

bool IsOfTag(const DocumentNode& node, std::string_view tag) {
  switch (node.kind) {
    case DocumentNode::Kind::kNull:
      return tag == "null";
    case DocumentNode::Kind::kBool:
      return tag == "bool";
    case DocumentNode::Kind::kNumber:
      return tag == "float" || (tag == "int" && node.text.find_first_of(".e") == std::string::npos);
    default:
      return tag == "timestamp";  // which is text in JSON
  }
}

// Base64, of which JSON has the text that it stands for.
std::string ResolveBinary(std::string_view text, DocumentNode& node) {
  std::string compact;
  std::ranges::copy_if(text, std::back_inserter(compact),
                       [](char c) { return c != '\n' && c != '\r'; });
  node.kind = DocumentNode::Kind::kString;
  std::string decoded;
  if (compact.size() % 4 != 0 || !absl::Base64Unescape(base::ToAbsl(compact), &decoded)) {
    return "not valid YAML: !!binary value contains invalid base64 data";
  }
  if (!simdjson::validate_utf8(decoded)) {
    return "!!binary data that is not UTF-8 has no JSON form";
  }
  node.text = std::move(decoded);
  return "";
}

std::string ResolvePlain(std::string_view text, DocumentNode& node) {
  if (text.empty() || IsOneOf(text, {"~", "null", "Null", "NULL"})) {
    node.kind = DocumentNode::Kind::kNull;
    return "";
  }
  if (IsOneOf(text, {"true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON"})) {
    node.kind = DocumentNode::Kind::kBool;
    node.boolean = true;
    return "";
  }
  if (IsOneOf(text, {"false", "False", "FALSE", "n", "N", "no", "No", "NO", "off", "Off", "OFF"})) {
    node.kind = DocumentNode::Kind::kBool;
    return "";
  }
  if (IsOneOf(text, {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF",
                     ".nan", ".NaN", ".NAN"})) {
    return fmt::format("{} has no JSON form", text);
  }
  auto number = ResolveNumber(text);
  node.kind = number ? DocumentNode::Kind::kNumber : DocumentNode::Kind::kString;
  node.text = number ? *std::move(number) : std::string(text);
  return "";
}

}  // namespace

std::string ResolveScalar(std::string_view tag, bool plain, std::string_view text,
                          DocumentNode& node) {
  if (tag.starts_with(kTagPrefix)) tag.remove_prefix(kTagPrefix.size());
  if (tag == "binary") return ResolveBinary(text, node);
  // Tags of somebody else say nothing to us: what is tagged so is text.
  if (tag.empty() ? !plain : !Resolves(tag)) {
    node.kind = DocumentNode::Kind::kString;
    node.text.assign(text);
    return "";
  }
  std::string fault = ResolvePlain(text, node);
  if (!fault.empty() || tag.empty() || IsOfTag(node, tag)) return fault;
  return fmt::format("not valid YAML: {} is not what its tag says, !!{}", text, tag);
}

}  // namespace dray::api::internal
