// SPDX-License-Identifier: Apache-2.0
//
// What a command knows of the world around the process. main.cc fills it from the real one, tests
// write it down.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <map>
#include <string>

#include "base/clock.h"

namespace dray::cli {

struct Environment {
  std::map<std::string, std::string, std::less<>> variables;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  const base::Clock& clock;
  bool plugin = false;  // called as `kubectl dray`
  // Where logs go, by a thread of their own; negative: to the stream for errors, at the end.
  int log_file = -1;
  // Columns of the terminal that standard output is; 0: none, or not known. Text is broken there.
  std::size_t columns = 0;
};

// The streams of a run and its environment, borrowed.
struct Io {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  const Environment& env;
};

}  // namespace dray::cli
