// SPDX-License-Identifier: Apache-2.0
#include "policy/type_checking.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/str_join.h"
#include "api/custom_kind.h"
#include "fmt/format.h"
#include "policy/compiled_policy.h"
#include "policy/environment.h"

namespace dray::policy {
namespace {

using cel::EnvironmentBuilder;
using cel::Type;

constexpr std::size_t kMostKinds = 10;
constexpr std::size_t kMostLooks = 10'000;  // for them

// Structs as objects with fields, each once.
class Types {
 public:
  Types(EnvironmentBuilder& builder, std::string prefix)
      : builder_(builder), prefix_(std::move(prefix)) {}

  Type OfKind(const api::KindInfo& kind) {
    std::vector<cel::Variable> fields = {{"apiVersion", Type::String()}, {"kind", Type::String()}};
    AddFields(kind.type->fields(), fields);
    return AddObject(std::move(fields));
  }

 private:
  Type AddObject(std::vector<cel::Variable> fields) {
    const Type type = builder_.pool().Object(fmt::format("{}{}", prefix_, ++count_));
    builder_.AddObject(cel::ObjectType{.type = type, .fields = std::move(fields)});
    return type;
  }

  void AddFields(const api::StructInfo& info, std::vector<cel::Variable>& fields) {
    for (const api::FieldInfo& field : info.fields) {
      fields.push_back({std::string(field.name), Of(*field.type)});
    }
  }

  Type Of(const api::TypeInfo& type) {
    using api::Shape;
    cel::TypePool& pool = builder_.pool();
    switch (type.shape) {
      case Shape::kBool:
        return Type::Bool();
      case Shape::kInt32:
      case Shape::kInt64:
        return Type::Int();
      case Shape::kDouble:
        return Type::Double();
      case Shape::kString:
      case Shape::kText:
        return Type::String();
      case Shape::kBytes:
        return Type::Bytes();
      case Shape::kTime:
      case Shape::kMicroTime:
        return Type::Timestamp();
      case Shape::kOptional:
        return Of(*type.element);
      case Shape::kList:
        return pool.List(Of(*type.element));
      case Shape::kMap:
        return pool.Map(Type::String(), Of(*type.element));
      case Shape::kStruct:
        return OfStruct(type.fields());
      default:
        return Type::Dyn();  // a number or a text, or any JSON
    }
  }

  Type OfStruct(const api::StructInfo& info) {
    const auto known = structs_.find(&info);
    if (known != structs_.end()) return known->second;
    // One that has itself inside is not looked into for ever.
    structs_.emplace(&info, Type::Dyn());
    std::vector<cel::Variable> fields;
    AddFields(info, fields);
    const Type type = AddObject(std::move(fields));
    structs_.insert_or_assign(&info, type);
    return type;
  }

  EnvironmentBuilder& builder_;
  const std::string prefix_;
  int count_ = 0;
  std::map<const api::StructInfo*, Type> structs_;
};

bool HasWildcard(const std::vector<std::string>& texts) {
  return std::ranges::any_of(texts,
                             [](const std::string& text) { return text.find('*') != text.npos; });
}

using ByName = std::map<std::tuple<std::string_view, std::string_view, std::string_view>,
                        const api::KindInfo*>;

std::vector<const api::KindInfo*> Listed(const ByName& kinds) {
  std::vector<const api::KindInfo*> list;
  for (const auto& [name, kind] : kinds) list.push_back(kind);
  return list;
}

// Those that rules name without a wildcard, by group, version and kind.
std::vector<const api::KindInfo*> KindsOf(const PolicySpec& spec, const KnownKinds& kinds) {
  ByName all;
  std::size_t looks = 0;
  for (const MatchRule& rule : spec.match.rules) {
    if (HasWildcard(rule.groups) || HasWildcard(rule.versions)) continue;
    for (const std::string& group : rule.groups) {
      for (const std::string& version : rule.versions) {
        for (const std::string& resource : rule.resources) {
          // A rule with thousands of each has more combinations than anybody waits for.
          if (all.size() >= kMostKinds || ++looks > kMostLooks) return Listed(all);
          if (resource.find_first_of("*/") != resource.npos) continue;
          const api::KindInfo* kind = kinds.of_resource(group, version, resource);
          if (kind == nullptr || api::IsCustom(*kind)) continue;
          all.emplace(std::tuple(kind->group, kind->version, kind->kind), kind);
        }
      }
    }
  }
  return Listed(all);
}

// What the compiler says, without the words that it puts in front.
std::string Cleaned(std::string_view text) {
  constexpr std::string_view kPrefix = "compilation failed: ";
  if (text.starts_with(kPrefix)) text.remove_prefix(kPrefix.size());
  return std::string(text);
}

struct Seen {
  const api::KindInfo* kind;
  std::shared_ptr<const cel::Environment> environment;
};

std::vector<Seen> EnvironmentsOf(const PolicySpec& spec, const KnownKinds& kinds) {
  const api::KindInfo* params =
      spec.params ? kinds.find(spec.params->api_version, spec.params->kind) : nullptr;
  if (params != nullptr && api::IsCustom(*params)) params = nullptr;
  std::vector<Seen> all;
  for (const api::KindInfo* kind : KindsOf(spec, kinds)) {
    EnvironmentBuilder builder = EnvironmentBuilder::Extending(
        PolicyEnvironment({.params = spec.params.has_value(), .authorizer = true}));
    const Type type = Types(builder, "kubernetes.object.").OfKind(*kind);
    builder.AddVariable("object", type);
    builder.AddVariable("oldObject", type);
    if (params != nullptr) {
      builder.AddVariable("params", Types(builder, "kubernetes.params.").OfKind(*params));
    }
    all.push_back({kind, EnvironmentOf(spec.variables, std::move(builder).Build(), nullptr)});
  }
  return all;
}

}  // namespace

std::vector<ExpressionWarning> CheckTypes(const PolicySpec& spec, const KnownKinds& kinds) {
  const std::vector<Seen> seen = EnvironmentsOf(spec, kinds);
  std::vector<ExpressionWarning> warnings;
  const auto check = [&](const std::string& expression, std::string field) {
    std::vector<std::string> texts;
    for (const Seen& one : seen) {
      const Expression compiled =
          CompileExpression(expression, Purpose::kAnything, one.environment);
      if (compiled.error.empty()) continue;
      texts.push_back(fmt::format("{}, Kind={}: {}\n", one.kind->ApiVersion(), one.kind->kind,
                                  Cleaned(compiled.error)));
    }
    if (!texts.empty()) warnings.push_back({std::move(field), absl::StrJoin(texts, "\n")});
  };
  for (std::size_t i = 0; i < spec.validations.size(); ++i) {
    const Validation& validation = spec.validations[i];
    check(validation.expression, fmt::format("spec.validations[{}].expression", i));
    if (validation.message_expression.empty()) continue;
    check(validation.message_expression, fmt::format("spec.validations[{}].messageExpression", i));
  }
  return warnings;
}

}  // namespace dray::policy
