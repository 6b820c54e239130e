// SPDX-License-Identifier: Apache-2.0
#include "planner/answer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "fmt/format.h"
#include "planner/internal/device_answer.h"
#include "scheduler/explain_groups.h"

namespace dray::planner {
namespace {

using scheduler::PodExplanation;
using scheduler::Reason;

// Causes that a code alone tells, in the ecosystem's words.
struct CodeWords {
  std::string_view code;
  std::string_view sentence;
};
constexpr CodeWords kCodes[] = {
    {"node_affinity", "no node matches the pod's node selector or node affinity"},
    {"node_name", "the node that the pod names cannot run it"},
    {"node_unschedulable", "the nodes that would fit are cordoned"},
    {"node_ports", "the host ports that the pod asks for are in use"},
    {"pod_affinity", "no node has a pod that the pod affinity asks for"},
    {"pod_anti_affinity", "the nodes that would fit run pods that the pod anti-affinity excludes"},
    {"existing_anti_affinity",
     "the nodes that would fit run pods whose anti-affinity excludes this one"},
    {"topology_spread", "the topology spread constraints leave no node"},
    {"topology_label_missing", "no node has the label of the topology spread constraints"},
    {"too_many_pods", "the nodes that would fit run as many pods as they may"},
    {"scheduling_gates", "the pod has scheduling gates"},
    {"devices_kept", "the devices that would do are kept for pods that preempted others for them"},
    {"search_budget", "the search for devices was given up before it ended"},
    {"device_pools", "a driver has not published all slices of its pool yet"},
    {"claim_elsewhere", "a claim of the pod is allocated on nodes that the pod cannot go to"},
    {"exceeded_quota", "a ResourceQuota is used up"},
    {"other_scheduler", "the pod names a scheduler that has no profile"},
};

// "node a, the nearest fit,"
std::string Where(const PodExplanation& why) {
  const std::string& node = why.closest->node;
  return why.nodes == 1 ? fmt::format("the only node, {},", node)
                        : fmt::format("node {}, the nearest fit,", node);
}

// The taint in "toleration for key=value:effect".
std::string_view TaintIn(std::string_view what) {
  constexpr std::string_view kFor = " for ";
  const auto at = what.find(kFor);
  return at == std::string_view::npos ? what : what.substr(at + kFor.size());
}

bool EveryNodeSays(const PodExplanation& why, std::string_view code) {
  return std::ranges::all_of(why.groups, [&](const scheduler::NodeGroup& group) {
    return std::ranges::any_of(group.reasons,
                               [&](const Reason& reason) { return reason.code == code; });
  });
}

Answer OfReason(const PodExplanation& why, const Reason& reason) {
  if (reason.devices != nullptr) return internal::DeviceAnswer(why, *reason.devices, Where(why));
  const Reason::Shortage* shortage = reason.shortages.empty() ? nullptr : &reason.shortages.front();
  if (reason.code == "insufficient_resource" && shortage != nullptr) {
    return {fmt::format("it needs {} {}; {} has {} free", shortage->needed, shortage->what,
                        Where(why), shortage->free),
            fmt::format("{}/{}", reason.code, shortage->what),
            fmt::format("no node has enough {} free", shortage->what)};
  }
  if (reason.code == "node_taint" && shortage != nullptr) {
    const std::string_view taint = TaintIn(shortage->what);
    return {fmt::format("{} has the taint {}, which the pod does not tolerate", Where(why), taint),
            fmt::format("{}/{}", reason.code, taint),
            fmt::format("the nodes that would fit have the taint {}", taint)};
  }
  if (reason.code == "node_affinity" && EveryNodeSays(why, reason.code)) {
    return {
        why.nodes == 1
            ? fmt::format("the pod's node selector or node affinity does not match {}",
                          why.closest->node)
            : fmt::format("the pod's node selector or node affinity matches none of the {} nodes",
                          why.nodes),
        reason.code, std::string(kCodes[0].sentence)};
  }
  const auto known = std::ranges::find(kCodes, reason.code, &CodeWords::code);
  return {fmt::format("the {} is node {}, {}", why.nodes == 1 ? "only node" : "nearest fit",
                      why.closest->node, scheduler::LacksOf({reason})),
          reason.code, known != std::end(kCodes) ? std::string(known->sentence) : reason.text};
}

// Nobody looked at nodes.
Answer OfBefore(const Reason& reason) {
  const auto known = std::ranges::find(kCodes, reason.code, &CodeWords::code);
  return {reason.text, reason.code,
          known != std::end(kCodes) ? std::string(known->sentence) : reason.text};
}

}  // namespace

Answer AnswerFor(const PodExplanation& why) {
  if (!why.before.empty()) return OfBefore(why.before.front());
  if (!why.error.empty()) return {why.error, "error", "the scheduler reported an error"};
  if (why.nodes == 0) return {"there are no nodes", "no_nodes", "there are no nodes"};
  if (!why.closest || why.closest->reasons.empty()) {
    return {"no node can run it", "no_node", "no node can run it"};
  }
  const std::vector<Reason>& reasons = why.closest->reasons;
  if (reasons.size() == 1) return OfReason(why, reasons.front());
  // Several things at once: what the node lacks, in words; the cause is all of them.
  Answer answer{.sentence = fmt::format("the {} is node {}, {}",
                                        why.nodes == 1 ? "only node" : "nearest fit",
                                        why.closest->node, why.closest->lacks)};
  for (const Reason& reason : reasons) {
    const Answer one = OfReason(why, reason);
    answer.cause.append(answer.cause.empty() ? "" : "+").append(one.cause);
    answer.cause_sentence.append(answer.cause_sentence.empty() ? "" : ", and ")
        .append(one.cause_sentence);
  }
  return answer;
}

Answer AnswerFor(const MissingPods& missing) {
  return {fmt::format("{} of {} {} cannot be created: {}", missing.missing, missing.wanted,
                      missing.wanted == 1 ? "pod" : "pods", missing.reason),
          "exceeded_quota", "a ResourceQuota is used up"};
}

std::vector<Cause> CausesOf(const std::vector<const PodOutcome*>& pods,
                            const std::vector<const ClaimOutcome*>& claims,
                            const std::vector<const MissingPods*>& missing) {
  std::vector<Cause> causes;
  std::map<std::string, std::size_t> known;
  const auto of = [&](const Answer& answer) -> Cause& {
    const auto [it, fresh] = known.try_emplace(answer.cause, causes.size());
    if (fresh) causes.push_back({.key = answer.cause, .sentence = answer.cause_sentence});
    return causes[it->second];
  };
  for (const PodOutcome* pod : pods) {
    if (!pod->explanation) continue;
    of(AnswerFor(*pod->explanation)).pods.push_back(pod);
  }
  for (const ClaimOutcome* claim : claims) {
    if (claim->explanation) of(AnswerFor(*claim->explanation)).claims.push_back(claim);
  }
  for (const MissingPods* entry : missing) of(AnswerFor(*entry)).missing.push_back(entry);
  const auto age = [](const PodOutcome* pod) {
    return std::pair(!pod->created, pod->created.value_or(base::Time()));
  };
  for (Cause& cause : causes) {
    std::ranges::stable_sort(cause.pods, {}, age);
    if (!cause.pods.empty()) cause.oldest = cause.pods.front()->created;
  }
  std::ranges::stable_sort(causes, std::ranges::greater(), &Cause::size);
  return causes;
}

}  // namespace dray::planner
