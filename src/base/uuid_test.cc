// SPDX-License-Identifier: Apache-2.0
#include "base/uuid.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

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

// Far more than are drawn from the system at a time, by several threads.
TEST(SystemRandomSource, GivesNobodyTheSameNumberTwice) {
  constexpr int kEach = 10'000;
  SystemRandomSource system;
  std::vector<std::vector<std::uint64_t>> drawn(4);
  {
    std::vector<std::jthread> threads;
    for (auto& numbers : drawn) {
      threads.emplace_back([&] {
        for (int i = 0; i < kEach; ++i) numbers.push_back(system.Next());
      });
    }
  }
  std::set<std::uint64_t> seen;
  std::uint64_t ones = 0;
  std::uint64_t zeros = 0;
  for (const auto& numbers : drawn) {
    for (const std::uint64_t number : numbers) {
      EXPECT_TRUE(seen.insert(number).second);
      ones |= number;
      zeros |= ~number;
    }
  }
  EXPECT_EQ(ones, ~std::uint64_t{0});
  EXPECT_EQ(zeros, ~std::uint64_t{0});
}

// What the parent has drawn from the system and not used is not the child's.
TEST(SystemRandomSource, AForkedChildDrawsItsOwn) {
  constexpr int kNumbers = 40;
  SystemRandomSource system;
  system.Next();
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  std::uint64_t numbers[kNumbers];
  for (std::uint64_t& number : numbers) number = system.Next();
  if (child == 0) {
    ::_exit(::write(pipe[1], numbers, sizeof(numbers)) == sizeof(numbers) ? 0 : 1);
  }
  std::uint64_t childs[kNumbers];
  EXPECT_EQ(::read(pipe[0], childs, sizeof(childs)), static_cast<ssize_t>(sizeof(childs)));
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const std::set<std::uint64_t> parents(std::begin(numbers), std::end(numbers));
  for (const std::uint64_t number : childs) EXPECT_FALSE(parents.contains(number));
  for (const int end : pipe) ::close(end);
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
