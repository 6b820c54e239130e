// SPDX-License-Identifier: Apache-2.0
#include "base/uuid.h"

#include <pthread.h>
#include <sys/random.h>

#include <atomic>
#include <cstddef>
#include <utility>

#include "base/check.h"

namespace dray::base {
namespace {

constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

bool IsLowerHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// How many processes lie between this one and the first: a child that goes on with what its parent has
// drawn would make the same uuids.
std::uint64_t Generation() {
  static std::atomic<std::uint64_t> generation = 0;
  [[maybe_unused]] static const int watched =
      ::pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1); });
  return generation.load(std::memory_order_relaxed);
}

// One thread's numbers that nobody has had yet. What is handed out is forgotten here.
class Drawn {
 public:
  std::uint64_t Take() {
    const std::uint64_t generation = Generation();
    if (next_ == kNumbers || generation != generation_) {
      // So few bytes come whole, whatever signals do.
      static_assert(sizeof(numbers_) <= 256);
      constexpr auto kBytes = static_cast<ssize_t>(sizeof(numbers_));
      DRAY_CHECK(::getrandom(numbers_, sizeof(numbers_), 0) == kBytes,
                 "the system has no random numbers");
      next_ = 0;
      generation_ = generation;
    }
    return std::exchange(numbers_[next_++], 0);
  }

 private:
  static constexpr std::size_t kNumbers = 32;
  std::uint64_t numbers_[kNumbers] = {};
  std::size_t next_ = kNumbers;
  std::uint64_t generation_ = 0;
};

}  // namespace

// One question to the system for many draws: asked for each, it was a ninth of what a pod costs.
std::uint64_t SystemRandomSource::Next() {
  thread_local Drawn drawn;
  return drawn.Take();
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
