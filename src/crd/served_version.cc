// SPDX-License-Identifier: Apache-2.0
#include "crd/served_version.h"

#include <utility>

#include "fmt/format.h"

namespace dray::crd {
namespace {

std::vector<std::string> FieldsOf(const std::string& path) {
  const auto parsed = JsonPath::Parse(path);
  const auto fields = parsed ? parsed->Fields() : std::nullopt;
  return fields.value_or(std::vector<std::string>());
}

Schema SchemaOf(const Version& version) {
  return version.schema ? ReadSchemaFrom(*version.schema).schema : Schema();
}

}  // namespace

ServedVersion::ServedVersion(const Definition& definition, const Version& version)
    : name_(version.name),
      has_status_(version.status),
      schema_(SchemaOf(version)),
      validator_(schema_),
      rules_(Rules::Of(schema_, true)),
      types_(schema_) {
  if (version.deprecated) {
    deprecation_ = version.deprecation_warning.value_or(fmt::format(
        "{}/{} {} is deprecated", definition.group, version.name, definition.names.kind));
  }
  if (version.scale) {
    Replicas replicas{.spec = FieldsOf(version.scale->spec_replicas_path),
                      .status = FieldsOf(version.scale->status_replicas_path),
                      .selector = FieldsOf(version.scale->label_selector_path)};
    if (!replicas.spec.empty() && !replicas.status.empty()) scale_ = std::move(replicas);
  }
  for (const Column& column : version.columns) {
    columns_.push_back({column, JsonPath::Parse(column.json_path)});
  }
  for (const std::string& field : version.selectable_fields) {
    auto path = JsonPath::Parse(field);
    if (path)
      selectable_.push_back({field.substr(field.starts_with('.') ? 1 : 0), *std::move(path)});
  }
}

std::vector<std::string> ServedVersion::Admit(DocumentNode& object) const {
  std::vector<std::string> pruned;
  Prune(schema_, Whole::kYes, object, &pruned);
  SetDefaults(schema_, object);
  return pruned;
}

api::ErrorList ServedVersion::Check(const DocumentNode& object, const DocumentNode* old) const {
  api::ErrorList errors = validator_.Check(object, {}, old);
  api::Append(errors, CheckEmbedded(schema_, object, true));
  api::ErrorList lists = CheckLists(schema_, object);
  // Lists that had something twice may keep it.
  if (!lists.empty() && (old == nullptr || CheckLists(schema_, *old).empty())) {
    api::Append(errors, std::move(lists));
  }
  // Rules count on values of the right type.
  if (errors.empty() && rules_ != nullptr) api::Append(errors, rules_->Check(object, old));
  return errors;
}

}  // namespace dray::crd
