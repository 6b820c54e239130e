// SPDX-License-Identifier: Apache-2.0
#include "conformance/recorded_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "absl/strings/escaping.h"
#include "conformance/case_files.h"

namespace dray::conformance {
namespace {

using api::DocumentNode;
using cel::Kind;
using cel::Value;

double DoubleOf(const DocumentNode& node) {
  if (node.text == "NaN") return std::nan("");
  if (node.text == "Infinity") return HUGE_VAL;
  return node.text == "-Infinity" ? -HUGE_VAL : std::stod(node.text);
}

std::string BytesOf(const DocumentNode& node) {
  std::string bytes;
  if (!absl::Base64Unescape(node.text, &bytes)) throw std::runtime_error("no base64: " + node.text);
  return bytes;
}

Value ReadDuration(const DocumentNode& node) {
  const auto nanos = cel::ParseDuration(node.text);
  if (!nanos) throw std::runtime_error("no duration: " + node.text);
  return Value::Duration(*nanos);
}

Value ReadInstant(cel::Arena& arena, const DocumentNode& node) {
  const auto instant = cel::ParseInstant(node.text);
  if (!instant) throw std::runtime_error("no timestamp: " + node.text);
  return cel::MakeInstant(arena, *instant);
}

Value ReadList(cel::Arena& arena, const DocumentNode& node) {
  std::vector<Value> values;
  for (const DocumentNode& item : ItemsOf(node, "values")) values.push_back(ReadValue(arena, item));
  return cel::MakeList(arena, values);
}

Value ReadMap(cel::Arena& arena, const DocumentNode& node) {
  auto* map = arena.New<cel::GrowingMap>();
  for (const DocumentNode& entry : ItemsOf(node, "entries")) {
    map->Insert(arena, ReadValue(arena, *Get(entry, "key")),
                ReadValue(arena, *Get(entry, "value")));
  }
  return Value::Pointer(Kind::kMap, static_cast<const cel::Map*>(map));
}

// The two messages that are ordinary values of the language.
Value ReadMessage(cel::Arena& arena, const DocumentNode& node) {
  const std::string type = TextOf(node, "@type");
  if (type.ends_with("google.protobuf.Timestamp")) return ReadInstant(arena, *Get(node, "value"));
  if (type.ends_with("google.protobuf.Duration")) return ReadDuration(*Get(node, "value"));
  throw std::runtime_error("a message: " + type);
}

std::string EntriesText(std::vector<std::string> entries) {
  std::ranges::sort(entries);
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

// The text of a value that is no error.
std::string Canonical(const Value& value) {
  switch (value.kind()) {
    case Kind::kList: {
      const auto& list = value.as<cel::List>();
      std::vector<std::string> items;
      for (std::size_t i = 0; i < list.size(); ++i) items.push_back(Canonical(list.At(i)));
      return fmt::format("[{}]", fmt::join(items, ", "));
    }
    case Kind::kMap: {
      const auto& map = value.as<cel::Map>();
      std::vector<std::string> entries;
      for (std::size_t i = 0; i < map.size(); ++i) {
        entries.push_back(Canonical(map.KeyAt(i)) + ": " + Canonical(map.ValueAt(i)));
      }
      return EntriesText(std::move(entries));
    }
    case Kind::kDouble:
      return value.as_double() == 0 ? "0.0" : fmt::format("{}f", value.as_double());
    case Kind::kType:
      return fmt::format("type {}", value.as_text());
    case Kind::kOptional:
      return value.as<cel::Optional>().present
                 ? fmt::format("optional({})", Canonical(value.as<cel::Optional>().value))
                 : "none";
    default:
      return cel::ToDebugString(value);
  }
}

}  // namespace

void Differences::Add(std::string difference) {
  std::ranges::replace(difference, '\n', ' ');
  if (!text_.empty()) text_ += "; ";
  text_ += difference;
}

std::optional<std::string> Differences::text() const {
  return text_.empty() ? std::nullopt : std::optional(text_);
}

std::uint64_t NumberOf(const DocumentNode& node) {
  std::uint64_t number = 0;
  const char* end = node.text.data() + node.text.size();
  const auto [stop, error] = std::from_chars(node.text.data(), end, number);
  if (error != std::errc() || stop != end) throw std::runtime_error("no number: " + node.text);
  return number;
}

Value ReadValue(cel::Arena& arena, const DocumentNode& recorded) {
  if (recorded.members.size() != 1) throw std::runtime_error("a value has one key");
  const auto& [key, position, node, written] = recorded.members[0];
  if (key == "nullValue") return Value::Null();
  if (key == "boolValue") return Value::Bool(node.boolean);
  if (key == "int64Value") return Value::Int(std::stoll(node.text));
  if (key == "uint64Value") return Value::Uint(std::stoull(node.text));
  if (key == "doubleValue") return Value::Double(DoubleOf(node));
  if (key == "stringValue") return cel::MakeString(arena, node.text);
  if (key == "bytesValue") return cel::MakeBytes(arena, BytesOf(node));
  if (key == "typeValue") return Value::Type(arena.Copy(node.text));
  if (key == "listValue") return ReadList(arena, node);
  if (key == "mapValue") return ReadMap(arena, node);
  if (key == "objectValue") return ReadMessage(arena, node);
  if (key == "durationValue") return ReadDuration(node);
  if (key == "timestampValue") return ReadInstant(arena, node);
  throw std::runtime_error("a value of an unknown kind: " + key);
}

std::string WantedText(const DocumentNode& recorded) {
  if (recorded.members.size() != 1) throw std::runtime_error("a value has one key");
  const auto& [key, position, node, written] = recorded.members[0];
  if (key == "quantityValue") return fmt::format("quantity(\"{}\")", node.text);
  if (key == "semverValue") return fmt::format("semver(\"{}\")", node.text);
  if (key == "ipValue") return fmt::format("ip(\"{}\")", node.text);
  if (key == "cidrValue") return fmt::format("cidr(\"{}\")", node.text);
  if (key == "urlValue") return fmt::format("url({})", cel::QuoteGo(node.text));
  if (key == "formatValue") return fmt::format("format.{}()", node.text);
  if (key == "optionalValue") {
    return node.kind == DocumentNode::Kind::kNull ? "none"
                                                  : fmt::format("optional({})", WantedText(node));
  }
  if (key == "listValue") {
    std::vector<std::string> items;
    for (const DocumentNode& item : ItemsOf(node, "values")) items.push_back(WantedText(item));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  if (key == "mapValue") {
    std::vector<std::string> entries;
    for (const DocumentNode& entry : ItemsOf(node, "entries")) {
      entries.push_back(WantedText(*Get(entry, "key")) + ": " + WantedText(*Get(entry, "value")));
    }
    return EntriesText(std::move(entries));
  }
  cel::Arena arena;
  return Canonical(ReadValue(arena, recorded));
}

std::string OutcomeText(const Value& value) {
  return value.is_error() ? fmt::format("error: {}", cel::ErrorMessage(value)) : Canonical(value);
}

bool IsSyntaxError(std::string_view text) {
  return text.find("Syntax error:") != std::string_view::npos ||
         text.find("error recovery token lookahead limit") != std::string_view::npos;
}

void CompareMessages(const std::vector<std::string>& want, const cel::CompileResult& result,
                     Differences& differences) {
  if (std::ranges::any_of(want, IsSyntaxError)) return;
  std::vector<std::string> sorted = want;
  std::vector<std::string> got;
  for (const cel::Issue& issue : result.issues) got.push_back(issue.message);
  std::ranges::sort(sorted);
  std::ranges::sort(got);
  differences.Compare("messages", fmt::format("{}", fmt::join(sorted, " | ")),
                      fmt::format("{}", fmt::join(got, " | ")));
}

}  // namespace dray::conformance
