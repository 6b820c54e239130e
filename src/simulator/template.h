// SPDX-License-Identifier: Apache-2.0
//
// Template: a part of a scenario that is written once and made many times. Its strings, keys
// included, may hold placeholders: "gpu-${index}", "${node % 3}". A placeholder is a CEL expression
// over whole numbers; a string that is nothing but one placeholder becomes what that gives (a
// number, a boolean, a list), any other one stays a string.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/document.h"
#include "base/string_map.h"
#include "simulator/fault.h"

namespace dray::cel {
class Program;
}

namespace dray::simulator {

// What placeholders can name. Each template says which of them mean something.
struct Variables {
  std::int64_t index = 0;  // of the copy: a device of its group, a pod of its workload
  std::int64_t node = 0;   // of the node in its group
};

// A value; thread-compatible.
class Template {
 public:
  Template() = default;
  // `field` is where the template is, for faults: expressions that do not compile, or name one of
  // the variables that is not among `known`.
  static Template Create(api::DocumentNode node, std::span<const std::string_view> known,
                         const base::FieldPath& field, std::vector<Fault>& faults);

  bool Uses(std::string_view variable) const;
  // The tree with every placeholder replaced; positions stay. One that fails is a fault, and its
  // string stays as it is.
  api::DocumentNode Expand(const Variables& variables, std::vector<Fault>& faults) const;

  const base::FieldPath& field() const { return field_; }
  api::Position position() const { return node_.position; }

 private:
  struct Piece {
    std::string text;                             // as it stands, or the expression
    std::shared_ptr<const cel::Program> program;  // null: as it stands
  };
  using Pieces = std::vector<Piece>;

  void Compile(const std::string& text, api::Position position,
               std::span<const std::string_view> known, std::vector<Fault>& faults);
  void CompileTree(const api::DocumentNode& node, std::span<const std::string_view> known,
                   std::vector<Fault>& faults);
  void ExpandTree(api::DocumentNode& node, const Variables& variables,
                  std::vector<Fault>& faults) const;
  std::optional<api::DocumentNode> Evaluate(const Pieces& pieces, const Variables& variables,
                                            api::Position position,
                                            std::vector<Fault>& faults) const;

  api::DocumentNode node_;
  base::FieldPath field_;
  std::vector<std::string> used_;
  base::StringMap<Pieces> texts_;  // every string that has a placeholder
};

}  // namespace dray::simulator
