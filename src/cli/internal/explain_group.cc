// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/explain_group.h"

#include <algorithm>

#include "api/pod.h"
#include "api/pod_claims.h"
#include "api/pod_group.h"
#include "fmt/format.h"
#include "scheduler/pod_info.h"

namespace dray::cli::internal {
namespace {

constexpr std::size_t kMostNamed = 8;

std::string ConditionOf(const api::PodGroup& group) {
  const auto found = std::ranges::find(group.status.conditions, api::kGroupScheduledCondition,
                                       &api::Condition::type);
  return found == group.status.conditions.end() ? "" : found->message;
}

}  // namespace

std::vector<ExplainedGroup> GroupsNamed(const planner::Plan& plan, std::string_view name) {
  std::vector<ExplainedGroup> found;
  for (const api::Object& object : plan.objects) {
    const auto* group = object.As<api::PodGroup>();
    if (group == nullptr || group->metadata.name != name) continue;
    ExplainedGroup& one = found.emplace_back();
    one.namespace_ = group->metadata.namespace_;
    one.name = name;
    std::size_t running = 0;
    for (const api::Object& other : plan.objects) {
      const auto* pod = other.As<api::Pod>();
      if (pod == nullptr || pod->metadata.namespace_ != one.namespace_ ||
          api::GroupNameOf(*pod) != name || scheduler::IsTerminated(*pod)) {
        continue;
      }
      one.pods.insert(scheduler::KeyOf(*pod));
      running += pod->spec.node_name.empty() ? 0 : 1;
    }
    const auto least = static_cast<std::size_t>(std::max(1, api::MinCountOf(group->spec)));
    one.satisfied = running >= least;
    const std::string who = fmt::format("PodGroup {}/{}", one.namespace_, name);
    if (one.satisfied) {
      one.text =
          fmt::format("{} is scheduled: {} of its {} pods have nodes, and it needs {} at once.",
                      who, running, one.pods.size(), least);
    } else if (one.pods.size() < least) {
      one.text = fmt::format("{} is pending: it needs {} pods at once, and there are {}.", who,
                             least, one.pods.size());
    } else {
      const std::string said = ConditionOf(*group);
      one.text = fmt::format("{} is pending: {}", who,
                             said.empty() ? "its pods have not been tried" : said);
    }
    one.text += '\n';
  }
  return found;
}

std::string WaitingWithGroup(const std::vector<const planner::PodOutcome*>& pods) {
  if (pods.empty()) return {};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(pods.size(), kMostNamed); ++i) {
    names.push_back(pods[i]->namespace_ + "/" + pods[i]->name);
  }
  return fmt::format("{} more pod{} of the group wait{} for it: {}{}\n", pods.size(),
                     pods.size() == 1 ? "" : "s", pods.size() == 1 ? "s" : "",
                     fmt::join(names, ", "), pods.size() > names.size() ? ", ..." : "");
}

}  // namespace dray::cli::internal
