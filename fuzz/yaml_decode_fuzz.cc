// SPDX-License-Identifier: Apache-2.0
//
// Properties: reading YAML never crashes; a document that was read is valid JSON, reads back from
// its JSON as the same tree, and both trees hold the same objects.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/document.h"
#include "api/json.h"
#include "api/kinds.h"
#include "base/check.h"

namespace {

using namespace dray::api;  // NOLINT: a fuzz target is about one room

// Positions aside.
bool SameTree(const DocumentNode& a, const DocumentNode& b) {
  return a.kind == b.kind && a.boolean == b.boolean && a.text == b.text &&
         std::ranges::equal(a.items, b.items, SameTree) &&
         std::ranges::equal(a.members, b.members, [](const Member& x, const Member& y) {
           return x.key == y.key && SameTree(x.value, y.value);
         });
}

// What decoding a tree gives: the objects and everything that was said.
std::string Decoded(const DocumentNode& document) {
  std::vector<Diagnostic> diagnostics;
  std::string out;
  for (const ObjectNode& source : ObjectsIn(document, diagnostics)) {
    const auto object = DecodeObject(source, Severity::kWarning, diagnostics);
    out += object ? object->ToJson() : "nothing";
    out += '\n';
  }
  for (Diagnostic& diagnostic : diagnostics) {
    diagnostic.position = {};
    out += ToString(diagnostic) + '\n';
  }
  return out;
}

void CheckDocument(const DocumentNode& document) {
  const bool container =
      document.kind == DocumentNode::Kind::kMap || document.kind == DocumentNode::Kind::kList;
  // ParseJson leaves bare scalars to others.
  const std::string json = container ? ToJson(document) : "[" + ToJson(document) + "]";
  std::vector<Diagnostic> diagnostics;
  const DocumentNode root = ParseJson(json, diagnostics);
  DRAY_CHECK(diagnostics.empty(), json);
  const DocumentNode& again = container ? root : root.items.at(0);
  DRAY_CHECK(SameTree(document, again), json);
  DRAY_CHECK(Decoded(document) == Decoded(again), json);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<Diagnostic> diagnostics;
  const std::vector<DocumentNode> documents =
      ParseYaml(std::string_view(reinterpret_cast<const char*>(data), size), diagnostics);
  for (const DocumentNode& document : documents) CheckDocument(document);
  return 0;
}
