// SPDX-License-Identifier: Apache-2.0
//
// Recorded values of the expression language, as shared/conformance/README-cel.md describes them,
// and what differs from them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/document.h"
#include "cel/arena.h"
#include "cel/compile.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::conformance {

// What differs in one case.
class Differences {
 public:
  template <typename T>
  void Compare(std::string_view what, const T& want, const T& got) {
    if (!(want == got))
      Add(fmt::format("{}: want {:.300}, got {:.300}", what, Text(want), Text(got)));
  }
  void Add(std::string difference);

  // Nothing when nothing differs.
  std::optional<std::string> text() const;

 private:
  template <typename T>
  static std::string Text(const T& value) {
    return fmt::format("{}", value);
  }

  std::string text_;
};

// Whole numbers may be as large as 2^64-1. Throws std::runtime_error when it is none.
std::uint64_t NumberOf(const api::DocumentNode& node);

cel::Value ReadValue(cel::Arena& arena, const api::DocumentNode& recorded);

// Two values are the same if these texts are the same: of a recorded value and of one of ours.
// Values of libraries are recorded in their printed form only.
std::string WantedText(const api::DocumentNode& recorded);
std::string OutcomeText(const cel::Value& value);  // "error: ..." for an error

// Recorded syntax errors are a generated parser's words; that there is one is enough.
bool IsSyntaxError(std::string_view text);
// Messages without places, in any order.
void CompareMessages(const std::vector<std::string>& want, const cel::CompileResult& result,
                     Differences& differences);

}  // namespace dray::conformance
