// SPDX-License-Identifier: Apache-2.0
//
// Replicas: the pods of sets, counted by how far they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "api/kinds.h"
#include "api/label_selector.h"
#include "api/map.h"
#include "base/status.h"
#include "base/string_map.h"
#include "base/time.h"
#include "controllers/view.h"

namespace dray::controllers {

// What a set counts its pods by.
struct ReplicaRules {
  api::LabelMatcher selector;
  api::Map<std::string> labels;  // of its template
  std::int32_t min_ready_seconds = 0;
  friend bool operator==(const ReplicaRules&, const ReplicaRules&) = default;
};

// Of those that have not ended and are not leaving.
struct ReplicaCounts {
  std::int32_t active = 0;
  std::int32_t labelled = 0;  // with all labels of the template
  std::int32_t ready = 0;
  std::int32_t available = 0;
  // When the next of those that are ready becomes available, if time alone decides.
  std::optional<base::Time> next_available;
};

// A set may have many thousands of pods and is looked at again and again while they come. So what it
// costs to count is by the pods that have changed since it was counted last, not by all of them. One
// thread.
class Replicas {
 public:
  // Of any pod.
  void OnChange(const api::Object* before, const api::Object* after);

  // Lets go what the rules do not select and adopts what they do, unless the owner is leaving.
  Status Gather(const api::Object& owner, const ReplicaRules& rules, View& view, base::Time now);
  ReplicaCounts Count(const api::Object& owner, const ReplicaRules& rules, const View& view,
                      base::Time now);
  // In order of their names, as counted last.
  std::vector<api::Object> Active(const api::Object& owner) const;
  // The view was told to delete it: it is leaving, though nothing has changed yet.
  void Leaves(const api::Object& owner, const api::Object& pod);

  // Pods that were looked at so far, each time it was done.
  std::uint64_t looked_at() const { return looked_at_; }

 private:
  struct Child {
    api::Object pod;
    bool stray = false;
    bool active = false;
    bool labelled = false;
    bool ready = false;
    bool available = false;
    base::Time available_at;  // if it is ready
  };
  struct Family {
    absl::btree_map<std::string, Child> children;  // by name
    // Unset: never counted, so that every child is to be looked at.
    std::optional<ReplicaRules> rules;
    base::Time counted;       // when
    base::StringSet changed;  // since then
    ReplicaCounts counts;     // of all, as they were then
    absl::btree_set<std::string> strays;
    absl::btree_set<std::pair<base::Time, std::string>> soon;  // ready, not available yet
    std::optional<std::uint64_t> orphans_seen;                 // a version that had none for it
  };
  struct Orphans {
    absl::btree_map<std::string, api::Object> pods;  // by name; never empty
    std::uint64_t version = 0;
  };

  void Take(const api::Object& pod);
  void Drop(const api::Object& pod);
  static void Uncount(Family& family, const std::string& name, Child& child);
  void Look(Family& family, const std::string& name, const View& view, base::Time now);
  void BringUpToDate(Family& family, const ReplicaRules& rules, const View& view, base::Time now);
  Status Adopt(const api::Object& owner, const ReplicaRules& rules, View& view);

  base::StringMap<Family> families_;  // by the uid of the controller; none is empty
  base::StringMap<Orphans> orphans_;  // by namespace
  std::uint64_t orphan_changes_ = 0;
  std::uint64_t looked_at_ = 0;
};

}  // namespace dray::controllers
