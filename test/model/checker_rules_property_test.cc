// SPDX-License-Identifier: Apache-2.0
//
// Each rule of the checker by itself. Take a rule out of an instance and solve what is left: if the
// answer is another one than with the rule, it must break it, since otherwise it would have been
// found first with the rule in place as well. So the checker has to complain, and about that rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "fmt/format.h"
#include "model/checker.h"
#include "model/generator.h"
#include "model/model.h"

namespace dray::model {
namespace {

void ForEachDevice(Instance& instance, const std::function<void(api::Device&)>& change) {
  for (auto& slice : instance.slices) {
    if (!slice.spec.devices) continue;
    for (auto& device : *slice.spec.devices) change(device);
  }
}

struct Rule {
  const char* name;
  std::function<void(Instance&)> take_out;
  std::vector<std::string> complaints;  // one of them has to be part of what is said
  double least = 1.0;
  GeneratorOptions options;
};

std::vector<Rule> Rules() {
  std::vector<Rule> rules;
  rules.push_back({.name = "taints",
                   .take_out =
                       [](Instance& instance) {
                         instance.taint_rules.clear();
                         ForEachDevice(instance, [](auto& device) { device.taints.clear(); });
                       },
                   .complaints = {"is not tolerated"},
                   .options = {.taints = 1}});
  rules.push_back({.name = "counters",
                   .take_out =
                       [](Instance& instance) {
                         for (auto& slice : instance.slices) {
                           if (!slice.spec.shared_counters) continue;
                           for (auto& set : *slice.spec.shared_counters) {
                             for (auto& [name, counter] : set.counters) counter.value.Mul(1000);
                           }
                         }
                       },
                   .complaints = {"overdrawn"},
                   .options = {.counters = 1}});
  rules.push_back({.name = "groups",
                   .take_out =
                       [](Instance& instance) {
                         ForEachDevice(instance, [](auto& device) {
                           for (auto& use : device.consumes_counters) {
                             use.compatibility_groups.clear();
                           }
                         });
                         for (auto& claim : instance.allocated_claims) {
                           for (auto& result : claim.status.allocation->devices.results) {
                             result.compatibility_groups.clear();
                           }
                         }
                       },
                   .complaints = {"do not go together", "is closed", "which are off"},
                   .options = {.counters = 1, .groups = 1}});
  rules.push_back({.name = "constraints",
                   .take_out =
                       [](Instance& instance) {
                         for (auto& claim : instance.claims) claim.spec.devices.constraints.clear();
                       },
                   .complaints = {"are not as they should be", "no attribute"},
                   .options = {.lists = 0.6, .derived = 0.4, .constraints = 1}});
  rules.push_back({.name = "selectors",
                   .take_out =
                       [](Instance& instance) {
                         for (auto& claim : instance.claims) {
                           for (auto& request : claim.spec.devices.requests) {
                             if (request.exactly) request.exactly->selectors.clear();
                             for (auto& sub : request.first_available) sub.selectors.clear();
                           }
                         }
                       },
                   .complaints = {"does not match", "does not have all"},
                   .options = {.all = 0}});
  // What is taken also excuses a further share from counters and groups, so that taking it out does
  // not only widen the search.
  rules.push_back({.name = "what is taken",
                   .take_out = [](Instance& instance) { instance.allocated_claims.clear(); },
                   .complaints = {"is taken", "more ", "too little", "overdrawn",
                                  "do not go together", "is closed"},
                   .least = 0.97,
                   .options = {.taken = 1}});
  // A device of which all is taken when nothing is asked for may then give more than its policy
  // allows: this does not only widen the search either.
  rules.push_back({.name = "capacity",
                   .take_out =
                       [](Instance& instance) {
                         ForEachDevice(instance, [](auto& device) {
                           for (auto& [name, capacity] : device.capacity) capacity.value.Mul(1000);
                         });
                       },
                   .complaints = {"more ", "too little", "is not right"},
                   .least = 0.95,
                   .options = {.capacity = 1, .all = 0}});
  return rules;
}

std::vector<std::string> DevicesOf(const Outcome& outcome) {
  std::vector<std::string> names;
  for (const auto& result : outcome.results) {
    for (const auto& device : result.devices.results) {
      names.push_back(
          fmt::format("{}={}/{}/{}", device.request, device.driver, device.pool, device.device));
    }
  }
  return names;
}

TEST(CheckerProperty, ComplainsAboutTheRuleThatIsBroken) {
  for (Rule& rule : Rules()) {
    rule.options.errors = 0;  // one that is met early would hide the answer
    int broken = 0;
    int noticed = 0;
    std::uint64_t missed = 0;
    for (std::uint64_t seed = 1; seed <= 2500; ++seed) {
      const Instance instance = RandomInstance(seed, rule.options);
      Instance without = instance;
      rule.take_out(without);
      const Outcome with_rule = Solve(instance, {.max_steps = 3'000});
      const Outcome outcome = Solve(without, {.max_steps = 3'000});
      if (with_rule.kind != Outcome::Kind::kAllocated &&
          with_rule.kind != Outcome::Kind::kNotPossible) {
        continue;
      }
      if (outcome.kind != Outcome::Kind::kAllocated) continue;
      if (with_rule.kind == Outcome::Kind::kAllocated &&
          DevicesOf(with_rule) == DevicesOf(outcome)) {
        continue;
      }
      ++broken;
      const auto complaints = CheckAllocation(instance, outcome.results);
      const bool about_it = std::ranges::any_of(complaints, [&](const std::string& text) {
        return std::ranges::any_of(rule.complaints, [&](const std::string& part) {
          return text.find(part) != std::string::npos;
        });
      });
      if (about_it) {
        ++noticed;
      } else {
        missed = seed;
      }
    }
    fmt::print("{}: {} of {} noticed\n", rule.name, noticed, broken);
    EXPECT_GE(broken, 60) << rule.name;
    EXPECT_GE(noticed, rule.least * broken) << rule.name << ", for example seed " << missed;
  }
}

}  // namespace
}  // namespace dray::model
