// SPDX-License-Identifier: Apache-2.0
#include "api/generated_name.h"

#include <gtest/gtest.h>

#include <string>

#include "api/write_rules.h"
#include "base/uuid.h"

namespace dray::api {
namespace {

TEST(GeneratedNames, OneRefusalIsOneTextWhateverTheNameWouldHaveBeen) {
  base::SeededRandomSource random(7);
  for (const std::string& stem : {std::string("p-extended-resources-"), std::string(80, 'a')}) {
    std::string first;
    for (int i = 0; i < 100; ++i) {
      const std::string name = CompletedName(stem, random);
      const std::string text = WithoutGeneratedParts(
          "resourceclaims \"" + name + "\" is forbidden: exceeded quota, see " + name, stem);
      if (first.empty()) first = text;
      EXPECT_EQ(text, first);
      EXPECT_EQ(text.find(name), std::string::npos);
    }
  }
}

TEST(GeneratedNames, OtherTextsStayAsTheyAre) {
  const auto same = [](std::string_view text) {
    return WithoutGeneratedParts(text, "pod-") == text;
  };
  EXPECT_TRUE(same("pods \"pod-\" is forbidden"));
  EXPECT_TRUE(same("pods \"pod-worker\" is forbidden"));       // vowels: nobody generated it
  EXPECT_TRUE(same("pods \"pod-x7k2p-x7k2p\" is forbidden"));  // the name goes on
  EXPECT_TRUE(same("pods \"pod-x7\""));
  EXPECT_TRUE(same(""));
  EXPECT_EQ(WithoutGeneratedParts("pod-x7k2p", "pod-"), "pod-");
  EXPECT_EQ(WithoutGeneratedParts("pod-x7k2p", ""), "pod-x7k2p");
  const Status refused = WithoutGeneratedParts(base::FailedPrecondition("no pod-x7k2p"), "pod-");
  EXPECT_EQ(refused, base::FailedPrecondition("no pod-"));
  EXPECT_TRUE(WithoutGeneratedParts(Status(), "pod-").ok());
}

}  // namespace
}  // namespace dray::api
