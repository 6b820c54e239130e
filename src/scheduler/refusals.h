// SPDX-License-Identifier: Apache-2.0
//
// Refusals: why filters refuse nodes, each different answer once. Of thousands of nodes nearly all
// say the same few things; so what is kept and handed on of a node is a number.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/string_map.h"
#include "scheduler/framework.h"

namespace dray::scheduler {

// Why a filter refused a node.
struct Refusal {
  std::uint32_t filter = 0;  // of PluginSet::filters()
  PluginStatus::Code code = PluginStatus::Code::kUnschedulable;
  std::vector<Reason> reasons;
  bool lasts = false;  // FilterPlugin::Lasts
  // The node as it is would do, but for what is kept on it for others: there is nothing more to be said of it.
  bool beside = false;

  // Everything that it says, so that equal ones are stored and counted as one.
  std::string Key() const;
};
// Equal keys, without making them.
bool SaysTheSame(const Refusal& a, const Refusal& b);

// One thread; each of several workers has its own.
class Refusals {
 public:
  struct Known {
    std::shared_ptr<const Refusal> refusal;
    std::string key;
  };

  // The number of the one that says this; from 0 on, in the order in which they come.
  std::uint32_t Add(Refusal refusal);
  const Known& At(std::uint32_t number) const { return known_[number]; }
  std::size_t size() const { return known_.size(); }

 private:
  std::vector<Known> known_;
  base::StringMap<std::uint32_t> by_key_;
  std::uint32_t last_ = 0;  // the one that was said last
};

}  // namespace dray::scheduler
