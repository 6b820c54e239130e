// SPDX-License-Identifier: Apache-2.0
//
// What tests with random instances share: which seeds, how many, and where to find one that went
// wrong. Every run has seeds of its own, which it prints; DRAY_SEED repeats one, DRAY_INSTANCES
// tries more.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>

#include "fmt/format.h"
#include "model/instance.h"

namespace dray::model {

inline std::uint64_t FromEnvironment(const char* name, std::uint64_t usual) {
  const char* text = std::getenv(name);
  return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}
inline std::uint64_t FirstSeed() {
  static const std::uint64_t first = [] {
    const std::uint64_t seed = FromEnvironment("DRAY_SEED", std::random_device{}());
    fmt::print("repeat with DRAY_SEED={}\n", seed);
    std::fflush(stdout);
    return seed;
  }();
  return first;
}
// For tests of how much work something is: the same on every run.
inline std::uint64_t FixedSeed() { return FromEnvironment("DRAY_SEED", 1); }
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
