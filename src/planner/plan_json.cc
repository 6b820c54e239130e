// SPDX-License-Identifier: Apache-2.0
#include "planner/plan_json.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "api/json.h"
#include "api/json_tree.h"
#include "api/resource_slice.h"
#include "fmt/format.h"
#include "planner/cure_plan.h"

namespace dray::planner {
namespace {

using api::DocumentNode;
using api::json::Bool;
using api::json::Entry;
using api::json::List;
using api::json::Map;
using api::json::Number;
using api::json::String;

// Of a cause.
constexpr std::size_t kMostMembers = 200;

// Codes with how many nodes say so, in a line each; no nodes: it is said of the pod.
DocumentNode ReasonsOf(const scheduler::PodExplanation& why) {
  std::map<std::pair<std::string, std::string>, std::size_t> counted;
  for (const scheduler::Reason& reason : why.before) counted[{reason.code, reason.text}] += 0;
  for (const scheduler::NodeGroup& group : why.groups) {
    for (const scheduler::Reason& reason : group.reasons) {
      counted[{reason.code, reason.text}] += group.nodes;
    }
  }
  if (!why.error.empty()) counted[{"error", why.error}] += 0;
  std::vector<DocumentNode> reasons;
  for (const auto& [reason, nodes] : counted) {
    std::vector<Entry> entries = {{"code", String(reason.first)}, {"text", String(reason.second)}};
    if (nodes > 0) entries.push_back({"nodes", Number(nodes)});
    reasons.push_back(Map(std::move(entries)));
  }
  return List(std::move(reasons));
}

DocumentNode Strings(const std::vector<std::string>& texts) {
  std::vector<DocumentNode> list;
  for (const std::string& text : texts) list.push_back(String(text));
  return List(std::move(list));
}

// As a sentence of its own: "No node has ...".
std::string Sentence(std::string text) {
  if (!text.empty()) text.front() = absl::ascii_toupper(text.front());
  if (!text.ends_with('.')) text += '.';
  return text;
}

void AddWhy(const std::optional<scheduler::PodExplanation>& why, const JsonOptions& options,
            std::vector<Entry>& entries) {
  if (!why) return;
  const Answer answer = AnswerFor(*why);
  entries.push_back({"answer", String(Sentence(answer.sentence))});
  entries.push_back({"cause", String(answer.cause)});
  if (options.help != nullptr) {
    std::vector<DocumentNode> cures;
    std::vector<DocumentNode> would_help;
    const std::vector<api::Object> none_known;
    const auto& objects = options.objects == nullptr ? none_known : *options.objects;
    for (const Cure& cure : options.help->cures) {
      cures.push_back(ToJson(cure, objects));
      would_help.push_back(Map({{"change", String(cure.text)}, {"node", String(cure.node)}}));
    }
    for (const Cure& cure : options.help->others) cures.push_back(ToJson(cure, objects));
    entries.push_back({"cures", List(std::move(cures))});
    entries.push_back({"wouldHelp", List(std::move(would_help))});
    if (!options.help->hints.empty()) {
      entries.push_back({"hints", Strings(options.help->hints)});
    }
  }
  entries.push_back({"reasons", ReasonsOf(*why)});
  if (options.explain) {
    std::vector<api::Diagnostic> none;
    entries.push_back({"explanation", api::ParseJson(scheduler::ToJson(*why), none)});
  }
}

}  // namespace

DocumentNode ToJson(const ClaimUse& claim) {
  std::vector<DocumentNode> devices;
  for (const DeviceGrant& device : claim.devices) {
    std::vector<Entry> entries = {{"request", String(device.request)},
                                  {"driver", String(device.driver)},
                                  {"pool", String(device.pool)},
                                  {"device", String(device.device)}};
    if (!device.share_id.empty()) entries.push_back({"shareID", String(device.share_id)});
    if (!device.consumed.empty()) {
      std::vector<Entry> amounts;
      for (const auto& [name, amount] : device.consumed) amounts.push_back({name, String(amount)});
      entries.push_back({"consumedCapacity", Map(std::move(amounts))});
    }
    if (device.admin_access) entries.push_back({"adminAccess", Bool(true)});
    devices.push_back(Map(std::move(entries)));
  }
  std::vector<Entry> entries = {{"name", String(claim.name)}};
  if (!claim.pod_claim.empty()) entries.push_back({"podClaim", String(claim.pod_claim)});
  entries.push_back({"devices", List(std::move(devices))});
  return Map(std::move(entries));
}

std::string_view NameOf(State state) {
  switch (state) {
    case State::kExisting:
      return "Existing";
    case State::kPlaced:
      return "Placed";
    case State::kWaiting:
      return "Waiting";
    case State::kRefused:
      return "Refused";
    case State::kPreempted:
      return "Preempted";
  }
  return "";
}

DocumentNode ToJson(const Cure& cure, const std::vector<api::Object>& objects) {
  std::vector<Entry> entries = {{"kind", String(NameOf(cure.kind))},
                                {"text", String(cure.text)},
                                {"verified", String(NameOf(cure.verified))}};
  if (!cure.pods.empty()) entries.push_back({"pods", Strings(cure.pods)});
  if (cure.verified == Verified::kSufficient) {
    entries.push_back({"node", String(cure.node)});
    entries.push_back({"newNode", Bool(cure.new_node)});
  }
  if (!cure.short_of.empty()) entries.push_back({"shortBy", String(cure.short_of)});
  if (!cure.still.empty()) entries.push_back({"still", String(cure.still)});
  entries.push_back({"plan", PlanOf(cure, objects)});
  return Map(std::move(entries));
}

DocumentNode ToJson(const PodOutcome& pod, const JsonOptions& options) {
  std::vector<Entry> entries = {{"kind", String("Pod")},
                                {"namespace", String(pod.namespace_)},
                                {"name", String(pod.name)},
                                {"state", String(NameOf(pod.state))},
                                {"planned", Bool(pod.made)}};
  if (pod.explanation && pod.created) {
    entries.push_back({"since", String(pod.created->ToRfc3339())});
  }
  if (!pod.node.empty()) entries.push_back({"node", String(pod.node)});
  if (!pod.preempted_for.empty()) {
    entries.push_back({"preemptedFor", String(pod.preempted_for)});
  }
  if (!pod.owners.empty()) entries.push_back({"owners", Strings(pod.owners)});
  std::vector<DocumentNode> claims;
  for (const ClaimUse& claim : pod.claims) claims.push_back(ToJson(claim));
  entries.push_back({"claims", List(std::move(claims))});
  AddWhy(pod.explanation, options, entries);
  return Map(std::move(entries));
}

DocumentNode ToJson(const ClaimOutcome& claim, const JsonOptions& options) {
  std::vector<Entry> entries = {{"kind", String("ResourceClaim")},
                                {"namespace", String(claim.namespace_)},
                                {"name", String(claim.claim.name)},
                                {"state", String(NameOf(claim.state))},
                                {"planned", Bool(false)}};
  if (!claim.node.empty()) entries.push_back({"node", String(claim.node)});
  entries.push_back({"claims", List({ToJson(claim.claim)})});
  AddWhy(claim.explanation, options, entries);
  return Map(std::move(entries));
}

DocumentNode ToJson(const MissingPods& missing) {
  const Answer answer = AnswerFor(missing);
  return Map({{"namespace", String(missing.namespace_)},
              {"owners", Strings(missing.owners)},
              {"wanted", Number(static_cast<std::size_t>(missing.wanted))},
              {"missing", Number(static_cast<std::size_t>(missing.missing))},
              {"reason", String(missing.reason)},
              {"cause", String(answer.cause)}});
}

DocumentNode ToJson(const std::vector<Cause>& causes) {
  std::vector<DocumentNode> list;
  for (const Cause& cause : causes) {
    std::size_t pods = cause.pods.size();
    for (const MissingPods* entry : cause.missing) pods += static_cast<std::size_t>(entry->missing);
    std::vector<Entry> entries = {{"key", String(cause.key)},
                                  {"sentence", String(Sentence(cause.sentence))},
                                  {"pods", Number(pods)}};
    if (!cause.claims.empty()) entries.push_back({"claims", Number(cause.claims.size())});
    if (cause.oldest) entries.push_back({"oldest", String(cause.oldest->ToRfc3339())});
    std::vector<DocumentNode> members;
    const auto add = [&](const std::string& space, const std::string& name,
                         const std::optional<base::Time>& since, bool claim) {
      if (members.size() == kMostMembers) return;
      std::vector<Entry> member = {{"namespace", String(space)}, {"name", String(name)}};
      if (claim) member.push_back({"kind", String("ResourceClaim")});
      if (since) member.push_back({"since", String(since->ToRfc3339())});
      members.push_back(Map(std::move(member)));
    };
    for (const PodOutcome* pod : cause.pods) {
      add(pod->namespace_, pod->name, pod->created, false);
    }
    for (const ClaimOutcome* claim : cause.claims) {
      add(claim->namespace_, claim->claim.name, std::nullopt, true);
    }
    entries.push_back({"members", List(std::move(members))});
    list.push_back(Map(std::move(entries)));
  }
  return List(std::move(list));
}

namespace {

DocumentNode SummaryOf(const Plan& plan) {
  std::size_t not_created = 0;
  for (const MissingPods& entry : plan.missing) {
    not_created += static_cast<std::size_t>(entry.missing);
  }
  return Map({{"existing", Number(plan.Count(State::kExisting))},
              {"placed", Number(plan.Count(State::kPlaced))},
              {"waiting", Number(plan.Count(State::kWaiting))},
              {"pending", Number(plan.Count(State::kRefused))},
              {"preempted", Number(plan.Count(State::kPreempted))},
              {"podsNotCreated", Number(not_created)},
              {"skipped", Number(plan.SkippedObjects())}});
}

// Those that have to leave, by the pod that they leave for: "namespace/name".
std::map<std::string, std::vector<std::string>, std::less<>> VictimsOf(const Plan& plan) {
  constexpr std::string_view kPod = "pod ";
  std::map<std::string, std::vector<std::string>, std::less<>> victims;
  for (const PodOutcome& pod : plan.pods) {
    if (!pod.preempted_for.starts_with(kPod)) continue;
    const std::string_view rest = std::string_view(pod.preempted_for).substr(kPod.size());
    victims[std::string(rest.substr(0, rest.find(' ')))].push_back(
        fmt::format("{}/{}", pod.namespace_, pod.name));
  }
  return victims;
}

// Outcomes one after the other, with as much help as there may be.
class OutcomeWriter {
 public:
  OutcomeWriter(const Plan& plan, const PlanJsonOptions& options)
      : plan_(plan), options_(options) {}

  template <typename Outcome>
  DocumentNode Write(const Outcome& outcome) {
    JsonOptions json{.objects = &plan_.objects};
    Help help;
    if (outcome.explanation) {
      json.explain = options_.explain && told_ < options_.most_explained;
      if (options_.finder != nullptr && told_ < options_.most_helped) {
        help = options_.finder->For(outcome);
        json.help = &help;
      }
      ++told_;
    }
    return ToJson(outcome, json);
  }

 private:
  const Plan& plan_;
  const PlanJsonOptions& options_;
  std::size_t told_ = 0;  // of what was refused
};

template <typename Outcome>
void AddBefore(const Outcome& outcome, const Comparison& comparison, DocumentNode& node) {
  if (const auto before = comparison.Before(outcome)) {
    node.members.push_back({"before", {}, String(NameOf(*before))});
  }
}

// Nodes that were added, and who would have which of their devices.
DocumentNode NewNodes(const Plan& plan, const Comparison& comparison) {
  std::map<std::string, std::set<std::pair<std::string, std::string>>> pools;  // by node
  for (const auto& [name, like] : comparison.new_nodes()) pools[name];
  for (const api::Object& object : plan.objects) {
    const auto* slice = object.As<api::ResourceSlice>();
    if (slice == nullptr || !slice->spec.node_name) continue;
    const auto node = pools.find(*slice->spec.node_name);
    if (node != pools.end()) node->second.emplace(slice->spec.driver, slice->spec.pool.name);
  }
  std::map<std::string, std::vector<DocumentNode>> used;  // by node
  for (const PodOutcome& pod : plan.pods) {
    const auto node = pools.find(pod.node);
    if (node == pools.end()) continue;
    for (const ClaimUse& claim : pod.claims) {
      for (const DeviceGrant& device : claim.devices) {
        if (!node->second.contains({device.driver, device.pool})) continue;
        used[pod.node].push_back(
            Map({{"driver", String(device.driver)},
                 {"device", String(device.device)},
                 {"by", String(fmt::format("{}/{}", pod.namespace_, pod.name))}}));
      }
    }
  }
  std::vector<DocumentNode> nodes;
  for (const auto& [name, like] : comparison.new_nodes()) {
    nodes.push_back(Map(
        {{"name", String(name)}, {"like", String(like)}, {"used", List(std::move(used[name]))}}));
  }
  return List(std::move(nodes));
}

}  // namespace

DocumentNode ToJson(const Plan& plan, const PlanJsonOptions& options) {
  const auto victims = VictimsOf(plan);
  OutcomeWriter writer(plan, options);
  std::vector<DocumentNode> outcomes;
  const auto write = [&](const auto& outcome) -> DocumentNode* {
    if (options.comparison != nullptr && !options.comparison->IsNews(outcome)) return nullptr;
    DocumentNode& node = outcomes.emplace_back(writer.Write(outcome));
    if (options.comparison != nullptr) AddBefore(outcome, *options.comparison, node);
    return &node;
  };
  for (const PodOutcome& pod : plan.pods) {
    DocumentNode* node = write(pod);
    if (node == nullptr) continue;
    const auto found = victims.find(fmt::format("{}/{}", pod.namespace_, pod.name));
    if (found != victims.end()) node->members.push_back({"victims", {}, Strings(found->second)});
  }
  for (const ClaimOutcome& claim : plan.claims) write(claim);
  std::vector<DocumentNode> missing;
  for (const MissingPods& entry : plan.missing) missing.push_back(ToJson(entry));
  std::vector<DocumentNode> skipped;
  for (const Skipped& entry : plan.skipped) {
    skipped.push_back(Map({{"kind", String(entry.kind)}, {"count", Number(entry.count)}}));
  }
  std::vector<Entry> entries = {{"assumptions", Strings(plan.notes)},
                                {"summary", SummaryOf(plan)},
                                {"outcomes", List(std::move(outcomes))}};
  if (options.comparison != nullptr) {
    entries.push_back({"newNodes", NewNodes(plan, *options.comparison)});
  }
  entries.push_back({"podsNotCreated", List(std::move(missing))});
  entries.push_back({"skipped", List(std::move(skipped))});
  return Map(std::move(entries));
}

DocumentNode ExplainJson(const Plan& plan, const Asked& asked, const PlanJsonOptions& options) {
  const std::vector<Cause> causes = CausesOf(asked.pods, asked.claims, asked.missing);
  OutcomeWriter writer(plan, options);
  std::vector<DocumentNode> outcomes;
  if (options.one_of_each_cause) {
    for (const Cause& cause : causes) {
      if (outcomes.size() == options.most_explained) break;
      if (!cause.pods.empty()) {
        outcomes.push_back(writer.Write(*cause.pods.front()));
      } else if (!cause.claims.empty()) {
        outcomes.push_back(writer.Write(*cause.claims.front()));
      }
    }
  } else {
    for (const PodOutcome* pod : asked.pods) outcomes.push_back(writer.Write(*pod));
    for (const ClaimOutcome* claim : asked.claims) outcomes.push_back(writer.Write(*claim));
  }
  std::vector<DocumentNode> not_created;
  for (const MissingPods* entry : asked.missing) not_created.push_back(ToJson(*entry));
  std::vector<Entry> entries = {{"causes", ToJson(causes)},
                                {"outcomes", List(std::move(outcomes))}};
  if (!not_created.empty()) entries.push_back({"podsNotCreated", List(std::move(not_created))});
  return Map(std::move(entries));
}

}  // namespace dray::planner
