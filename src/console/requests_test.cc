// SPDX-License-Identifier: Apache-2.0
#include "console/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace dray::console {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(Requests, APlanSaysWhatIsChanged) {
  const auto request = ReadPlanRequest(R"({
    "manifests": "kind: Pod", "delete": ["pod/default/a"], "scale": {"deployment/default/b": 4},
    "nodes": [{"like": "n1", "count": 2}], "policy": "best-fit", "explain": true, "later": {}})");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->gone, (std::vector<ObjectName>{{"pod", "default", "a"}}));
  EXPECT_EQ(request->scale.front().second, 4);
  EXPECT_EQ(request->nodes.front().like, "n1");
  EXPECT_TRUE(request->explain);
}

struct BadCase {
  std::string name;
  std::string body;
  std::string want;
  friend void PrintTo(const BadCase& c, std::ostream* os) { *os << c.name; }
};
class BadPlanTest : public ::testing::TestWithParam<BadCase> {};
TEST_P(BadPlanTest, IsRefusedByName) {
  EXPECT_THAT(ReadPlanRequest(GetParam().body),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr(GetParam().want)));
}
INSTANTIATE_TEST_SUITE_P(
    Bodies, BadPlanTest,
    ::testing::ValuesIn(std::vector<BadCase>{
        {"no_json", "{", "the body is not valid JSON"},
        {"a_list", "[]", "must be a JSON object"},
        {"a_number_for_manifests", R"({"manifests": 1})", "manifests: must be a string"},
        {"no_slash", R"({"delete": ["a"]})", "KIND/NAMESPACE/NAME"},
        {"too_many_slashes", R"({"delete": ["pod/a/b/c"]})", "KIND/NAMESPACE/NAME"},
        {"negative", R"({"scale": {"deployment/a/b": -1}})", "from 0 to 100000"},
        {"a_fraction", R"({"scale": {"deployment/a/b": 1.5}})", "whole number"},
        {"too_many_nodes",
         R"({"nodes": [{"like": "a", "count": 600}, {"like": "b", "count": 600}]})",
         "at most 1000"},
        {"no_like", R"({"nodes": [{"count": 1}]})", "nodes.like"},
    }),
    [](const auto& info) { return info.param.name; });

TEST(Requests, AnExplanationIsAboutOneOrAll) {
  EXPECT_TRUE(ReadExplainRequest(R"({"pending": true})")->pending);
  EXPECT_EQ(ReadExplainRequest(R"({"target": "pod/a/b"})")->target->name, "b");
  EXPECT_FALSE(ReadExplainRequest("{}").ok());
  EXPECT_FALSE(ReadExplainRequest(R"({"pending": true, "target": "pod/a/b"})").ok());
}

TEST(Requests, AScenarioIsAFileOrText) {
  EXPECT_TRUE(ReadSimulationRequest(R"({"scenario": "a.yaml", "seed": 3, "duration": 60})").ok());
  EXPECT_FALSE(ReadSimulationRequest(R"({"scenario": "a.yaml", "text": "x"})").ok());
  EXPECT_FALSE(ReadSimulationRequest("{}").ok());
}

}  // namespace
}  // namespace dray::console
