// SPDX-License-Identifier: Apache-2.0
//
// What tests with random instances share: which seeds, how many, and where to find one that went
// wrong. DRAY_SEED and DRAY_INSTANCES try others, or more.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "fmt/format.h"
#include "model/instance.h"

namespace dray::model {

inline std::uint64_t FromEnvironment(const char* name, std::uint64_t usual) {
  const char* text = std::getenv(name);
  return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}
inline std::uint64_t FirstSeed() { return FromEnvironment("DRAY_SEED", 1); }
inline std::uint64_t Instances(std::uint64_t usual) {
  return FromEnvironment("DRAY_INSTANCES", usual);
}

// Writes the instance to a file that can be read again; its path.
inline std::string Keep(const Instance& instance, std::uint64_t seed) {
  const std::string path =
      fmt::format("{}instance-{}-{}.json", ::testing::TempDir(), instance.name, seed);
  std::ofstream(path) << WriteInstance(instance);
  return path;
}

}  // namespace dray::model
