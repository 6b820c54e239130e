// SPDX-License-Identifier: Apache-2.0
//
// Properties: ParseJson takes what a full JSON parser takes, and nothing else; the fast decoder and
// the tree decoder accept the same objects and read the same values; what was read and written
// reads back as the same object, and from then on as the same text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/document.h"
#include "api/json.h"
#include "api/kinds.h"
#include "base/check.h"
#include "simdjson.h"

namespace {

using namespace dray::api;  // NOLINT: a fuzz target is about one room

// What a parser that checks the whole text says; nothing where the two may differ (numbers that fit
// no machine type).
std::optional<bool> IsValidJson(std::string_view text) {
  static simdjson::dom::parser parser;
  simdjson::dom::element root;
  switch (parser.parse(text.data(), text.size()).get(root)) {
    case simdjson::SUCCESS:
      return root.is_object() || root.is_array();
    case simdjson::NUMBER_ERROR:
      return std::nullopt;
    default:
      return false;
  }
}

int Depth(const DocumentNode& node) {
  int deepest = 0;
  for (const DocumentNode& item : node.items) deepest = std::max(deepest, Depth(item) + 1);
  for (const Member& member : node.members) deepest = std::max(deepest, Depth(member.value) + 1);
  return deepest;
}

// The object as the tree decoder reads it, or nothing.
std::optional<Object> ReadTree(const DocumentNode& root, bool strict) {
  std::vector<Diagnostic> diagnostics;
  const auto text = [&](std::string_view key) {
    const Member* member = root.Find(key);
    return member != nullptr && member->value.kind == DocumentNode::Kind::kString
               ? member->value.text
               : "";
  };
  auto object = DecodeObject(ObjectNode{text("apiVersion"), text("kind"), &root},
                             strict ? Severity::kError : Severity::kWarning, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity == Severity::kError) return std::nullopt;
  }
  return object;
}

void CheckObject(JsonDecoder& decoder, const Object& object, bool strict) {
  const std::string text = object.ToJson();
  const auto again = DecodeObject(decoder, text, {.strict = strict});
  DRAY_CHECK(again.ok(), text);
  DRAY_CHECK(SemanticEqual(object, *again), text);
  // The first text may hold a quantity that was written in one format and reads as another.
  const std::string settled = again->ToJson();
  const auto third = DecodeObject(decoder, settled, {.strict = strict});
  DRAY_CHECK(third.ok(), settled);
  DRAY_CHECK(third->ToJson() == settled, settled);
}

void CheckDecoders(JsonDecoder& decoder, std::string_view text, const DocumentNode& root,
                   bool strict) {
  const auto fast = DecodeObject(decoder, text, {.strict = strict});
  const auto tree = ReadTree(root, strict);
  DRAY_CHECK(fast.ok() == tree.has_value(), text);
  if (!fast.ok()) return;
  DRAY_CHECK(SemanticEqual(*fast, *tree), text);
  DRAY_CHECK(fast->ToJson() == tree->ToJson(), text);
  CheckObject(decoder, *fast, strict);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static JsonDecoder decoder;
  std::vector<Diagnostic> diagnostics;
  const DocumentNode root = ParseJson(text, diagnostics);
  const bool parsed = diagnostics.empty();
  if (const auto valid = IsValidJson(text)) {
    const bool too_deep = !parsed && diagnostics[0].message.find("deeper") != std::string::npos;
    DRAY_CHECK(parsed == *valid || too_deep, text);
  }
  if (!parsed) {
    DRAY_CHECK(!DecodeObject(decoder, text).ok(), text);
    return 0;
  }
  DRAY_CHECK(Depth(root) <= kMaxDocumentDepth);
  if (root.kind != DocumentNode::Kind::kMap) return 0;
  CheckDecoders(decoder, text, root, true);
  CheckDecoders(decoder, text, root, false);
  return 0;
}
