// SPDX-License-Identifier: Apache-2.0
#include "conformance/case_files.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>

#include "fmt/format.h"

namespace dray::conformance {
namespace {

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

std::vector<RecordedFile> ReadJsonFiles(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<RecordedFile> files;
  for (const auto& path : paths) {
    std::vector<api::Diagnostic> diagnostics;
    api::DocumentNode root = api::ParseJson(ReadText(path), diagnostics);
    if (!diagnostics.empty()) root = {};
    files.push_back({path.filename().string(), std::move(root)});
  }
  return files;
}

std::vector<RecordedCase> ReadCaseFiles(const std::filesystem::path& folder) {
  std::vector<RecordedCase> cases;
  for (RecordedFile& file : ReadJsonFiles(folder)) {
    if (file.root.items.empty()) cases.push_back({file.name, "(unreadable)", {}});
    for (api::DocumentNode& node : file.root.items) {
      std::string name = TextOf(node, "name");
      cases.push_back({file.name, std::move(name), std::move(node)});
    }
  }
  return cases;
}

std::function<std::optional<std::string>()> Guarded(
    std::function<std::optional<std::string>()> run) {
  return [run = std::move(run)]() -> std::optional<std::string> {
    try {
      return run();
    } catch (const std::exception& error) {
      return error.what();
    }
  };
}

std::vector<Case> CasesOf(const std::filesystem::path& folder,
                          std::optional<std::string> (*run)(const api::DocumentNode& recorded)) {
  std::vector<Case> cases;
  for (RecordedCase& recorded : ReadCaseFiles(folder)) {
    cases.push_back({.file = recorded.file,
                     .name = recorded.name,
                     .run = Guarded([node = std::move(recorded.node), run] { return run(node); })});
  }
  return cases;
}

const api::DocumentNode* Get(const api::DocumentNode& node, std::string_view key) {
  const api::Member* member = node.Find(key);
  return member != nullptr && member->value.kind != api::DocumentNode::Kind::kNull ? &member->value
                                                                                   : nullptr;
}

bool BoolOf(const api::DocumentNode& node, std::string_view key) {
  const api::DocumentNode* value = Get(node, key);
  return value != nullptr && value->boolean;
}

std::span<const api::DocumentNode> ItemsOf(const api::DocumentNode& node, std::string_view key) {
  const api::DocumentNode* list = Get(node, key);
  return list == nullptr ? std::span<const api::DocumentNode>() : list->items;
}

std::vector<std::string> TextsOf(const api::DocumentNode& node, std::string_view key) {
  std::vector<std::string> texts;
  for (const api::DocumentNode& item : ItemsOf(node, key)) texts.push_back(item.text);
  return texts;
}

std::string TextOf(const api::DocumentNode& node, std::string_view key) {
  const api::Member* member = node.Find(key);
  return member == nullptr ? "" : member->value.text;
}

api::FeatureGates GatesOf(const api::DocumentNode& recorded) {
  api::FeatureGates gates = api::FeatureGates::KubernetesDefaults();
  const api::Member* named = recorded.Find("featureGates");
  if (named == nullptr) return gates;
  for (const api::Member& member : named->value.members) {
    const std::optional<api::Gate> gate = api::FindGate(member.key);
    if (!gate) throw std::runtime_error(fmt::format("unknown gate \"{}\"", member.key));
    gates.Set(*gate, member.value.boolean);
  }
  return gates;
}

std::optional<api::Object> ObjectAt(const api::DocumentNode& recorded, std::string_view key) {
  const api::Member* member = recorded.Find(key);
  if (member == nullptr || member->value.kind == api::DocumentNode::Kind::kNull)
    return std::nullopt;
  api::JsonDecoder decoder;
  StatusOr<api::Object> object = api::DecodeObject(decoder, api::ToJson(member->value));
  if (!object.ok()) {
    throw std::runtime_error(fmt::format("{}: {}", key, base::Message(object.status())));
  }
  return *std::move(object);
}

ErrorKey KeyOf(const api::FieldError& error) {
  return {std::string(api::ReasonOf(error.type)), error.field.ToString()};
}

std::vector<RecordedError> ErrorsAt(const api::DocumentNode& recorded, std::string_view key) {
  std::vector<RecordedError> errors;
  for (const api::DocumentNode& node : ItemsOf(recorded, key)) {
    errors.push_back({{TextOf(node, "type"), TextOf(node, "field")}, TextOf(node, "detail")});
  }
  return errors;
}

std::optional<std::string> Difference(const std::vector<RecordedError>& expected,
                                      const api::ErrorList& actual) {
  std::map<ErrorKey, std::string> wanted;
  for (const RecordedError& error : expected) wanted.emplace(error.key, error.detail);
  std::map<ErrorKey, std::string> found;
  for (const api::FieldError& error : actual) found.emplace(KeyOf(error), error.detail);

  std::string text;
  const auto add = [&text](std::string_view what, const ErrorKey& key, std::string_view detail) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{} {} at {} ({:.160})", what, key.type, key.field, detail);
  };
  for (const auto& [key, detail] : wanted) {
    if (!found.contains(key)) add("missing", key, detail);
  }
  for (const auto& [key, detail] : found) {
    if (!wanted.contains(key)) add("unexpected", key, detail);
  }
  if (text.empty()) return std::nullopt;
  return text;
}

}  // namespace dray::conformance
