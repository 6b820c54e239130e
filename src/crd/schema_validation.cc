// SPDX-License-Identifier: Apache-2.0
#include "crd/schema_validation.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "crd/field_paths.h"
#include "crd/internal/shown.h"
#include "crd/rules.h"
#include "crd/validator.h"
#include "crd/values.h"
#include "fmt/format.h"

namespace dray::crd {
namespace {

using api::ErrorList;

constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

std::uint64_t Product(std::uint64_t a, std::uint64_t b) {
  if (a == 0) return 0;
  return kLargest / a < b ? kLargest : a * b;
}

std::string CostText(std::string_view what, std::uint64_t cost, std::uint64_t limit) {
  const double factor = static_cast<double>(cost) / static_cast<double>(limit);
  const std::string times = factor > 100   ? std::string("more than 100x")
                            : factor < 1.5 ? fmt::format("{:f}x", factor)
                                           : fmt::format("{:.1f}x", factor);
  return fmt::format(
      "{} exceeds budget by factor of {} (try simplifying the rule, or adding maxItems, "
      "maxProperties, and maxLength where arrays, maps, and strings are declared)",
      what, times);
}

std::string_view TrimLeft(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n\v\f");
  return begin == text.npos ? std::string_view() : text.substr(begin);
}
std::string_view Trimmed(std::string_view text) {
  text = TrimLeft(text);
  const std::size_t end = text.find_last_not_of(" \t\r\n\v\f");
  return end == text.npos ? std::string_view() : text.substr(0, end + 1);
}

// What all rules cost together, and which of them most.
struct TotalCost {
  struct One {
    FieldPath path;
    std::uint64_t cost = 0;
  };
  std::uint64_t total = 0;
  std::vector<One> most;

  void Add(const FieldPath& path, std::uint64_t cost) {
    total = kLargest - total < cost ? kLargest : total + cost;
    if (cost < kSchemaCostLimit / 100) return;
    most.push_back({path, cost});
    std::ranges::stable_sort(most, std::ranges::greater(), &One::cost);
    if (most.size() > 4) most.pop_back();
  }
};

// Where in a schema one is.
struct Place {
  bool defaults = true;  // are allowed; if not, why:
  std::string no_defaults = {};
  bool inside_meta = false;
  // The place above whose parts cannot be told apart from one version of an object to the next.
  std::optional<FieldPath> uncorrelated = {};
  // What rules see; null: nothing, or rules are not looked at here.
  RuleTypePtr type = nullptr;
  // How often the value can be there; none: nothing bounds it.
  std::optional<std::uint64_t> cardinality = 1;
};

class SchemaChecker {
 public:
  SchemaChecker(const SchemaContext& context, ErrorList& schema_errors, ErrorList& rule_errors,
                TotalCost& cost)
      : context_(context), errors_(schema_errors), rule_errors_(rule_errors), cost_(cost) {}

  void Check(const Schema& schema, const FieldPath& at, const Place& place, bool root) {
    const std::size_t before = errors_.size();
    Words(schema, at, place);
    Maps(schema, at, place);
    Parts(schema, at, place, root);
    Alternatives(schema, at, place);
    Extensions(schema, at);
    Lists(schema, at);
    if (schema.rules.empty()) return;
    RuleWords(schema, at);
    // Of a schema that is wrong no type can be made that would help anybody.
    if (errors_.size() == before && place.type != nullptr) RuleTexts(schema, at, place);
  }

 private:
  void Add(api::FieldError error) { errors_.push_back(std::move(error)); }

  void Words(const Schema& schema, const FieldPath& at, const Place& place) {
    constexpr std::string_view kTypes[] = {"array",  "boolean", "integer",
                                           "number", "object",  "string"};
    if (!schema.type.empty() && std::ranges::find(kTypes, schema.type) == std::end(kTypes)) {
      Add(api::NotSupported(at / "type", schema.type, kTypes));
    }
    if (schema.default_value && !place.defaults) {
      Add(api::Forbidden(at / "default",
                         place.no_defaults.empty()
                             ? "must not be set"
                             : fmt::format("must not be set {}", place.no_defaults)));
    }
    for (const std::string& word : schema.unsupported) {
      Add(api::Forbidden(at / word, fmt::format("{} is not supported", word)));
    }
    if (schema.type == "null") {
      Add(api::Forbidden(at / "type",
                         "type cannot be set to null, use nullable as an alternative"));
    }
    if (schema.items_are_many) {
      Add(api::Forbidden(at / "items", "items must be a schema object and not an array"));
    }
    if (place.inside_meta && schema.embedded_resource) {
      Add(api::Forbidden(at / "x-kubernetes-embedded-resource",
                         "must not be used inside of resource meta"));
    }
    if (schema.unique_items) {
      Add(api::Forbidden(at / "uniqueItems",
                         "uniqueItems cannot be set to true since the runtime complexity becomes "
                         "quadratic"));
    }
  }

  std::optional<std::uint64_t> Below(const Schema& schema, const Place& place) const {
    if (!place.cardinality) return std::nullopt;
    const auto times =
        [&](const std::optional<std::int64_t>& most) -> std::optional<std::uint64_t> {
      if (!most) return std::nullopt;
      return Product(*place.cardinality,
                     static_cast<std::uint64_t>(std::max<std::int64_t>(*most, 0)));
    };
    if (schema.type == "array") return times(schema.max_items);
    if (schema.type == "object" && schema.has_additional) return times(schema.max_properties);
    return place.cardinality;
  }

  void Maps(const Schema& schema, const FieldPath& at, const Place& place) {
    if (!schema.has_additional) return;
    if (!schema.properties.empty() && (!schema.allows_additional || schema.additional != nullptr)) {
      Add(api::Forbidden(at / "additionalProperties",
                         "additionalProperties and properties are mutual exclusive"));
    }
    if (schema.additional == nullptr) return;
    Place below = place;
    if (place.inside_meta) {
      below.defaults = false;
      below.no_defaults = "inside additionalProperties applying to object metadata";
    }
    const bool map = place.type != nullptr && place.type->kind == RuleType::Kind::kMap;
    below.type = map ? place.type->element : nullptr;
    below.cardinality = Below(schema, place);
    Check(*schema.additional, at / "additionalProperties", below, false);
  }

  void Parts(const Schema& schema, const FieldPath& at, const Place& place, bool root) {
    const bool correlated =
        !schema.map_type || *schema.map_type == "granular" || *schema.map_type == "atomic";
    for (const Property& property : schema.properties) {
      Place below = place;
      if (!correlated && !below.uncorrelated) below.uncorrelated = at;
      const bool meta =
          property.name == "metadata" || property.name == "kind" || property.name == "apiVersion";
      if (meta && (root || schema.embedded_resource)) {
        below.inside_meta = true;
        if (root) {
          below.defaults = false;
          below.no_defaults = fmt::format("in top-level {}", property.name);
        }
      }
      below.type = nullptr;
      if (place.type != nullptr && place.type->kind == RuleType::Kind::kObject) {
        const auto name = Escaped(property.name);
        const RuleType::Field* field = name ? place.type->FindField(*name) : nullptr;
        if (field != nullptr) below.type = field->type;
        if (!name) {
          below.type = RuleTypeOf(*property.schema, property.schema->embedded_resource);
        }
      }
      below.cardinality = Below(schema, place);
      Check(*property.schema, (at / "properties").Key(property.name), below, false);
    }
    if (schema.items != nullptr) {
      Place below = place;
      if (schema.list_type != "map" && !below.uncorrelated) below.uncorrelated = at;
      below.type = place.type == nullptr ? nullptr : place.type->element;
      below.cardinality = Below(schema, place);
      Check(*schema.items, at / "items", below, false);
    }
  }

  void Alternatives(const Schema& schema, const FieldPath& at, const Place& place) {
    Place below = place;
    below.type = nullptr;
    if (schema.not_ != nullptr) Check(*schema.not_, at / "not", below, false);
    const auto each = [&](const std::vector<Schema>& many, std::string_view name) {
      for (std::size_t i = 0; i < many.size(); ++i) {
        Check(many[i], (at / name).Index(i), below, false);
      }
    };
    each(schema.all_of, "allOf");
    each(schema.one_of, "oneOf");
    each(schema.any_of, "anyOf");
  }

  void Extensions(const Schema& schema, const FieldPath& at) {
    if (schema.preserve_unknown && !*schema.preserve_unknown) {
      Add(api::InvalidValue(at / "x-kubernetes-preserve-unknown-fields", "false",
                            "must be true or undefined"));
    }
    const auto typed = [&](std::string_view type, std::string_view because) {
      if (schema.type == type) return;
      const std::string why = fmt::format("must be {} if {} is specified", type, because);
      Add(schema.type.empty() ? api::Required(at / "type", why)
                              : api::Invalid(at / "type", schema.type, why));
    };
    if (schema.map_type) typed("object", "x-kubernetes-map-type");
    constexpr std::string_view kMapTypes[] = {"atomic", "granular"};
    if (schema.map_type && std::ranges::find(kMapTypes, *schema.map_type) == std::end(kMapTypes)) {
      Add(api::NotSupported(at / "x-kubernetes-map-type", *schema.map_type, kMapTypes));
    }
    if (schema.list_type) typed("array", "x-kubernetes-list-type");
    if (schema.list_type == "set" && schema.type == "array" && schema.items != nullptr) {
      constexpr std::string_view kWhy =
          "must be atomic as item of a list with x-kubernetes-list-type=set";
      const Schema& items = *schema.items;
      if (items.type == "array" && items.list_type && *items.list_type != "atomic") {
        Add(api::Invalid(at / "items" / "x-kubernetes-list-type", *items.list_type, kWhy));
      }
      if (items.type == "object" && items.map_type != "atomic") {
        Add(api::InvalidValue(at / "items" / "x-kubernetes-map-type",
                              items.map_type ? internal::Quoted(*items.map_type) : "null", kWhy));
      }
    }
    constexpr std::string_view kListTypes[] = {"atomic", "set", "map"};
    if (schema.list_type &&
        std::ranges::find(kListTypes, *schema.list_type) == std::end(kListTypes)) {
      Add(api::NotSupported(at / "x-kubernetes-list-type", *schema.list_type, kListTypes));
    }
  }

  static std::string KeysShown(const Schema& schema) {
    std::string out = "[";
    for (const std::string& key : schema.list_map_keys) {
      if (out.size() > 1) out += ',';
      out += internal::Quoted(key);
    }
    return out + "]";
  }

  void Lists(const Schema& schema, const FieldPath& at) {
    const FieldPath keys = at / "x-kubernetes-list-map-keys";
    if (!schema.list_map_keys.empty() && schema.list_type != "map") {
      constexpr std::string_view kWhy = "must be map if x-kubernetes-list-map-keys is non-empty";
      const FieldPath type = at / "x-kubernetes-list-type";
      Add(schema.list_type ? api::Invalid(type, *schema.list_type, kWhy)
                           : api::Required(type, kWhy));
    }
    if (schema.list_type == "map") {
      if (schema.list_map_keys.empty()) {
        Add(api::Required(keys, "must not be empty if x-kubernetes-list-type is map"));
      }
      if (schema.items == nullptr) {
        Add(api::Required(at / "items", "must have a schema if x-kubernetes-list-type is map"));
      } else if (schema.items->type != "object") {
        Add(api::Invalid(at / "items" / "type", schema.items->type,
                         "must be object if parent array's x-kubernetes-list-type is map"));
      } else {
        Keys(schema, at, keys);
      }
    }
    if (schema.items != nullptr && (schema.list_type == "map" || schema.list_type == "set")) {
      NotNullable(schema, at);
    }
  }

  void Keys(const Schema& schema, const FieldPath& at, const FieldPath& keys) {
    std::vector<std::string> seen;
    for (const std::string& key : schema.list_map_keys) {
      const Schema* property = schema.items->FindProperty(key);
      if (property == nullptr) {
        Add(api::InvalidValue(keys, KeysShown(schema),
                              "entries must all be names of item properties"));
      } else if (property->type == "array" || property->type == "object") {
        Add(api::Invalid((at / "items" / "properties").Key(key) / "type", schema.items->type,
                         "must be a scalar type if parent array's x-kubernetes-list-type is map"));
      }
      if (std::ranges::find(seen, key) != seen.end()) {
        Add(api::InvalidValue(keys, KeysShown(schema), "must not contain duplicate entries"));
      }
      seen.push_back(key);
    }
  }

  void NotNullable(const Schema& schema, const FieldPath& at) {
    const Schema& items = *schema.items;
    if (items.nullable) {
      Add(api::Forbidden(
          at / "items" / "nullable",
          fmt::format("cannot be nullable when x-kubernetes-list-type is {}", *schema.list_type)));
    }
    if (schema.list_type != "map") return;
    for (const std::string& key : schema.list_map_keys) {
      const Schema* property = items.FindProperty(key);
      if (property == nullptr) continue;
      const FieldPath here = (at / "items" / "properties").Key(key);
      const bool required = std::ranges::find(items.required, key) != items.required.end();
      if (!required && !property->default_value) {
        Add(api::Required(here / "default",
                          "this property is in x-kubernetes-list-map-keys, so it must have a "
                          "default or be a required property"));
      }
      if (property->nullable) {
        Add(api::Forbidden(here / "nullable",
                           "this property is in x-kubernetes-list-map-keys, so it cannot be "
                           "nullable"));
      }
    }
  }

  void RuleWords(const Schema& schema, const FieldPath& at) {
    constexpr std::string_view kReasons[] = {"FieldValueDuplicate", "FieldValueForbidden",
                                             "FieldValueInvalid", "FieldValueRequired"};
    const auto lines = [](std::string_view text) {
      return text.find_first_of("\r\n") != text.npos;
    };
    for (std::size_t i = 0; i < schema.rules.size(); ++i) {
      const Rule& rule = schema.rules[i];
      const FieldPath here = (at / "x-kubernetes-validations").Index(i);
      const std::string_view message = Trimmed(rule.message);
      if (Trimmed(rule.rule).empty()) {
        Add(api::Required(here / "rule", "rule is not specified"));
      } else if (!rule.message.empty() && message.empty()) {
        Add(api::Invalid(here / "message", rule.message, "must be non-empty if specified"));
      } else if (lines(message)) {
        Add(api::Invalid(here / "message", rule.message, "must not contain line breaks"));
      } else if (lines(Trimmed(rule.rule)) && message.empty()) {
        Add(api::Required(here / "message",
                          "message must be specified if rule contains line breaks"));
      }
      if (!rule.message_expression.empty() && Trimmed(rule.message_expression).empty()) {
        Add(api::Required(here / "messageExpression",
                          "messageExpression must be non-empty if specified"));
      }
      if (!rule.reason.empty() && std::ranges::find(kReasons, rule.reason) == std::end(kReasons)) {
        Add(api::NotSupported(here / "reason", rule.reason, kReasons));
      }
      if (rule.field_path.empty()) continue;
      const FieldPath path = here / "fieldPath";
      if (Trimmed(rule.field_path).empty()) {
        Add(api::Invalid(path, rule.field_path, "must be non-empty if specified"));
      }
      if (lines(rule.field_path)) {
        Add(api::Invalid(path, rule.field_path, "must not contain line breaks"));
      }
      if (!FindField(rule.field_path, schema).error.empty()) {
        Add(api::Invalid(path, rule.field_path, "must be a valid path"));
      }
    }
  }

  static std::string RuleShown(const Rule& rule) {
    DocumentNode node = rest::MapNode();
    const auto set = [&](std::string_view name, const std::string& text) {
      if (!text.empty()) rest::SetIn(node, name, rest::StringNode(text));
    };
    rest::SetIn(node, "rule", rest::StringNode(rule.rule));
    set("message", rule.message);
    set("messageExpression", rule.message_expression);
    set("reason", rule.reason);
    set("fieldPath", rule.field_path);
    if (rule.optional_old_self) {
      rest::SetIn(node, "optionalOldSelf", rest::BoolNode(*rule.optional_old_self));
    }
    return ToJson(node);
  }

  void RuleTexts(const Schema& schema, const FieldPath& at, const Place& place) {
    const std::vector<CompiledRule> compiled = CompileRules(schema, place.type);
    const auto add = [&](api::FieldError error) { rule_errors_.push_back(std::move(error)); };
    const std::uint64_t often = place.cardinality.value_or(MaxCardinality(*place.type));
    for (std::size_t i = 0; i < compiled.size(); ++i) {
      const Rule& rule = schema.rules[i];
      const CompiledRule& one = compiled[i];
      const FieldPath here = (at / "x-kubernetes-validations").Index(i);
      const std::uint64_t cost = Product(one.max_cost, often);
      if (!context_.unchanged && cost > kRuleCostLimit) {
        add(api::Forbidden(here / "rule", CostText("estimated rule cost", cost, kRuleCostLimit)));
      }
      cost_.Add(here / "rule", cost);
      if (!one.error.empty()) {
        add(api::InvalidValue(here / "rule", RuleShown(rule), one.error));
      }
      if (!one.message_error.empty()) {
        add(api::InvalidValue(here / "messageExpression", RuleShown(rule), one.message_error));
      } else if (one.message != nullptr) {
        if (!context_.unchanged && one.message_max_cost > kRuleCostLimit) {
          add(api::Forbidden(
              here / "messageExpression",
              CostText("estimated messageExpression cost", one.message_max_cost, kRuleCostLimit)));
        }
        cost_.Add(here / "messageExpression", one.message_max_cost);
      }
      if (one.uses_old_self && place.uncorrelated) {
        add(api::Invalid(here / "rule", rule.rule,
                         fmt::format("oldSelf cannot be used on the uncorrelatable portion of the "
                                     "schema within {}",
                                     place.uncorrelated->ToString())));
      } else if (!one.uses_old_self && rule.optional_old_self && one.error.empty()) {
        add(api::InvalidValue(here / "optionalOldSelf", *rule.optional_old_self ? "true" : "false",
                              "may not be set if oldSelf is not used in rule"));
      }
    }
  }

  const SchemaContext& context_;
  ErrorList& errors_;
  ErrorList& rule_errors_;
  TotalCost& cost_;
};

std::size_t CountRules(const Schema& schema) {
  std::size_t n = schema.rules.size();
  if (schema.items != nullptr) n += CountRules(*schema.items);
  if (schema.additional != nullptr) n += CountRules(*schema.additional);
  for (const Property& property : schema.properties) n += CountRules(*property.schema);
  return n;
}

// Defaults are valid values themselves, and have nothing that would be pruned.
void CheckDefaults(const Schema& schema, const FieldPath& at, bool root, bool inside_meta,
                   ErrorList& errors) {
  if (schema.embedded_resource || root) inside_meta = false;
  if (schema.default_value && !inside_meta) {
    const FieldPath here = at / "default";
    DocumentNode pruned = *schema.default_value;
    Prune(schema, Whole::kNo, pruned);
    if (!rest::JsonEqual(pruned, *schema.default_value)) {
      errors.push_back(api::InvalidValue(here, internal::Shown(*schema.default_value),
                                         "must not have unknown fields"));
    }
    ErrorList faults = CheckEmbedded(schema, *schema.default_value, false, here);
    if (faults.empty()) faults = Validator(schema).Check(*schema.default_value, here);
    if (faults.empty()) {
      if (const auto rules = Rules::Of(schema, root)) {
        faults = rules->Check(*schema.default_value, nullptr, here);
      }
    }
    api::Append(errors, std::move(faults));
  }
  if (schema.items != nullptr) {
    CheckDefaults(*schema.items, at / "items", false, inside_meta, errors);
  }
  for (const Property& property : schema.properties) {
    const bool meta =
        property.name == "metadata" || property.name == "kind" || property.name == "apiVersion";
    CheckDefaults(*property.schema, (at / "properties").Key(property.name), false,
                  inside_meta || (meta && (root || schema.embedded_resource)), errors);
  }
}

// With a status that is written by itself only some words may be said of the whole.
void CheckRootWords(const Schema& schema, const FieldPath& at, ErrorList& errors) {
  if (!schema.type.empty() && schema.type != "object") {
    errors.push_back(api::Invalid(at / "type", schema.type,
                                  "only \"object\" is allowed as the type at the root of the "
                                  "schema if the status subresource is enabled"));
    return;
  }
  const bool others =
      schema.default_value || schema.nullable || schema.max_properties || schema.min_properties ||
      !schema.one_of_values.empty() || schema.has_additional || !schema.all_of.empty() ||
      !schema.any_of.empty() || !schema.one_of.empty() || schema.not_ != nullptr ||
      !schema.unsupported.empty() || schema.embedded_resource || schema.int_or_string ||
      !schema.list_map_keys.empty() || schema.list_type || schema.map_type;
  if (!others) return;
  errors.push_back(api::InvalidValue(
      at, "",
      "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum "
      "MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items "
      "Properties ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at "
      "the root of the schema if the status subresource is enabled"));
}

}  // namespace

ErrorList CheckSchema(const Schema& schema, const FieldPath& at, const SchemaContext& context) {
  ErrorList errors;
  if (context.status_subresource) CheckRootWords(schema, at, errors);
  if (schema.nullable) {
    errors.push_back(api::Forbidden(at / "nullable", "nullable cannot be true at the root"));
  }
  if (CountRules(schema) > kMaxRules) {
    errors.push_back(api::TooMany(at / "x-kubernetes-validations", CountRules(schema), kMaxRules));
    return errors;
  }
  const bool readable = schema.unsupported.empty();
  ErrorList structural = readable ? CheckStructural(schema, at) : ErrorList();
  if (structural.empty()) CheckDefaults(schema, at, true, false, structural);
  const bool sound = structural.empty() && readable;
  api::Append(errors, std::move(structural));
  TotalCost cost;
  ErrorList rule_errors;
  SchemaChecker(context, errors, rule_errors, cost)
      .Check(schema, at, {.type = sound ? RuleTypeOf(schema, true) : nullptr}, true);
  api::Append(errors, std::move(rule_errors));
  if (cost.total > kSchemaCostLimit) {
    for (const TotalCost::One& one : cost.most) {
      errors.push_back(api::Forbidden(one.path,
                                      "contributed to estimated rule cost total exceeding cost "
                                      "limit for entire OpenAPIv3 schema"));
    }
    errors.push_back(api::Forbidden(
        at,
        CostText("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema",
                 cost.total, kSchemaCostLimit)));
  }
  return errors;
}

}  // namespace dray::crd
