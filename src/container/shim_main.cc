// SPDX-License-Identifier: Apache-2.0
//
// The shim as a program of its own, for tests: `dray node-shim` is the same function.
#include <string>
#include <vector>

#include "container/shim.h"

int main(int argc, char** argv) {
  return dray::container::ShimMain(std::vector<std::string>(argv + 1, argv + argc));
}
