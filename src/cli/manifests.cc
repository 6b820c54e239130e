// SPDX-License-Identifier: Apache-2.0
#include "cli/manifests.h"

#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/internal/json_stream.h"
#include "cli/internal/unknown_kind.h"
#include "fmt/format.h"

namespace dray::cli {
namespace {

Level LevelOf(api::Severity severity) {
  return severity == api::Severity::kError ? Level::kError : Level::kWarning;
}

std::string TextAt(const api::DocumentNode& node, std::string_view parent, std::string_view key) {
  const api::Member* outer = node.Find(parent);
  const api::Member* inner = outer == nullptr ? nullptr : outer->value.Find(key);
  return inner != nullptr && inner->value.kind == api::DocumentNode::Kind::kString
             ? inner->value.text
             : "";
}

// Only by its name: `{` also begins YAML in its flow style.
bool IsJsonFile(const SourceFile& file) { return file.path.ends_with(".json"); }

bool StartsLikeJson(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

std::vector<api::DocumentNode> Parse(const SourceFile& file,
                                     std::vector<api::Diagnostic>& diagnostics) {
  if (IsJsonFile(file) || StartsLikeJson(file.text)) {
    // Not left to the YAML parser, which has something against tabs.
    std::vector<api::Diagnostic> json_diagnostics;
    std::vector<api::DocumentNode> documents =
        internal::ParseJsonStream(file.text, json_diagnostics);
    if (json_diagnostics.empty()) return documents;
    if (IsJsonFile(file)) {
      diagnostics = std::move(json_diagnostics);
      return {};
    }
  }
  return api::ParseYaml(file.text, diagnostics);
}

class Reader {
 public:
  explicit Reader(const ManifestOptions& options) : options_(options) {}

  void File(SourceFile file) {
    result_.report.files.push_back(file.path);
    std::vector<api::Diagnostic> diagnostics;
    std::vector<api::DocumentNode> documents = Parse(file, diagnostics);
    if (documents.empty() && diagnostics.empty()) {
      Report(Level::kWarning, "NoObjects", {.file = file.path}, {1, 1},
             "this file contains no object");
    }
    for (api::DocumentNode& document : documents) Document(file.path, std::move(document));
    Unusable({.file = file.path}, diagnostics);
    result_.sources.push_back(std::move(file));
  }

  void Unreadable(const SourceError& error) {
    result_.report.unusable = true;
    Report(Level::kError, "Unreadable", {.file = error.path}, {}, error.message, error.hint);
  }

  Manifests Take() {
    for (const auto& [kind, skipped] : skipped_) {
      result_.report.skipped_kinds.emplace_back(kind.substr(kind.find(' ') + 1), skipped.count);
      result_.report.findings[skipped.finding].message =
          skipped.count == 1
              ? "not checked: dray does not know this kind"
              : fmt::format("{} objects are not checked: dray does not know this kind",
                            skipped.count);
    }
    return std::move(result_);
  }

 private:
  struct Skipped {
    std::size_t finding = 0;  // the note at the first one
    std::size_t count = 0;
  };

  void Document(const std::string& path, api::DocumentNode node) {
    const api::DocumentNode& document = result_.documents.emplace_back(std::move(node));
    std::vector<api::Diagnostic> diagnostics;
    const std::vector<api::ObjectNode> objects = api::ObjectsIn(document, diagnostics);
    // A document that is no object: prose, a list, another tool's file.
    Unusable({.file = path, .position = document.position}, diagnostics);
    for (const api::ObjectNode& object : objects) Object(path, object);
  }

  void Object(const std::string& path, const api::ObjectNode& source) {
    const ObjectId id = IdOf(path, source);
    result_.report.objects.push_back(id);
    const bool complete = !source.api_version.empty() && !source.kind.empty();
    if (source.node->kind != api::DocumentNode::Kind::kMap) {
      Report(Level::kError, "TypeMismatch", id, id.position,
             "expected an object with apiVersion and kind");
    } else if (source.kind == "List") {  // or it would have been taken apart
      const api::Member* items = source.node->Find("items");
      const bool inner = items != nullptr && items->value.kind == api::DocumentNode::Kind::kList;
      Report(Level::kError, "TypeMismatch", id, id.position,
             inner ? "a List inside of a List is not read, here as by kubectl"
                   : "a List has its objects in a list called items",
             inner ? "put its items into the outer List" : "");
    } else if (complete && api::FindKind(source.api_version, source.kind) == nullptr) {
      UnknownKind(id, source);
    } else {
      Decode(id, source);
    }
  }

  void Decode(const ObjectId& id, const api::ObjectNode& source) {
    std::vector<api::Diagnostic> diagnostics;
    std::optional<api::Object> object = api::DecodeObject(
        source, options_.strict ? api::Severity::kError : api::Severity::kWarning, diagnostics);
    std::vector<std::string> broken;
    for (const api::Diagnostic& diagnostic : diagnostics) {
      Add(id, diagnostic);
      if (diagnostic.reason == "TypeMismatch" || diagnostic.reason == "InvalidValue") {
        broken.push_back(diagnostic.path.ToString());
      }
    }
    if (!object) return;
    result_.manifests.push_back(
        {id, result_.sources.size(), source.node, *std::move(object), std::move(broken)});
  }

  void UnknownKind(const ObjectId& id, const api::ObjectNode& source) {
    const api::Member* kind = source.node->Find("kind");
    const api::Position position = kind != nullptr ? kind->key_position : source.node->position;
    if (const auto meant = internal::MeantKind(source.api_version, source.kind)) {
      Report(Level::kError, "UnknownKind", id, position,
             fmt::format("there is no kind \"{}\" in \"{}\"", source.kind, source.api_version),
             *meant);
      return;
    }
    ++result_.report.skipped;
    Skipped& skipped = skipped_[fmt::format("{} {}", source.api_version, source.kind)];
    if (++skipped.count > 1) return;
    skipped.finding = result_.report.findings.size();
    ObjectId kind_only = id;
    kind_only.namespace_.clear();
    kind_only.name.clear();
    Report(Level::kNote, "SkippedKind", kind_only, position, "");  // Take() counts and writes it
  }

  static ObjectId IdOf(const std::string& path, const api::ObjectNode& source) {
    ObjectId id{.file = path,
                .position = source.node->position,
                .api_version = source.api_version,
                .kind = source.kind,
                .namespace_ = TextAt(*source.node, "metadata", "namespace"),
                .name = TextAt(*source.node, "metadata", "name")};
    if (id.name.empty()) {
      const std::string prefix = TextAt(*source.node, "metadata", "generateName");
      if (!prefix.empty()) id.name = prefix + "*";
    }
    const api::KindInfo* kind = api::FindKind(source.api_version, source.kind);
    if (kind != nullptr && kind->namespaced && id.namespace_.empty()) id.namespace_ = "default";
    return id;
  }

  // Diagnostics of text that is no object at all.
  void Unusable(const ObjectId& id, const std::vector<api::Diagnostic>& diagnostics) {
    for (const api::Diagnostic& diagnostic : diagnostics) {
      Add(id, diagnostic);
      result_.report.unusable |= diagnostic.severity == api::Severity::kError;
    }
  }

  void Add(const ObjectId& id, const api::Diagnostic& diagnostic) {
    Report(LevelOf(diagnostic.severity), diagnostic.reason, id, diagnostic.position,
           diagnostic.message, diagnostic.hint);
    result_.report.findings.back().field = diagnostic.path.ToString();
  }

  void Report(Level level, std::string_view reason, const ObjectId& id,
              const api::Position& position, std::string message, std::string hint = "") {
    result_.report.findings.push_back({.level = level,
                                       .reason = std::string(reason),
                                       .object = id,
                                       .position = position,
                                       .field = {},
                                       .message = std::move(message),
                                       .hint = std::move(hint)});
  }

  const ManifestOptions& options_;
  Manifests result_;
  std::map<std::string, Skipped> skipped_;  // by "apiVersion kind"
};

}  // namespace

Manifests ReadManifests(Sources sources, const ManifestOptions& options) {
  Reader reader(options);
  for (SourceFile& file : sources.files) reader.File(std::move(file));
  for (const SourceError& error : sources.errors) reader.Unreadable(error);
  return reader.Take();
}

}  // namespace dray::cli
