// SPDX-License-Identifier: Apache-2.0
#include "base/uuid.h"

#include <random>

namespace dray::base {
namespace {

constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

bool IsLowerHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

std::uint64_t SystemRandomSource::Next() {
  thread_local std::random_device device;
  return static_cast<std::uint64_t>(device()) << 32 | device();
}

// SplitMix64: a counter in steps of the golden ratio, mixed.
std::uint64_t SeededRandomSource::Next() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::string NewUuid(RandomSource& random) {
  std::uint64_t high = random.Next(), low = random.Next();
  high = (high & ~std::uint64_t{0xf000}) | 0x4000;                       // version 4
  low = (low & ~(std::uint64_t{0xc} << 60)) | std::uint64_t{0x8} << 60;  // its variant
  std::string text(kShape);
  int shift = 128;
  for (char& c : text) {
    if (c == '-') continue;
    shift -= 4;
    c = "0123456789abcdef"[(shift >= 64 ? high >> (shift - 64) : low >> shift) & 0xf];
  }
  return text;
}

bool IsCanonicalUuid(std::string_view text) {
  if (text.size() != kShape.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (kShape[i] == '-' ? text[i] != '-' : !IsLowerHex(text[i])) return false;
  }
  return true;
}

}  // namespace dray::base
