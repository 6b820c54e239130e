// SPDX-License-Identifier: Apache-2.0
//
// DeviceFragmentation: pods go where they leave most room for those that come later, by what pods
// have asked for so far (packing/packer.h). Goes together with the policy fragmentation of
// DynamicResources: what was chosen here is where the device comes from.
//
// dray's own; Kubernetes has nothing like it. docs/packing.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/policy.h"
#include "base/generations.h"
#include "packing/fragmentation.h"
#include "packing/packer.h"
#include "scheduler/config.h"
#include "scheduler/framework.h"
#include "scheduler/plugins/device_units.h"
#include "scheduler/plugins/plan_cache.h"
#include "scheduler/world.h"

namespace dray::scheduler {

// One thread.
class DeviceFragmentation final : public PreFilterPlugin,
                                  public ScorePlugin,
                                  public FineScorer,
                                  public allocator::DevicePreference {
 public:
  // `world` outlives it.
  DeviceFragmentation(World& world, const DeviceFragmentationArgs& args);

  std::string_view name() const override { return "DeviceFragmentation"; }

  // Learns what the pod asks for, whether or not it finds a node. After DynamicResources'.
  PluginStatus PreFilter(CycleState& state, const PodInfo& pod, World& world) override;

  PluginStatus PreScore(CycleState& state, const PodInfo& pod, World& world) override;
  // Not asked: see FineScores.
  std::int64_t Score(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  bool Normalizes() const override { return false; }
  bool LocalScore(const CycleState&, const PodInfo&) const override { return false; }
  void Normalize(CycleState&, const PodInfo&, std::span<std::int64_t>) override {}
  FineScorer* fine() override { return this; }
  void FineScores(CycleState& state, const PodInfo& pod, std::span<const NodeInfo* const> nodes,
                  std::span<const std::int64_t> others, std::int64_t weight,
                  std::span<std::int64_t> scores) override;
  std::uint64_t Luck(const CycleState& state, const PodInfo& pod,
                     const NodeInfo& node) const override;
  std::optional<NodeIndex> FineBest(CycleState& state, const PodInfo& pod,
                                    const std::function<Answer(NodeIndex)>& ask) override;

  // Makes Order the one for the pod's devices on the node; null: there is none.
  const allocator::DevicePreference* PreferenceFor(const CycleState& state, const NodeInfo& node);
  std::vector<std::uint32_t> Order(const allocator::Attempt& attempt, const allocator::State& state,
                                   const allocator::Candidates& candidates) const override;

  // The share of what is free that requests like those seen cannot use, now.
  packing::FragmentationByKind Fragmentation();
  const DeviceUnits& units() const { return units_; }
  const packing::Packer& packer() const { return packer_; }

 private:
  using RequestNumber = packing::Packer::RequestNumber;
  struct State {
    std::optional<RequestNumber> request;  // PreFilter
    std::uint32_t salt = 0;                // PreFilter
    DeviceFragmentation* plugin = nullptr;
  };
  friend const allocator::DevicePreference* PreferenceFor(CycleState&, const NodeInfo&);
  // What pods like one ask for.
  struct Asked {
    RequestNumber number = 0;
    std::uint32_t version = 0;  // of the history's entry
    std::uint64_t units = 0;    // DeviceUnits::version
    std::size_t kinds = 0;      // DeviceUnits::kinds, then
  };
  void Sync();
  // What the configuration says that pods ask for, once for the devices and classes that there are.
  void LearnTypical();
  void SetNode(NodeIndex index);
  // The slots in which the request has the highest score, but for those that are left out.
  void FindBest(RequestNumber request, std::span<const std::int64_t> bounds);
  std::int64_t ScoreOf(std::int64_t cost, std::int64_t ease) const;
  // A cost above this has a worse score than `cost`, whatever else decides.
  std::int64_t WorseThan(std::int64_t cost) const;

  World& world_;
  DeviceFragmentationArgs args_;
  DeviceUnits units_;
  packing::Packer packer_;
  std::uint64_t synced_ = 0;        // World::version
  std::uint64_t synced_nodes_ = 0;  // World::nodes_version
  std::uint64_t synced_units_ = 0;  // DeviceUnits::version
  std::uint64_t synced_kinds_ = 0;  // DeviceUnits::kinds_version
  std::vector<std::uint64_t> node_versions_;
  PlanCache typical_plans_;
  std::uint64_t typical_units_ = 0;    // of what LearnTypical was made for: DeviceUnits::version
  std::uint64_t typical_classes_ = 0;  // World::classes_version
  std::size_t typical_kinds_ = 0;      // DeviceUnits::kinds
  base::Generations<absl::flat_hash_map<std::uint64_t, Asked>> asked_{1024};
  // Pods that have been counted: one that is tried again asks for nothing new.
  base::Generations<absl::flat_hash_map<std::uint64_t, bool>> counted_{1 << 16};
  // FineBest: slots with their bounds, those with the highest score, those where nobody may go.
  std::vector<std::pair<std::int64_t, packing::Packer::Slot>> candidates_;
  std::vector<packing::Packer::Slot> best_;
  std::vector<bool> left_out_;
  std::vector<std::uint64_t> rank_;  // by device of the node that Order is for
};

// Of the pod's profile, if it has the plugin: which devices it takes on the node.
const allocator::DevicePreference* PreferenceFor(CycleState& state, const NodeInfo& node);

}  // namespace dray::scheduler
