// SPDX-License-Identifier: Apache-2.0
//
// Any slices and claims: no crash, no allocation that breaks a rule (judged by a checker that
// shares no code with the search), no more steps than allowed, and the same answer again from an
// allocator that has been used.
//
// Input that begins with '{' is a recorded case; otherwise the bytes are the dice of the random
// instances: which generator, which seed, how large.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "engine/engine.h"
#include "model/checker.h"
#include "model/dice.h"
#include "model/generator.h"
#include "model/hard_instances.h"

namespace {

using namespace dray;  // NOLINT: a fuzz target is a main

constexpr std::uint64_t kBudget = 2'000'000;

// Takes numbers off the front of the input; zero when there is nothing left.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  std::uint8_t Byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  double Chance() { return Byte() / 255.0; }
  std::uint64_t Word() {
    std::uint64_t word = 0;
    for (int i = 0; i < 4; ++i) word = word << 8 | Byte();
    return word;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

model::Instance InstanceOf(Bytes in) {
  const std::uint8_t how = in.Byte();
  const auto& kinds = model::HardKinds();
  if (how % 3 == 0) {
    const auto first = kinds[in.Byte() % kinds.size()];
    const auto second = kinds[in.Byte() % kinds.size()];
    model::Dice dice(in.Word());
    return how % 2 == 0 ? model::RandomHardPair(dice, first, second, true).instance
                        : model::RandomHardInstance(dice, first).instance;
  }
  model::GeneratorOptions options{.max_pools = 1 + in.Byte() % 3,
                                  .max_devices = 1 + in.Byte() % 12,
                                  .max_claims = 1 + in.Byte() % 4,
                                  .max_requests = 1 + in.Byte() % 4,
                                  .max_count = 1 + in.Byte() % 4};
  const std::uint64_t seed = in.Word();
  options.counters = in.Chance();
  options.taints = in.Chance();
  options.constraints = in.Chance();
  options.all = in.Chance();
  options.features_off = in.Chance();
  options.errors = in.Chance();
  return model::RandomInstance(seed, options);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  model::Instance instance;
  if (size > 0 && data[0] == '{') {
    auto parsed = model::ParseInstance({reinterpret_cast<const char*>(data), size});
    if (!parsed.ok()) return 0;
    instance = *std::move(parsed);
  } else {
    instance = InstanceOf({data, size});
  }
  engine::World world(instance);
  allocator::Allocator allocator;
  for (const allocator::PolicyRow& row : allocator::Policies()) {
    const allocator::SearchOptions options{.policy = row.policy, .work_budget = kBudget};
    const model::Outcome outcome = engine::Decide(world, allocator, options);
    // What is under way ends; one bound is no more than that.
    DRAY_CHECK(outcome.work <= 10 * kBudget);
    if (outcome.kind == model::Outcome::Kind::kAllocated) {
      DRAY_CHECK(model::CheckAllocation(instance, outcome.results).empty());
    }
    const model::Outcome again = engine::Decide(world, allocator, options);
    DRAY_CHECK(again.kind == outcome.kind && again.results == outcome.results &&
               again.steps == outcome.steps);
  }
  return 0;
}
