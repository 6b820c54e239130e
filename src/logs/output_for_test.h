// SPDX-License-Identifier: Apache-2.0
//
// What is logged, as a string for a test to look at.
#pragma once

#include <string>
#include <string_view>

#include "logs/line_writer.h"

namespace dray::logs {

// Look at the string after a Flush, or when the writer is gone; it outlives the output.
class StringOutput final : public Output {
 public:
  explicit StringOutput(std::string& text) : text_(text) {}
  Status Write(std::string_view lines) override {
    text_ += lines;
    return {};
  }

 private:
  std::string& text_;
};

}  // namespace dray::logs
