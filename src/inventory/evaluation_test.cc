// SPDX-License-Identifier: Apache-2.0
#include "inventory/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/device_results.h"
#include "testing/slice_builder.h"
#include "testing/status_matchers.h"

namespace dray::inventory {
namespace {

using ::dray::testing::Device;
using ::dray::testing::IsOk;
using ::dray::testing::Slice;
using ::dray::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::shared_ptr<const cel::Program> Compiled(std::string_view expression) {
  const auto compiled = cel::Compile(expression, cel::DeviceEnvironment({}));
  EXPECT_TRUE(compiled.ok()) << compiled.error;
  auto program = cel::Program::Compile(*compiled.checked);
  EXPECT_THAT(program, IsOk());
  return *program;
}

class EvaluationTest : public ::testing::Test {
 protected:
  std::shared_ptr<const SliceTable> Make(const api::ResourceSlice& slice) {
    return SliceTable::Create(slice, *dictionary_);
  }
  BoundProgram Bind(std::string_view expression) {
    return BoundProgram(Compiled(expression), dictionary_);
  }

  std::shared_ptr<Dictionary> dictionary_ = std::make_shared<Dictionary>();
};

TEST_F(EvaluationTest, MatchesRowsAndRemembersByWhatIsRead) {
  const auto slice = Make(Slice("s")
                              .With(Device("a").String("model", "H100").String("uuid", "1"))
                              .With(Device("b").String("model", "A100").String("uuid", "2"))
                              .With(Device("c").String("model", "H100").String("uuid", "3")));
  const BoundProgram program = Bind(R"(device.attributes["gpu.example.com"].model == "H100")");
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(program.Match(*slice, slice->devices()[0], nullptr), Verdict::kYes);
    EXPECT_EQ(program.Match(*slice, slice->devices()[1], nullptr), Verdict::kNo);
    EXPECT_EQ(program.Match(*slice, slice->devices()[2], nullptr), Verdict::kYes);
  }
  EXPECT_EQ(program.statistics().evaluations, 2u);
}

TEST_F(EvaluationTest, AttributesThatComeAfterBindingAreSeen) {
  const BoundProgram program = Bind(R"(device.attributes["new.example"].model == "H100")");
  const auto slice = Make(Slice("s").With(Device("a").String("new.example/model", "H100")));
  EXPECT_EQ(program.Match(*slice, slice->devices()[0], nullptr), Verdict::kYes);
}

TEST_F(EvaluationTest, ABareNameIsInItsDriversDomainOnly) {
  const auto ours = Make(Slice("a").With(Device("x").String("model", "H100")));
  const auto theirs =
      Make(Slice("b").Driver("other.example").With(Device("x").String("model", "H100")));
  const BoundProgram program = Bind(R"("model" in device.attributes["gpu.example.com"])");
  EXPECT_EQ(program.Match(*ours, ours->devices()[0], nullptr), Verdict::kYes);
  EXPECT_EQ(program.Match(*theirs, theirs->devices()[0], nullptr), Verdict::kNo);
}

TEST_F(EvaluationTest, AMissingAttributeIsAnErrorThatSaysWhatThereIs) {
  const auto slice = Make(Slice("s")
                              .With(Device("a").String("modell", "H100"))
                              .With(Device("b").String("kind", "H100")));
  const BoundProgram program = Bind(R"(device.attributes["gpu.example.com"].model == "H100")");
  EXPECT_EQ(program.Match(*slice, slice->devices()[0], nullptr), Verdict::kError);
  std::string error;
  EXPECT_EQ(program.Match(*slice, slice->devices()[0], &error), Verdict::kError);
  EXPECT_THAT(error, AllOf(HasSubstr("no such key: model"), HasSubstr("modell")));
  // The same verdict, remembered, but another device's words.
  EXPECT_EQ(program.Match(*slice, slice->devices()[1], &error), Verdict::kError);
  EXPECT_THAT(error, AllOf(HasSubstr("no such key: model"), HasSubstr("kind")));
  EXPECT_EQ(program.Match(*slice, slice->devices()[1], nullptr), Verdict::kError);
}

// Spec notes 7.1.
TEST_F(EvaluationTest, AnAttributeThatCannotBeReadIsAnErrorEvenIfNobodyAsksForIt) {
  const auto slice = Make(Slice("s")
                              .With(Device("a").Version("driverVersion", "1.x").NoValue("zero"))
                              .With(Device("b").NoValue("nothing")));
  const BoundProgram program = Bind("true");
  std::string error;
  EXPECT_EQ(program.Match(*slice, slice->devices()[0], &error), Verdict::kError);
  EXPECT_THAT(error, HasSubstr("attribute driverVersion: "));
  EXPECT_EQ(program.Match(*slice, slice->devices()[1], &error), Verdict::kError);
  EXPECT_THAT(error, HasSubstr("attribute nothing: "));
  EXPECT_THAT(program.Derive(*slice, slice->devices()[0]),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("driverVersion")));
  EXPECT_EQ(program.statistics().evaluations, 0u);
}

TEST_F(EvaluationTest, DerivesInternedValues) {
  const auto slice = Make(Slice("s")
                              .With(Device("a").String("topology", "numa0-pci1"))
                              .With(Device("b").String("topology", "numa0-pci2"))
                              .With(Device("c").String("topology", "numa0-pci2")));
  const BoundProgram program =
      Bind(R"(device.attributes["gpu.example.com"].topology.split("-")[0])");
  const auto a = program.Derive(*slice, slice->devices()[0]);
  ASSERT_THAT(a, IsOk());
  EXPECT_EQ(dictionary_->At(*a).value.as_text(), "numa0");
  EXPECT_EQ(*program.Derive(*slice, slice->devices()[1]), *a);
  EXPECT_EQ(*program.Derive(*slice, slice->devices()[2]), *a);
  EXPECT_EQ(program.statistics().evaluations, 2u);
}

TEST_F(EvaluationTest, ADerivedAttributeThatFailsSaysWhyEachTime) {
  const auto slice = Make(Slice("s").With(Device("a").Int("x", 1)));
  const BoundProgram program = Bind(R"(device.attributes["gpu.example.com"].y)");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(program.Derive(*slice, slice->devices()[0]),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("no such key: y")));
  }
}

// Every way to look at a device gives what the cel room gives for the decoded object.
TEST_F(EvaluationTest, AgreesWithTheEvaluationOfDecodedObjects) {
  std::vector<api::Device> devices = {
      Device("gpu-0")
          .String("model", "H100")
          .Int("index", 3)
          .Bool("healthy", true)
          .Version("driverVersion", "1.2.3")
          .Strings("roots", {"pci0", "pci1"})
          .String("other.example/model", "X")
          .Capacity("memory", "80Gi")
          .Shared(),
      Device("gpu-1")
          .String("gpu.example.com/model", "A100")
          .Capacity("gpu.example.com/memory", "1"),
      // Both forms of one name.
      Device("gpu-2").String("model", "bare").String("gpu.example.com/model", "qualified"),
      Device("gpu-3"),
  };
  const std::vector<std::string> expressions = {
      R"(device.driver == "gpu.example.com")",
      R"(device.name == "gpu-0")",
      R"(device.allowMultipleAllocations)",
      R"(device.attributes["gpu.example.com"].model == "H100")",
      R"(device.attributes["gpu.example.com"].model == "bare")",
      R"(device.attributes["gpu.example.com"].?model.orValue("") == "qualified")",
      R"(device.attributes["gpu.example.com"].index > 2)",
      R"(device.attributes["gpu.example.com"].healthy)",
      R"(device.attributes["gpu.example.com"].driverVersion.major() == 1)",
      R"(device.attributes["gpu.example.com"].roots.includes("pci1"))",
      R"(device.attributes["other.example"].model == "X")",
      R"(device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("1Gi")))",
      R"("model" in device.attributes["gpu.example.com"])",
      R"(device.attributes.size() == 2)",
      R"(device.attributes["gpu.example.com"].size() == 5)",
      R"(device.attributes["gpu.example.com"].all(k, k != "model"))",
      R"(device.attributes["gpu.example.com"].map(k, k)[0] == "driverVersion")",
      R"(device.attributes["gpu.example" + ".com"].model == "bare")",
      R"(device.capacity["gpu.example.com"].exists(k, k == "memory"))",
      R"(device.attributes["gpu.example.com"].model == "x" || device.driver != "")",
  };
  for (const std::string_view driver : {"gpu.example.com", "other.example"}) {
    Slice builder("s");
    builder.Driver(driver);
    for (const api::Device& device : devices) builder.With(device);
    const auto slice = Make(builder);
    for (const std::string& expression : expressions) {
      SCOPED_TRACE(expression);
      const auto program = Compiled(expression);
      const BoundProgram bound(program, dictionary_);
      for (std::size_t i = 0; i < devices.size(); ++i) {
        SCOPED_TRACE(devices[i].name);
        const auto want = cel::Match(*program, driver, devices[i]);
        // Twice: evaluated and remembered.
        for (int round = 0; round < 2; ++round) {
          std::string error;
          const Verdict have = bound.Match(*slice, slice->devices()[i], &error);
          if (want.ok()) {
            EXPECT_EQ(have, want->match ? Verdict::kYes : Verdict::kNo);
          } else {
            EXPECT_EQ(have, Verdict::kError);
            EXPECT_EQ(error, base::Message(want.status()));
          }
        }
      }
    }
  }
}

TEST_F(EvaluationTest, AnExpressionThatWalksOverMapsIsEvaluatedEachTime) {
  const auto slice = Make(Slice("s").With(Device("a").Int("x", 1)));
  const BoundProgram program = Bind(R"(device.attributes["gpu.example.com"].exists(k, k == "x"))");
  EXPECT_EQ(program.Match(*slice, slice->devices()[0], nullptr), Verdict::kYes);
  EXPECT_EQ(program.Match(*slice, slice->devices()[0], nullptr), Verdict::kYes);
  EXPECT_EQ(program.statistics().evaluations, 2u);
}

TEST_F(EvaluationTest, AProgramMayReadManyThings) {
  Device device("a");
  std::string expression = "true";
  for (int i = 0; i < 12; ++i) {
    device.Int("x" + std::to_string(i), i);
    expression += " && device.attributes[\"gpu.example.com\"].x" + std::to_string(i) +
                  " == " + std::to_string(i);
  }
  const auto slice = Make(Slice("s").With(device));
  const BoundProgram program = Bind(expression);
  EXPECT_EQ(program.Match(*slice, slice->devices()[0], nullptr), Verdict::kYes);
  EXPECT_EQ(program.Match(*slice, slice->devices()[0], nullptr), Verdict::kYes);
  EXPECT_EQ(program.statistics().evaluations, 1u);
}

}  // namespace
}  // namespace dray::inventory
