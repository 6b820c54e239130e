// SPDX-License-Identifier: Apache-2.0
#include "scheduler/group_search.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "api/pod_claims.h"
#include "fmt/format.h"
#include "scheduler/plugins/pod_claims.h"
#include "scheduler/plugins/volume_binding.h"

namespace dray::scheduler {
namespace {

using base::BitSet;
using Together = DynamicResources::Together;

// A search that asks so much is given up; one of many searches, when it has taken half of what is left.
constexpr std::uint64_t kBudget = 50'000;
constexpr std::uint64_t kLeastBudget = 500;
// Ways to give claims that different pods share their sets of nodes.
constexpr std::size_t kMostAssignments = 4096;
// Questions about several nodes, by how many pods they are about.
constexpr std::uint64_t kMostAcross = 400'000;

void AddTo(NodeInfo& node, const std::shared_ptr<const PodInfo>& pod) {
  node.pods.push_back(pod);
  node.requested.Add(pod->requests);
  node.non_zero.Add(pod->non_zero);
  node.ports.insert(node.ports.end(), pod->host_ports.begin(), pod->host_ports.end());
}

}  // namespace

// Pods that nothing tells apart.
struct GroupSearch::Kind {
  std::shared_ptr<const PodInfo> pod;
  std::unique_ptr<Cycle> cycle;
  std::optional<std::string> asks;  // nothing: like no other
  std::vector<std::size_t> pods;
  bool wide = false;  // may take what pods on other nodes may take, too, by claims of its own
};

// Claims that are not allocated and that the same kinds of pods name, several pods in all.
struct GroupSearch::Shared {
  std::vector<ClaimPointer> claims;
  std::vector<std::string> ids;
  std::vector<bool> users;  // by kind
  std::vector<BitSet> domains;
};

struct GroupSearch::Assignment {
  std::vector<const BitSet*> domains;  // by Shared
};

// Nodes as places.
class GroupSearch::Places final : public gang::Places {
 public:
  Places(GroupSearch& search, const Assignment& assignment)
      : search_(search), assignment_(assignment), allowed_(search.kinds_.size()) {
    const std::size_t nodes = search_.world_.nodes().size();
    BitSet any(nodes);
    for (std::size_t kind = 0; kind < allowed_.size(); ++kind) {
      allowed_[kind] = search_.nodes_;
      for (std::size_t i = 0; i < search_.shared_.size(); ++i) {
        if (search_.shared_[i].users[kind]) allowed_[kind] &= *assignment_.domains[i];
      }
      any |= allowed_[kind];
    }
    any.ForEach([&](std::size_t rank) { ranks_.push_back(rank); });
    for (std::size_t i = 0; i < search_.shared_.size(); ++i) {
      const Shared& shared = search_.shared_[i];
      across_.push_back({.claims = shared.claims, .domain = *assignment_.domains[i]});
      ids_.shared.insert(shared.ids.begin(), shared.ids.end());
      if (assignment_.domains[i]->Count() < 2) continue;
      ids_.apart.insert(shared.ids.begin(), shared.ids.end());
    }
  }

  std::size_t size() const override { return ranks_.size(); }
  std::uint64_t ClassOf(std::size_t place) const override { return place; }
  bool Fits(std::size_t place, std::span<const std::uint32_t> counts) override {
    const std::size_t rank = ranks_[place];
    NodeInfo& node = *search_.world_.nodes()[rank];
    std::optional<NodeInfo> with;  // the others; one alone needs no copy
    std::vector<DynamicResources::Member> members;
    std::size_t last = 0;  // kind of the last of them
    for (std::size_t kind = 0; kind < counts.size(); ++kind) {
      if (counts[kind] > 0 && !allowed_[kind].Test(rank)) return false;
      const Kind& one = search_.kinds_[kind];
      for (std::uint32_t i = 0; i < counts[kind]; ++i) {
        if (!members.empty()) {
          if (!with) with = node;
          AddTo(*with, search_.kinds_[last].pod);
        }
        const PluginStatus status =
            one.cycle->Filter(one.cycle->state(), *one.pod, with ? *with : node);
        if (status.code == PluginStatus::Code::kError) unknown_ = true;
        if (!status.ok()) return false;
        last = kind;
        members.push_back({&one.cycle->state(), one.pod.get()});
      }
    }
    // One alone was asked about by its filter.
    if (search_.devices_ == nullptr || members.size() < 2) return true;
    return Known(search_.devices_->FitTogether(members, node, ids_));
  }

  // From now on places share devices.
  void Join() { joined_ = true; }
  bool Share() const override { return joined_; }
  bool FitTogether(std::span<const gang::Load> loads) override {
    std::uint64_t pods = 1;
    for (const gang::Load& load : loads) {
      pods += std::accumulate(load.counts.begin(), load.counts.end(), std::uint64_t{0});
    }
    spent_ += pods;
    if (spent_ > kMostAcross) return Known(Together::kUnknown);
    std::vector<DynamicResources::Placed> placed;
    for (const gang::Load& load : loads) {
      DynamicResources::Placed& one = placed.emplace_back();
      one.node = &NodeOf(load);
      for (std::size_t kind = 0; kind < load.counts.size(); ++kind) {
        const Kind& known = search_.kinds_[kind];
        for (std::uint32_t i = 0; i < load.counts[kind]; ++i) {
          one.members.push_back({&known.cycle->state(), known.pod.get()});
        }
      }
    }
    return Known(
        search_.devices_->FitAcross(*search_.pods_.front(), placed, across_, *search_.reach_));
  }

  NodeInfo& NodeOf(const gang::Load& load) const {
    return *search_.world_.nodes()[ranks_[load.place]];
  }
  const DynamicResources::SharedIds& ids() const { return ids_; }
  std::span<const DynamicResources::SharedClaims> across() const { return across_; }
  // A question could not be answered: what was refused may be possible.
  bool unknown() const { return unknown_; }

 private:
  bool Known(Together together) {
    if (together == Together::kUnknown) unknown_ = true;
    return together == Together::kFit;
  }

  GroupSearch& search_;
  const Assignment& assignment_;
  std::vector<BitSet> allowed_;  // by kind
  std::vector<std::size_t> ranks_;
  std::vector<DynamicResources::SharedClaims> across_;
  DynamicResources::SharedIds ids_;  // apart: those that are had for several nodes
  bool joined_ = false;
  bool unknown_ = false;
  std::uint64_t spent_ = 0;
};

GroupSearch::GroupSearch(World& world, DynamicResources* devices, Prepare prepare)
    : world_(world), devices_(devices), prepare_(std::move(prepare)), left_(kBudget) {}
GroupSearch::~GroupSearch() = default;

// By what pods name, before anything of them is prepared.
void GroupSearch::FindShared(std::span<const std::shared_ptr<const PodInfo>> pods) {
  std::map<std::string, std::pair<ClaimPointer, std::size_t>> named;
  for (const auto& pod : pods) {
    for (const ClaimPointer& claim : ClaimsOf(*pod->pod, world_).claims) {
      if (claim->status.allocation.has_value()) continue;
      auto& [known, users] = named[IdOf(*claim)];
      known = claim;
      ++users;
    }
  }
  for (auto& [id, entry] : named) {
    if (entry.second < 2) continue;
    Shared& one = shared_.emplace_back();
    one.claims.push_back(entry.first);
    one.ids.push_back(id);
  }
}

bool GroupSearch::Add(std::span<const std::shared_ptr<const PodInfo>> pods) {
  pods_.assign(pods.begin(), pods.end());
  if (devices_ != nullptr) FindShared(pods);
  base::StringSet ids;
  for (const Shared& one : shared_) ids.insert(one.ids.front());
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const std::shared_ptr<const PodInfo>& pod = pods[i];
    std::unique_ptr<Cycle> cycle = prepare_(pod);
    if (cycle == nullptr) return false;
    std::optional<std::string> asks = "";
    if (devices_ != nullptr) asks = devices_->WhatIsAsked(cycle->state(), *pod, ids);
    const auto known = std::ranges::find_if(kinds_, [&](const Kind& kind) {
      return asks && kind.asks == asks && SameShape(*kind.pod, *pod) &&
             kind.pod->pod->metadata.labels == pod->pod->metadata.labels &&
             SameReach(kind.cycle->state().Find<VolumeBindingState>(),
                       cycle->state().Find<VolumeBindingState>());
    });
    if (known != kinds_.end()) {
      known->pods.push_back(i);
      continue;
    }
    kinds_.push_back({.pod = pod, .cycle = std::move(cycle), .asks = std::move(asks), .pods = {i}});
  }
  if (devices_ == nullptr) return true;
  // Claims of the same users are had for the same nodes.
  std::vector<Shared> joined;
  for (Shared& one : shared_) {
    for (const Kind& kind : kinds_) {
      const auto needed = devices_->ClaimsNeeded(kind.cycle->state());
      one.users.push_back(std::ranges::any_of(
          needed, [&](const ClaimPointer& claim) { return IdOf(*claim) == one.ids.front(); }));
    }
    const auto same = std::ranges::find(joined, one.users, &Shared::users);
    if (same == joined.end()) {
      joined.push_back(std::move(one));
    } else {
      same->claims.push_back(one.claims.front());
      same->ids.push_back(one.ids.front());
    }
  }
  shared_ = std::move(joined);
  for (Kind& kind : kinds_) {
    kind.wide = devices_->UsesWidePools({&kind.cycle->state(), kind.pod.get()}, ids);
  }
  return true;
}

Together GroupSearch::FitAlone(const Shared& shared, const BitSet& domain) {
  const std::vector<DynamicResources::SharedClaims> asked = {
      {.claims = shared.claims, .domain = domain}};
  return devices_->FitAcross(*pods_.front(), {}, asked, *reach_);
}

// The sets of nodes that each of the shared claims can be had for. False: for some there is none.
bool GroupSearch::FindDomains() {
  if (shared_.empty()) return true;
  auto domains = reach_->FindDomains(nodes_);
  if (!domains.ok()) {
    proved_ = false;
    more_ = base::Message(domains.status());
    return false;
  }
  proved_ = domains->complete;
  for (Shared& one : shared_) {
    for (const BitSet& domain : domains->sets) {
      switch (FitAlone(one, domain)) {
        case Together::kFit:
          one.domains.push_back(domain);
          break;
        case Together::kUnknown:
          proved_ = false;
          break;
        case Together::kDoNot:
          break;
      }
    }
    if (!one.domains.empty()) continue;
    more_ = fmt::format("claim {}, which pods of the group share, can be allocated for no node",
                        one.ids.front());
    return false;
  }
  return true;
}

std::optional<GroupSearch::Found> GroupSearch::Run(std::size_t least, const BitSet* nodes) {
  nodes_ = nodes == nullptr ? BitSet(world_.nodes().size(), true) : *nodes;
  reach_ = std::make_unique<DeviceReach>(world_);
  left_ = kBudget;
  if (!FindDomains()) return std::nullopt;
  // Every way to give each of the shared claims one of its sets of nodes; without any there is one.
  std::vector<std::size_t> at(shared_.size(), 0);
  for (std::size_t tried = 0;; ++tried) {
    if (tried == kMostAssignments) {
      proved_ = false;
      return std::nullopt;
    }
    Assignment assignment;
    for (std::size_t i = 0; i < shared_.size(); ++i) {
      assignment.domains.push_back(&shared_[i].domains[at[i]]);
    }
    if (auto found = Try(assignment, least)) return found;
    std::size_t i = shared_.size();
    while (i > 0 && ++at[i - 1] == shared_[i - 1].domains.size()) at[--i] = 0;
    if (i == 0) return std::nullopt;
  }
}

std::uint64_t GroupSearch::spent() const { return kBudget - left_; }

std::optional<GroupSearch::Found> GroupSearch::Try(const Assignment& assignment,
                                                   std::size_t least) {
  gang::Request request{.least = static_cast<std::uint32_t>(least)};
  for (const Kind& kind : kinds_) {
    request.wanted.push_back(static_cast<std::uint32_t>(kind.pods.size()));
  }
  Places places(*this, assignment);
  const auto search = [&] {
    request.budget = shared_.empty() ? left_ : std::max(left_ / 2, kLeastBudget);
    const gang::Answer answer = gang::Search(places, request);
    left_ -= std::min(left_, answer.steps);
    return answer;
  };
  // As if nodes had nothing in common: what is impossible so is impossible.
  gang::Answer answer = search();
  const bool joined =
      shared_.size() > 1 || std::ranges::any_of(kinds_, [](const Kind& kind) { return kind.wide; });
  if (joined && answer.verdict == gang::Verdict::kPlaced && !places.FitTogether(answer.loads)) {
    places.Join();
    answer = search();
  }
  if (answer.verdict == gang::Verdict::kPlaced) {
    if (joined) places.Join();
    if (auto found = Choose(places, answer.loads)) return found;
    proved_ = false;
    return std::nullopt;
  }
  Note(answer, !places.unknown(), least);
  return std::nullopt;
}

void GroupSearch::Note(const gang::Answer& answer, bool known, std::size_t least) {
  const bool proved = answer.verdict == gang::Verdict::kImpossible && known;
  proved_ = proved_ && proved;
  found_ = std::max(found_, std::size_t{answer.found});
  at_most_ = std::max(at_most_, std::min(std::size_t{answer.at_most}, least - 1));
  if (!more_.empty() || answer.kind == gang::Answer::kNoKind) return;
  const Kind& kind = kinds_[answer.kind];
  more_ = fmt::format("of pods like {} at most {} of {} fit", kind.pod->key, answer.kind_at_most,
                      kind.pods.size());
}

// With the devices of each pod, none of which anybody has been asked about by name so far.
std::optional<GroupSearch::Found> GroupSearch::Choose(Places& places,
                                                      const std::vector<gang::Load>& loads) {
  Found found;
  std::vector<std::size_t> next(kinds_.size());
  std::vector<std::unique_ptr<Cycle>> cycles;
  std::vector<DynamicResources::Placed> placed;
  for (const gang::Load& load : loads) {
    Found::Load& one = found.loads.emplace_back();
    one.node = &places.NodeOf(load);
    placed.emplace_back().node = one.node;
    for (std::size_t kind = 0; kind < load.counts.size(); ++kind) {
      for (std::uint32_t i = 0; i < load.counts[kind]; ++i) {
        one.pods.push_back(kinds_[kind].pods[next[kind]++]);
        const auto& pod = pods_[one.pods.back()];
        if (devices_ == nullptr) continue;
        cycles.push_back(prepare_(pod));
        if (cycles.back() == nullptr) return std::nullopt;
        placed.back().members.push_back({&cycles.back()->state(), pod.get()});
      }
    }
  }
  if (devices_ == nullptr) return found;
  const PodInfo& pod = *pods_.front();
  const auto take = [&](StatusOr<PresetDevices> chosen) {
    if (!chosen.ok()) {
      more_ = base::Message(chosen.status());
      return false;
    }
    found.devices.by_claim.merge(chosen->by_claim);
    return true;
  };
  if (places.Share()) {
    if (!take(devices_->ChooseAcross(pod, placed, places.across(), *reach_))) return std::nullopt;
    return found;
  }
  for (const DynamicResources::Placed& one : placed) {
    if (!take(devices_->ChooseTogether(one.members, *one.node, places.ids()))) {
      return std::nullopt;
    }
  }
  std::vector<DynamicResources::SharedClaims> apart;
  for (const DynamicResources::SharedClaims& one : places.across()) {
    if (one.domain.Count() > 1) apart.push_back(one);
  }
  if (!apart.empty() && !take(devices_->ChooseAcross(pod, {}, apart, *reach_))) {
    return std::nullopt;
  }
  return found;
}

}  // namespace dray::scheduler
