// SPDX-License-Identifier: Apache-2.0
#include "rest/custom_object.h"

#include <utility>

#include "api/custom_kind.h"
#include "fmt/format.h"
#include "rest/api_error.h"

namespace dray::rest {

DocumentNode TreeOfObject(const api::Object& object, const api::KindInfo& version) {
  std::vector<api::Diagnostic> diagnostics;
  return api::ParseJson(object.ToJson(version), diagnostics);
}

StatusOr<api::Object> CustomFromTree(const DocumentNode& tree, const api::KindInfo& version,
                                     std::vector<std::string>* unknown) {
  api::Object object = api::Object::New(version);
  if (const DocumentNode* metadata = FindIn(tree, "metadata")) {
    std::vector<api::Diagnostic> diagnostics;
    api::DecodeNode(*metadata, api::TypeInfoOf<api::ObjectMeta>(), &object.MutableMetadata(),
                    api::Severity::kWarning, diagnostics);
    bool extra = false;
    for (const api::Diagnostic& diagnostic : diagnostics) {
      if (diagnostic.severity == api::Severity::kError) {
        return BadRequest(fmt::format("{} in version \"{}\" cannot be handled as a {}: metadata.{}",
                                      version.kind, version.version, version.kind,
                                      ToString(diagnostic)));
      }
      if (diagnostic.reason != "UnknownField") continue;
      extra = true;
      if (unknown != nullptr) {
        unknown->push_back(fmt::format("metadata.{}", diagnostic.path.ToString()));
      }
    }
    if (extra) object.MutableMetadata().unknown = {};
  }
  SetContent(object, tree);
  return object;
}

void SetContent(api::Object& object, const DocumentNode& tree) {
  std::vector<api::UnknownField> fields;
  for (const api::Member& member : tree.members) {
    if (member.key == "apiVersion" || member.key == "kind" || member.key == "metadata") continue;
    fields.push_back({member.key, ToJson(member.value)});
  }
  api::CustomObject& custom = *api::MutableCustom(object);
  if (fields.empty()) {
    custom.unknown = {};
  } else {
    custom.unknown.emplace() = std::move(fields);
  }
}

}  // namespace dray::rest
