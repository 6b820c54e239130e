// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace dray::base {
namespace {

using enum Quantity::Format;

Quantity Q(std::string_view text) {
  StatusOr<Quantity> quantity = Quantity::Parse(text);
  EXPECT_TRUE(quantity.ok()) << text << ": " << quantity.status();
  return quantity.value_or(Quantity());
}

struct ParseCase {
  std::string text;
  Quantity value;  // the format counts too
  std::string canonical;
  friend void PrintTo(const ParseCase& c, std::ostream* os) { *os << c.text; }
};

Quantity Dec(std::int64_t value, int scale, Quantity::Format format = kDecimalSI) {
  return Quantity::FromScaled(value, scale, format);
}

class QuantityParseTest : public ::testing::TestWithParam<ParseCase> {};

TEST_P(QuantityParseTest, GivesValueFormatAndCanonicalText) {
  const auto& [text, value, canonical] = GetParam();
  const Quantity got = Q(text);
  EXPECT_TRUE(got.IdenticalTo(value)) << got.DecimalKey();
  EXPECT_EQ(got.ToString(), canonical);
  EXPECT_EQ(Q(canonical), got);
}

TEST_P(QuantityParseTest, SignsAreAllowedAndMirror) {
  const auto& [text, value, canonical] = GetParam();
  EXPECT_TRUE(Q("+" + text).IdenticalTo(value));
  EXPECT_TRUE(Q("-" + text).IdenticalTo(-Quantity(value)));
  EXPECT_EQ(Q("-" + text).ToString(), value.IsZero() ? "0" : "-" + canonical);
}

INSTANTIATE_TEST_SUITE_P(Whole, QuantityParseTest,
                         ::testing::ValuesIn(std::vector<ParseCase>{
                             {"0", Dec(0, 0), "0"},
                             {"000", Dec(0, 0), "0"},
                             {"0m", Dec(0, 0), "0"},
                             {"0Gi", Dec(0, 0, kBinarySI), "0"},
                             {"0e7", Dec(0, 0, kDecimalExponent), "0"},
                             {"1", Dec(1, 0), "1"},
                             {"007", Dec(7, 0), "7"},
                             {"1000", Dec(1000, 0), "1k"},
                             {"1500", Dec(1500, 0), "1500"},
                             {"5n", Dec(5, -9), "5n"},
                             {"4u", Dec(4, -6), "4u"},
                             {"3m", Dec(3, -3), "3m"},
                             {"1000m", Dec(1, 0), "1"},
                             {"8k", Dec(8, 3), "8k"},
                             {"50k", Dec(5, 4), "50k"},
                             {"7M", Dec(7, 6), "7M"},
                             {"6G", Dec(6, 9), "6G"},
                             {"40T", Dec(4, 13), "40T"},
                             {"2P", Dec(2, 15), "2P"},
                             {"12E", Dec(12, 18), "12E"},
                             {"1Ki", Dec(1024, 0, kBinarySI), "1Ki"},
                             {"1024Ki", Dec(1 << 20, 0, kBinarySI), "1Mi"},
                             {"7Mi", Dec(7 << 20, 0, kBinarySI), "7Mi"},
                             {"6Gi", Dec(6LL << 30, 0, kBinarySI), "6Gi"},
                             {"100Ti", Dec(100LL << 40, 0, kBinarySI), "100Ti"},
                             {"4Pi", Dec(4LL << 50, 0, kBinarySI), "4Pi"},
                             {"3Ei", Dec(3LL << 60, 0, kBinarySI), "3Ei"},
                             {"1e3", Dec(1, 3, kDecimalExponent), "1e3"},
                             {"1E-3", Dec(1, -3, kDecimalExponent), "1e-3"},
                             {"1e14", Dec(1, 14, kDecimalExponent), "100e12"},
                             {"5e0", Dec(5, 0, kDecimalExponent), "5"},
                             {"1.3E+6", Dec(13, 5, kDecimalExponent), "1300e3"},
                         }));

INSTANTIATE_TEST_SUITE_P(
    Fractions, QuantityParseTest,
    ::testing::ValuesIn(std::vector<ParseCase>{
        {"0.001", Dec(1, -3), "1m"},
        {"0.0005k", Dec(5, -1), "500m"},
        {".5", Dec(5, -1), "500m"},
        {"1.", Dec(1, 0), "1"},
        {"1.G", Dec(1, 9), "1G"},
        {"0.50000", Dec(5, -1), "500m"},
        {"9.01", Dec(901, -2), "9010m"},
        {"10.035M", Dec(10035, 3), "10035k"},
        {"6.987654321G", Dec(6987654321, 0), "6987654321"},
        {"0.5Mi", Dec(512 * 1024, 0, kBinarySI), "512Ki"},
        {"1.5Gi", Dec(1536LL << 20, 0, kBinarySI), "1536Mi"},
        // Has a fraction in bytes: the format is kept but cannot be used to write it.
        {"100.035Ki", Dec(10243584, -2, kBinarySI), "102435840m"},
        {"0.05Gi", Dec(536870912, -1, kBinarySI), "53687091200m"},
        // Below 1Ki nothing is gained from a binary suffix.
        {"0.5Ki", Dec(512, 0, kBinarySI), "512"},
        // Below one, even the format changes.
        {"0.000000000001Ki", Dec(2, -9), "2n"},
    }));

INSTANTIATE_TEST_SUITE_P(
    RoundedOrCapped, QuantityParseTest,
    ::testing::ValuesIn(std::vector<ParseCase>{
        {"3.001n", Dec(4, -9), "4n"},
        {"0.9n", Dec(1, -9), "1n"},
        {"1.1E-9", Dec(2, -9, kDecimalExponent), "2e-9"},
        {"0.0000000001", Dec(1, -9), "1n"},
        {"0.00000012354", Dec(124, -9), "124n"},
        {"1e-2147483648", Dec(1, -9, kDecimalExponent), "1e-9"},
        {"9Ei", Quantity::FromInt(INT64_MAX, kBinarySI), "9223372036854775807"},
        {"9223372036854775807Ki", Quantity::FromInt(INT64_MAX, kBinarySI), "9223372036854775807"},
        {"7.99999999999999999999999Ei", Quantity::FromInt(INT64_MAX, kBinarySI),
         "9223372036854775807"},
    }));

// Kubernetes prints the first four as "1", "10", "100" and "1".
INSTANTIATE_TEST_SUITE_P(
    BeyondTheLargestSuffix, QuantityParseTest,
    ::testing::ValuesIn(std::vector<ParseCase>{
        {"1000E", Dec(1, 21), "1000E"},
        {"10000E", Dec(1, 22), "10000E"},
        {"100000000000000000000000", Dec(1, 23), "100000E"},
        {"1000000000000000000000000000000", Dec(1, 30), "1000000000000E"},
        {"1e21", Dec(1, 21, kDecimalExponent), "1e21"},
        {"1e2147483647", Dec(1, 2147483647, kDecimalExponent), "10e2147483646"},
        // Larger than any exponent that can be read: zeros make up for it.
        {"1000e2147483647", Dec(1000, 2147483647, kDecimalExponent), "10000e2147483646"},
    }));

// A text without digits is zero unless Kubernetes needs the digits for its decimals.
INSTANTIATE_TEST_SUITE_P(NoDigits, QuantityParseTest,
                         ::testing::ValuesIn(std::vector<ParseCase>{
                             {".", Dec(0, 0), "0"},
                             {"m", Dec(0, 0), "0"},
                             {"Ki", Dec(0, 0, kBinarySI), "0"},
                             {".Ti", Dec(0, 0, kBinarySI), "0"},
                             {"e5", Dec(0, 0, kDecimalExponent), "0"},
                         }));

TEST(QuantityParse, SaysWhichPartIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "regular expression"},
      {" 1", "regular expression"},
      {"1 ", "regular expression"},
      {"1.1.M", "regular expression"},
      {"1+1.0M", "regular expression"},
      {"aoeu", "regular expression"},
      {"0.1am", "regular expression"},
      {"1Zi", "regular expression"},
      {"0x10", "regular expression"},
      {"1i", "suffix"},
      {"0.1mi", "suffix"},
      {"-3.01e-", "suffix"},
      {"1e", "suffix"},
      {"1K", "suffix"},
      {"1ee5", "suffix"},
      {"1+", "suffix"},
      {"1Kii", "suffix"},
      {"Pi", "numeric part"},
      {"-Ei", "numeric part"},
      {"e-10", "numeric part"},
      {".e-10", "numeric part"},
      {"1e2147483648", "suffix"},
      {"1e-2147483649", "suffix"},
      {"1e99999999999999999999", "suffix"},
      {std::string("1\0", 2), "regular expression"},
  };
  for (const auto& [text, want] : cases) {
    const StatusOr<Quantity> got = Quantity::Parse(text);
    ASSERT_FALSE(got.ok()) << text;
    EXPECT_NE(Message(got.status()).find(want), std::string_view::npos)
        << text << ": " << got.status();
    Quantity untouched = Quantity::FromInt(7);
    EXPECT_FALSE(Quantity::TryParse(text, &untouched));
    EXPECT_EQ(untouched, Quantity::FromInt(7));
  }
}

TEST(QuantityParse, ReadsAsManyDigitsAsDocumentedAndNoMore) {
  const std::string longest(Quantity::kMaxDigits, '7');
  EXPECT_EQ(Q(longest).ToString(), longest);
  EXPECT_FALSE(Quantity::Parse(longest + "7").ok());
  // Zeros at either end do not count.
  EXPECT_EQ(Q("1" + std::string(100000, '0')), Q("1e100000"));
  EXPECT_EQ(Q("1" + std::string(100000, '0') + "Ki"), Q("9Ei"));
  EXPECT_EQ(Q("1" + std::string(50, '0') + "e2147483647"), Q("100e2147483647")
                                                               .Mul(1'000'000'000'000'000'000)
                                                               .Mul(1'000'000'000'000'000'000)
                                                               .Mul(1'000'000'000'000));
  EXPECT_FALSE(Quantity::Parse("1" + std::string(5000, '0') + "e2147483647").ok());
  EXPECT_EQ(Q(std::string(100000, '0') + "1"), Quantity::FromInt(1));
}

TEST(QuantityString, NineteenDigitsAndMoreAreExact) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"999999999999999999.1", "999999999999999999100m"},
      {"9223372036854775807", "9223372036854775807"},
      {"9223372036854775808", "9223372036854775808"},
      {"-9223372036854775809.1", "-9223372036854775809100m"},
      {"9223372036854775808000m", "9223372036854775808"},
      {"10000000000000000001", "10000000000000000001"},
      {"1.0000000000000000001E", "1000000000000000000100m"},
      {"1000000000000000000.0", "1E"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(Q(text).ToString(), want);
}

TEST(QuantityString, AnSiFormatThatWouldNeedManyZerosGivesWayToAnExponent) {
  Quantity q = Q("1k");
  q += Q("1e1000000000");
  EXPECT_EQ(q.format(), kDecimalSI);
  EXPECT_EQ(q.ToString(), "10e999999999");
  Quantity binary = Q("1Ki");
  binary += Q("1e1000000000");
  EXPECT_EQ(binary.ToString(), "10e999999999");
  EXPECT_EQ((Q("8191Pi") + Q("1Pi")).ToString(), "8Ei");
  // 2^80 is 2^20 Ei: past the largest suffix, and still right.
  EXPECT_EQ((Q("1Ki") + Q("1208925819614629174705152")).ToString(), "1048576Ei");
  EXPECT_EQ((Q("0Ki") + Q("1Ei")).Mul(2048).ToString(), "2048Ei");
}

TEST(QuantityCompare, IsByValueWhateverTheFormat) {
  EXPECT_EQ(Q("1000m"), Q("1"));
  EXPECT_EQ(Q("1Ki"), Q("1024"));
  EXPECT_EQ(Q("1E"), Q("1e18"));
  EXPECT_FALSE(Q("1Ki").IdenticalTo(Q("1024")));
  EXPECT_LT(Q("50m"), Q("100m"));
  EXPECT_GT(Q("10000T"), Q("100Gi"));
  EXPECT_LT(Q("-1"), Q("0"));
  EXPECT_LT(Q("-2"), Q("-1.5"));
  EXPECT_LT(Q("9223372036854775807"), Q("9223372036854775808"));
  EXPECT_LT(Q("-9223372036854775809"), Q("-9223372036854775808"));
  EXPECT_GT(Q("9223372036854775807.000000001"), Q("9223372036854775807"));
}

// Kubernetes would build a number of two billion digits for each of these.
TEST(QuantityHostile, FarApartAmountsAreComparedAndAddedAtOnce) {
  const Quantity huge = Q("1e2147483647"), one = Q("1");
  EXPECT_GT(huge, one);
  EXPECT_LT(-Quantity(huge), one);
  EXPECT_GT(Q("12345678901234567890e2147483647"), Q("12345678901234567890"));
  EXPECT_EQ(huge + one, huge);
  EXPECT_EQ(one + huge, huge);
  EXPECT_EQ((one - huge).Sign(), -1);
  EXPECT_TRUE((huge - huge).IsZero());
  EXPECT_TRUE(huge.IsMultipleOf(Q("8")));
  EXPECT_FALSE(huge.IsMultipleOf(Q("3")));
  EXPECT_FALSE(one.IsMultipleOf(huge));
  EXPECT_EQ(huge.DivCeil(one), std::nullopt);
  EXPECT_EQ(one.DivCeil(huge), 1);
  EXPECT_TRUE(huge.IsInteger());
  EXPECT_EQ(huge.Value(), 0);
  EXPECT_EQ(huge.ExactInt64(), std::nullopt);
  EXPECT_TRUE(std::isinf(huge.AsApproximateDouble()));
  Quantity rounded = one;
  EXPECT_FALSE(rounded.RoundUp(2147483647));
  EXPECT_EQ(rounded, huge);
}

TEST(QuantityAdd, IsExactBeyondSixtyFourBits) {
  const Quantity max = Quantity::FromInt(INT64_MAX);
  EXPECT_EQ((max + max).ToString(), "18446744073709551614");
  EXPECT_EQ((max + max) - max, max);
  EXPECT_EQ((Quantity::FromInt(INT64_MIN) - max).ToString(), "-18446744073709551615");
  EXPECT_EQ((Quantity() - Quantity::FromInt(INT64_MIN)).ToString(), "9223372036854775808");
  EXPECT_EQ((-Quantity::FromInt(INT64_MIN)).ToString(), "9223372036854775808");
  EXPECT_EQ((Q("1E") + Q("1n")).ToString(), "1000000000000000000000000001n");
  EXPECT_EQ(Quantity(max).Mul(1000).ToString(), "9223372036854775807k");
}

TEST(QuantityAdd, DigitsPastTheLimitAreDroppedSoThatTheSumCanStillBeRead) {
  const Quantity nines = Q(std::string(Quantity::kMaxDigits, '9'));
  const Quantity sum = nines + nines;
  EXPECT_GT(sum, nines);
  EXPECT_EQ(Q(sum.ToString()), sum);
  EXPECT_EQ(Q((Q("1e98") + Q("1e4200")).ToString()), Q("1e4200"));
}

TEST(QuantityAdd, AZeroReceiverTakesTheFormatOfTheOperand) {
  EXPECT_EQ((Q("0") + Q("1Gi")).ToString(), "1Gi");
  EXPECT_EQ((Q("1Gi") + Q("0")).ToString(), "1Gi");
  EXPECT_EQ((Q("0") - Q("1Gi")).ToString(), "-1Gi");
  EXPECT_EQ((Q("0") + Q("1Pi")).ToString(), "1Pi");
  EXPECT_EQ((Q("1Gi") + Q("1k")).format(), kBinarySI);
  EXPECT_EQ((Q("0Ki") + Q("0")).format(), kDecimalSI);
}

TEST(QuantityValue, RoundsAwayFromZero) {
  EXPECT_EQ(Q("9.01").Value(), 10);
  EXPECT_EQ(Q("-9.01").Value(), -10);
  EXPECT_EQ(Q("1n").Value(), 1);
  EXPECT_EQ(Q("1.0005").MilliValue(), 1001);
  EXPECT_EQ(Q("2k").MilliValue(), 2'000'000);
  EXPECT_EQ(Q("1Pi").Value(), 1LL << 50);
  EXPECT_EQ(Q("5000").ScaledValue(3), 5);
  EXPECT_EQ(Q("5001").ScaledValue(3), 6);
}

TEST(QuantityValue, OverflowsAsInKubernetes) {
  // A scaled int64 three powers of ten away wraps, eighteen away gives zero.
  EXPECT_EQ(Quantity::FromInt(INT64_MAX).MilliValue(), -1000);
  EXPECT_EQ(Q("10E").Value(), 0);
  // A decimal keeps its low bits.
  EXPECT_EQ(Q("18446744073709551617").Value(), 1);
  EXPECT_EQ(Q("1e21").ExactInt64(), std::nullopt);
}

TEST(QuantityAsInt64, KnowsOnlyWhatKubernetesHoldsAsAnInteger) {
  for (const char* text :
       {"1", "1k", "1.5k", "10Ti", "1E", "999999999999999999", "0", "5e0", "99999999999Ki"}) {
    EXPECT_EQ(Q(text).AsInt64(), Q(text).ExactInt64()) << text;
    EXPECT_TRUE(Q(text).AsInt64().has_value()) << text;
  }
  for (const char* text :
       {"1000m", "1.0", "1.5Gi", "100Ti", "1Pi", "1000000000000000000", "9Ei", "999999999999Ki"}) {
    EXPECT_EQ(Q(text).AsInt64(), std::nullopt) << text;
    EXPECT_TRUE(Q(text).ExactInt64().has_value()) << text;
  }
  EXPECT_EQ((Q("1.5") + Q("0.5")).AsInt64(), std::nullopt);
  EXPECT_EQ((Q("1Pi") - Q("1Pi")).AsInt64(), std::nullopt);
  EXPECT_EQ(Q("10E").AsInt64(), std::nullopt);
}

TEST(QuantityRoundUp, GoesAwayFromZeroAndSaysIfItWasExact) {
  const auto round = [](std::string_view text, int scale) {
    Quantity q = Q(text);
    const bool exact = q.RoundUp(scale);
    return std::pair(q.ToString(), exact);
  };
  using Result = std::pair<std::string, bool>;
  EXPECT_EQ(round("9.01", -3), Result("9010m", true));
  EXPECT_EQ(round("9.01", -1), Result("9100m", false));
  EXPECT_EQ(round("9.01", 0), Result("10", false));
  EXPECT_EQ(round("-9.01", 0), Result("-10", false));
  EXPECT_EQ(round("9.01", 2), Result("100", false));
  EXPECT_EQ(round("0.0", 3), Result("0", true));
  EXPECT_EQ(round("99999999999999999999.5", 0), Result("100E", false));
  EXPECT_EQ(round("1Pi", 0), Result("1Pi", true));
}

TEST(QuantityPolicy, MultiplesAndStepsAreExact) {
  EXPECT_TRUE(Q("1.5").IsMultipleOf(Q("500m")));
  EXPECT_FALSE(Q("1.6").IsMultipleOf(Q("500m")));
  EXPECT_TRUE(Q("10Gi").IsMultipleOf(Q("1Mi")));
  EXPECT_TRUE(Q("-4").IsMultipleOf(Q("2")));
  EXPECT_TRUE(Q("0").IsMultipleOf(Q("0")));
  EXPECT_FALSE(Q("1").IsMultipleOf(Q("0")));
  EXPECT_TRUE(Q("1e64").IsMultipleOf(Q("18446744073709551616")));
  EXPECT_EQ(Q("7").DivCeil(Q("2")), 4);
  EXPECT_EQ(Q("8").DivCeil(Q("2")), 4);
  EXPECT_EQ(Q("-7").DivCeil(Q("2")), -3);
  EXPECT_EQ(Q("1.1Gi").DivCeil(Q("1Gi")), 2);
  EXPECT_EQ(Q("1").DivCeil(Q("0")), std::nullopt);
  EXPECT_EQ(Q("1").DivCeil(Q("-1")), std::nullopt);
  EXPECT_EQ(Q("1E").DivCeil(Q("1n")), std::nullopt);
}

TEST(QuantityPredicates, WholeIsWholeByValue) {
  EXPECT_TRUE(Q("1.000").IsInteger());
  EXPECT_FALSE(Q("1.001").IsInteger());
}

TEST(QuantityKey, IsEqualForEqualValuesAndDiffersOtherwise) {
  EXPECT_EQ(Q("1000m").DecimalKey(), Q("1").DecimalKey());
  EXPECT_EQ(Q("1Ki").DecimalKey(), Q("1.024k").DecimalKey());
  EXPECT_EQ(Q("100000000000000000000").DecimalKey(), Q("100E").DecimalKey());
  EXPECT_EQ(Q("0Ki").DecimalKey(), "0");
  EXPECT_NE(Q("1").DecimalKey(), Q("10").DecimalKey());
}

TEST(QuantityDouble, IsCloseForEveryMagnitude) {
  EXPECT_DOUBLE_EQ(Q("1.5").AsApproximateDouble(), 1.5);
  EXPECT_DOUBLE_EQ(Q("-2k").AsApproximateDouble(), -2000);
  EXPECT_DOUBLE_EQ(Q("1Pi").AsApproximateDouble(), 1125899906842624.0);
  EXPECT_DOUBLE_EQ(Q("1e100").AsApproximateDouble(), 1e100);
  EXPECT_DOUBLE_EQ(Q("123456789012345678901234567890").AsApproximateDouble(),
                   123456789012345678901234567890.0);
}

TEST(Quantity, CopiesOfBigAmountsAreIndependent) {
  Quantity a = Q("99999999999999999999");
  Quantity b = a;
  b += Q("1");
  EXPECT_EQ(a.ToString(), "99999999999999999999");
  EXPECT_EQ(b.ToString(), "100E");
  Quantity c = std::move(a);
  a = c;
  a = *&a;
  EXPECT_EQ(a, c);
  c = Quantity();
  EXPECT_EQ(a.ToString(), "99999999999999999999");
  a += a;
  EXPECT_EQ(a.ToString(), "199999999999999999998");
}

struct NanoCase {
  std::string name;
  std::string text;
  absl::int128 want;
  friend void PrintTo(const NanoCase& c, std::ostream* os) { *os << c.text; }
};
class QuantityNanoTest : public ::testing::TestWithParam<NanoCase> {};

TEST_P(QuantityNanoTest, IsExactOrTheBound) {
  EXPECT_EQ(Q(GetParam().text).ClampedNano(), GetParam().want);
  EXPECT_EQ((-Q(GetParam().text)).ClampedNano(), -GetParam().want);
}

constexpr absl::int128 kNanoBound = absl::int128{1} << Quantity::kClampedNanoBits;
constexpr absl::int128 kOneUnit = 1'000'000'000;

INSTANTIATE_TEST_SUITE_P(
    Amounts, QuantityNanoTest,
    ::testing::ValuesIn(std::vector<NanoCase>{
        {"zero", "0", 0},
        {"one", "1", kOneUnit},
        {"negative", "-3", -3 * kOneUnit},
        {"fraction", "1.5", kOneUnit + kOneUnit / 2},
        {"nano", "1n", 1},
        {"below_nano_is_rounded_up", "0.1n", 1},
        {"binary", "80Gi", (absl::int128{80} << 30) * kOneUnit},
        {"more_than_64_bits", "1000000000000000000002",
         (absl::int128{1'000'000'000'000} * 1'000'000'000 + 2) * kOneUnit},
        {"more_than_64_bits_and_fraction", "9223372036854775808.000000001",
         (absl::int128{1} << 63) * kOneUnit + 1},
        {"largest_suffix", "1000E", absl::int128{1'000'000'000'000} * 1'000'000'000 * kOneUnit},
        {"past_the_bound", "2e24", kNanoBound},
        {"huge_exponent", "1e2147483647", kNanoBound},
        {"many_digits_and_huge_exponent", "123456789012345678901234567890e2147483000", kNanoBound},
        {"many_digits", "12345678901234567890123456789012345678901234567890", kNanoBound},
    }),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace dray::base
