// SPDX-License-Identifier: Apache-2.0
//
// Finding values in JSON text again that has been parsed: the parser's tree says what a value is,
// not how it was written, and what belongs to others is written back as it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dray::api::internal {

// Walks a well-formed document once, from value to value. Whoever asks in the document's order pays
// for its length once, however many values are asked for.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view json);

  // The text of the value at `path`: in each list or map around it, which of the values it is or is
  // in, counted from 0. Paths come in the document's order. Empty when there is no such value.
  std::string_view Find(std::span<const std::uint32_t> path);

 private:
  // A list or map that the cursor is in.
  struct Around {
    const char* at;   // where the value begins that the cursor is at
    const char* end;  // and where it ends; null: not known yet
    std::uint32_t number;
    bool map;
  };

  bool Enter(const char* container);
  bool Next();
  bool SkipKey(const char*& at) const;
  const char* SkipSpace(const char* at) const;
  const char* SkipString(const char* at) const;
  // Behind the value that begins at `at`; with a depth, behind as many lists and maps around it.
  const char* SkipValue(const char* at, std::size_t depth = 0) const;

  const char* const end_;
  const char* const root_;
  std::vector<Around> around_;
};

// Appends `json`, which is well-formed, without the blanks between its tokens; each token as it is
// written.
void AppendCompact(std::string_view json, std::string& out);

}  // namespace dray::api::internal
