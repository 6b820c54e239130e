// SPDX-License-Identifier: Apache-2.0
#include "base/uuid.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace dray::base {
namespace {

class FixedSource final : public RandomSource {
 public:
  explicit FixedSource(std::uint64_t value) : value_(value) {}
  std::uint64_t Next() override { return value_; }

 private:
  std::uint64_t value_;
};

TEST(Uuid, CarriesVersionAndVariantWhateverTheBits) {
  FixedSource zeros(0), ones(~std::uint64_t{0});
  EXPECT_EQ(NewUuid(zeros), "00000000-0000-4000-8000-000000000000");
  EXPECT_EQ(NewUuid(ones), "ffffffff-ffff-4fff-bfff-ffffffffffff");
}

TEST(Uuid, RepeatsFromItsSeedAndDiffersOtherwise) {
  SeededRandomSource a(7), b(7);
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string uuid = NewUuid(a);
    EXPECT_EQ(uuid, NewUuid(b));
    EXPECT_TRUE(IsCanonicalUuid(uuid)) << uuid;
    EXPECT_TRUE(seen.insert(uuid).second);
  }
  SystemRandomSource system;
  EXPECT_NE(NewUuid(system), NewUuid(system));
}

TEST(Uuid, CanonicalMeansLowerCaseAndFourHyphens) {
  EXPECT_TRUE(IsCanonicalUuid("01234567-89ab-cdef-0123-456789abcdef"));
  for (const char* text :
       {"", "01234567-89AB-cdef-0123-456789abcdef", "0123456789abcdef0123456789abcdef",
        "01234567-89ab-cdef-0123-456789abcde", "01234567-89ab-cdef-0123-456789abcdeff",
        "0123456-789ab-cdef-0123-456789abcdef", "g1234567-89ab-cdef-0123-456789abcdef",
        "{1234567-89ab-cdef-0123-456789abcde}"}) {
    EXPECT_FALSE(IsCanonicalUuid(text)) << text;
  }
}

}  // namespace
}  // namespace dray::base
