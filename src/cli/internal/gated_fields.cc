// SPDX-License-Identifier: Apache-2.0
//
// The walk over an object's field tables that finds fields of disabled features.
#include <string>

#include "api/field_table.h"
#include "api/gates.h"
#include "cli/internal/object_checks.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

class Walker {
 public:
  explicit Walker(const ValidateOptions& options)
      : gates_(options.gates), kubernetes_only_(options.kubernetes_only) {}

  void Value(const api::TypeInfo& type, const void* value, const base::FieldPath& path) {
    switch (type.shape) {
      case api::Shape::kStruct:
        Struct(type.fields(), value, path);
        return;
      case api::Shape::kOptional:
        if (const void* content = type.get(value)) Value(*type.element, content, path);
        return;
      case api::Shape::kList:
        for (std::size_t i = 0; i < type.size(value); ++i) {
          Value(*type.element, type.at(value, i), path.Index(i));
        }
        return;
      case api::Shape::kMap:
        for (std::size_t i = 0; i < type.size(value); ++i) {
          Value(*type.element, type.at(value, i), path.Key(type.key_at(value, i)));
        }
        return;
      default:
        return;
    }
  }

  std::vector<api::Diagnostic> Take() { return std::move(found_); }

 private:
  void Struct(const api::StructInfo& info, const void* object, const base::FieldPath& path) {
    for (const api::FieldInfo& field : info.fields) {
      const void* value = field.Get(object);
      if (value == nullptr || api::IsEmptyValue(*field.type, value)) continue;
      if (field.options.gate && !gates_.Enabled(*field.options.gate)) {
        // These are not dropped but rejected, which validation says (docs/decisions.md).
        const bool rejected = *field.options.gate == api::Gate::kDRADerivedAttributes;
        if (rejected && !kubernetes_only_) continue;
        Report(path.Child(field.name), api::InfoOf(*field.options.gate).name);
      } else {
        Value(*field.type, value, path.Child(field.name));
      }
    }
  }

  void Report(const base::FieldPath& path, std::string_view gate) {
    found_.push_back(
        {.severity = api::Severity::kWarning,
         .reason = "FeatureGateOff",
         .path = path,
         .message = fmt::format("the server drops this field: feature gate {} is off", gate),
         .hint = fmt::format("--feature-gates={}=true checks it as if it were on", gate),
         .position = {}});
  }

  const api::FeatureGates& gates_;
  const bool kubernetes_only_;
  std::vector<api::Diagnostic> found_;
};

}  // namespace

std::vector<api::Diagnostic> CheckGatedFields(const api::Object& object,
                                              const ValidateOptions& options) {
  Walker walker(options);
  walker.Value(*object.kind().type, object.data(), base::FieldPath());
  return walker.Take();
}

}  // namespace dray::cli::internal
