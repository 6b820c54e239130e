// SPDX-License-Identifier: Apache-2.0
//
// A slow model of FGD (Weng et al., "Beware of Fragmentation", USENIX ATC 2023), which knows in
// advance what will be asked for: of all nodes and units where a request fits the one where what
// requests could not use grows least. Not rounded; of equals one by chance, not by name.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "packing/fragmentation.h"
#include "packing/history.h"
#include "packing/place.h"
#include "packing/shape.h"

namespace dray::packing {

class FgdForTest {
 public:
  struct Choice {
    std::uint32_t node = 0;
    std::optional<Start> start;  // of the node's state, normalized
    NodeState after;
  };

  // All that will come is to be learned before the first choice.
  void WillCome(const Request& request) { history_.Learn(request); }
  void Set(std::uint32_t node, NodeState state) {
    if (states_of_.size() <= node) states_of_.resize(node + 1, kNone);
    Normalize(state);
    if (states_of_[node] != kNone) {
      std::vector<std::uint32_t>& nodes = nodes_in_[states_of_[node]];
      std::erase(nodes, node);
      if (nodes.empty()) nodes_in_.erase(states_of_[node]);
    }
    states_of_[node] = NumberOf(std::move(state));
    nodes_in_[states_of_[node]].push_back(node);
  }

  std::optional<Choice> Choose(const Request& request) {
    const std::uint32_t number = history_.Find(request);
    std::vector<std::uint32_t> states;
    for (const auto& [state, nodes] : nodes_in_) states.push_back(state);
    // Those that cost least: a state, the place of a successor, and how many nodes that is.
    std::vector<std::pair<std::uint32_t, std::size_t>> best;
    double least = 0;
    std::size_t nodes = 0;
    for (const std::uint32_t state : states) {
      const std::vector<Next>& list = NextOf(state, number);
      for (std::size_t i = 0; i < list.size(); ++i) {
        // Sums of millionths are equal where they are meant to be.
        const double cost = std::round(1e6 * (UnusableOf(list[i].state) - UnusableOf(state)));
        if (best.empty() || cost < least) {
          best.clear();
          least = cost;
          nodes = 0;
        }
        if (cost > least) continue;
        best.emplace_back(state, i);
        nodes += nodes_in_.at(state).size();
      }
    }
    if (best.empty()) return std::nullopt;
    std::uint64_t luck = random_() % nodes;
    for (const auto& [state, place] : best) {
      const std::vector<std::uint32_t>& of = nodes_in_.at(state);
      if (luck >= of.size()) {
        luck -= of.size();
        continue;
      }
      const Next& next = NextOf(state, number)[place];
      return Choice{of[luck], next.start, states_[next.state].state};
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Next {
    std::uint32_t state = 0;
    std::optional<Start> start;
  };
  struct State {
    NodeState state;
    std::optional<double> unusable;
    std::vector<std::optional<std::vector<Next>>> next;  // by request
  };

  std::uint32_t NumberOf(NodeState state) {
    const auto [at, added] =
        numbers_.try_emplace(state, static_cast<std::uint32_t>(states_.size()));
    if (added) states_.push_back({.state = std::move(state), .unusable = {}, .next = {}});
    return at->second;
  }
  double UnusableOf(std::uint32_t number) {
    State& state = states_[number];
    if (!state.unusable) {
      FragmentationMeter meter(history_);
      meter.Add(state.state);
      state.unusable = meter.sum().all.unusable / kWhole;
    }
    return *state.unusable;
  }
  const std::vector<Next>& NextOf(std::uint32_t number, std::uint32_t request) {
    if (states_[number].next.size() <= request) states_[number].next.resize(request + 1);
    if (!states_[number].next[request]) {
      std::vector<Next> list;
      const NodeState from = states_[number].state;  // a copy: states_ grows
      for (Successor& next : Successors(from, history_.entries()[request].request)) {
        list.push_back({NumberOf(std::move(next.state)), next.start});
      }
      states_[number].next[request] = std::move(list);
    }
    return *states_[number].next[request];
  }

  History history_{{.capacity = 4096, .half_life = 1e12}};
  std::vector<State> states_;
  absl::flat_hash_map<NodeState, std::uint32_t> numbers_;
  std::vector<std::uint32_t> states_of_;                          // by node
  std::map<std::uint32_t, std::vector<std::uint32_t>> nodes_in_;  // by state
  std::mt19937_64 random_{1};
};

}  // namespace dray::packing
