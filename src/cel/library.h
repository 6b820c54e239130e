// SPDX-License-Identifier: Apache-2.0
//
// What expressions can call: one row per overload, with everything that the stages need of it.
//
//     {"size", "bytes_size bytes.() -> int", Size, kOne, estimate::Unit},
//
// Function, declaration, implementation, cost of a call, estimate of that cost; no stage has a
// table of its own. A row that lacks one of them does not compile: a function that nobody has
// priced would be one that costs nothing to whoever wants to keep a server busy. Rows stand at the
// end of the file that implements them (libraries/); a library is what an environment has as a
// whole or not at all.
//
// A declaration is an id, the receiver if there is one, parameters, result:
//
//     size_bytes (bytes) -> int
//     bytes_size bytes.() -> int
//
// A single capital letter is a type parameter. Names that are no type of the language are opaque
// when they begin with "net.", else objects.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cel/dialect.h"
#include "cel/estimates.h"
#include "cel/functions.h"
#include "cel/runtime_cost.h"

namespace dray::cel {

// What a call runs. A value.
class Implementation {
 public:
  constexpr Implementation(FunctionImpl impl) : kubernetes_(impl), language_(impl) {}
  constexpr Implementation(FunctionImpl kubernetes, FunctionImpl language)
      : kubernetes_(kubernetes), language_(language) {}

  // Part of the evaluator, since it looks at its arguments one after the other or walks a path.
  static constexpr Implementation Evaluator() { return Implementation(nullptr); }

  // Null of Evaluator().
  constexpr FunctionImpl In(Dialect dialect) const {
    return dialect == Dialect::kKubernetes ? kubernetes_ : language_;
  }
  friend constexpr bool operator==(const Implementation&, const Implementation&) = default;

 private:
  FunctionImpl kubernetes_;
  FunctionImpl language_;
};

// What a call costs when it is evaluated. Some rules are upstream's for an overload: they apply
// when the checker has left that one alone, and when several remain, or nothing was checked,
// `otherwise` does, which is the same for all overloads of a function. A value.
struct RunTimeCost {
  constexpr RunTimeCost(CostRule rule) : known(rule), otherwise(rule) {}
  constexpr RunTimeCost(CostRule rule, CostRule otherwise) : known(rule), otherwise(otherwise) {}

  CostRule known;
  CostRule otherwise;
};

// The estimate of that, from the tree alone. A value.
class Estimate {
 public:
  constexpr Estimate(EstimateRule rule) : rule_(rule) {}
  CallEstimate operator()(const CallSite& call) const { return rule_(call); }

 private:
  EstimateRule rule_;
};

// What becomes of a call of constants when a program is built.
enum class OfConstants : std::uint8_t {
  kEvaluate,  // nothing: it is called by every evaluation
  kFold,      // its result is a constant; when it fails, so does the program
  kMakeOnce,  // its result is kept, but paid for every time; when it fails, it stays a call
};

// Lives as long as the process.
struct FunctionRow {
  std::string_view function;  // "size", "sets.contains", "_+_"
  std::string_view declaration;
  // One for all rows of a function: it picks its overload by the kinds of the arguments. Only where
  // these do not tell, as of an empty list, a row has its own; the first one is that of calls whose
  // overload is not known.
  Implementation implementation;
  RunTimeCost cost;
  Estimate estimate;
  OfConstants of_constants = OfConstants::kEvaluate;
};

using Library = std::span<const FunctionRow>;

namespace library {

Library Arithmetic();
Library Comparison();  // and membership, negation, size
Library Logic();       // and everything else that the evaluator does itself
Library Conversions();
Library Times();          // parts of timestamps and durations
Library Strings();        // the strings extension, version 2, and the language's own
Library StringReverse();  // what strings has since version 3
Library StringFormat();
Library Matches();
Library Lists();         // the lists extension, version 3
Library TwoVariables();  // what the macros transformMap and transformMapEntry call
Library Sets();
Library Optionals();
Library Encoders();
Library Math();
Library Network();          // net.IP and net.CIDR
Library KubernetesLists();  // Kubernetes' lists library
Library Includes();         // a list, or anything else as a list of one
Library Include();          // KEP-5491's name for it
Library Regex();            // Kubernetes' regex library
Library Quantity();
Library Semver();  // library version 1
Library NamedFormats();
Library Urls();
Library Authorizer();  // of hosts that answer for somebody's rights

}  // namespace library

// All of the above.
std::span<const Library> AllLibraries();

// All rows of one name, for calls that no checker has seen.
struct NamedFunction {
  const FunctionRow* row = nullptr;  // the first
  std::size_t min_args = 0;          // with the receiver
  std::size_t max_args = 0;
};
// Null when there is none of that name.
const NamedFunction* FindFunctionByName(std::string_view name);

}  // namespace dray::cel
