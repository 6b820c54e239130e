// SPDX-License-Identifier: Apache-2.0
//
// Attempt: a plan on one node: which devices each alternative can have, before anything is chosen.
// The rules that do not depend on what else is chosen (rules.h), decided for every device at once.
//
// Spec: docs/spec/allocator.md chapters 3 and 5, and 4.1 steps 1 to 10.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "allocator/plan.h"
#include "allocator/verdicts.h"
#include "base/bit_set.h"
#include "base/status.h"
#include "ledger/node_usage.h"

namespace dray::allocator {

struct Fault {
  Status status;
  // Rules out this node; otherwise the error is the claims' and no node will do.
  bool only_this_node = false;
};

// One alternative on the node.
struct Candidates {
  const Alternative* alternative = nullptr;
  // Devices that it may have if nothing else is chosen. With mode All: the whole set, of which
  // each must be had.
  base::BitSet devices;
  // Devices on which an expression fails, or with a capacity that cannot be counted. To look at one
  // is an error.
  base::BitSet faulty;
  // Mode All: some of `devices` cannot be had at all, so all of them cannot.
  bool impossible = false;
  std::int64_t need = 0;
  std::vector<const Verdicts*> verdicts;  // by NodeDevices::slices()
};

// What a claim is limited to, where one question is about claims of pods on several nodes: `devices` has
// a bit for each of NodeDevices::devices(). A default one limits nothing.
struct ClaimScope {
  const base::BitSet* devices = nullptr;
  std::string_view node;  // of the pod, for results; empty: NodeDevices::node_name()
  friend bool operator==(const ClaimScope&, const ClaimScope&) = default;
};

// Whether the tolerations cover every taint that keeps pods away.
bool Tolerates(std::span<const api::DeviceToleration> tolerations,
               std::span<const api::DeviceTaint> taints);

// Reused from attempt to attempt, so that nothing is allocated once it has grown. One thread.
class Attempt {
 public:
  // A fault, or ready for the search. What is given must outlive the search.
  // `scopes`: by claim, or none at all.
  Fault Prepare(const Plan& plan, const ledger::NodeUsage& usage, VerdictCache& cache,
                std::span<const ClaimScope> scopes = {});

  const Plan& plan() const { return *plan_; }
  ClaimScope scope(std::size_t claim) const {
    return scopes_.empty() ? ClaimScope{} : scopes_[claim];
  }
  const ledger::NodeUsage& usage() const { return *usage_; }
  const inventory::NodeDevices& devices() const { return usage_->devices(); }
  std::size_t device_count() const { return device_count_; }

  const Candidates& candidates(std::size_t alternative) const { return candidates_[alternative]; }
  bool any_faulty() const { return any_faulty_; }

  bool multi(std::size_t device) const { return multi_.Test(device); }
  const base::BitSet& multi() const { return multi_; }
  // What the alternative would consume of the device's capacities.
  const Amount* consumed(const Candidates& candidates, std::size_t device) const {
    const auto [slice, row] = Place(device);
    return candidates.verdicts[slice]->consumed(row);
  }
  ValueId value(const Candidates& candidates, std::size_t use, std::size_t device) const {
    const auto [slice, row] = Place(device);
    return candidates.verdicts[slice]->value(use, row);
  }
  // The rule of the slice that drops the device, if any does.
  std::optional<Reason> dropped(const Candidates& candidates, std::size_t device) const {
    const auto [slice, row] = Place(device);
    return candidates.verdicts[slice]->DroppedBy(row);
  }

 private:
  struct SliceAndRow {
    std::uint32_t slice;
    std::uint32_t row;
  };
  SliceAndRow Place(std::size_t device) const {
    const std::uint32_t slice = devices().devices()[device].range;
    return {slice, static_cast<std::uint32_t>(device) - devices().slices()[slice].first_device};
  }
  void Fill(Candidates& candidates, const Alternative& alternative,
            std::span<const ConstraintPlan> constraints, const ClaimScope& scope,
            VerdictCache& cache);
  // The rules of the node for the candidates so far.
  void AskNode(Candidates& candidates) const;
  void AddWithheld(Candidates& candidates, const ClaimScope& scope) const;
  void FillFaulty(Candidates& candidates, const Verdicts& verdicts, std::uint32_t first_device);
  Fault CheckClaims();
  Fault CheckDerived() const;
  Fault CheckAll(const Candidates& candidates) const;

  const Plan* plan_ = nullptr;
  std::span<const ClaimScope> scopes_;
  const ledger::NodeUsage* usage_ = nullptr;
  std::size_t device_count_ = 0;
  base::BitSet multi_;
  std::vector<Candidates> candidates_;
  bool any_faulty_ = false;
  bool any_derived_error_ = false;  // on a device of the node, whether somebody looks at it or not
};

}  // namespace dray::allocator
