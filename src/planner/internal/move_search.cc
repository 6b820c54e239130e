// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/move_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "api/pod.h"
#include "api/resource_claim.h"
#include "controllers/object_key.h"
#include "planner/internal/move_order.h"
#include "planner/internal/moving.h"
#include "planner/internal/outcomes.h"
#include "planner/internal/sandbox.h"

namespace dray::planner::internal {
namespace {

constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

using Group = std::vector<std::size_t>;  // of residents

// Of a set of residents: the most important first, then how many devices change hands.
struct Cost {
  std::vector<std::int32_t> priorities;  // descending
  std::size_t devices = 0;
  friend auto operator<=>(const Cost&, const Cost&) = default;
};

// A pod that wants a place.
struct Item {
  const api::Object* pod = nullptr;  // Unplaced
  std::size_t resident = kNobody;
  std::string from;
};

// What it takes to have a pod on a node: the groups of residents that are enough and as small as can
// be, as far as they were looked for.
struct Ways {
  bool asked = false;
  bool fits = false;      // as it is
  bool hopeless = false;  // not with everybody gone who may go
  std::size_t sized = 0;  // groups of so many were looked for
  std::vector<Group> groups;
};

class Search {
 public:
  Search(const std::vector<api::Object>& objects, const PlanOptions& options, const MoveTask& task,
         const std::function<bool(const MoveList&)>& accept)
      : task_(task), accept_(accept), sandbox_(objects, options), order_(objects, options, task) {
    for (std::size_t i = 0; i < task.residents.size(); ++i) {
      const Resident& resident = task.residents[i];
      unplaced_.push_back(Unplaced(resident.pod));
      on_node_[resident.node].push_back(i);
    }
    // Who is cheap to move is tried first.
    for (auto& [node, residents] : on_node_) {
      std::ranges::stable_sort(residents, {}, [&](std::size_t i) {
        return std::pair(task.residents[i].priority, task.residents[i].devices);
      });
    }
    gone_.resize(task.residents.size());
  }

  MovesFound Run() {
    bool complete = task_.apart;  // all shorter lists have been looked at
    for (std::size_t k = 0; k <= task_.max_moves && Attempts() < task_.budget; ++k) {
      limit_ = task_.budget;
      if (k == 1 && !AllHaveHope()) break;
      moves_ = k;
      // That there is no list of so many may take longer to see than to find one of more.
      limit_ = Attempts() + (task_.budget - Attempts() + 1) / 2;
      Choose(0, 0);
      if (found_.list) {
        found_.shortest = complete;
        found_.cheapest = complete && !found_.rejected && !Spent();
        break;
      }
      complete = complete && !Spent() && !found_.rejected;
      found_.gave_up |= Spent();
    }
    if (found_.list) found_.gave_up = false;
    found_.attempts = Attempts();
    return std::move(found_);
  }

 private:
  std::size_t Attempts() const { return attempts_ + order_.attempts(); }
  bool Spent() const { return Attempts() >= limit_; }

  // --- Which nodes are emptied.

  // Of any_of from `at` on, `chosen_` being chosen.
  void Choose(std::size_t at, std::size_t leaving) {
    if (chosen_.size() == task_.any_count) {
      Begin();
      return;
    }
    for (std::size_t i = at; i < task_.any_of.size() && !Spent(); ++i) {
      const std::size_t more = task_.any_of[i].residents.size();
      if (leaving + more > moves_) return;  // in ascending order
      chosen_.push_back(i);
      Choose(i + 1, leaving + more);
      chosen_.pop_back();
    }
  }

  void Begin() {
    banned_.clear();
    open_.clear();
    for (const api::Object& pod : task_.wanted) open_.push_back({.pod = &pod});
    Group leaving;
    const auto empty = [&](const Emptiable& emptiable) {
      banned_.insert(emptiable.node);
      leaving.insert(leaving.end(), emptiable.residents.begin(), emptiable.residents.end());
    };
    for (const Emptiable& emptiable : task_.emptied) empty(emptiable);
    for (const std::size_t i : chosen_) empty(task_.any_of[i]);
    if (leaving.size() > moves_) return;
    if (leaving.size() == moves_ && !Better(leaving)) return;
    const std::size_t mark = sandbox_.Mark();
    SendAway(leaving);
    Descend(0, moves_ - leaving.size());
    Return(leaving, mark);
  }

  // --- Who goes where.

  // Those of open_ before `at` have their places; `left` more may leave theirs. Whether a list was
  // accepted: with nobody left to leave, others would move the same pods.
  bool Descend(std::size_t at, std::size_t left) {
    if (Spent()) return false;
    if (at == open_.size()) return left == 0 && Offer();
    const Item item = open_[at];
    const std::size_t mark = sandbox_.Mark();
    // Where the scheduler would put it.
    std::set<std::string> but = banned_;
    if (!item.from.empty()) but.insert(item.from);
    const auto own = PlaceAnywhereElse(item, but);
    bool accepted = false;
    if (own) {
      accepted = GoOn(at, *own, {}, left);
      sandbox_.UndoTo(mark);
      if (left == 0 && accepted) return true;
    } else if (left == 0) {
      sandbox_.UndoTo(mark);
      return false;
    }
    // Everybody at once on the nodes that somebody comes to first, chains of moves later.
    for (const bool all_at_once : {true, false}) {
      if (all_at_once && left == 0) continue;
      for (const std::string& node : task_.nodes) {
        if (Spent()) return accepted;
        if (but.contains(node)) continue;
        const std::size_t most = all_at_once ? left : left - std::min<std::size_t>(left, 1);
        const Ways& ways = WaysTo(item, node, most, !own.has_value());
        if (ways.fits) {
          if (all_at_once || node == own) continue;
          accepted |= Enter(at, item, node, {}, left);
        } else {
          const std::vector<Group> groups = ways.groups;
          for (const Group& group : groups) {
            if (all_at_once ? group.size() != left : group.size() >= left) continue;
            if (group.size() == left && !Better(group)) continue;
            accepted |= Enter(at, item, node, group, left);
          }
        }
        if (left == 0 && accepted) return true;
      }
    }
    return accepted;
  }

  // The item goes to the node, from which the group goes.
  bool Enter(std::size_t at, const Item& item, const std::string& node, const Group& group,
             std::size_t left) {
    if (Spent()) return false;
    const std::size_t mark = sandbox_.Mark();
    SendAway(group);
    ++attempts_;
    const bool there = PlaceOn(sandbox_, *item.pod, node);
    const bool accepted = there && GoOn(at, node, group, left);
    Return(group, mark);
    return accepted;
  }

  bool GoOn(std::size_t at, const std::string& node, const Group& group, std::size_t left) {
    places_.push_back(node);
    ++touched_[node];
    const bool accepted = Descend(at + 1, left - group.size());
    --touched_[node];
    places_.pop_back();
    return accepted;
  }

  std::optional<std::string> PlaceAnywhereElse(const Item& item, const std::set<std::string>& but) {
    ++attempts_;
    return PlaceAnywhere(sandbox_, *item.pod, but);
  }

  void SendAway(const Group& group) {
    for (const std::size_t i : group) {
      TakeOff(sandbox_, task_.residents[i].pod);
      gone_[i] = true;
      ++touched_[task_.residents[i].node];
      open_.push_back({.pod = &unplaced_[i], .resident = i, .from = task_.residents[i].node});
    }
  }
  void Return(const Group& group, std::size_t mark) {
    sandbox_.UndoTo(mark);
    for (const std::size_t i : group) {
      gone_[i] = false;
      --touched_[task_.residents[i].node];
      open_.pop_back();
    }
  }

  // --- What it takes to have a pod on a node.

  const Ways& WaysTo(const Item& item, const std::string& node, std::size_t most, bool unfit) {
    const bool known = task_.apart && touched_[node] == 0;
    Ways& ways = known ? ways_[{ShapeOf(item), node}] : (fresh_ = {});
    if (!ways.asked) ways.fits = !unfit && FitsWithout(item, node, {});
    ways.asked = true;
    if (ways.fits || ways.hopeless || most <= ways.sized) return ways;
    Group residents;
    const auto found = on_node_.find(node);
    if (found != on_node_.end()) {
      std::ranges::copy_if(found->second, std::back_inserter(residents),
                           [&](std::size_t i) { return !gone_[i]; });
    }
    if (ways.sized == 0) {
      ways.hopeless = residents.empty() || !FitsWithout(item, node, residents);
      if (ways.hopeless) return ways;
    }
    for (; ways.sized < most && !Spent(); ++ways.sized) {
      Group group;
      AddGroups(item, node, residents, ways.sized + 1, 0, group, ways.groups);
    }
    return ways;
  }

  // All groups of so many, of the residents from `at` on, that are enough and hold none that is.
  void AddGroups(const Item& item, const std::string& node, const Group& residents,
                 std::size_t size, std::size_t at, Group& group, std::vector<Group>& groups) {
    if (group.size() == size) {
      const bool more_than_enough = std::ranges::any_of(groups, [&](const Group& enough) {
        return std::ranges::all_of(
            enough, [&](std::size_t i) { return std::ranges::find(group, i) != group.end(); });
      });
      if (!more_than_enough && FitsWithout(item, node, group)) groups.push_back(group);
      return;
    }
    for (std::size_t i = at; i + (size - group.size()) <= residents.size() && !Spent(); ++i) {
      group.push_back(residents[i]);
      AddGroups(item, node, residents, size, i + 1, group, groups);
      group.pop_back();
    }
  }

  bool FitsWithout(const Item& item, const std::string& node, const Group& group) {
    const std::size_t mark = sandbox_.Mark();
    for (const std::size_t i : group) TakeOff(sandbox_, task_.residents[i].pod);
    ++attempts_;
    const bool fits = PlaceOn(sandbox_, *item.pod, node);
    sandbox_.UndoTo(mark);
    return fits;
  }

  // Pods that ask for the same of a node have the same ways to it.
  const std::string& ShapeOf(const Item& item) {
    std::string& shape = shapes_[item.pod];
    if (!shape.empty()) return shape;
    api::Object plain = *item.pod;
    api::Pod& pod = *plain.Mutable<api::Pod>();
    const std::string space = pod.metadata.namespace_;
    for (const ClaimUse& use : ClaimsOf(pod, sandbox_.cluster())) {
      const auto claim =
          sandbox_.cluster().Stored(controllers::KindOf<api::ResourceClaim>(), space, use.name);
      if (!claim) continue;
      api::ResourceClaim spec;
      spec.spec = claim->As<api::ResourceClaim>()->spec;
      // One that others have too is itself.
      if (!api::FindController(claim->metadata())) spec.metadata.name = use.name;
      shape += api::Object::Of(std::move(spec)).ToJson();
    }
    const api::Map<std::string> labels = pod.metadata.labels;
    pod.metadata = {};
    pod.metadata.namespace_ = space;
    pod.metadata.labels = labels;
    pod.status = {};
    for (api::PodResourceClaim& entry : pod.spec.resource_claims) entry = {.name = entry.name};
    shape += plain.ToJson();
    return shape;
  }

  // --- How good it is.

  // What the moves cost of everybody in open_ and those of the group.
  Cost CostWith(const Group& group) const {
    Cost cost;
    const auto add = [&](std::size_t i) {
      cost.priorities.push_back(task_.residents[i].priority);
      cost.devices += task_.residents[i].devices;
    };
    for (const Item& item : open_) {
      if (item.resident != kNobody) add(item.resident);
    }
    for (const std::size_t i : group) add(i);
    std::ranges::sort(cost.priorities, std::greater());
    return cost;
  }
  bool Better(const Group& group) const { return !found_.list || CostWith(group) < best_; }

  bool Offer() {
    Cost cost = CostWith({});
    if (found_.list && !(cost < best_)) return true;
    std::vector<MoveOrder::Want> moves;
    std::vector<std::string> places;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (open_[i].resident == kNobody) {
        places.push_back(places_[i]);
      } else {
        moves.push_back({open_[i].resident, places_[i]});
      }
    }
    // Who was sent away last goes first.
    std::ranges::reverse(moves);
    auto list = order_.Find(moves, places);
    if (list) {
      for (const Emptiable& emptiable : task_.emptied) list->free_nodes.push_back(emptiable.node);
      for (const std::size_t i : chosen_) list->free_nodes.push_back(task_.any_of[i].node);
      std::ranges::sort(list->free_nodes);
    }
    if (!list || !accept_(*list)) {
      found_.rejected = true;
      return false;
    }
    // Better ones of the same length are looked for as long again.
    if (!found_.list) limit_ = std::min(limit_, 2 * Attempts() + 1000);
    best_ = std::move(cost);
    found_.list = *std::move(list);
    return true;
  }

  // Whether each could be on some node if everybody went who may go.
  bool AllHaveHope() {
    if (!task_.apart || !task_.emptied.empty() || task_.any_count > 0) return true;
    for (std::size_t i = 0; i < task_.wanted.size(); ++i) {
      const Item item{.pod = &task_.wanted[i]};
      bool hope = false;
      for (const std::string& node : task_.nodes) {
        if (Spent()) return true;
        // Who alone wants a place has found none before anybody was moved.
        const Ways& ways = WaysTo(item, node, 1, /*unfit=*/task_.wanted.size() == 1);
        hope = ways.fits || !ways.hopeless;
        if (hope) break;
      }
      if (!hope) found_.hopeless.push_back(i);
    }
    return found_.hopeless.empty();
  }

  const MoveTask& task_;
  const std::function<bool(const MoveList&)>& accept_;
  Sandbox sandbox_;
  MoveOrder order_;
  std::vector<api::Object> unplaced_;  // of the residents
  std::map<std::string, Group> on_node_;
  std::map<const api::Object*, std::string> shapes_;
  std::map<std::pair<std::string, std::string>, Ways> ways_;  // to nodes nobody has touched
  Ways fresh_;

  std::size_t moves_ = 0;  // so many are allowed now
  std::size_t limit_ = 0;
  std::size_t attempts_ = 0;
  std::vector<std::size_t> chosen_;
  std::set<std::string> banned_;
  std::vector<Item> open_;           // who wants a place
  std::vector<std::string> places_;  // of the first of them
  std::vector<bool> gone_;
  std::map<std::string, std::size_t> touched_;
  Cost best_;
  MovesFound found_;
};

}  // namespace

MovesFound SearchMoves(const std::vector<api::Object>& objects, const PlanOptions& options,
                       const MoveTask& task, const std::function<bool(const MoveList&)>& accept) {
  return Search(objects, options, task, accept).Run();
}

}  // namespace dray::planner::internal
