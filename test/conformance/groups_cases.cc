// SPDX-License-Identifier: Apache-2.0
//
// The kind `compatibility-groups`: who may join whom on one counter set.
#include <stdexcept>

#include "conformance/case_files.h"
#include "conformance/engine.h"
#include "conformance/suite.h"

namespace dray::conformance {
namespace {

std::vector<std::string> TextsOf(const api::DocumentNode& list) {
  std::vector<std::string> texts;
  for (const api::DocumentNode& item : list.items) texts.push_back(item.text);
  return texts;
}

const api::DocumentNode& At(const api::DocumentNode& node, std::string_view key) {
  const api::Member* member = node.Find(key);
  if (member == nullptr) throw std::runtime_error("no " + std::string(key));
  return member->value;
}

std::optional<std::string> Run(const api::DocumentNode& recorded) {
  const api::DocumentNode& input = At(recorded, "input");
  std::vector<std::vector<std::string>> placed;
  for (const api::DocumentNode& item : At(input, "placed").items) placed.push_back(TextsOf(item));
  const bool want = At(At(recorded, "expect"), "admitted").boolean;
  const bool got = FindEngine(EngineChoice().name)->admits(placed, TextsOf(At(input, "candidate")));
  if (want == got) return std::nullopt;
  return got ? "admitted, but should not be" : "not admitted, but should be";
}

}  // namespace

std::vector<Case> LoadGroupCases(const std::filesystem::path& folder) {
  return CasesOf(folder, Run);
}

}  // namespace dray::conformance
