// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cycle.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "api/extended_resources.h"
#include "fmt/format.h"
#include "scheduler/cycle_data.h"
#include "scheduler/device_holds.h"

namespace dray::scheduler {
namespace {

void Name(PluginStatus& status, const Plugin& plugin) {
  for (Reason& reason : status.reasons) {
    if (reason.plugin.empty()) reason.plugin = plugin.name();
  }
}

}  // namespace

Cycle::Cycle(Environment environment, std::shared_ptr<const PodInfo> pod)
    : env_(environment), pod_(std::move(pod)) {}
Cycle::~Cycle() = default;

void Cycle::Fail(PluginStatus status, const Plugin& plugin) {
  Name(status, plugin);
  status_ = std::move(status);
}

bool Cycle::End(Phase phase, bool done) {
  if (env_.timing != nullptr) env_.timing->End(phase, status_.code);
  return done;
}

NodeInfo* Cycle::Choose() {
  if (!End(Phase::kPreFilter, PreFilter())) return nullptr;
  if (NodeInfo* node = ChooseLazily()) {
    End(Phase::kScore, true);
    return node;
  }
  if (!End(Phase::kFilter, FilterLocal() && FilterOthers())) return nullptr;
  if (!End(Phase::kPreScore, PreScore())) return nullptr;
  ScoreLocal();
  NodeInfo* node = Nominated();
  if (node == nullptr) node = Best();
  if (node == nullptr) {
    status_.code = PluginStatus::Code::kUnschedulable;
    if (!AskOutdated()) return nullptr;
  }
  End(Phase::kScore, true);
  return node;
}

bool Cycle::PreFilter() {
  std::vector<const Plugin*> skipped;
  for (PreFilterPlugin* plugin : env_.plugins.pre_filters()) {
    PluginStatus status = Ask(Phase::kPreFilter, *plugin,
                              [&] { return plugin->PreFilter(state_, *pod_, env_.world); });
    if (status.code == PluginStatus::Code::kSkip) {
      skipped.push_back(plugin);
    } else if (!status.ok()) {
      if (status.code != PluginStatus::Code::kError) {
        status.code = PluginStatus::Code::kUnresolvable;
        refused_before_ = plugin->name();
      }
      Fail(std::move(status), *plugin);
      return false;
    }
  }
  const auto& filters = env_.plugins.filters();
  for (std::size_t i = 0; i < filters.size(); ++i) {
    if (std::ranges::find(skipped, static_cast<const Plugin*>(filters[i])) != skipped.end()) {
      continue;
    }
    (filters[i]->Local(state_, *pod_) ? local_ : others_).push_back(i);
  }
  return true;
}

PlacementKey Cycle::KeyOfShape() const {
  PlacementKey key{.shape = pod_->shape, .profile = env_.profile};
  for (const std::size_t i : local_) {
    key.classes.push_back(i);
    key.classes.push_back(env_.plugins.filters()[i]->ClassOf(state_, *pod_));
  }
  // Whether a node has such a resource, and how much of it, is a matter of classes, too (KEP-5004).
  const bool by_name = std::ranges::any_of(pod_->requests.scalars, [&](const auto& scalar) {
    return api::IsDeviceResourceName(env_.world.resource_names().View(scalar.name));
  });
  if (by_name) key.classes.push_back(env_.world.classes_version());
  return key;
}

std::optional<PlacementKey> Cycle::Alike() const {
  if (!nodes_asked_) return std::nullopt;
  for (const std::size_t i : others_) {
    if (env_.plugins.filters()[i]->ClassOf(state_, *pod_) != 0) return std::nullopt;
  }
  return KeyOfShape();
}

Cycle::Answer Cycle::AskOf(CycleState& state, const NodeInfo& node,
                           const std::vector<std::size_t>& filters, Told& told,
                           std::vector<Call>* calls) const {
  Answer answer{.worker = static_cast<std::uint16_t>(state.worker())};
  for (const std::size_t i : filters) {
    FilterPlugin& filter = *env_.plugins.filters()[i];
    const auto before = calls != nullptr ? env_.timing->Now() : std::chrono::nanoseconds(0);
    PluginStatus status = filter.Filter(state, *pod_, node);
    if (calls != nullptr) calls->push_back({i, status.code, env_.timing->Now() - before});
    if (status.ok()) continue;
    Name(status, filter);
    answer.code = status.code;
    const bool lasts = filter.Lasts(status.reasons);
    answer.refusal = told.refusals.Add({.filter = static_cast<std::uint32_t>(i),
                                        .code = status.code,
                                        .reasons = std::move(status.reasons),
                                        .lasts = lasts});
    break;
  }
  return answer;
}

bool Cycle::AskOfAll(std::span<const NodeInfo* const> nodes,
                     const std::vector<std::size_t>& filters, const Take& take) {
  const bool measured = env_.timing != nullptr && env_.timing->measures_plugins();
  const bool parallel = env_.sweep.Parallel(nodes.size());
  Told own;
  std::vector<Told> of_workers(parallel ? env_.sweep.executor->workers() : 0);
  const std::span<Told> told = parallel ? std::span(of_workers) : std::span(&own, 1);
  const auto conclude = [&](const NodeInfo& node, const Answer& answer,
                            std::span<const Call> calls) {
    ++evaluated_;
    for (const Call& call : calls) {
      env_.timing->Called(Phase::kFilter, *env_.plugins.filters()[call.filter], call.code,
                          call.took);
    }
    Told& teller = told[answer.worker];
    if (answer.code == PluginStatus::Code::kError) {
      status_ = {answer.code, teller.refusals.At(answer.refusal).refusal->reasons};
      return false;
    }
    const bool accepted = answer.code == PluginStatus::Code::kSuccess;
    take(node, accepted ? nullptr : &teller, answer.refusal);
    return true;
  };
  if (!parallel) {
    std::vector<Call> calls;
    return std::ranges::all_of(nodes, [&](const NodeInfo* node) {
      calls.clear();
      const Answer answer = AskOf(state_, *node, filters, own, measured ? &calls : nullptr);
      return conclude(*node, answer, calls);
    });
  }
  std::vector<Answer> answers(nodes.size());
  std::vector<std::vector<Call>> calls(measured ? nodes.size() : 0);
  env_.sweep.Run(state_, nodes, [&](CycleState& view, std::size_t place) {
    answers[place] = AskOf(view, *nodes[place], filters, told[view.worker()],
                           measured ? &calls[place] : nullptr);
    return answers[place].code != PluginStatus::Code::kError;
  });
  for (std::size_t place = 0; place < nodes.size(); ++place) {
    const std::span<const Call> called = measured ? calls[place] : std::span<const Call>();
    if (!conclude(*nodes[place], answers[place], called)) return false;
  }
  return true;
}

void Cycle::FindPlacement() {
  if (env_.placements == nullptr) {
    own_ = std::make_unique<Placement>();
    placement_ = own_.get();
  } else {
    std::uint64_t concerned = 0;
    for (const std::size_t i : local_) {
      concerned = std::max(concerned, env_.plugins.filters()[i]->ConcernedAt(state_, *pod_));
    }
    placement_ = &env_.placements->Get(KeyOfShape(), pod_, env_.world, concerned);
  }
}

NodeInfo* Cycle::ChooseLazily() {
  // Nodes that are asked in vain before all of them are.
  constexpr int kMostTries = 8;
  const auto& scorers = env_.plugins.scorers();
  const bool may = env_.placements != nullptr && others_.empty() &&
                   (env_.nominations == nullptr || env_.nominations->empty()) &&
                   pod_->pod->status.nominated_node_name.empty() &&
                   std::ranges::any_of(scorers, [](const PluginSet::Scorer& scorer) {
                     return scorer.plugin->fine() != nullptr;
                   });
  if (!may) return nullptr;
  FindPlacement();
  placement_->Fit(env_.world);
  lazy_ = true;
  const auto tells_apart = [&](std::size_t i) {
    const auto score = [&](const NodeInfo* node) {
      return scorers[i].plugin->Score(state_, *pod_, *node);
    };
    const auto nodes = Feasible();
    const std::int64_t first = nodes.empty() ? 0 : score(nodes.front());
    return std::ranges::any_of(nodes, [&](const NodeInfo* node) { return score(node) != first; });
  };
  std::optional<NodeIndex> chosen;
  if (AskScorers() && fine_ && final_.empty() && anew_.empty() &&
      std::ranges::none_of(raw_, tells_apart)) {
    using Answer = FineScorer::Answer;
    Told told;
    int tries = 0;
    chosen = scorers[*fine_].plugin->fine()->FineBest(state_, *pod_, [&](NodeIndex index) {
      const NodeInfo& node = *env_.world.node(index);
      if (placement_->Knows(node)) return placement_->Admitted(node) ? Answer::kYes : Answer::kNo;
      if (tries++ == kMostTries) return Answer::kEnough;
      ++evaluated_;
      const Cycle::Answer answer = AskOf(state_, node, local_, told, nullptr);
      if (answer.code == PluginStatus::Code::kSuccess) return Answer::kYes;
      if (answer.code == PluginStatus::Code::kError) return Answer::kEnough;
      placement_->Refuse(node, told.refusals.At(answer.refusal));
      return Answer::kNo;
    });
  }
  if (chosen) return env_.world.node(*chosen);
  status_ = {};
  lazy_ = false;
  feasible_.clear();
  feasible_known_ = false;
  final_.clear();
  raw_.clear();
  anew_.clear();
  fine_.reset();
  return nullptr;
}

bool Cycle::FilterLocal() {
  FindPlacement();
  nodes_asked_ = true;
  if (!AskLocal(placement_->Stale(env_.world))) return false;
  placement_->Finish();
  return true;
}

// Whoever is refused is told why as things are now.
bool Cycle::AskOutdated() {
  const std::vector<NodeInfo*> outdated = placement_->Outdated(env_.world);
  return outdated.empty() || AskLocal(outdated);
}

bool Cycle::AskLocal(const std::vector<NodeInfo*>& nodes) {
  constexpr std::uint32_t kUnknown = 0xffffffff;
  const auto take = [&](const NodeInfo& node, Told* refused_by, std::uint32_t refusal) {
    if (refused_by == nullptr) return placement_->Admit(node);
    auto& numbers = refused_by->numbers;
    if (numbers.size() <= refusal) numbers.resize(refused_by->refusals.size(), kUnknown);
    if (numbers[refusal] == kUnknown) {
      numbers[refusal] = placement_->Refuse(node, refused_by->refusals.At(refusal));
    } else {
      placement_->RefuseAgain(node, numbers[refusal]);
    }
  };
  return AskOfAll(nodes, local_, take);
}

bool Cycle::FilterOthers() {
  if (others_.empty() || placement_->admitted() == 0) return true;
  std::vector<const NodeInfo*> left;
  for (const NodeInfo* node : env_.world.nodes()) {
    if (placement_->Admitted(*node)) left.push_back(node);
  }
  return AskOfAll(left, others_, [&](const NodeInfo& node, Told* by, std::uint32_t refusal) {
    if (by != nullptr) refused_by_others_.emplace(node.index, by->refusals.At(refusal).refusal);
  });
}

bool Cycle::Passed(const NodeInfo& node) const {
  return placement_->Admitted(node) && !refused_by_others_.contains(node.index);
}

std::span<const NodeInfo* const> Cycle::Feasible() {
  if (!feasible_known_) {
    feasible_known_ = true;
    if (lazy_) {
      placement_->Open(env_.world, feasible_);
      return feasible_;
    }
    for (const NodeInfo* node : env_.world.nodes()) {
      if (Passed(*node)) feasible_.push_back(node);
    }
  }
  return feasible_;
}

bool Cycle::PreScore() {
  return placement_->admitted() == refused_by_others_.size() || AskScorers();
}

bool Cycle::AskScorers() {
  FeasibleNodes& feasible = state_.Get<FeasibleNodes>();
  feasible.list = [this] { return Feasible(); };
  const auto& scorers = env_.plugins.scorers();
  std::uint64_t asked = 0;
  for (std::size_t i = 0; i < scorers.size(); ++i) {
    ScorePlugin& plugin = *scorers[i].plugin;
    PluginStatus status =
        Ask(Phase::kPreScore, plugin, [&] { return plugin.PreScore(state_, *pod_, env_.world); });
    if (status.code == PluginStatus::Code::kSkip) continue;
    if (!status.ok()) {
      status.code = PluginStatus::Code::kError;
      Fail(std::move(status), plugin);
      return false;
    }
    if (plugin.fine() != nullptr) {
      fine_ = i;
      continue;
    }
    if (!plugin.LocalScore(state_, *pod_)) {
      anew_.push_back(i);
      continue;
    }
    asked |= std::uint64_t{1} << (i % 64);
    (plugin.Normalizes() ? raw_ : final_).push_back(i);
  }
  feasible.list = nullptr;  // the state may outlive this
  placement_->SetScorers(asked, raw_.size());
  return true;
}

void Cycle::ScoreLocal() {
  const auto& scorers = env_.plugins.scorers();
  const auto score = [&](CycleState& state, const NodeInfo& node, std::span<std::int64_t> raw) {
    std::int64_t total = 0;
    for (const std::size_t i : final_) {
      total += scorers[i].weight * scorers[i].plugin->Score(state, *pod_, node);
    }
    for (std::size_t k = 0; k < raw_.size(); ++k) {
      raw[k] = scorers[raw_[k]].plugin->Score(state, *pod_, node);
    }
    return total;
  };
  const std::vector<NodeInfo*> nodes = placement_->Unscored(env_.world);
  absl::InlinedVector<std::int64_t, 8> totals(nodes.size());
  absl::InlinedVector<std::int64_t, 16> raw(nodes.size() * raw_.size());
  const auto visit = [&](CycleState& state, std::size_t place) {
    totals[place] =
        score(state, *nodes[place], std::span(raw).subspan(place * raw_.size(), raw_.size()));
    return true;
  };
  if (env_.sweep.Parallel(nodes.size())) {
    env_.sweep.Run(state_, nodes, visit);
  } else {
    for (std::size_t place = 0; place < nodes.size(); ++place) visit(state_, place);
  }
  placement_->SetScores(nodes, totals, raw);
}

// Where room was made for the pod it goes, if it can.
NodeInfo* Cycle::Nominated() {
  const std::string& name = pod_->pod->status.nominated_node_name;
  if (name.empty()) return nullptr;
  NodeInfo* node = env_.world.FindNode(name);
  return node != nullptr && Passed(*node) && KeepsNominations(*node) ? node : nullptr;
}

NodeInfo* Cycle::Best() {
  bool told_apart = !anew_.empty() || fine_.has_value();
  for (std::size_t k = 0; k < raw_.size(); ++k) {
    told_apart = told_apart || !placement_->RawIsEqual(k);
  }
  if (told_apart || !refused_by_others_.empty()) return BestOfAll();
  NodeInfo* best = nullptr;
  while (const auto rank = placement_->BestRank()) {
    best = env_.world.nodes()[*rank];
    if (KeepsNominations(*best)) break;
    placement_->LeaveOut(*rank);
    best = nullptr;
  }
  placement_->Restore();
  return best;
}

NodeInfo* Cycle::BestOfAll() {
  const auto& scorers = env_.plugins.scorers();
  const auto nodes = Feasible();
  std::vector<std::int64_t> totals(nodes.size());
  std::ranges::transform(nodes, totals.begin(),
                         [&](const NodeInfo* node) { return placement_->Total(*node); });
  std::vector<std::int64_t> scores(nodes.size());
  const auto add = [&](std::size_t scorer) {
    if (scorers[scorer].plugin->Normalizes()) {
      scorers[scorer].plugin->Normalize(state_, *pod_, scores);
    }
    for (std::size_t n = 0; n < nodes.size(); ++n) totals[n] += scorers[scorer].weight * scores[n];
  };
  for (std::size_t k = 0; k < raw_.size(); ++k) {
    // Equal ones stay equal, and do not tell nodes apart.
    if (placement_->RawIsEqual(k)) continue;
    for (std::size_t n = 0; n < nodes.size(); ++n) scores[n] = placement_->Raw(*nodes[n], k);
    add(raw_[k]);
  }
  for (const std::size_t i : anew_) {
    const auto score = [&](CycleState& state, std::size_t n) {
      scores[n] = scorers[i].plugin->Score(state, *pod_, *nodes[n]);
      return true;
    };
    if (env_.sweep.Parallel(nodes.size())) {
      env_.sweep.Run(state_, nodes, score);
    } else {
      for (std::size_t n = 0; n < nodes.size(); ++n) score(state_, n);
    }
    add(i);
  }
  return fine_ ? BestOf(nodes, FineTotals(nodes, totals)) : BestOf(nodes, totals);
}

std::vector<absl::int128> Cycle::FineTotals(std::span<const NodeInfo* const> nodes,
                                            std::span<const std::int64_t> totals) {
  const PluginSet::Scorer& scorer = env_.plugins.scorers()[*fine_];
  std::vector<std::int64_t> scores(nodes.size());
  if (!nodes.empty()) {
    scorer.plugin->fine()->FineScores(state_, *pod_, nodes, totals, scorer.weight, scores);
  }
  std::vector<absl::int128> fine(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    fine[n] = absl::int128(totals[n]) * kFineScore + absl::int128(scorer.weight) * scores[n];
  }
  return fine;
}

template <typename Total>
NodeInfo* Cycle::BestOf(std::span<const NodeInfo* const> nodes, const std::vector<Total>& totals) {
  std::vector<bool> out(nodes.size());
  const FineScorer* fine = fine_ ? env_.plugins.scorers()[*fine_].plugin->fine() : nullptr;
  const auto luckier = [&](std::size_t a, std::size_t b) {
    return fine != nullptr &&
           fine->Luck(state_, *pod_, *nodes[a]) < fine->Luck(state_, *pod_, *nodes[b]);
  };
  while (true) {
    std::optional<std::size_t> best;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (out[n]) continue;
      if (!best || totals[n] > totals[*best] || (totals[n] == totals[*best] && luckier(n, *best))) {
        best = n;
      }
    }
    if (!best) return nullptr;
    NodeInfo* node = env_.world.nodes()[nodes[*best]->rank];
    if (KeepsNominations(*node)) return node;
    out[*best] = true;
  }
}

DevicePreemptionPlugin* Cycle::Devices(const CycleState& state) {
  for (const auto* list : {&local_, &others_}) {
    for (const std::size_t i : *list) {
      auto* devices = dynamic_cast<DevicePreemptionPlugin*>(env_.plugins.filters()[i]);
      if (devices != nullptr && devices->Preempts(state)) return devices;
    }
  }
  return nullptr;
}

bool Cycle::HoldsDevices(const CycleState& state, const PodInfo& pod, const NodeInfo& node) {
  if (env_.world.holds().empty() || Devices(state) == nullptr) return false;
  return std::ranges::any_of(env_.world.holds().Before(pod, env_.world),
                             [&](const DeviceHold* hold) { return hold->IsFor(node.name()); });
}

std::optional<Refusal> Cycle::RefusalBeside(CycleState& state, const PodInfo& pod,
                                            const NodeInfo& node, HeldDevices::View view) {
  if (env_.nominations == nullptr || env_.nominations->empty()) return std::nullopt;
  std::optional<NodeInfo> with;
  std::vector<const PodInfo*> kept_for;
  const DeviceHold* own = env_.world.holds().Find(pod);
  const bool yields = env_.world.holds().Yields(pod);
  // Of equals the one that was first does not wait for the one that was chosen beside it.
  const auto came_later = [&](const PodInfo& other) {
    const DeviceHold* theirs = own == nullptr ? nullptr : env_.world.holds().Find(other);
    return theirs != nullptr && other.priority == pod.priority && own->number < theirs->number;
  };
  for (const Nomination& nomination : *env_.nominations) {
    const PodInfo& other = *nomination.pod;
    // One that is being bound has its room already, there or elsewhere.
    const bool goes_before = other.priority >= pod.priority || nomination.begun || yields;
    if (nomination.node != node.name() || !goes_before || other.key == pod.key ||
        env_.world.Assumed(other.key) || came_later(other)) {
      continue;
    }
    if (!with) with = node;
    kept_for.push_back(&other);
    with->pods.push_back(nomination.pod);
    with->requested.Add(other.requests);
    with->non_zero.Add(other.non_zero);
    with->ports.insert(with->ports.end(), other.host_ports.begin(), other.host_ports.end());
    with->pods_with_affinity += other.has_affinity ? 1 : 0;
    with->pods_with_anti_affinity += other.has_required_anti_affinity ? 1 : 0;
  }
  const bool held = HoldsDevices(state, pod, node);
  if (!with && !held) return std::nullopt;
  for (const PodInfo* other : kept_for) Count(state, pod, *other, node, 1);
  if (held) state.Get<HeldDevices>().view = view;
  std::optional<Refusal> refusal = RefusalBy(state, pod, with ? *with : node);
  if (held) state.Get<HeldDevices>().view = HeldDevices::View::kIgnored;
  for (const PodInfo* other : kept_for) Count(state, pod, *other, node, -1);
  return refusal;
}

// Room for cpu, ports and the like is told as Kubernetes tells it: the node has too little.
void Cycle::SayForWhom(Refusal& refusal, const NodeInfo& node) {
  const DevicePreemptionPlugin* devices = Devices(state_);
  const bool of_devices =
      devices != nullptr && refusal.reasons.size() == 1 &&
      refusal.reasons.front().code == "cannot_allocate_claims" &&
      dynamic_cast<DevicePreemptionPlugin*>(env_.plugins.filters()[refusal.filter]) == devices;
  if (!of_devices) return;
  std::vector<const DeviceHold*> holds = env_.world.holds().Before(*pod_, env_.world);
  std::erase_if(holds, [&](const DeviceHold* hold) { return !hold->IsFor(node.name()); });
  if (holds.empty()) return;
  Reason& reason = refusal.reasons.front();
  reason.code = "devices_kept";
  reason.text = fmt::format("node(s) had devices kept for {}, which preempted others for them",
                            ForWhom(holds));
}

bool Cycle::KeepsNominations(const NodeInfo& node) {
  std::optional<Refusal> refusal = RefusalBeside(state_, *pod_, node, HeldDevices::View::kTaken);
  if (!refusal) return true;
  refusal->beside = true;
  SayForWhom(*refusal, node);
  refused_by_others_.emplace(node.index, std::make_shared<const Refusal>(*std::move(refusal)));
  return false;
}

std::vector<const NodeInfo*> Cycle::Curable(const CycleState&) const {
  std::vector<const NodeInfo*> nodes;
  if (placement_ == nullptr) return nodes;
  for (const NodeInfo* node : env_.world.nodes()) {
    const Refusal* refusal = RefusalOf(*node);
    if (refusal != nullptr && refusal->code == PluginStatus::Code::kUnschedulable) {
      nodes.push_back(node);
    }
  }
  return nodes;
}

std::size_t Cycle::NodeCount(const CycleState&) const { return env_.world.nodes().size(); }

std::optional<Refusal> Cycle::RefusalBy(CycleState& state, const PodInfo& pod,
                                        const NodeInfo& node) {
  const auto& filters = env_.plugins.filters();
  for (const auto* list : {&local_, &others_}) {
    for (const std::size_t i : *list) {
      PluginStatus status = filters[i]->Filter(state, pod, node);
      if (status.ok()) continue;
      Name(status, *filters[i]);
      return Refusal{.filter = static_cast<std::uint32_t>(i),
                     .code = status.code,
                     .reasons = std::move(status.reasons)};
    }
  }
  return std::nullopt;
}

PluginStatus Cycle::Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) {
  std::optional<Refusal> refusal = RefusalBeside(state, pod, node, HeldDevices::View::kAfterwards);
  if (!refusal) refusal = RefusalBy(state, pod, node);
  if (!refusal) return PluginStatus::Success();
  return {refusal->code, std::move(refusal->reasons)};
}

void Cycle::Count(CycleState& state, const PodInfo& pod, const PodInfo& other, const NodeInfo& node,
                  int delta) {
  for (const auto* list : {&local_, &others_}) {
    for (const std::size_t i : *list) {
      auto* counting = dynamic_cast<CountingPlugin*>(env_.plugins.filters()[i]);
      if (counting != nullptr) counting->Count(state, pod, other, node, delta);
    }
  }
}

}  // namespace dray::scheduler
