// SPDX-License-Identifier: Apache-2.0
//
// Program: an expression ready to be evaluated. Names are slots, constants are made, patterns are
// compiled, and paths like device.attributes["d"].x are one node.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cel/arena.h"
#include "cel/ast.h"
#include "cel/checker.h"
#include "cel/device_view.h"
#include "cel/functions.h"
#include "cel/runtime_cost.h"
#include "cel/value.h"
#include "cel/values.h"

namespace dray::cel {

// What an expression reads of the variable `device`.
struct Reads {
  struct Name {
    std::string domain;
    std::string id;
    friend auto operator<=>(const Name&, const Name&) = default;
  };
  // In order and unique. Besides them there may be more: see the flags.
  std::vector<Name> attributes;
  std::vector<Name> capacities;
  // The whole map, or names that are known only during evaluation.
  bool all_attributes = false;
  bool all_capacities = false;
  bool driver = false;
  bool name = false;
  bool allow_multiple_allocations = false;
  // The variable in a way that is not understood.
  bool whole_device = false;
};

struct UncheckedNames {
  std::vector<std::string> variables;  // may have dots
  std::string container;
};

struct ProgramOptions {
  // Without: everything that is only there to be fast is left out, as a model to compare with.
  // Results and costs are the same.
  bool optimize = true;
};

// Thread-safe: immutable.
class Program {
 public:
  // InvalidArgument "program instantiation failed: ..." when a constant part fails. In Kubernetes'
  // dialect that includes an index that is a constant of a kind that no key has, although it might
  // never be evaluated.
  static StatusOr<std::shared_ptr<const Program>> Compile(const CheckedExpr& checked,
                                                          const ProgramOptions& options = {});
  // Without types, in the language's dialect: names are resolved as the language says, calls find
  // their overload when evaluated, and nothing costs by overload.
  static StatusOr<std::shared_ptr<const Program>> CompileUnchecked(const Ast& ast,
                                                                   const UncheckedNames& names);

  // The names of the variables that evaluation takes, by slot.
  const std::vector<std::string>& variables() const { return variables_; }
  const Reads& reads() const { return reads_; }

  // What an evaluation with a DeviceView asks it for, by number.
  std::span<const DeviceRead> device_reads() const { return device_reads_; }
  // Whether that is all it asks for: never for `device` as an object.
  bool only_device_reads() const { return only_device_reads_; }
  // The read whose being missing `error` reports; nothing when it reports something else.
  std::optional<std::uint32_t> MissingRead(const Value& error) const;

 private:
  friend class Compiler;
  friend class Evaluation;

  enum class Op : std::uint8_t {
    kConstant,          // a: constant
    kPaid,              // a: constant, b: what a call would have cost
    kChain,             // a: chain
    kRead,              // a: the same as a chain, b: read, flag: ReadMode, target: cost
    kAnd,               // a, b
    kOr,                // a, b
    kNotStrictlyFalse,  // a
    kEqual,             // a, b
    kNotEqual,          // a, b
    kCall,              // a: first of args, b: count, target: function, rule
    kOrder,             // like kCall with two arguments; flag: which orders are a yes
    kRegex,             // like kCall; target: pattern; flag: as a function that is called
    kInSet,             // a, target: constant primitives, as keys of a map or as a list
    kOptionalOr,        // optional.or: a, b
    kOrValue,           // optional.orValue: a, b
    kList,              // a: first of args, b: count, target: flags of optional elements or none
    kMap,               // a: first of args, b: count of args (two per entry), target: the same
    kLoop,              // a: loop
    kAppend,            // a: local, b: element; flag: the element is a constant
    kMessage,           // a: first of args, b: count, target: message
    kInsert,            // a: local, b: key, target: value
  };
  static constexpr std::uint32_t kNone = 0xffffffff;

  // Bits for kOrder.
  static constexpr std::uint8_t kIsLess = 1;
  static constexpr std::uint8_t kIsEqual = 2;
  static constexpr std::uint8_t kIsGreater = 4;

  // What is made of a read.
  enum class ReadMode : std::uint8_t {
    kValue,     // the value
    kPresence,  // has(): whether there is one
    kOptional,  // .?x: an optional
  };

  struct Node {
    Op op = Op::kConstant;
    CostRule rule = CostRule::kOne;
    std::uint8_t flag = 0;
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t target = 0;
  };

  struct Qualifier {
    Value key;                   // unless `node`
    std::uint32_t node = kNone;  // a key that is computed
    bool optional = false;
    bool test_only = false;
  };

  struct Chain {
    enum class Base : std::uint8_t { kVariable, kLocal, kNode, kConditional };
    Base base = Base::kNode;
    std::int8_t start_cost = 1;
    std::uint32_t start = 0;  // slot, or node; of a conditional its condition
    std::uint32_t yes = 0;
    std::uint32_t no = 0;
    std::uint32_t first = 0;  // of qualifiers_
    std::uint32_t count = 0;
    // With a view: the first `read_steps` qualifiers are this read.
    std::uint32_t read = kNone;
    std::uint32_t read_steps = 0;
  };

  struct Loop {
    std::uint32_t range = 0;
    std::uint32_t init = 0;
    std::uint32_t condition = 0;
    std::uint32_t step = 0;
    std::uint32_t result = 0;
    std::uint32_t accu = 0;  // local
    std::uint32_t var1 = 0;  // local
    std::uint32_t var2 = kNone;
    std::uint32_t weight = 1;  // nodes that one round may evaluate
    bool grows_list = false;   // the accumulator starts as a list that only the loop appends to
    bool grows_map = false;
  };

  // A literal of one of google.protobuf's messages that are values of the language.
  struct Message {
    std::string type;  // without "google.protobuf."
    std::vector<std::string> fields;
  };

  Program() = default;

  std::vector<Node> nodes_;
  std::vector<Chain> chains_;
  std::vector<Qualifier> qualifiers_;
  std::vector<Loop> loops_;
  std::vector<Message> messages_;
  std::vector<std::uint32_t> args_;
  std::vector<Value> constants_;
  struct Callee {
    std::string_view name;
    FunctionImpl impl = nullptr;
  };
  std::vector<Callee> functions_;
  struct Pattern;
  std::vector<std::shared_ptr<const Pattern>> patterns_;
  std::vector<std::vector<bool>> optional_flags_;
  std::vector<std::string> variables_;
  std::uint32_t locals_ = 0;
  std::uint32_t root_ = 0;
  Dialect dialect_ = Dialect::kKubernetes;
  Reads reads_;
  std::vector<DeviceRead> device_reads_;
  std::vector<Error> missing_;  // by read: the error when there is none
  bool only_device_reads_ = true;
  std::unique_ptr<Arena> arena_ = std::make_unique<Arena>();  // of constants
};

}  // namespace dray::cel
