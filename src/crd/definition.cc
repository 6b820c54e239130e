// SPDX-License-Identifier: Apache-2.0
#include "crd/definition.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <tuple>

#include "fmt/format.h"

namespace dray::crd {
namespace {

using rest::FindIn;
using rest::TextIn;

const DocumentNode& Nothing() {
  static const DocumentNode none = rest::MapNode();
  return none;
}
const DocumentNode& Part(const DocumentNode& of, std::string_view key) {
  const DocumentNode* found = FindIn(of, key);
  return found == nullptr ? Nothing() : *found;
}
bool FlagIn(const DocumentNode& of, std::string_view key) {
  const DocumentNode* found = FindIn(of, key);
  return found != nullptr && found->kind == DocumentNode::Kind::kBool && found->boolean;
}
std::vector<std::string> TextsIn(const DocumentNode& of, std::string_view key) {
  std::vector<std::string> texts;
  for (const DocumentNode& item : Part(of, key).items) texts.push_back(item.text);
  return texts;
}

Names NamesIn(const DocumentNode& node) {
  return {.plural = std::string(TextIn(node, "plural")),
          .singular = std::string(TextIn(node, "singular")),
          .kind = std::string(TextIn(node, "kind")),
          .list_kind = std::string(TextIn(node, "listKind")),
          .short_names = TextsIn(node, "shortNames"),
          .categories = TextsIn(node, "categories")};
}

Version VersionIn(const DocumentNode& node) {
  Version version{.name = std::string(TextIn(node, "name")),
                  .served = FlagIn(node, "served"),
                  .storage = FlagIn(node, "storage"),
                  .deprecated = FlagIn(node, "deprecated")};
  if (FindIn(node, "deprecationWarning") != nullptr) {
    version.deprecation_warning = TextIn(node, "deprecationWarning");
  }
  const DocumentNode* schema = FindIn(Part(node, "schema"), "openAPIV3Schema");
  if (schema != nullptr && !rest::IsNull(*schema)) version.schema = *schema;
  const DocumentNode& parts = Part(node, "subresources");
  const DocumentNode* status = FindIn(parts, "status");
  version.status = status != nullptr && !rest::IsNull(*status);
  const DocumentNode* scale = FindIn(parts, "scale");
  if (scale != nullptr && rest::IsMap(*scale)) {
    version.scale = Scale{.spec_replicas_path = std::string(TextIn(*scale, "specReplicasPath")),
                          .status_replicas_path = std::string(TextIn(*scale, "statusReplicasPath")),
                          .label_selector_path = std::string(TextIn(*scale, "labelSelectorPath"))};
  }
  for (const DocumentNode& column : Part(node, "additionalPrinterColumns").items) {
    const DocumentNode* priority = FindIn(column, "priority");
    version.columns.push_back(
        {.name = std::string(TextIn(column, "name")),
         .type = std::string(TextIn(column, "type")),
         .format = std::string(TextIn(column, "format")),
         .description = std::string(TextIn(column, "description")),
         .priority = priority == nullptr ? 0 : IntegerOf(*priority).value_or(0),
         .json_path = std::string(TextIn(column, "jsonPath"))});
  }
  for (const DocumentNode& field : Part(node, "selectableFields").items) {
    version.selectable_fields.emplace_back(TextIn(field, "jsonPath"));
  }
  return version;
}

// v10 is (2, 10, 0), v1beta2 (1, 1, 2), v1alpha1 (0, 1, 1); others have no rank.
std::tuple<int, long, long> RankOf(std::string_view name) {
  const std::tuple<int, long, long> none{-1, 0, 0};
  if (!name.starts_with('v')) return none;
  name.remove_prefix(1);
  const auto number = [&]() -> long {
    long value = 0;
    if (name.empty() || name.front() < '1' || name.front() > '9') return -1;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), value);
    if (read.ec != std::errc()) return -1;
    name.remove_prefix(static_cast<std::size_t>(read.ptr - name.data()));
    return value;
  };
  const long major = number();
  if (major < 0) return none;
  if (name.empty()) return {2, major, 0};
  const int stage = name.starts_with("beta") ? 1 : name.starts_with("alpha") ? 0 : -1;
  if (stage < 0) return none;
  name.remove_prefix(stage == 1 ? 4 : 5);
  const long minor = number();
  if (minor < 0 || !name.empty()) return none;
  return {stage, major, minor};
}

}  // namespace

bool IsPreferred(std::string_view a, std::string_view b) {
  const auto x = RankOf(a);
  const auto y = RankOf(b);
  if (x != y) return x > y;
  return a < b;
}

const Version* Definition::FindVersion(std::string_view version) const {
  const auto it = std::ranges::find(versions, version, &Version::name);
  return it == versions.end() ? nullptr : &*it;
}
const Version* Definition::StorageVersion() const {
  const auto it = std::ranges::find(versions, true, &Version::storage);
  return it == versions.end() ? nullptr : &*it;
}
bool Definition::Is(std::string_view condition) const {
  return std::ranges::any_of(conditions, [&](const Condition& each) {
    return each.type == condition && each.status == "True";
  });
}

Definition ReadDefinition(const DocumentNode& object) {
  Definition definition;
  const DocumentNode& metadata = Part(object, "metadata");
  definition.name = TextIn(metadata, "name");
  definition.deleted = !TextIn(metadata, "deletionTimestamp").empty();
  if (const DocumentNode* generation = FindIn(metadata, "generation")) {
    definition.generation = IntegerOf(*generation).value_or(0);
  }
  const DocumentNode& annotations = Part(metadata, "annotations");
  if (const DocumentNode* approval = FindIn(annotations, "api-approved.kubernetes.io")) {
    definition.approval = approval->text;
  }
  const DocumentNode& spec = Part(object, "spec");
  definition.group = TextIn(spec, "group");
  definition.names = NamesIn(Part(spec, "names"));
  definition.scope = TextIn(spec, "scope");
  for (const DocumentNode& version : Part(spec, "versions").items) {
    definition.versions.push_back(VersionIn(version));
  }
  if (FindIn(spec, "preserveUnknownFields") != nullptr) {
    definition.preserve_unknown_fields = FlagIn(spec, "preserveUnknownFields");
  }
  const DocumentNode& conversion = Part(spec, "conversion");
  definition.conversion = TextIn(conversion, "strategy");
  const DocumentNode* webhook = FindIn(conversion, "webhook");
  definition.conversion_webhook = webhook != nullptr && !rest::IsNull(*webhook);
  const DocumentNode& status = Part(object, "status");
  definition.accepted_names = NamesIn(Part(status, "acceptedNames"));
  for (const DocumentNode& each : Part(status, "conditions").items) {
    definition.conditions.push_back(
        {.type = std::string(TextIn(each, "type")),
         .status = std::string(TextIn(each, "status")),
         .reason = std::string(TextIn(each, "reason")),
         .message = std::string(TextIn(each, "message")),
         .last_transition_time = std::string(TextIn(each, "lastTransitionTime"))});
  }
  definition.stored_versions = TextsIn(status, "storedVersions");
  return definition;
}

void SetDefinitionDefaults(DocumentNode& object) {
  DocumentNode* spec = FindIn(object, "spec");
  if (spec == nullptr || !rest::IsMap(*spec)) return;
  if (DocumentNode* names = FindIn(*spec, "names"); names != nullptr && rest::IsMap(*names)) {
    const std::string kind(TextIn(*names, "kind"));
    if (!kind.empty() && TextIn(*names, "singular").empty()) {
      std::string singular = kind;
      std::ranges::transform(singular, singular.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      rest::SetIn(*names, "singular", rest::StringNode(singular));
    }
    if (!kind.empty() && TextIn(*names, "listKind").empty()) {
      rest::SetIn(*names, "listKind", rest::StringNode(fmt::format("{}List", kind)));
    }
  }
  const DocumentNode* conversion = FindIn(*spec, "conversion");
  if (conversion == nullptr || rest::IsNull(*conversion)) {
    DocumentNode none = rest::MapNode();
    rest::SetIn(none, "strategy", rest::StringNode("None"));
    rest::SetIn(*spec, "conversion", std::move(none));
  }
}

}  // namespace dray::crd
