// SPDX-License-Identifier: Apache-2.0
#include "api/internal/printable.h"

#include <gtest/gtest.h>

namespace dray::api::internal {
namespace {

TEST(Printable, LettersOfAnyScriptAndTheBlankAre) {
  EXPECT_TRUE(IsPrintable(""));
  EXPECT_TRUE(IsPrintable("kubectl 1.37"));
  EXPECT_TRUE(IsPrintable("gr\xc3\xbc\xc3\x9f \xe4\xb8\xad \xf0\x9f\x98\x80"));
}

TEST(Printable, ControlFormatAndPrivateCharactersAreNot) {
  EXPECT_FALSE(IsPrintable("a\nb"));
  EXPECT_FALSE(IsPrintable("\x7f"));
  EXPECT_FALSE(IsPrintable("\xc2\xa0"));      // no-break space
  EXPECT_FALSE(IsPrintable("\xe2\x80\x8b"));  // zero-width space
  EXPECT_FALSE(IsPrintable("\xee\x80\x80"));  // private use
}

TEST(Printable, BytesThatAreNotUtf8AreNot) {
  EXPECT_FALSE(IsPrintable("\xff"));
  EXPECT_FALSE(IsPrintable("\xc3"));
  EXPECT_FALSE(IsPrintable("\xc0\x80"));
  EXPECT_FALSE(IsPrintable("\xe4\xb8"));
}

}  // namespace
}  // namespace dray::api::internal
