// SPDX-License-Identifier: Apache-2.0
//
// Random expressions over a device, and random devices for them. Most expressions are well typed;
// attributes are dyn, so that what is wrong shows when they are evaluated, and devices lack
// attributes or have them with another type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "api/resource_slice.h"

namespace dray::cel {

// The same sequence for the same seed. One thread.
class RandomExpressions {
 public:
  explicit RandomExpressions(std::uint64_t seed) : random_(seed) {}

  // Of a random type.
  std::string Next();
  // No name in both forms, with and without the driver as domain: validation refuses that.
  api::Device NextDevice(std::string_view driver);
  std::string_view NextDriver() { return Chance(70) ? "d.com" : "e.com"; }
  std::size_t Below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

 private:
  bool Chance(int percent) { return Below(100) < static_cast<std::size_t>(percent); }
  template <std::size_t N>
  std::string OneOf(const std::string_view (&words)[N]) {
    return std::string(words[Below(N)]);
  }

  std::string Bool(int depth);
  std::string Int(int depth);
  std::string Text(int depth);
  std::string List(int depth);
  std::string Version(int depth);
  std::string Quantity(int depth);
  std::string Loop(int depth);
  std::string Any(int depth);
  std::string Attribute(std::string_view name);
  std::string Domain(std::string_view part);
  api::DeviceAttribute AttributeOf(char kind);

  std::mt19937_64 random_;
};

}  // namespace dray::cel
