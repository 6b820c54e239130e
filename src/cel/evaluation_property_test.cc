// SPDX-License-Identifier: Apache-2.0
//
// Properties over random expressions and devices: what makes evaluation fast changes neither
// results nor costs, and the estimated cost is a bound of the actual one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "api/json.h"
#include "cel/columnar_devices_for_test.h"
#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/device_values.h"
#include "cel/evaluator.h"
#include "cel/program.h"
#include "cel/random_expressions_for_test.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

constexpr std::size_t kExpressions = 10000;
constexpr std::size_t kDevices = 40;
constexpr std::size_t kDevicesPerExpression = 4;

// The same for everybody, so that a failure is one of the change; DRAY_SEED tries another.
std::uint64_t Seed() {
  const char* seed = std::getenv("DRAY_SEED");
  return seed == nullptr ? 5963 : std::strtoull(seed, nullptr, 10);
}

struct Outcome {
  std::string value;
  std::uint64_t cost = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
  friend void PrintTo(const Outcome& outcome, std::ostream* os) {
    *os << outcome.value << " for " << outcome.cost;
  }
};

Outcome OutcomeOf(const EvaluationResult& result) {
  return {ToDebugString(result.value), result.cost};
}

Outcome WithObject(const Program& program, std::string_view driver, const api::Device& device,
                   const EvaluationLimits& limits = {}) {
  Arena arena;
  const DeviceValue object(driver, device, arena);
  const std::vector<Value> variables(program.variables().size(), object.value());
  return OutcomeOf(Evaluate(program, variables, arena, limits));
}

Outcome WithView(const Program& program, const DeviceView& view,
                 const EvaluationLimits& limits = {}) {
  Arena arena;
  return OutcomeOf(Evaluate(program, view, arena, limits));
}

struct RandomDevice {
  std::string driver;
  api::Device device;
  std::size_t row = 0;
};

// Expressions that compile, each with a few devices. `visit(checked, cost, device)`.
class EvaluationProperty : public ::testing::Test {
 protected:
  EvaluationProperty() : seed_(Seed()), random_(seed_) {
    std::cout << "seed " << seed_ << "\n";
    for (std::size_t i = 0; i < kDevices; ++i) {
      RandomDevice device{.driver = std::string(random_.NextDriver())};
      device.device = random_.NextDevice(device.driver);
      device.row = table_.Add(device.driver, device.device);
      devices_.push_back(std::move(device));
    }
  }

  template <typename Visit>
  void ForEachExpression(Visit visit) {
    const auto environment = DeviceEnvironment(DeviceEnvironmentOptions::Stored());
    std::size_t tried = 0;
    for (std::size_t n = 0; n < kExpressions && !HasFailure(); ++tried) {
      // If most of them did not compile, the generator would be at fault.
      ASSERT_LT(tried, kExpressions * 3) << "seed " << seed_;
      const std::string text = random_.Next();
      const CompileResult compiled = Compile(text, environment);
      if (!compiled.ok()) continue;
      SCOPED_TRACE(fmt::format("DRAY_SEED={}: {}", seed_, text));
      if (visit(text, compiled)) ++n;
    }
  }
  const RandomDevice& AnyDevice() { return devices_[random_.Below(devices_.size())]; }

  const std::uint64_t seed_;
  RandomExpressions random_;
  std::vector<RandomDevice> devices_;
  ColumnarDevices table_;
};

TEST_F(EvaluationProperty, SpeedChangesNeitherResultsNorCosts) {
  std::size_t values = 0;
  std::size_t errors = 0;
  ForEachExpression([&](const std::string&, const CompileResult& compiled) {
    const auto program = Program::Compile(*compiled.checked);
    const auto plain = Program::Compile(*compiled.checked, {.optimize = false});
    EXPECT_EQ(program.status(), plain.status());
    if (!program.ok() || !plain.ok()) return false;
    const ColumnarBinding binding(**program, table_);
    for (std::size_t i = 0; i < kDevicesPerExpression; ++i) {
      const RandomDevice& on = AnyDevice();
      const Outcome want = WithObject(**plain, on.driver, on.device);
      ++(want.value.starts_with("error") ? errors : values);
      const ApiDeviceView view((*program)->device_reads(), on.driver, on.device);
      const ColumnarView columnar(table_, binding, on.row);
      EXPECT_EQ(WithObject(**program, on.driver, on.device), want) << api::EncodeJson(on.device);
      EXPECT_EQ(WithView(**program, view), want) << api::EncodeJson(on.device);
      EXPECT_EQ(WithView(**program, columnar), want) << api::EncodeJson(on.device);
      EXPECT_EQ(WithView(**plain, view), want) << api::EncodeJson(on.device);
      // What the limit cuts off is the same too, though not where exactly it was noticed.
      const EvaluationLimits limits{.cost = random_.Below(want.cost + 2)};
      EXPECT_EQ(WithView(**program, columnar, limits).value,
                WithObject(**plain, on.driver, on.device, limits).value)
          << api::EncodeJson(on.device);
    }
    return true;
  });
  // Both happen often, or the test looks at one side only.
  EXPECT_GT(values, kExpressions / 2) << "seed " << seed_;
  EXPECT_GT(errors, kExpressions / 4) << "seed " << seed_;
}

std::size_t Count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// What has no characters costs nothing in the estimate. In evaluation an error counts as one
// character when it is an argument, and a version on the left of == costs one whatever is on the
// right. Both are so in Kubernetes: sizes of values that have none are 1, errors among them, and
// equality with one of its own types is priced by the value, estimated by the types.
bool HasEmptyText(std::string_view text) {
  return Count(text, R"("")") > Count(text, R"(split(""))");
}

TEST(CostOfEmptyTexts, IsAboveTheEstimate) {
  api::Device device;
  device.attributes["v"].version_value = "1.0.0";
  const auto environment = DeviceEnvironment(DeviceEnvironmentOptions::Stored());
  for (const std::string_view text :
       {R"(device.attributes["d.com"].v == "")", R"("".substring(1) == "a")"}) {
    const CompileResult compiled = Compile(text, environment);
    ASSERT_TRUE(compiled.ok()) << compiled.error;
    const auto program = Program::Compile(*compiled.checked);
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_EQ(WithObject(**program, "d.com", device).cost, compiled.cost.max + 1) << text;
  }
}

// docs/spec/cel.md chapter 8, end: in Kubernetes the actual cost can be above the estimate. Of what
// is generated here that is so where a text is empty, and by one for each index into the result of
// a call, which pays for its start.
TEST_F(EvaluationProperty, EstimatesBoundCosts) {
  ForEachExpression([&](const std::string& text, const CompileResult& compiled) {
    const auto program = Program::Compile(*compiled.checked);
    if (!program.ok() || HasEmptyText(text)) return false;
    const std::uint64_t starts = Count(text, ")[");
    for (std::size_t i = 0; i < kDevicesPerExpression; ++i) {
      const RandomDevice& on = AnyDevice();
      const ApiDeviceView view((*program)->device_reads(), on.driver, on.device);
      const std::uint64_t cost = WithView(**program, view).cost;
      EXPECT_LE(cost - std::min(cost, starts), compiled.cost.max) << api::EncodeJson(on.device);
    }
    return true;
  });
}

}  // namespace
}  // namespace dray::cel
