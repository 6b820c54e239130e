// SPDX-License-Identifier: Apache-2.0
//
// Structural schemas: what has which type is said outside of allOf, anyOf, oneOf and not, once.
#include <algorithm>
#include <utility>
#include <vector>

#include "crd/schema_validation.h"
#include "crd/validator.h"
#include "fmt/format.h"

namespace dray::crd {
namespace {

using api::ErrorList;

enum class Level { kRoot, kItem, kField };

// anyOf: [{type: integer}, {type: string}], and nothing else in them.
bool IsIntOrStringChoice(const std::vector<Schema>& any_of) {
  const auto only = [](const Schema& schema, std::string_view type) {
    return schema.type == type && schema.format.empty() && schema.title.empty() &&
           schema.description.empty() && !schema.default_value && !schema.nullable &&
           !schema.maximum && !schema.minimum && !schema.multiple_of && !schema.max_length &&
           !schema.min_length && schema.pattern.empty() && !schema.max_items && !schema.min_items &&
           !schema.max_properties && !schema.min_properties && schema.required.empty() &&
           schema.one_of_values.empty() && schema.items == nullptr && schema.properties.empty() &&
           !schema.has_additional && schema.all_of.empty() && schema.any_of.empty() &&
           schema.one_of.empty() && schema.not_ == nullptr && schema.rules.empty();
  };
  return any_of.size() == 2 && only(any_of[0], "integer") && only(any_of[1], "string");
}

class Invariants {
 public:
  explicit Invariants(ErrorList& errors) : errors_(errors) {}

  void Check(const Schema& schema, Level level, const FieldPath& at) {
    if (schema.type == "array" && schema.items == nullptr && !schema.items_are_many) {
      Add(api::Required(at / "items", "must be specified"));
    }
    if (schema.items != nullptr) Check(*schema.items, Level::kItem, at / "items");
    for (const Property& property : schema.properties) {
      Check(*property.schema, Level::kField, (at / "properties").Key(property.name));
    }
    if (schema.has_additional) {
      if (level == Level::kRoot) {
        Add(api::Forbidden(at / "additionalProperties", "must not be used at the root"));
      }
      if (schema.additional != nullptr) {
        Check(*schema.additional, Level::kField, at / "additionalProperties");
      }
    }
    CheckExtensions(schema, at);
    const bool choice = IsIntOrStringChoice(schema.any_of);
    const bool first = !schema.all_of.empty() && IsIntOrStringChoice(schema.all_of[0].any_of);
    CheckValues(schema, choice, first, at);
    CheckType(schema, level, at);
    CheckMeta(schema, level, at);
  }

 private:
  void Add(api::FieldError error) { errors_.push_back(std::move(error)); }

  void CheckExtensions(const Schema& schema, const FieldPath& at) {
    if (schema.int_or_string && schema.Preserves()) {
      Add(api::InvalidValue(at / "x-kubernetes-preserve-unknown-fields", "true",
                            "must be false if x-kubernetes-int-or-string is true"));
    }
    if (schema.int_or_string && schema.embedded_resource) {
      Add(api::InvalidValue(at / "x-kubernetes-embedded-resource", "true",
                            "must be false if x-kubernetes-int-or-string is true"));
    }
  }

  void CheckType(const Schema& schema, Level level, const FieldPath& at) {
    if (schema.embedded_resource && schema.type != "object") {
      constexpr std::string_view kWhy = "must be object if x-kubernetes-embedded-resource is true";
      Add(schema.type.empty() ? api::Required(at / "type", kWhy)
                              : api::Invalid(at / "type", schema.type, kWhy));
    } else if (schema.type.empty() && !schema.int_or_string && !schema.Preserves()) {
      Add(api::Required(at / "type", level == Level::kRoot   ? "must not be empty at the root"
                                     : level == Level::kItem ? "must not be empty for specified "
                                                               "array items"
                                                             : "must not be empty for specified "
                                                               "object fields"));
    }
    if (schema.embedded_resource && schema.has_additional) {
      Add(api::Forbidden(at / "additionalProperties",
                         "must not be used if x-kubernetes-embedded-resource is set"));
    }
    if (level == Level::kRoot && !schema.type.empty() && schema.type != "object") {
      Add(api::Invalid(at / "type", schema.type, "must be object at the root"));
    }
  }

  void CheckMeta(const Schema& schema, Level level, const FieldPath& at) {
    const bool checked = level == Level::kRoot || schema.embedded_resource;
    for (const std::string_view name : {"kind", "apiVersion"}) {
      const Schema* property = schema.FindProperty(name);
      if (property == nullptr || !checked || property->type == "string") continue;
      Add(api::Invalid((at / "properties").Key(name) / "type", property->type, "must be string"));
    }
    if (const Schema* metadata = schema.FindProperty("metadata")) {
      const FieldPath here = (at / "properties").Key("metadata");
      if (checked && metadata->type != "object") {
        Add(api::Invalid(here / "type", metadata->type, "must be object"));
      }
      if (level == Level::kRoot && !IsPlainMetadata(*metadata)) {
        Add(api::Forbidden(here,
                           "must not specify anything other than name and generateName, but "
                           "metadata is implicitly specified"));
      }
    }
    if (schema.embedded_resource && !schema.Preserves() && schema.properties.empty()) {
      Add(api::Required(at / "properties",
                        "must not be empty if x-kubernetes-embedded-resource is true without "
                        "x-kubernetes-preserve-unknown-fields"));
    }
  }

  // Only a type, and properties that are names.
  static bool IsPlainMetadata(const Schema& schema) {
    const bool names = std::ranges::all_of(schema.properties, [](const Property& property) {
      return property.name == "name" || property.name == "generateName";
    });
    return names && schema.description.empty() && schema.title.empty() && !schema.nullable &&
           schema.items == nullptr && !schema.has_additional && schema.required.empty() &&
           schema.all_of.empty() && schema.any_of.empty() && schema.one_of.empty() &&
           schema.not_ == nullptr && schema.rules.empty() && !schema.max_properties &&
           !schema.min_properties && schema.one_of_values.empty() && schema.format.empty() &&
           schema.pattern.empty() && !schema.preserve_unknown && !schema.embedded_resource &&
           !schema.int_or_string && !schema.list_type && !schema.map_type &&
           schema.list_map_keys.empty();
  }

  void CheckValues(const Schema& schema, bool skip_any_of, bool skip_first, const FieldPath& at) {
    if (!skip_any_of) {
      for (std::size_t i = 0; i < schema.any_of.size(); ++i) {
        CheckNested(schema.any_of[i], false, (at / "anyOf").Index(i));
      }
    }
    for (std::size_t i = 0; i < schema.all_of.size(); ++i) {
      CheckNested(schema.all_of[i], skip_first && i == 0, (at / "allOf").Index(i));
    }
    for (std::size_t i = 0; i < schema.one_of.size(); ++i) {
      CheckNested(schema.one_of[i], false, (at / "oneOf").Index(i));
    }
    if (schema.not_ != nullptr) CheckNested(*schema.not_, false, at / "not");
    if (!schema.pattern.empty()) {
      const std::string fault = PatternFault(schema.pattern);
      if (!fault.empty()) {
        Add(api::Invalid(at / "pattern", schema.pattern,
                         fmt::format("must be a valid regular expression, but isn't: {}", fault)));
      }
    }
  }

  void CheckNested(const Schema& schema, bool skip_any_of, const FieldPath& at) {
    CheckValues(schema, skip_any_of, false, at);
    if (schema.items != nullptr) CheckNested(*schema.items, false, at / "items");
    for (const Property& property : schema.properties) {
      CheckNested(*property.schema, false, (at / "properties").Key(property.name));
    }
    const auto forbid = [&](bool is, std::string_view what, std::string_view why) {
      if (is) Add(api::Forbidden(at / what, why));
    };
    forbid(!schema.type.empty(), "type", "must be empty to be structural");
    forbid(schema.additional != nullptr || (schema.has_additional && schema.allows_additional),
           "additionalProperties", "must be undefined to be structural");
    forbid(schema.default_value.has_value(), "default", "must be undefined to be structural");
    forbid(!schema.title.empty(), "title", "must be empty to be structural");
    forbid(!schema.description.empty(), "description", "must be empty to be structural");
    forbid(schema.nullable, "nullable", "must be false to be structural");
    forbid(schema.Preserves(), "x-kubernetes-preserve-unknown-fields",
           "must be false to be structural");
    forbid(schema.embedded_resource, "x-kubernetes-embedded-resource",
           "must be false to be structural");
    forbid(schema.int_or_string, "x-kubernetes-int-or-string", "must be false to be structural");
    forbid(!schema.list_map_keys.empty(), "x-kubernetes-list-map-keys",
           "must be empty to be structural");
    forbid(schema.list_type.has_value(), "x-kubernetes-list-type",
           "must be undefined to be structural");
    forbid(schema.map_type.has_value(), "x-kubernetes-map-type",
           "must be undefined to be structural");
    forbid(!schema.rules.empty(), "x-kubernetes-validations", "must be empty to be structural");
    if (schema.FindProperty("metadata") != nullptr) {
      Add(api::Forbidden((at / "properties").Key("metadata"),
                         "must not be specified in a nested context"));
    }
  }

  ErrorList& errors_;
};

// Whatever is said of a value inside of allOf and its like is also said outside: there its type is.
class Completeness {
 public:
  explicit Completeness(ErrorList& errors) : errors_(errors) {}

  void Check(const Schema& values, const Schema& schema, const FieldPath& at,
             const FieldPath& said) {
    if (values.not_ != nullptr) Nested(values.not_.get(), &schema, at, said / "not");
    const auto each = [&](const std::vector<Schema>& many, std::string_view name) {
      for (std::size_t i = 0; i < many.size(); ++i) {
        Nested(&many[i], &schema, at, (said / name).Index(i));
      }
    };
    each(values.all_of, "allOf");
    each(values.any_of, "anyOf");
    each(values.one_of, "oneOf");
  }

 private:
  void Missing(const FieldPath& at, const FieldPath& said) {
    errors_.push_back(
        api::Required(at, fmt::format("because it is defined in {}", said.ToString())));
  }

  void Nested(const Schema* values, const Schema* schema, const FieldPath& at,
              const FieldPath& said) {
    if (values == nullptr) return;
    if (schema == nullptr) return Missing(at, said);
    Check(*values, *schema, at, said);
    Nested(values->items.get(), schema->items.get(), at / "items", said / "items");
    for (const Property& property : values->properties) {
      const FieldPath there = (said / "properties").Key(property.name);
      const FieldPath here = (at / "properties").Key(property.name);
      const Schema* found = schema->FindProperty(property.name);
      if (found == nullptr) {
        Missing(here, there);
      } else {
        Nested(property.schema.get(), found, here, there);
      }
    }
  }

  ErrorList& errors_;
};

}  // namespace

ErrorList CheckStructural(const Schema& schema, const FieldPath& at) {
  ErrorList errors;
  Invariants(errors).Check(schema, Level::kRoot, at);
  Completeness(errors).Check(schema, schema, at, at);
  std::ranges::stable_sort(errors, {}, [](const api::FieldError& e) { return e.Message(); });
  return errors;
}

}  // namespace dray::crd
