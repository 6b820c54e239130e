// SPDX-License-Identifier: Apache-2.0
//
// Environment: what an expression may name and how it is read. Variables, type names, functions
// with their overloads, objects with fields, the container, and the switches of parser and checker.
//
// A library is a table with one row per overload (library.h); builders put libraries together.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/string_map.h"
#include "cel/dialect.h"
#include "cel/parser.h"
#include "cel/type.h"

namespace dray::cel {

struct FunctionRow;  // library.h

struct Variable {
  std::string name;  // may have dots: "a.b.c"
  Type type;
};

// One signature of a function. Its type parameters have the indices 0 to type_params - 1.
struct Overload {
  std::string id;            // "add_int64"; unique in an environment but for `@in` and `in`
  bool member = false;       // called as params[0].f(params[1], ...)
  std::vector<Type> params;  // with the receiver
  Type result;
  std::uint32_t type_params = 0;
  // How it is done and what it costs. Null of an overload that is only to be checked.
  const FunctionRow* row = nullptr;
};

struct Function {
  std::string name;  // "size", "sets.contains", "_+_"
  std::vector<Overload> overloads;
};

// An object that the embedding application defines, or a message of google.protobuf, which is a
// value of an ordinary type.
struct ObjectType {
  Type type;
  std::vector<Variable> fields;

  const Variable* FindField(std::string_view name) const;
};

// What is checked once an expression has its types, in this order.
struct Validators {
  bool homogeneous_literals = false;
  bool constant_times = false;    // duration("..."), timestamp("...")
  bool constant_regexes = false;  // matches("...")
  bool constant_formats = false;  // "...".format([...])
};

// A place in the data: "device", "attributes", "@values" ...; fields by name, entries of lists as
// "@items" ("@indices"), of maps as "@keys" and "@values".
using PathView = std::span<const std::string_view>;
// The largest size that what lies there can have (characters, bytes or entries), if known.
using SizeLimits = std::function<std::optional<std::uint64_t>(PathView)>;

// Thread-safe: immutable. Built by EnvironmentBuilder.
class Environment {
 public:
  const ParseOptions& parse_options() const { return parse_; }
  const Validators& validators() const { return validators_; }
  Dialect dialect() const { return dialect_; }
  const std::string& container() const { return container_; }
  const SizeLimits& size_limits() const { return size_limits_; }

  // All by full name; no container is looked at.
  const Variable* FindVariable(std::string_view name) const;
  const Function* FindFunction(std::string_view name) const;
  const ObjectType* FindObject(std::string_view name) const;
  // The type that the identifier stands for: "int" gives int, "list" gives list(dyn).
  const Type* FindTypeName(std::string_view name) const;
  // In the order of the alphabet: for "did you mean ...?".
  std::vector<std::string_view> FunctionNames() const;

 private:
  friend class EnvironmentBuilder;

  std::shared_ptr<TypePool> pool_ = std::make_shared<TypePool>();
  // The one that it began as, whose types it has.
  std::shared_ptr<const Environment> base_;
  ParseOptions parse_;
  Validators validators_;
  Dialect dialect_ = Dialect::kKubernetes;
  std::string container_;
  SizeLimits size_limits_;
  base::StringMap<Variable> variables_;
  base::StringMap<Function> functions_;
  base::StringMap<ObjectType> objects_;
  base::StringMap<Type> type_names_;
};

// One thread.
class EnvironmentBuilder {
 public:
  EnvironmentBuilder();
  // Begins with everything that the other one has.
  static EnvironmentBuilder Extending(std::shared_ptr<const Environment> base);

  // For types of declarations; they live as long as the environment.
  TypePool& pool() { return *environment_->pool_; }

  EnvironmentBuilder& AddVariable(std::string_view name, Type type);
  EnvironmentBuilder& AddObject(ObjectType object);
  EnvironmentBuilder& AddObject(std::string_view name, ObjectType object);
  EnvironmentBuilder& AddTypeName(std::string_view name, Type type);
  // An overload whose id the function already has is ignored.
  EnvironmentBuilder& AddOverload(std::string_view function, Overload overload);
  // The rows are part of the program: a mistake in a declaration aborts.
  EnvironmentBuilder& AddLibrary(std::span<const FunctionRow> rows);

  EnvironmentBuilder& SetContainer(std::string_view name);
  EnvironmentBuilder& SetParseOptions(const ParseOptions& options);
  EnvironmentBuilder& SetValidators(const Validators& validators);
  EnvironmentBuilder& SetDialect(Dialect dialect);
  EnvironmentBuilder& SetSizeLimits(SizeLimits limits);

  std::shared_ptr<const Environment> Build() &&;

 private:
  explicit EnvironmentBuilder(std::shared_ptr<Environment> environment)
      : environment_(std::move(environment)) {}

  std::shared_ptr<Environment> environment_;
};

// The language's own environment with the extensions that its conformance tests use: strings,
// lists, sets, optionals, two-variable loops, bindings, network, encoders, math. Literals may mix
// types.
EnvironmentBuilder StandardEnvironment();

}  // namespace dray::cel
