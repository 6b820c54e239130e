// SPDX-License-Identifier: Apache-2.0
#include "planner/cures.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "allocator/explanation.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/pod_claims.h"
#include "api/resource_claim.h"
#include "base/quantity.h"
#include "controllers/object_key.h"
#include "fmt/format.h"
#include "planner/internal/cure_changes.h"
#include "planner/internal/missing.h"
#include "planner/internal/outcomes.h"
#include "planner/internal/rehearsal.h"
#include "planner/internal/trial.h"
#include "scheduler/explain_groups.h"

namespace dray::planner {
namespace {

using controllers::KindOf;
using internal::Occupant;
using internal::Trial;

// Bounds on what is tried for one pod.
constexpr std::size_t kMaxNodes = 4;
constexpr std::size_t kMaxOccupants = 48;
constexpr std::size_t kMaxSingles = 12;
constexpr std::size_t kMaxRepairs = 5;
constexpr std::size_t kMaxCounts = 4;
constexpr std::size_t kMaxTries = 150;

std::string Devices(std::int64_t n) { return n == 1 ? "1 device" : fmt::format("{} devices", n); }

// What a search for cures is about, and what it has found.
struct Case {
  api::Object pod;
  const scheduler::PodExplanation& why;
  const internal::PlannedOccupants& planned;
  Help help;
  std::set<std::string> said;
  std::size_t tries_before = 0;

  const api::Pod& spec() const { return *pod.As<api::Pod>(); }
};

class Search {
 public:
  Search(Trial& trial, Case& of) : trial_(trial), case_(of) {}

  void Run() {
    internal::FindMissing(trial_, case_.pod, case_.help);
    const std::vector<std::string> nodes = Nodes();
    for (const std::string& node : nodes) WaitFor(node);
    Requests();
    PodItself();
    for (const std::string& node : nodes) {
      if (Repair(node)) break;
    }
    for (const std::string& node : nodes) {
      if (AnotherNode(node)) break;
    }
  }

 private:
  bool Full() const {
    return case_.help.cures.size() >= kMaxCures || trial_.tries() - case_.tries_before >= kMaxTries;
  }

  // Whether it helps; then it is one of the cures.
  bool Offer(std::string text, const api::Object& pod, Changes changes) {
    if (Full() || case_.said.contains(text)) return false;
    const Trial::Answer answer = trial_.Try(pod, changes);
    if (!answer.placed) return false;
    Add(std::move(text), pod, std::move(changes), answer.node);
    return true;
  }

  void Add(std::string text, const api::Object& pod, Changes changes, std::string node) {
    if (!case_.said.insert(text).second) return;
    changes.put.push_back(pod);
    case_.help.cures.push_back(
        {.text = std::move(text), .node = std::move(node), .changes = std::move(changes)});
  }

  // The closest first.
  std::vector<std::string> Nodes() const {
    std::vector<const scheduler::NodeGroup*> groups;
    for (const scheduler::NodeGroup& group : case_.why.groups) groups.push_back(&group);
    std::ranges::stable_sort(groups, {}, [](const scheduler::NodeGroup* group) {
      return scheduler::DistanceOf(group->reasons);
    });
    std::vector<std::string> nodes;
    const auto add = [&](const std::string& node) {
      if (nodes.size() < kMaxNodes && std::ranges::find(nodes, node) == nodes.end()) {
        nodes.push_back(node);
      }
    };
    if (case_.why.closest) add(case_.why.closest->node);
    for (const scheduler::NodeGroup* group : groups) add(group->examples.front());
    return nodes;
  }

  // --- Somebody else leaves.

  std::string Called(const Occupant& occupant) const {
    const std::string space =
        occupant.namespace_ == case_.pod.metadata().namespace_ ? "" : occupant.namespace_ + "/";
    return space + occupant.name;
  }

  bool IsPlanned(const Occupant& occupant) const { return case_.planned.contains(occupant); }

  std::string TextOf(const std::vector<Occupant>& leave, const std::string& node) const {
    const auto called = [&](const Occupant& occupant) {
      return fmt::format("{} {}", occupant.pod ? "pod" : "claim", Called(occupant));
    };
    if (leave.size() == 1) {
      const Occupant& one = leave.front();
      const auto has = [&](std::string_view how) {
        return one.devices.empty() ? "" : fmt::format(", which {} {}", how, one.devices);
      };
      if (IsPlanned(one)) {
        return fmt::format("let it go before {}{}", called(one), has("would get"));
      }
      if (one.pod) {
        return fmt::format("wait until {} on node {} ends{}", called(one), node, has("has"));
      }
      return fmt::format("delete {}, which no pod uses and which has {}", called(one), one.devices);
    }
    std::string names;
    for (const Occupant& occupant : leave) {
      names.append(names.empty() ? "" : ", ").append(called(occupant));
    }
    const bool all = std::ranges::all_of(leave, [&](const Occupant& o) { return IsPlanned(o); });
    return all ? fmt::format("let it go before all of these: {}", names)
               : fmt::format("wait until all of these have left node {}: {}", node, names);
  }

  bool OfferWithout(const std::vector<Occupant>& leave, const std::string& node) {
    return Offer(TextOf(leave, node), case_.pod, internal::Without(trial_, leave));
  }

  bool FitsWithout(const std::vector<Occupant>& leave) {
    return !Full() && trial_.Try(case_.pod, internal::Without(trial_, leave)).placed;
  }

  void WaitFor(const std::string& node) {
    // Devices alone first: who only runs there is asked to leave when room is what is missing.
    for (const bool pods : {false, true}) {
      std::vector<Occupant> all = internal::OccupantsOf(trial_, node, pods);
      if (all.empty() || all.size() > kMaxOccupants || !FitsWithout(all)) continue;
      bool alone = false;
      for (std::size_t i = 0; i < all.size() && i < kMaxSingles; ++i) {
        alone |= OfferWithout({all[i]}, node);
        if (Full() || case_.help.cures.size() >= kMaxCures / 2) return;
      }
      if (alone) return;
      // Nobody alone: all but those that may stay, the last first.
      for (std::size_t i = all.size(); i-- > 0 && all.size() > 1;) {
        std::vector<Occupant> fewer = all;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        if (FitsWithout(fewer)) all = std::move(fewer);
      }
      OfferWithout(all, node);
      return;
    }
  }

  // --- The pod asks for something else.

  template <typename Edit>
  void OfferRequest(const allocator::ClaimReport& report, std::string_view alternative,
                    std::string text, Edit edit) {
    const auto slash = report.name.find('/');
    const api::Object* claim = trial_.Find(
        KindOf<api::ResourceClaim>(), report.name.substr(0, slash), report.name.substr(slash + 1));
    if (claim == nullptr) return;
    api::Object changed = *claim;
    const internal::RequestFields fields =
        internal::FieldsOf(*changed.Mutable<api::ResourceClaim>(), alternative);
    if (fields.count == nullptr || !edit(fields)) return;
    Changes changes;
    changes.put.push_back(std::move(changed));
    Offer(std::move(text), case_.pod, std::move(changes));
  }

  void OfferFor(const allocator::ClaimReport& claim, const allocator::AlternativeReport& report,
                const allocator::Drop& drop) {
    using Reason = allocator::Reason;
    const std::string request = "request " + report.name;
    if (drop.reason == Reason::kSelectorFalse || drop.reason == Reason::kExpressionError) {
      if (drop.of_class || (drop.reason == Reason::kSelectorFalse && !drop.selector)) return;
      const bool fails = drop.reason == Reason::kExpressionError;
      OfferRequest(claim, report.name,
                   fails ? fmt::format("remove the selectors of {}, one of which fails: {}",
                                       request, drop.message)
                         : fmt::format("remove the selector {} from {}", drop.expression, request),
                   [&](const internal::RequestFields& fields) {
                     if (fields.selectors->empty()) return false;
                     if (fails) {
                       fields.selectors->clear();
                       return true;
                     }
                     const auto at = static_cast<std::size_t>(*drop.selector);
                     if (at >= fields.selectors->size()) return false;
                     fields.selectors->erase(fields.selectors->begin() + *drop.selector);
                     return true;
                   });
    } else if (drop.reason == Reason::kTaint) {
      OfferRequest(claim, report.name,
                   fmt::format("let {} tolerate the device taint {}", request, drop.subject),
                   [&](const internal::RequestFields& fields) {
                     const internal::TaintText taint = internal::ParseTaint(drop.subject);
                     fields.tolerations->push_back(
                         {.key = taint.key, .operator_ = "Exists", .effect = taint.effect});
                     return true;
                   });
    } else if (drop.reason == Reason::kCapacityInUse || drop.reason == Reason::kCapacityTooSmall) {
      OfferRequest(claim, report.name,
                   fmt::format("let {} ask for {} of {} instead of {}", request, drop.available,
                               drop.subject, drop.asked),
                   [&](const internal::RequestFields& fields) {
                     base::Quantity amount;
                     if (!fields.capacity->has_value() ||
                         !base::Quantity::TryParse(drop.available, &amount) ||
                         amount == base::Quantity()) {
                       return false;
                     }
                     auto& requests = (*fields.capacity)->requests;
                     if (requests.Find(drop.subject) == nullptr) return false;
                     requests[drop.subject] = amount;
                     return true;
                   });
    }
  }

  // So many devices as there are somewhere, the most first.
  void OfferCounts(const std::string& claim_name, const std::string& request,
                   std::set<std::int64_t, std::greater<>> counts, std::int64_t needed) {
    std::size_t tried = 0;
    for (const std::int64_t count : counts) {
      if (count < 1 || count >= needed || tried++ == kMaxCounts) continue;
      const std::size_t before = case_.help.cures.size();
      OfferRequest(
          {.name = claim_name}, request,
          fmt::format("let request {} ask for {} instead of {}", request, Devices(count), needed),
          [&](const internal::RequestFields& fields) {
            if (*fields.mode == api::kAllocationModeAll) return false;
            *fields.count = count;
            return true;
          });
      if (case_.help.cures.size() > before) return;
    }
  }

  void OfferConstraint(const allocator::ClaimReport& report, std::size_t index) {
    const auto slash = report.name.find('/');
    const api::Object* claim = trial_.Find(
        KindOf<api::ResourceClaim>(), report.name.substr(0, slash), report.name.substr(slash + 1));
    if (claim == nullptr) return;
    api::Object changed = *claim;
    auto& constraints = changed.Mutable<api::ResourceClaim>()->spec.devices.constraints;
    if (index >= constraints.size()) return;
    const allocator::ConstraintReport& constraint = report.constraints[index];
    constraints.erase(constraints.begin() + static_cast<std::ptrdiff_t>(index));
    Changes changes;
    changes.put.push_back(std::move(changed));
    Offer(fmt::format("remove the constraint {} {} from claim {}", constraint.type->field(),
                      constraint.attribute, report.name.substr(slash + 1)),
          case_.pod, std::move(changes));
  }

  void Requests() {
    struct Asked {
      std::int64_t needed = 0;
      std::set<std::int64_t, std::greater<>> counts;
    };
    std::map<std::pair<std::string, std::string>, Asked> asked;
    for (const scheduler::NodeGroup& group : case_.why.groups) {
      for (const scheduler::Reason& reason : group.reasons) {
        if (reason.devices == nullptr) continue;
        const allocator::Explanation& devices = *reason.devices;
        for (const allocator::ClaimReport& claim : devices.claims) {
          for (const allocator::RequestReport& request : claim.requests) {
            if (!request.in_conflict && !devices.conflict.empty()) continue;
            for (const allocator::AlternativeReport& report : request.alternatives) {
              Asked& entry = asked[{claim.name, report.name}];
              entry.needed = report.needed;
              if (devices.at_most) entry.counts.insert(*devices.at_most);
              if (devices.room_together) entry.counts.insert(*devices.room_together);
              entry.counts.insert(report.usable);
              for (const allocator::Drop& drop : report.drops) OfferFor(claim, report, drop);
            }
          }
          for (std::size_t i = 0; i < claim.constraints.size(); ++i) {
            if (claim.constraints[i].in_conflict) OfferConstraint(claim, i);
          }
        }
      }
    }
    for (auto& [name, entry] : asked) {
      OfferCounts(name.first, name.second, std::move(entry.counts), entry.needed);
    }
  }

  template <typename Edit>
  void OfferPod(std::string text, Edit edit) {
    api::Object pod = case_.pod;
    edit(pod.Mutable<api::Pod>()->spec);
    Offer(std::move(text), pod, {});
  }

  void PodItself() {
    const auto each = [&](const auto& offer) {
      for (const scheduler::Reason& reason : case_.why.before) offer(reason);
      for (const scheduler::NodeGroup& group : case_.why.groups) {
        for (const scheduler::Reason& reason : group.reasons) offer(reason);
      }
    };
    each([&](const scheduler::Reason& reason) {
      if (reason.code == "node_taint" && !reason.shortages.empty()) {
        Tolerate(reason.shortages.front().what);
      } else if (reason.code == "node_affinity") {
        OfferPod("remove the pod's node selector and required node affinity",
                 [](api::PodSpec& spec) { ForgetNodes(spec); });
      } else if (reason.code == "pod_affinity") {
        OfferPod("remove the pod's affinity to other pods", [](api::PodSpec& spec) {
          if (spec.affinity.has_value()) spec.affinity->pod_affinity.reset();
        });
      } else if (reason.code == "pod_anti_affinity") {
        OfferPod("remove the pod's anti-affinity", [](api::PodSpec& spec) {
          if (spec.affinity.has_value()) spec.affinity->pod_anti_affinity.reset();
        });
      } else if (reason.code == "topology_spread" || reason.code == "topology_label_missing") {
        OfferPod("remove the pod's topology spread constraints",
                 [](api::PodSpec& spec) { spec.topology_spread_constraints.clear(); });
      } else if (reason.code == "scheduling_gates") {
        OfferPod("remove the pod's scheduling gates",
                 [](api::PodSpec& spec) { spec.scheduling_gates.clear(); });
      }
    });
  }

  static void ForgetNodes(api::PodSpec& spec) {
    spec.node_selector = {};
    if (spec.affinity.has_value() && spec.affinity->node_affinity.has_value()) {
      spec.affinity->node_affinity->required.reset();
    }
  }

  // `what` is "toleration for key=value:effect".
  static std::string_view TaintIn(std::string_view what) {
    constexpr std::string_view kFor = " for ";
    const auto at = what.find(kFor);
    return at == std::string_view::npos ? std::string_view() : what.substr(at + kFor.size());
  }
  static void Tolerate(api::PodSpec& spec, std::string_view taint) {
    const internal::TaintText parsed = internal::ParseTaint(taint);
    spec.tolerations.push_back({.key = parsed.key, .operator_ = "Exists", .effect = parsed.effect});
  }
  void Tolerate(std::string_view what) {
    const std::string_view taint = TaintIn(what);
    if (taint.empty()) return;
    OfferPod(fmt::format("let the pod tolerate the taint {}", taint),
             [&](api::PodSpec& spec) { Tolerate(spec, taint); });
  }

  // --- The node has more.

  // A device of which more would serve the request: one that somebody has, or that is usable, best
  // on the node itself.
  const allocator::DeviceName* LikeWhat(const allocator::Explanation& on_node) const {
    const auto in = [](const allocator::Explanation& devices) -> const allocator::DeviceName* {
      for (const allocator::ClaimReport& claim : devices.claims) {
        for (const allocator::RequestReport& request : claim.requests) {
          if (!request.in_conflict) continue;
          for (const allocator::AlternativeReport& report : request.alternatives) {
            for (const allocator::Drop& drop : report.drops) {
              using enum allocator::Reason;
              if ((drop.reason == kInUse || drop.reason == kCounters || drop.reason == kGroups ||
                   drop.reason == kTaint) &&
                  !drop.examples.empty()) {
                return &drop.examples.front();
              }
            }
          }
        }
      }
      return nullptr;
    };
    if (const auto* here = in(on_node)) return here;
    for (const scheduler::NodeGroup& group : case_.why.groups) {
      for (const scheduler::Reason& reason : group.reasons) {
        if (reason.devices == nullptr) continue;
        if (const auto* there = in(*reason.devices)) return there;
      }
    }
    return nullptr;
  }

  // What has been done so far to make the pod fit on a node.
  struct Repaired {
    api::Object pod;
    Changes changes;
    std::vector<std::string> texts;

    api::Node& Node(const Trial& trial, const std::string& name) {
      for (api::Object& object : changes.put) {
        if (object.As<api::Node>() != nullptr) return *object.Mutable<api::Node>();
      }
      return *changes.put.emplace_back(*trial.Find(KindOf<api::Node>(), "", name))
                  .Mutable<api::Node>();
    }
  };

  bool RepairOne(const scheduler::Reason& reason, const std::string& node, Repaired& done) {
    if (reason.code == "insufficient_resource" || reason.code == "too_many_pods") {
      for (const scheduler::Reason::Shortage& shortage : reason.shortages) {
        base::Quantity needed;
        base::Quantity free;
        if (!base::Quantity::TryParse(shortage.needed, &needed) ||
            !base::Quantity::TryParse(shortage.free, &free) || needed <= free) {
          return false;
        }
        auto& has = done.Node(trial_, node).status.allocatable;
        const base::Quantity* there = has.Find(shortage.what);
        has[shortage.what] = (there == nullptr ? base::Quantity() : *there) + (needed - free);
        done.texts.push_back(fmt::format("{} more {}", (needed - free).ToString(), shortage.what));
      }
      return !reason.shortages.empty();
    }
    if (reason.code == "node_unschedulable") {
      api::Node& changed = done.Node(trial_, node);
      changed.spec.unschedulable = false;
      std::erase_if(changed.spec.taints,
                    [](const api::Taint& taint) { return taint.key == api::kUnschedulableTaint; });
      done.texts.emplace_back("to be uncordoned");
      return true;
    }
    if (reason.code == "node_taint" && !reason.shortages.empty()) {
      const std::string_view taint = TaintIn(reason.shortages.front().what);
      Tolerate(done.pod.Mutable<api::Pod>()->spec, taint);
      done.texts.push_back(fmt::format("the pod to tolerate its taint {}", taint));
      return !taint.empty();
    }
    if (reason.code == "node_affinity") {
      ForgetNodes(done.pod.Mutable<api::Pod>()->spec);
      done.texts.emplace_back("the pod to have no node selector and required node affinity");
      return true;
    }
    if (reason.devices == nullptr) return false;
    const allocator::Explanation& devices = *reason.devices;
    const auto room = devices.at_most ? devices.at_most : devices.room_together;
    const std::int64_t count = devices.needed_together - room.value_or(0);
    const allocator::DeviceName* like = LikeWhat(devices);
    if (like == nullptr) return false;
    for (const api::Object& object : done.changes.put) {
      if (object.As<api::ResourceSlice>() != nullptr) return false;  // it did not help
    }
    auto more = internal::MoreDevices(trial_, node, *like, count);
    if (!more) return false;
    done.changes.put.push_back(*std::move(more));
    done.texts.push_back(
        fmt::format("{} more {} like {}", count, count == 1 ? "device" : "devices", like->label));
    return true;
  }

  bool Repair(const std::string& node) {
    if (trial_.Find(KindOf<api::Node>(), "", node) == nullptr) return false;
    Repaired done{.pod = case_.pod};
    for (std::size_t round = 0; round < kMaxRepairs && !Full(); ++round) {
      api::Object pinned = done.pod;
      internal::Pin(*pinned.Mutable<api::Pod>(), node);
      const Trial::Answer answer = trial_.Try(pinned, done.changes);
      if (answer.placed) {
        if (done.texts.empty()) return false;  // it fits already: nobody knows why it was refused
        // Without the pin it may go somewhere else; go somewhere it must.
        return Offer(fmt::format("node {} needs {}", node, fmt::join(done.texts, ", and ")),
                     done.pod, std::move(done.changes));
      }
      bool any = false;
      for (const scheduler::NodeGroup& group : answer.why.groups) {
        if (std::ranges::find(group.examples, node) == group.examples.end()) continue;
        for (const scheduler::Reason& reason : group.reasons) {
          const bool pin = reason.code == "node_affinity" && round > 0;
          if (!pin) any |= RepairOne(reason, node, done);
        }
      }
      if (!any) return false;
    }
    return false;
  }

  bool AnotherNode(const std::string& node) {
    Changes changes = internal::OneMoreNode(trial_, node);
    if (changes.put.empty()) return false;
    if (!Offer(fmt::format("add 1 node like {}", node), case_.pod, std::move(changes))) {
      return false;
    }
    case_.help.cures.back().new_node = true;
    return true;
  }

  Trial& trial_;
  Case& case_;
};

}  // namespace

void Apply(const Changes& changes, std::vector<api::Object>& objects) {
  const auto same = [](const api::Object& object, const api::KindInfo& kind,
                       const std::string& namespace_, const std::string& name) {
    return object.kind().hub == kind.hub && object.metadata().name == name &&
           (!kind.namespaced || object.metadata().namespace_ == namespace_);
  };
  std::erase_if(objects, [&](const api::Object& object) {
    return std::ranges::any_of(changes.gone,
                               [&](const ObjectRef& gone) {
                                 return same(object, *gone.kind, gone.namespace_, gone.name);
                               }) ||
           std::ranges::any_of(changes.put, [&](const api::Object& put) {
             return same(object, put.kind(), put.metadata().namespace_, put.metadata().name);
           });
  });
  objects.insert(objects.end(), changes.put.begin(), changes.put.end());
}

class CureFinder::Impl {
 public:
  Impl(const Plan& plan, const PlanOptions& options)
      : options_(internal::WithSchedulersOf(plan.objects, options)),
        trial_(plan.objects, options_) {
    for (const PodOutcome& pod : plan.pods) {
      if (IsNew(pod.state)) planned_.Add(true, pod.namespace_, pod.name);
    }
    for (const ClaimOutcome& claim : plan.claims) {
      if (IsNew(claim.state)) planned_.Add(false, claim.namespace_, claim.claim.name);
    }
    for (const api::Object& object : plan.objects) {
      const auto* pod = object.As<api::Pod>();
      if (pod != nullptr && pod->spec.node_name.empty()) {
        pending_.emplace(internal::KeyOf(pod->metadata), object);
      }
    }
  }

  Help For(const PodOutcome& outcome) {
    const auto pod = pending_.find(internal::KeyOf(outcome.namespace_, outcome.name));
    if (!outcome.explanation || pod == pending_.end()) return {};
    return For(pod->second, *outcome.explanation);
  }

  Help For(const ClaimOutcome& outcome) {
    const api::Object* claim =
        trial_.Find(KindOf<api::ResourceClaim>(), outcome.namespace_, outcome.claim.name);
    if (!outcome.explanation || claim == nullptr) return {};
    return For(api::Object::Of(internal::AskerFor(*claim->As<api::ResourceClaim>(),
                                                  outcome.claim.name + "-asks", options_,
                                                  internal::TolerationsFor(trial_.cluster()))),
               *outcome.explanation);
  }

 private:
  static bool IsNew(State state) { return state == State::kPlaced || state == State::kWaiting; }

  Help For(api::Object pod, const scheduler::PodExplanation& why) {
    Case of{.pod = std::move(pod),
            .why = why,
            .planned = planned_,
            .help = {},
            .said = {},
            .tries_before = trial_.tries()};
    Search(trial_, of).Run();
    return std::move(of.help);
  }

  const PlanOptions options_;
  Trial trial_;
  internal::PlannedOccupants planned_;
  std::map<std::string, api::Object, std::less<>> pending_;
};

CureFinder::CureFinder(const Plan& plan, const PlanOptions& options)
    : impl_(std::make_unique<Impl>(plan, options)) {}
CureFinder::~CureFinder() = default;
Help CureFinder::For(const PodOutcome& pod) { return impl_->For(pod); }
Help CureFinder::For(const ClaimOutcome& claim) { return impl_->For(claim); }

}  // namespace dray::planner
