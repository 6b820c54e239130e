// SPDX-License-Identifier: Apache-2.0
#include "cel/environment.h"

#include <algorithm>
#include <utility>

#include "cel/library.h"
#include "cel/library_reader.h"

namespace dray::cel {
namespace {

template <typename Value>
const Value* Find(const base::StringMap<Value>& map, std::string_view name) {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : &found->second;
}

// The messages of google.protobuf that can be written as literals. One with a single scalar is that
// scalar or null.
void AddMessages(EnvironmentBuilder& builder) {
  const std::vector<Variable> time = {{"seconds", Type::Int()}, {"nanos", Type::Int()}};
  builder.AddObject({.type = Type::Duration(), .fields = time});
  builder.AddObject({.type = Type::Timestamp(), .fields = time});
  const std::pair<std::string_view, Type> wrappers[] = {
      {"BoolValue", Type::Bool()},     {"BytesValue", Type::Bytes()},
      {"DoubleValue", Type::Double()}, {"FloatValue", Type::Double()},
      {"Int32Value", Type::Int()},     {"Int64Value", Type::Int()},
      {"StringValue", Type::String()}, {"UInt32Value", Type::Uint()},
      {"UInt64Value", Type::Uint()}};
  for (const auto& [name, scalar] : wrappers) {
    builder.AddObject("google.protobuf." + std::string(name),
                      {.type = Type::Wrapper(scalar.kind()), .fields = {{"value", scalar}}});
  }
}

}  // namespace

const Variable* ObjectType::FindField(std::string_view name) const {
  const auto found = std::ranges::find(fields, name, &Variable::name);
  return found == fields.end() ? nullptr : &*found;
}

const Variable* Environment::FindVariable(std::string_view name) const {
  return Find(variables_, name);
}

const Function* Environment::FindFunction(std::string_view name) const {
  return Find(functions_, name);
}

const ObjectType* Environment::FindObject(std::string_view name) const {
  return Find(objects_, name);
}

const Type* Environment::FindTypeName(std::string_view name) const {
  return Find(type_names_, name);
}

std::vector<std::string_view> Environment::FunctionNames() const {
  std::vector<std::string_view> names;
  for (const auto& [name, function] : functions_) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

EnvironmentBuilder::EnvironmentBuilder() : environment_(std::make_shared<Environment>()) {
  for (const Type type :
       {Type::Bool(), Type::Int(), Type::Uint(), Type::Double(), Type::String(), Type::Bytes(),
        Type::Null(), Type::Duration(), Type::Timestamp(), Type::Any(), Type::TypeType()}) {
    AddTypeName(type.name(), type);
  }
  const Type dyn = Type::Dyn();
  AddTypeName("list", pool().List(dyn));
  AddTypeName("map", pool().Map(dyn, dyn));
  AddTypeName("google.protobuf.ListValue", pool().List(dyn));
  AddTypeName("google.protobuf.Struct", pool().Map(Type::String(), dyn));
  AddTypeName("google.protobuf.Value", dyn);
  AddMessages(*this);
}

EnvironmentBuilder EnvironmentBuilder::Extending(std::shared_ptr<const Environment> base) {
  auto environment = std::make_shared<Environment>(*base);
  // Others read the other one's types while this one makes its own.
  environment->pool_ = std::make_shared<TypePool>();
  environment->base_ = std::move(base);
  return EnvironmentBuilder(std::move(environment));
}

EnvironmentBuilder& EnvironmentBuilder::AddVariable(std::string_view name, Type type) {
  environment_->variables_.insert_or_assign(std::string(name), Variable{std::string(name), type});
  return *this;
}

EnvironmentBuilder& EnvironmentBuilder::AddObject(ObjectType object) {
  const std::string name(object.type.name());
  return AddObject(name, std::move(object));
}

EnvironmentBuilder& EnvironmentBuilder::AddObject(std::string_view name, ObjectType object) {
  environment_->objects_.insert_or_assign(std::string(name), std::move(object));
  return *this;
}

EnvironmentBuilder& EnvironmentBuilder::AddTypeName(std::string_view name, Type type) {
  environment_->type_names_.insert_or_assign(std::string(name), type);
  return *this;
}

EnvironmentBuilder& EnvironmentBuilder::AddOverload(std::string_view function, Overload overload) {
  Function& declared = environment_->functions_[std::string(function)];
  declared.name = function;
  if (std::ranges::find(declared.overloads, overload.id, &Overload::id) ==
      declared.overloads.end()) {
    declared.overloads.push_back(std::move(overload));
  }
  return *this;
}

EnvironmentBuilder& EnvironmentBuilder::AddLibrary(std::span<const FunctionRow> rows) {
  for (const FunctionRow& row : rows) {
    Overload overload = ReadOverload(row.declaration, pool());
    overload.row = &row;
    AddOverload(row.function, std::move(overload));
  }
  return *this;
}

EnvironmentBuilder& EnvironmentBuilder::SetContainer(std::string_view name) {
  environment_->container_ = name;
  return *this;
}

EnvironmentBuilder& EnvironmentBuilder::SetParseOptions(const ParseOptions& options) {
  environment_->parse_ = options;
  return *this;
}

EnvironmentBuilder& EnvironmentBuilder::SetValidators(const Validators& validators) {
  environment_->validators_ = validators;
  return *this;
}

EnvironmentBuilder& EnvironmentBuilder::SetDialect(Dialect dialect) {
  environment_->dialect_ = dialect;
  return *this;
}

EnvironmentBuilder& EnvironmentBuilder::SetSizeLimits(SizeLimits limits) {
  environment_->size_limits_ = std::move(limits);
  return *this;
}

std::shared_ptr<const Environment> EnvironmentBuilder::Build() && {
  return std::exchange(environment_, nullptr);
}

EnvironmentBuilder StandardEnvironment() {
  EnvironmentBuilder builder;
  for (const Library& rows :
       {library::Arithmetic(), library::Comparison(), library::Logic(), library::Conversions(),
        library::Times(), library::Strings(), library::StringReverse(), library::StringFormat(),
        library::Matches(), library::Lists(), library::Sets(), library::TwoVariables(),
        library::Optionals(), library::Network(), library::Encoders(), library::Math()}) {
    builder.AddLibrary(rows);
  }
  builder.AddTypeName(kOptionalTypeName, builder.pool().Optional(Type::Dyn()));
  builder.AddTypeName("net.IP", builder.pool().Opaque("net.IP"));
  builder.AddTypeName("net.CIDR", builder.pool().Opaque("net.CIDR"));
  builder.SetParseOptions({.macros = MacroSet::All()});
  builder.SetDialect(Dialect::kLanguage);
  return builder;
}

}  // namespace dray::cel
