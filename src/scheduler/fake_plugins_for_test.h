// SPDX-License-Identifier: Apache-2.0
//
// Small plugins whose answers tests choose, and a scheduler made of them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/cycle_data.h"
#include "scheduler/scheduler.h"

namespace dray::scheduler {

// Fits by cpu; the emptier a node, the better. Woken by deleted pods and by nodes.
class FakeFit final : public FilterPlugin, public ScorePlugin, public HintPlugin {
 public:
  std::string_view name() const override { return "Fit"; }
  PluginStatus Filter(CycleState&, const PodInfo& pod, const NodeInfo& node) override {
    ++filtered;
    const std::int64_t free = node.allocatable.milli_cpu - node.requested.milli_cpu;
    if (pod.requests.milli_cpu <= free) return PluginStatus::Success();
    Reason reason{.code = "insufficient_resource", .text = "Insufficient cpu"};
    reason.shortages.push_back({.what = "cpu",
                                .needed = std::to_string(pod.requests.milli_cpu) + "m",
                                .free = std::to_string(free) + "m"});
    return PluginStatus::Unschedulable(std::move(reason));
  }
  bool Local(const CycleState&, const PodInfo&) const override { return true; }
  PluginStatus PreScore(CycleState&, const PodInfo&, World&) override {
    return PluginStatus::Success();
  }
  std::int64_t Score(CycleState&, const PodInfo&, const NodeInfo& node) override {
    if (node.allocatable.milli_cpu == 0) return 0;
    return kMaxNodeScore * (node.allocatable.milli_cpu - node.requested.milli_cpu) /
           node.allocatable.milli_cpu;
  }
  bool Normalizes() const override { return false; }
  void Normalize(CycleState&, const PodInfo&, std::span<std::int64_t>) override {}
  Hint Wake(const PodInfo&, const api::Change& change, const api::Object*) override {
    ++hints;
    const bool pod_gone =
        change.kind == api::Change::Kind::kDeleted && change.object.As<api::Pod>() != nullptr;
    return pod_gone || change.object.As<api::Node>() != nullptr ? Hint::kQueue : Hint::kSkip;
  }
  static inline int filtered = 0;
  static inline int hints = 0;
};

// What each phase answers; unset: success. Notes in `calls` what is called, by all plugins that
// share the list.
struct Script {
  explicit Script(std::vector<std::string>& log) : calls(log) {}
  std::vector<std::string>& calls;
  std::function<PluginStatus(const PodInfo&)> pre_enqueue;
  std::function<PluginStatus(const PodInfo&)> pre_filter;
  std::function<PostFilterResult(const PodInfo&)> post_filter;
  std::function<PluginStatus(const PodInfo&)> reserve;
  std::function<PluginStatus(const PodInfo&)> pre_bind;
  std::optional<base::Time> waits_until;  // with kWait of pre_bind
  std::function<Hint(const PodInfo&, const api::Change&)> wake;
};

class FakeScripted final : public PreEnqueuePlugin,
                           public PreFilterPlugin,
                           public PostFilterPlugin,
                           public ReservePlugin,
                           public PreBindPlugin,
                           public HintPlugin {
 public:
  FakeScripted(std::string name, Script& script) : name_(std::move(name)), script_(script) {}
  std::string_view name() const override { return name_; }
  PluginStatus PreEnqueue(const PodInfo& pod) override {
    return script_.pre_enqueue ? script_.pre_enqueue(pod) : PluginStatus::Success();
  }
  PluginStatus PreFilter(CycleState&, const PodInfo& pod, World&) override {
    return script_.pre_filter ? script_.pre_filter(pod) : PluginStatus::Skip();
  }
  PostFilterResult PostFilter(CycleState&, const PodInfo& pod, World&) override {
    if (script_.post_filter) return script_.post_filter(pod);
    return {.status = {.code = PluginStatus::Code::kUnschedulable}};
  }
  PluginStatus Reserve(CycleState&, const PodInfo& pod, const NodeInfo&, World&) override {
    script_.calls.push_back(name_ + " reserve");
    return script_.reserve ? script_.reserve(pod) : PluginStatus::Success();
  }
  void Unreserve(CycleState&, const PodInfo&, World&) override {
    script_.calls.push_back(name_ + " unreserve");
  }
  PluginStatus PreBind(CycleState& state, const PodInfo& pod, std::string_view, World&) override {
    script_.calls.push_back(name_ + " prebind");
    state.Get<WaitsUntil>().time = script_.waits_until;
    return script_.pre_bind ? script_.pre_bind(pod) : PluginStatus::Success();
  }
  Hint Wake(const PodInfo& pod, const api::Change& change, const api::Object*) override {
    return script_.wake ? script_.wake(pod, change) : Hint::kSkip;
  }

 private:
  std::string name_;
  Script& script_;
};

class FakeIds final : public Ids {
 public:
  std::string Uid() override { return "id-" + std::to_string(next_++); }

 private:
  int next_ = 0;
};

}  // namespace dray::scheduler
