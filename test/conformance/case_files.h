// SPDX-License-Identifier: Apache-2.0
//
// Reading recorded cases. Those of the API are one JSON array per file, as
// shared/conformance/README-api.md describes them.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/document.h"
#include "api/errors.h"
#include "api/gates.h"
#include "api/kinds.h"
#include "conformance/suite.h"

namespace dray::conformance {

struct RecordedFile {
  std::string name;        // without folder
  api::DocumentNode root;  // null when the file is no JSON
};

// The *.json files of a folder, by name.
std::vector<RecordedFile> ReadJsonFiles(const std::filesystem::path& folder);

// One element of a file's array.
struct RecordedCase {
  std::string file;  // without folder
  std::string name;
  api::DocumentNode node;
};

// Every case of every *.json file in a folder, by file name and then as the file has them. A file
// that is not an array of named cases becomes one case whose node is null: running it says so.
std::vector<RecordedCase> ReadCaseFiles(const std::filesystem::path& folder);

// What makes a case of something that may throw: what it throws is the difference.
std::function<std::optional<std::string>()> Guarded(
    std::function<std::optional<std::string>()> run);

// The cases of a folder that `run` judges by their node alone. What it throws is the difference.
std::vector<Case> CasesOf(const std::filesystem::path& folder,
                          std::optional<std::string> (*run)(const api::DocumentNode& recorded));

// A field, or null when it is missing or null.
const api::DocumentNode* Get(const api::DocumentNode& node, std::string_view key);
// The text of a string field; empty when it is missing.
std::string TextOf(const api::DocumentNode& node, std::string_view key);
// A bool field; false when it is missing.
bool BoolOf(const api::DocumentNode& node, std::string_view key);
// The items of a list field; none when it is missing.
std::span<const api::DocumentNode> ItemsOf(const api::DocumentNode& node, std::string_view key);
// The texts of a list of strings.
std::vector<std::string> TextsOf(const api::DocumentNode& node, std::string_view key);

// Kubernetes's defaults with the case's `featureGates` on top.
api::FeatureGates GatesOf(const api::DocumentNode& recorded);

// The object below `key`, unknown fields ignored; nothing when it is null or missing. Throws
// std::runtime_error when it cannot be read.
std::optional<api::Object> ObjectAt(const api::DocumentNode& recorded, std::string_view key);

// An error as the cases compare it: its reason and its path.
struct ErrorKey {
  std::string type;
  std::string field;
  friend auto operator<=>(const ErrorKey&, const ErrorKey&) = default;
};
ErrorKey KeyOf(const api::FieldError& error);

struct RecordedError {
  ErrorKey key;
  std::string detail;
};
// The list below `key`.
std::vector<RecordedError> ErrorsAt(const api::DocumentNode& recorded, std::string_view key);

// How the sets of (type, field) differ: "missing …; unexpected …". Nothing when they are equal.
std::optional<std::string> Difference(const std::vector<RecordedError>& expected,
                                      const api::ErrorList& actual);

}  // namespace dray::conformance
