// SPDX-License-Identifier: Apache-2.0
//
// A scheduler with plugins that do as they are told, on a cluster in memory.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/event.h"
#include "api/memory_cluster.h"
#include "base/clock.h"
#include "scheduler/fake_plugins_for_test.h"
#include "scheduler/objects_for_test.h"
#include "scheduler/scheduler.h"
#include "testing/status_matchers.h"

namespace dray::scheduler {

class SchedulerTest : public ::testing::Test {
 protected:
  SchedulerTest() : cluster_(clock_, random_, {.validate = false}) { FakeFit::filtered = 0; }

  Scheduler& Start() {
    SchedulerOptions options;
    options.plugins = [this](const Profile&, const PluginHost&) {
      std::vector<std::unique_ptr<Plugin>> plugins;
      plugins.push_back(std::make_unique<FakeScripted>("First", first_));
      plugins.push_back(std::make_unique<FakeFit>());
      plugins.push_back(std::make_unique<FakeScripted>("Second", second_));
      return plugins;
    };
    options.score_weight = [](std::string_view) { return 1; };
    scheduler_ = std::make_unique<Scheduler>(cluster_, clock_, ids_, std::move(options));
    return *scheduler_;
  }
  template <typename T>
  void Create(T object) {
    ASSERT_THAT(cluster_.Create(api::Object::Of(std::move(object))), testing::IsOk());
  }
  template <typename T>
  static const api::KindInfo& KindOf() {
    return api::HubKind(api::TypeInfoOf<T>());
  }
  api::Pod Stored(std::string_view name) {
    return *cluster_.Stored(KindOf<api::Pod>(), "ns", name)->As<api::Pod>();
  }
  const api::PodCondition* ScheduledCondition(const api::Pod& pod) {
    for (const api::PodCondition& condition : pod.status.conditions) {
      if (condition.type == api::kPodScheduledCondition) return &condition;
    }
    return nullptr;
  }
  // "reason: message" of each, and how often it was told if more than once.
  std::vector<std::string> Events() {
    std::vector<std::string> events;
    for (const api::Object& object : cluster_.All(KindOf<api::Event>())) {
      const api::Event& event = *object.As<api::Event>();
      events.push_back(event.reason + ": " + event.message);
      if (event.count > 1) events.back() += " x" + std::to_string(event.count);
    }
    return events;
  }
  static std::vector<std::string> Nodes(const std::vector<Outcome>& outcomes) {
    std::vector<std::string> nodes;
    for (const Outcome& outcome : outcomes) nodes.push_back(outcome.pod + " " + outcome.node);
    return nodes;
  }

  base::ManualClock clock_{base::Time::FromUnix(1'000)};
  base::SeededRandomSource random_{1};
  api::MemoryCluster cluster_;
  FakeIds ids_;
  std::vector<std::string> calls_;
  Script first_{calls_};
  Script second_{calls_};
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace dray::scheduler
