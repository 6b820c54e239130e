// SPDX-License-Identifier: Apache-2.0
//
// A plan held against the objects as they were before something was changed: what is news of it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/kinds.h"
#include "planner/plan.h"

namespace dray::planner {

// Thread-compatible.
class Comparison {
 public:
  // What is there before anything is changed.
  explicit Comparison(const std::vector<api::Object>& objects);

  // Of an object that somebody puts there it is told what becomes of it in any case.
  void Put(std::string_view kind, std::string_view namespace_, std::string_view name);
  // A node that was added, with the devices of another one.
  void AddNode(std::string name, std::string like);

  // Its state before; nothing: it was not there.
  std::optional<State> Before(const PodOutcome& pod) const;
  std::optional<State> Before(const ClaimOutcome& claim) const;
  // It was not as it is now, or was put there, or belongs to what was.
  bool IsNews(const PodOutcome& pod) const;
  bool IsNews(const ClaimOutcome& claim) const;

  // Nodes that were added: name, and like which one.
  const std::vector<std::pair<std::string, std::string>>& new_nodes() const { return new_nodes_; }

 private:
  bool IsPut(std::string_view kind, std::string_view namespace_, std::string_view name) const;

  std::map<std::string, State> pods_;  // by namespace/name
  std::map<std::string, State> claims_;
  std::set<std::string> put_;  // kind/namespace/name
  std::vector<std::pair<std::string, std::string>> new_nodes_;
};

}  // namespace dray::planner
