// SPDX-License-Identifier: Apache-2.0
//
// Any expression on a device: no crash, and bounded by its limits on cost and memory. What
// evaluates once evaluates to the same again, at the same cost, and does not care whether its
// memory is fresh.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.h"
#include "api/resource_slice.h"
#include "base/check.h"
#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/device_values.h"
#include "cel/evaluator.h"
#include "cel/program.h"
#include "cel/values.h"

namespace {

using namespace dray;  // NOLINT: a fuzz target is a main

constexpr std::string_view kDevice =
    R"({"name": "gpu-0", "allowMultipleAllocations": true, "attributes": {
  "model": {"string": "H100"}, "driverVersion": {"version": "535.104.12"}, "index": {"int": 3}, "healthy": {"bool": true},
  "topology": {"string": "numa0-pcie1-root2"}, "other.example.com/roots": {"strings": ["a", "b"]},
  "other.example.com/ids": {"ints": [1, 2, 3]}, "other.example.com/proposal": {"list": {"bool": [true]}}},
  "capacity": {"memory": {"value": "80Gi"}, "other.example.com/slots": {"value": "7"}}})";

const api::Device& Device() {
  static const api::Device device = [] {
    api::JsonDecoder decoder;
    auto decoded = decoder.Decode<api::Device>(kDevice);
    DRAY_CHECK(decoded.ok());
    return *decoded;
  }();
  return device;
}

// A tenth of the real limit: the fuzzer wants many expressions, not one long one.
constexpr cel::EvaluationLimits kLimits{.cost = 100'000, .arena_bytes = std::size_t{8} << 20};

std::string Evaluate(const cel::Program& program, std::uint64_t* cost) {
  cel::Arena arena;
  const cel::DeviceValue device("gpu.example.com", Device(), arena);
  const std::vector<cel::Value> variables(program.variables().size(), device.value());
  const cel::EvaluationResult result = cel::Evaluate(program, variables, arena, kLimits);
  *cost = result.cost;
  (void)cel::ToMatch(result.value);
  (void)cel::ToAttribute(result.value);
  return cel::ToDebugString(result.value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const auto environment = cel::DeviceEnvironment(cel::DeviceEnvironmentOptions::Stored());
  const cel::CompileResult compiled = cel::Compile(text, environment);
  if (!compiled.ok()) return 0;
  const auto program = cel::Program::Compile(*compiled.checked);
  if (!program.ok()) return 0;
  std::uint64_t first_cost = 0;
  std::uint64_t second_cost = 0;
  const std::string first = Evaluate(**program, &first_cost);
  DRAY_CHECK(first == Evaluate(**program, &second_cost));
  DRAY_CHECK(first_cost == second_cost);
  return 0;
}
