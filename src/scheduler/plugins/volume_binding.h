// SPDX-License-Identifier: Apache-2.0
//
// VolumeBinding: a pod runs where its volumes are, or where they can be made.
//
// A claim that has its volume allows the nodes that can reach it. One of a class that waits for its
// first consumer gets a volume together with the pod's node: one that is free and fits, or one that
// the class's provisioner is asked for by an annotation that names the node. Who binds volumes is
// Kubernetes's controller; the pod is bound when that is done. Anything else is waited for.
//
// As Kubernetes's plugin of that name, whose reasons are these.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "base/clock.h"
#include "base/string_map.h"
#include "scheduler/framework.h"
#include "scheduler/volumes.h"

namespace dray::scheduler {

// Of one cycle.
struct VolumeBindingState {
  using VolumeList = std::vector<std::shared_ptr<const PersistentVolume>>;
  VolumeList bound;                                      // volumes that claims have
  bool lost = false;                                     // a claim has one that is not there
  std::vector<std::shared_ptr<const VolumeClaim>> open;  // the smallest first
  // For each of those, what it could be bound to where that is reachable; the smallest first.
  // Looked for once: nodes are many, and so are volumes.
  std::vector<VolumeList> fitting;
  // For the node that was chosen.
  struct Choice {
    std::shared_ptr<const VolumeClaim> claim;
    std::shared_ptr<const PersistentVolume> volume;  // null: it is to be made
    std::string written;  // the version in which that is stored; empty: it is not yet
    bool in_doubt = false;
  };
  std::vector<Choice> choices;
  std::optional<base::Time> waits_since;
};

// Whether pods can be where the other one can, as far as volumes decide; null: it has none. What two of them may want
// at once is not looked at.
bool SameReach(const VolumeBindingState* a, const VolumeBindingState* b);

class VolumeBinding final : public PreFilterPlugin,
                            public FilterPlugin,
                            public HintPlugin,
                            public ReservePlugin,
                            public PreBindPlugin {
 public:
  // All outlive it. A pod whose volumes are not there after `timeout` is tried anew.
  VolumeBinding(World& world, api::Cluster& cluster, const base::Clock& clock,
                std::chrono::nanoseconds timeout);

  std::string_view name() const override { return "VolumeBinding"; }
  PluginStatus PreFilter(CycleState& state, const PodInfo& pod, World& world) override;
  PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  // What volumes there are is nothing of the node's.
  bool Local(const CycleState&, const PodInfo&) const override { return false; }
  Hint Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) override;
  PluginStatus Reserve(CycleState& state, const PodInfo& pod, const NodeInfo& node,
                       World& world) override;
  void Unreserve(CycleState& state, const PodInfo& pod, World& world) override;
  PluginStatus PreBind(CycleState& state, const PodInfo& pod, std::string_view node,
                       World& world) override;

 private:
  using State = VolumeBindingState;
  using Choice = State::Choice;

  // Volumes for the open claims on that node. Nothing, and why: there are none.
  std::optional<std::vector<Choice>> Choose(const State& data, const api::Node& node,
                                            std::vector<Reason>& reasons) const;
  State::VolumeList Fitting(const VolumeClaim& claim) const;
  // The first of them that nobody has taken; null: none.
  std::shared_ptr<const PersistentVolume> FirstFree(const State::VolumeList& fitting,
                                                    const VolumeClaim& claim, const api::Node& node,
                                                    const std::set<std::string_view>& taken) const;
  // The node that its volume is made for; empty: none yet.
  std::string_view NodeOf(const VolumeClaim& claim) const;
  void Release(State& data);

  // The object that says so, as it is stored afterwards.
  StatusOr<api::Object> Write(const Choice& choice, std::string_view node) const;
  // Whether the claim has its volume by now. An error: it never will.
  StatusOr<bool> Done(const Choice& choice, std::string_view node) const;

  World& world_;
  api::Cluster& cluster_;
  const base::Clock& clock_;
  const std::chrono::nanoseconds timeout_;
  // Of pods under way: which claim a volume was chosen for, which node a claim.
  base::StringMap<std::string> volumes_taken_;
  base::StringMap<std::string> nodes_chosen_;
};

}  // namespace dray::scheduler
