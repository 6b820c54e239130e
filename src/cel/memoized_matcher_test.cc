// SPDX-License-Identifier: Apache-2.0
#include "cel/memoized_matcher.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "cel/columnar_devices_for_test.h"
#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/device_values.h"
#include "cel/program.h"

namespace dray::cel {
namespace {

std::shared_ptr<const Program> ProgramOf(std::string_view text) {
  const auto compiled = Compile(text, DeviceEnvironment(DeviceEnvironmentOptions::Stored()));
  EXPECT_TRUE(compiled.ok()) << compiled.error;
  return *Program::Compile(*compiled.checked);
}

api::Device Device(std::string_view name, int index, std::string_view model) {
  api::Device device;
  device.name = name;
  device.attributes["index"].int_value = index;
  if (!model.empty()) device.attributes["model"].string_value = base::OptionalText(model);
  return device;
}

// 100 devices of three models, four without one.
class MemoizedMatcherTest : public ::testing::Test {
 protected:
  MemoizedMatcherTest() {
    for (int i = 0; i < 100; ++i) {
      const std::string model = i % 25 == 0 ? "" : std::string(1, static_cast<char>('a' + i % 3));
      devices_.Add("d.com", Device("gpu-" + std::to_string(i), i, model));
    }
  }

  // Every device, compared with evaluating it alone.
  void MatchAll(MemoizedMatcher& matcher) {
    const ColumnarBinding binding(matcher.program(), devices_);
    for (std::size_t row = 0; row < 100; ++row) {
      const ColumnarView view(devices_, binding, row);
      Arena arena;
      const MatchOutcome want = TryMatch(matcher.program(), view, arena);
      const MemoizedMatcher::Answer got = matcher.Match(view);
      EXPECT_EQ(got.verdict, want.verdict) << row;
      EXPECT_EQ(got.cost, want.cost) << row;
      EXPECT_EQ(matcher.Explain(view).ok(), want.verdict != Verdict::kFailed) << row;
    }
  }

  ColumnarDevices devices_;
};

TEST_F(MemoizedMatcherTest, EvaluatesEachProjectionOnce) {
  MemoizedMatcher matcher(ProgramOf(R"(device.attributes["d.com"].model == "a")"));
  MatchAll(matcher);
  EXPECT_TRUE(matcher.memoizes());
  // Three models and none; Explain evaluated each device once more.
  EXPECT_EQ(matcher.evaluations(), 4U + 100U);
  EXPECT_EQ(matcher.hits(), 96U);
}

TEST_F(MemoizedMatcherTest, SeveralReadsAreOneKey) {
  MemoizedMatcher matcher(ProgramOf(
      R"(device.driver == "d.com" && device.attributes["d.com"].model == "b" &&
         device.attributes["d.com"].index % 2 == 0)"));
  MatchAll(matcher);
  EXPECT_EQ(matcher.evaluations(), 200U);
  MatchAll(matcher);
  EXPECT_EQ(matcher.hits(), 100U);
}

TEST_F(MemoizedMatcherTest, KeepsNoMoreThanAllowed) {
  MemoizedMatcher matcher(ProgramOf(R"(device.attributes["d.com"].index > 50)"),
                          {.max_answers = 7});
  MatchAll(matcher);
  MatchAll(matcher);
  // In this order no answer is left when its device comes again.
  EXPECT_EQ(matcher.hits(), 0U);
}

TEST_F(MemoizedMatcherTest, NamesAndWholeMapsAreEvaluatedEachTime) {
  for (const std::string_view text :
       {R"(device.name == "gpu-7")", R"("model" in device.attributes["d.com"])"}) {
    MemoizedMatcher matcher(ProgramOf(text));
    EXPECT_FALSE(matcher.memoizes()) << text;
    MatchAll(matcher);
    EXPECT_EQ(matcher.hits(), 0U) << text;
  }
}

TEST_F(MemoizedMatcherTest, ViewsWithoutNumbersAreEvaluatedEachTime) {
  MemoizedMatcher matcher(ProgramOf(R"(device.attributes["d.com"].model == "a")"));
  const api::Device device = Device("gpu", 1, "a");
  const ApiDeviceView view(matcher.program().device_reads(), "d.com", device);
  EXPECT_EQ(matcher.Match(view).verdict, Verdict::kYes);
  EXPECT_EQ(matcher.Match(view).verdict, Verdict::kYes);
  EXPECT_EQ(matcher.evaluations(), 2U);
}

TEST_F(MemoizedMatcherTest, ExplainsTheDeviceThatWasAskedFor) {
  MemoizedMatcher matcher(ProgramOf(R"(device.attributes["d.com"].nothing == 1)"));
  const ColumnarBinding binding(matcher.program(), devices_);
  EXPECT_EQ(matcher.Match(ColumnarView(devices_, binding, 0)).verdict, Verdict::kFailed);
  EXPECT_EQ(matcher.Match(ColumnarView(devices_, binding, 1)).verdict, Verdict::kFailed);
  EXPECT_EQ(matcher.evaluations(), 1U);
  // Device 0 has no model, device 1 has one.
  EXPECT_EQ(base::Message(matcher.Explain(ColumnarView(devices_, binding, 0))).find("model"),
            std::string_view::npos);
  EXPECT_NE(base::Message(matcher.Explain(ColumnarView(devices_, binding, 1))).find("model"),
            std::string_view::npos);
}

}  // namespace
}  // namespace dray::cel
