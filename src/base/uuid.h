// SPDX-License-Identifier: Apache-2.0
//
// UUIDs: what objects' uids look like (RFC 9562, version 4).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dray::base {

// Where randomness comes from; injected, so that a simulation with a seed repeats itself.
// Implementations say whether they are thread-safe.
class RandomSource {
 public:
  virtual ~RandomSource() = default;
  // 64 uniformly distributed bits.
  virtual std::uint64_t Next() = 0;
};

// The operating system's source (getrandom). Thread-safe; a forked child draws numbers of its own.
class SystemRandomSource final : public RandomSource {
 public:
  std::uint64_t Next() override;
};

// Repeatable from its seed; not for secrets. One thread.
class SeededRandomSource final : public RandomSource {
 public:
  explicit SeededRandomSource(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() override;

 private:
  std::uint64_t state_;
};

// A version 4 UUID in canonical form, from two draws.
std::string NewUuid(RandomSource& random);

// 8-4-4-4-12 lower case hexadecimal digits, of any version.
bool IsCanonicalUuid(std::string_view text);

}  // namespace dray::base
