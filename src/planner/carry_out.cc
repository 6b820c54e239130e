// SPDX-License-Identifier: Apache-2.0
#include "planner/carry_out.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "api/cluster.h"
#include "api/node.h"
#include "api/pod.h"
#include "fmt/format.h"
#include "scheduler/pod_info.h"

namespace dray::planner {
namespace {

std::string Shown(const PodName& name) {
  return name.namespace_ == "default" ? name.name : name.namespace_ + "/" + name.name;
}

std::string Seconds(std::chrono::nanoseconds time) {
  return fmt::format("{} s", std::chrono::duration_cast<std::chrono::seconds>(time).count());
}

std::string Moves(std::size_t n) { return fmt::format("{} move{}", n, n == 1 ? "" : "s"); }

// What keeps it from a node, as its scheduler says it.
std::string WhyPending(const api::Pod& pod) {
  for (const api::PodCondition& condition : pod.status.conditions) {
    if (condition.type == api::kPodScheduledCondition && !condition.message.empty()) {
      return fmt::format(": {}", condition.message);
    }
  }
  return "";
}

// Nobody answered; who asks again may be answered.
bool Unanswered(const Status& status) {
  return api::MayHaveHappened(status) || status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded;
}

class Work {
 public:
  Work(const Defrag& list, MoveServer& server, const base::Clock& clock,
       const CarryOutOptions& options, const std::function<void(const std::string&)>& tell)
      : list_(list), server_(server), clock_(clock), options_(options), tell_(tell) {}

  CarriedOut Run() {
    Defrag now = list_;
    const Status status = MakeAll(now);
    Status opened = Close({}, status.ok() ? list_.free_nodes : std::vector<std::string>());
    result_.surprise = status.ok() ? "" : base::Message(status);
    if (status.ok() && opened.ok()) opened = AwaitArrivals();
    if (!opened.ok()) {
      result_.surprise.append(result_.surprise.empty() ? "" : "; ").append(base::Message(opened));
    }
    result_.done = status.ok() && opened.ok();
    result_.closed.assign(mine_.begin(), mine_.end());
    return std::move(result_);
  }

 private:
  static Status Surprise(std::string_view what) {
    return base::MakeStatus(StatusCode::kFailedPrecondition, what);
  }
  std::chrono::nanoseconds Deadline() const { return clock_.Monotonic() + options_.timeout; }

  // A server that is away for a moment is no surprise.
  template <typename Ask>
  StatusOr<std::vector<api::Object>> Answered(Ask ask) {
    const std::chrono::nanoseconds deadline = Deadline();
    for (;;) {
      auto answer = ask();
      if (answer.ok() || !Unanswered(answer.status()) || clock_.Monotonic() >= deadline) {
        return answer;
      }
      server_.Wait();
    }
  }
  StatusOr<std::vector<api::Object>> Read() {
    return Answered([&] { return server_.Read(); });
  }
  StatusOr<std::vector<api::Object>> Pods(std::string_view space) {
    return Answered([&] { return server_.Pods(space); });
  }

  Status MakeAll(Defrag& now) {
    while (!now.moves.empty()) {
      const Move move = now.moves.front();
      std::set<std::string> closed(now.free_nodes.begin(), now.free_nodes.end());
      for (const Move& other : now.moves) closed.insert(other.from);
      for (const Arrival& arrival : now.arrivals) closed.insert(arrival.node);
      closed.erase(move.to);
      DRAY_RETURN_IF_ERROR(Close(closed, {}));
      DRAY_RETURN_IF_ERROR(Make(move));
      const std::size_t left = now.moves.size() - 1;
      std::vector<PodName> rest;
      for (std::size_t i = 1; i < now.moves.size(); ++i) rest.push_back(now.moves[i].pod);
      // Claims of the pod that left may be given back a little later.
      const std::chrono::nanoseconds deadline = Deadline();
      for (;;) {
        DRAY_ASSIGN_OR_RETURN(now, PlanAgain(rest));
        if (now.reached) break;
        if (clock_.Monotonic() >= deadline) {
          std::string why;
          for (const std::string& reason : now.reasons) why += "; " + reason;
          return Surprise(
              fmt::format("after {} the {} that {} left no longer {} to what was asked "
                          "for{}",
                          Moves(result_.made.size()), Moves(left), left == 1 ? "was" : "were",
                          left == 1 ? "leads" : "lead", why));
        }
        server_.Wait();
      }
    }
    return {};
  }

  // --- Nodes that are closed.

  // These are closed, and others open that were closed here, but for `keep`.
  Status Close(const std::set<std::string>& wanted, const std::vector<std::string>& keep) {
    if (!options_.cordon) return {};
    Status first;
    const std::set<std::string> mine = mine_;
    for (const std::string& node : mine) {
      if (wanted.contains(node) || std::ranges::find(keep, node) != keep.end()) continue;
      const Status opened = Set(node, false);
      if (first.ok()) first = opened;
    }
    if (!first.ok()) return first;
    if (std::ranges::includes(mine_, wanted)) return {};
    DRAY_ASSIGN_OR_RETURN(const auto objects, Read());
    std::set<std::string> open;
    for (const api::Object& object : objects) {
      const auto* node = object.As<api::Node>();
      if (node != nullptr && !node->spec.unschedulable) open.insert(node->metadata.name);
    }
    // Those that somebody else has closed are theirs to open.
    for (const std::string& node : wanted) {
      if (open.contains(node)) DRAY_RETURN_IF_ERROR(Set(node, true));
    }
    return {};
  }

  // It says the same twice as once, so a lost answer is asked for again.
  Status Set(const std::string& node, bool closed) {
    if (closed) mine_.insert(node);
    const std::chrono::nanoseconds deadline = Deadline();
    Status status = server_.Cordon(node, closed);
    while (Unanswered(status) && clock_.Monotonic() < deadline) {
      server_.Wait();
      status = server_.Cordon(node, closed);
    }
    if (!status.ok()) {
      return Surprise(fmt::format("node {} could not be {}: {}", node,
                                  closed ? "cordoned" : "uncordoned", base::Message(status)));
    }
    if (!closed) mine_.erase(node);
    tell_(fmt::format("node/{} {}", node, closed ? "cordoned" : "uncordoned"));
    return {};
  }

  // --- One move.

  Status Make(const Move& move) {
    DRAY_ASSIGN_OR_RETURN(const auto before, Pods(move.pod.namespace_));
    const api::Pod* pod = nullptr;
    std::set<std::string> known;
    for (const api::Object& object : before) {
      known.insert(object.metadata().uid);
      if (object.metadata().uid == move.uid) pod = object.As<api::Pod>();
    }
    if (pod == nullptr) {
      return Surprise(fmt::format("pod {} is gone already", Shown(move.pod)));
    }
    if (pod->spec.node_name != move.from) {
      return Surprise(fmt::format("pod {} is on node {}, not on {}", Shown(move.pod),
                                  pod->spec.node_name, move.from));
    }
    const api::OwnerReference* owner = api::FindController(pod->metadata);
    const std::string maker = owner == nullptr ? "" : owner->uid;
    DRAY_RETURN_IF_ERROR(Evict(move));
    tell_(fmt::format("pod/{} evicted from node {}", Shown(move.pod), move.from));
    return AwaitReplacement(move, maker, known);
  }

  Status Evict(const Move& move) {
    const std::chrono::nanoseconds deadline = Deadline();
    for (bool told = false;;) {
      const Status status = server_.Evict(move.pod, move.uid);
      if (status.ok()) return {};
      if (Unanswered(status)) {
        DRAY_ASSIGN_OR_RETURN(const bool ends, EndsOrGone(move));
        if (ends) return {};
      } else if (status.code() != StatusCode::kResourceExhausted) {
        return Surprise(
            fmt::format("pod {} could not be evicted: {}", Shown(move.pod), base::Message(status)));
      } else if (!told) {
        tell_(fmt::format("pod/{} waits: {}", Shown(move.pod), base::Message(status)));
        told = true;
      }
      if (clock_.Monotonic() >= deadline) {
        return Surprise(fmt::format("pod {} could not be evicted within {}: {}", Shown(move.pod),
                                    Seconds(options_.timeout), base::Message(status)));
      }
      server_.Wait();
    }
  }

  StatusOr<bool> EndsOrGone(const Move& move) {
    DRAY_ASSIGN_OR_RETURN(const auto pods, Pods(move.pod.namespace_));
    for (const api::Object& object : pods) {
      if (object.metadata().uid == move.uid) {
        return object.metadata().deletion_timestamp.has_value();
      }
    }
    return true;
  }

  Status AwaitReplacement(const Move& move, const std::string& maker,
                          const std::set<std::string>& known) {
    const std::chrono::nanoseconds deadline = Deadline();
    for (;;) {
      DRAY_ASSIGN_OR_RETURN(const auto pods, Pods(move.pod.namespace_));
      const api::Pod* successor = nullptr;
      bool there = false;
      for (const api::Object& object : pods) {
        const api::Pod& pod = *object.As<api::Pod>();
        if (pod.metadata.uid == move.uid) there = !scheduler::IsTerminated(pod);
        if (known.contains(pod.metadata.uid) || scheduler::IsTerminated(pod)) continue;
        const api::OwnerReference* owner = api::FindController(pod.metadata);
        const bool same = maker.empty() ? pod.metadata.name == move.pod.name
                                        : owner != nullptr && owner->uid == maker;
        // One with a node tells more than one without.
        if (same && (successor == nullptr || !pod.spec.node_name.empty())) successor = &pod;
      }
      if (successor != nullptr && !successor->spec.node_name.empty() && !there) {
        const std::string& node = successor->spec.node_name;
        const bool expected = node == move.to;
        tell_(fmt::format("pod/{} is on node {}{}", successor->metadata.name, node,
                          expected ? "" : fmt::format(", where {} was expected", move.to)));
        result_.made.push_back(
            {.move = move, .replacement = successor->metadata.name, .node = node});
        return {};
      }
      if (clock_.Monotonic() >= deadline) {
        const std::string after =
            fmt::format("{} after pod {} was evicted", Seconds(options_.timeout), Shown(move.pod));
        if (there) return Surprise(fmt::format("{} it is still ending", after));
        if (successor == nullptr) {
          return Surprise(fmt::format("{} no controller has created another one", after));
        }
        return Surprise(fmt::format("{} its replacement, pod {}, has no node{}", after,
                                    successor->metadata.name, WhyPending(*successor)));
      }
      server_.Wait();
    }
  }

  // --- What is left to do.

  // As it is now, but for the nodes that are closed here.
  StatusOr<std::vector<api::Object>> ReadOpen() {
    DRAY_ASSIGN_OR_RETURN(auto objects, Read());
    for (api::Object& object : objects) {
      if (object.As<api::Node>() == nullptr || !mine_.contains(object.metadata().name)) continue;
      api::NodeSpec& spec = object.Mutable<api::Node>()->spec;
      spec.unschedulable = false;
      // A controller says it a second time.
      std::erase_if(spec.taints, [](const api::Taint& taint) {
        return taint.key == "node.kubernetes.io/unschedulable";
      });
    }
    return objects;
  }

  StatusOr<Defrag> PlanAgain(std::vector<PodName> rest) {
    DRAY_ASSIGN_OR_RETURN(auto objects, ReadOpen());
    DefragGoal goal;
    // What was chosen at first is what is wanted now.
    goal.nodes = list_.free_nodes;
    for (const Arrival& arrival : list_.arrivals) {
      if (arrival.devices) {
        goal.devices.push_back(*arrival.devices);
        continue;
      }
      const auto pod = std::ranges::find_if(objects, [&](const api::Object& object) {
        return object.As<api::Pod>() != nullptr &&
               object.metadata().namespace_ == arrival.pod.namespace_ &&
               object.metadata().name == arrival.pod.name;
      });
      if (pod == objects.end()) {
        return Surprise(fmt::format("pod {}, for which room is made, is gone", Shown(arrival.pod)));
      }
      if (pod->As<api::Pod>()->spec.node_name.empty()) goal.pods.push_back(arrival.pod);
    }
    if (goal.pods.empty() && goal.nodes.empty() && goal.devices.empty()) {
      Defrag nothing;  // everybody has a place
      nothing.reached = true;
      return nothing;
    }
    DefragOptions defrag = options_.defrag;
    defrag.max_moves = rest.size();
    defrag.only = std::move(rest);
    return FindMoves(std::move(objects), goal, options_.plan, defrag);
  }

  Status AwaitArrivals() {
    const std::chrono::nanoseconds deadline = Deadline();
    for (const Arrival& arrival : list_.arrivals) {
      if (arrival.devices) continue;
      for (;;) {
        DRAY_ASSIGN_OR_RETURN(const auto pods, Pods(arrival.pod.namespace_));
        const auto found = std::ranges::find_if(pods, [&](const api::Object& object) {
          return object.metadata().name == arrival.pod.name;
        });
        if (found == pods.end()) {
          return Surprise(
              fmt::format("pod {}, for which room was made, is gone", Shown(arrival.pod)));
        }
        const api::Pod& pod = *found->As<api::Pod>();
        if (!pod.spec.node_name.empty()) {
          tell_(fmt::format("pod/{} is on node {}", Shown(arrival.pod), pod.spec.node_name));
          break;
        }
        if (clock_.Monotonic() >= deadline) {
          return Surprise(fmt::format("{} after the last move, pod {} has no node{}",
                                      Seconds(options_.timeout), Shown(arrival.pod),
                                      WhyPending(pod)));
        }
        server_.Wait();
      }
    }
    return {};
  }

  const Defrag& list_;
  MoveServer& server_;
  const base::Clock& clock_;
  const CarryOutOptions& options_;
  const std::function<void(const std::string&)>& tell_;
  std::set<std::string> mine_;  // nodes that were closed here
  CarriedOut result_;
};

}  // namespace

CarriedOut CarryOut(const Defrag& list, MoveServer& server, const base::Clock& clock,
                    const CarryOutOptions& options,
                    const std::function<void(const std::string&)>& tell) {
  return Work(list, server, clock, options, tell).Run();
}

}  // namespace dray::planner
