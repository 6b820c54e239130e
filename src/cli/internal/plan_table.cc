// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "cli/internal/columns.h"
#include "cli/internal/plan_text.h"
#include "fmt/format.h"
#include "planner/plan_json.h"

namespace dray::cli::internal {
namespace {

using planner::State;

constexpr std::string_view kNone = "<none>";

// A pod or a claim, as the table sees it.
struct TableEntry {
  std::string_view namespace_;
  std::string name;  // pod/a
  State state;
  std::string_view node;
  std::vector<const planner::ClaimUse*> claims;
  const scheduler::PodExplanation* why = nullptr;
  std::string reason = {};  // instead of an explanation
};

std::vector<TableEntry> EntriesOf(const planner::Plan& plan, bool existing) {
  std::vector<TableEntry> entries;
  for (const planner::PodOutcome& pod : plan.pods) {
    if (pod.state == State::kExisting && !existing) continue;
    TableEntry& entry = entries.emplace_back(
        TableEntry{pod.namespace_, "pod/" + pod.name, pod.state, pod.node, {}, nullptr});
    for (const planner::ClaimUse& claim : pod.claims) entry.claims.push_back(&claim);
    if (pod.explanation) entry.why = &*pod.explanation;
    if (!pod.preempted_for.empty()) entry.reason = "leaves for " + pod.preempted_for;
  }
  for (const planner::ClaimOutcome& claim : plan.claims) {
    if (claim.state == State::kExisting && !existing) continue;
    TableEntry& entry = entries.emplace_back(TableEntry{claim.namespace_,
                                                        "claim/" + claim.claim.name,
                                                        claim.state,
                                                        claim.node,
                                                        {&claim.claim},
                                                        nullptr});
    if (claim.explanation) entry.why = &*claim.explanation;
  }
  for (const planner::MissingPods& missing : plan.missing) {
    std::string name = missing.owners.back();
    std::ranges::transform(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(name.find('/')),
                           name.begin(), [](char c) { return absl::ascii_tolower(c); });
    TableEntry& entry = entries.emplace_back(
        TableEntry{missing.namespace_, std::move(name), State::kRefused, {}, {}, nullptr});
    entry.reason = fmt::format("{} of {} pods cannot be created: {}", missing.missing,
                               missing.wanted, missing.reason);
  }
  return entries;
}

std::string_view ColorOf(State state) {
  switch (state) {
    case State::kPlaced:
      return kGreen;
    case State::kRefused:
      return kRed;
    case State::kPreempted:
      return kMagenta;
    case State::kWaiting:
      return kCyan;
    case State::kExisting:
      return "";
  }
  return "";
}

std::string OrNone(std::string_view text) { return std::string(text.empty() ? kNone : text); }

// Without the domain: "bandwidth" of "net.example.com/bandwidth".
std::string_view ShortName(std::string_view name) {
  const auto slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

std::string Consumed(const planner::DeviceGrant& device, bool full) {
  std::string text;
  for (const auto& [name, amount] : device.consumed) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", full ? name : ShortName(name), amount);
  }
  return text;
}

// "gpu-0,gpu-1", "eth0[bandwidth=10G]".
std::string DevicesOf(const TableEntry& entry) {
  std::string text;
  for (const planner::ClaimUse* claim : entry.claims) {
    for (const planner::DeviceGrant& device : claim->devices) {
      text.append(text.empty() ? "" : ",").append(device.device);
      if (!device.consumed.empty()) text += fmt::format("[{}]", Consumed(device, false));
    }
  }
  return text;
}

// "0/3 nodes: 2 cannot allocate all claims, 1 Insufficient cpu; nearest fit: node-1, short of ..."
std::string ReasonOf(const scheduler::PodExplanation& why) {
  if (!why.error.empty()) return why.error;
  std::string text;
  const auto add = [&](std::string part) { text.append(text.empty() ? "" : ", ").append(part); };
  for (const scheduler::Reason& reason : why.before) add(reason.text);
  if (!why.before.empty()) return text;
  std::map<std::string_view, std::size_t> counts;
  for (const scheduler::NodeGroup& group : why.groups) {
    for (const scheduler::Reason& reason : group.reasons) counts[reason.text] += group.nodes;
  }
  for (const auto& [reason, nodes] : counts) add(fmt::format("{} {}", nodes, reason));
  text = counts.empty() ? "there are no nodes" : fmt::format("0/{} nodes: {}", why.nodes, text);
  if (why.closest) {
    text += fmt::format("; nearest fit: {}, {}", why.closest->node, why.closest->lacks);
  }
  return text;
}

class Table {
 public:
  Table(const std::vector<TableEntry>& entries, const TableOptions& options)
      : entries_(entries), options_(options) {
    std::set<std::string_view> spaces;
    for (const TableEntry& entry : entries) {
      spaces.insert(entry.namespace_);
      refusals_ |= entry.why != nullptr || !entry.reason.empty();
    }
    spaces_ = spaces.size() > 1 || !spaces.contains("default");
  }

  std::vector<Row> Rows() {
    if (options_.headers) Headers();
    for (const TableEntry& entry : entries_) {
      if (options_.wide) {
        WideRows(entry);
      } else {
        Row& row = Begin(entry);
        row.push_back({OrNone(DevicesOf(entry))});
        End(entry, row);
      }
    }
    return std::move(rows_);
  }

 private:
  void Headers() {
    Row& row = rows_.emplace_back();
    const auto add = [&](std::string_view name) { row.push_back({std::string(name), kBold}); };
    if (spaces_) add("NAMESPACE");
    for (const std::string_view name : {"NAME", "STATUS", "NODE"}) add(name);
    if (options_.wide) {
      for (const std::string_view name :
           {"CLAIM", "REQUEST", "DEVICE", "SHARE", "CAPACITY", "ADMIN"}) {
        add(name);
      }
    } else {
      add("DEVICES");
    }
    if (refusals_) add("REASON");
  }

  Row& Begin(const TableEntry& entry) {
    Row& row = rows_.emplace_back();
    if (spaces_) row.push_back({std::string(entry.namespace_)});
    row.push_back({entry.name});
    row.push_back({std::string(planner::NameOf(entry.state)), ColorOf(entry.state)});
    row.push_back({OrNone(entry.node)});
    return row;
  }

  void End(const TableEntry& entry, Row& row) const {
    if (refusals_) row.push_back({entry.why == nullptr ? entry.reason : ReasonOf(*entry.why)});
  }

  void WideRows(const TableEntry& entry) {
    bool any = false;
    for (const planner::ClaimUse* claim : entry.claims) {
      for (const planner::DeviceGrant& device : claim->devices) {
        Row& row = Begin(entry);
        row.push_back({claim->name});
        row.push_back({device.request});
        row.push_back({fmt::format("{}/{}/{}", device.driver, device.pool, device.device)});
        row.push_back({OrNone(device.share_id)});
        row.push_back({OrNone(Consumed(device, true))});
        row.push_back({device.admin_access ? "yes" : "no"});
        End(entry, row);
        any = true;
      }
    }
    if (any) return;
    Row& row = Begin(entry);
    std::string names;
    for (const planner::ClaimUse* claim : entry.claims) {
      names.append(names.empty() ? "" : ",").append(claim->name);
    }
    row.push_back({OrNone(names)});
    for (int i = 0; i < 4; ++i) row.push_back({std::string(kNone)});
    row.push_back({"no"});
    End(entry, row);
  }

  const std::vector<TableEntry>& entries_;
  const TableOptions& options_;
  bool spaces_ = false;
  bool refusals_ = false;
  std::vector<Row> rows_;
};

std::string Plural(std::size_t n, std::string_view word) {
  return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
}

template <typename Outcome>
std::string Counts(const std::vector<Outcome>& outcomes, std::string_view existing,
                   std::string_view placed) {
  std::string text;
  const auto add = [&](State state, std::string_view word) {
    const auto n = std::ranges::count(outcomes, state, &Outcome::state);
    if (n > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, word);
  };
  add(State::kExisting, existing);
  add(State::kPlaced, placed);
  add(State::kWaiting, "waiting for their devices");
  add(State::kRefused, "unschedulable");
  add(State::kPreempted, "preempted");
  return text;
}

}  // namespace

std::string PlanTable(const planner::Plan& plan, const TableOptions& options,
                      const Painter& paint) {
  const std::vector<TableEntry> entries = EntriesOf(plan, options.wide);
  if (entries.empty()) return "";
  return Columns(Table(entries, options).Rows(), paint);
}

std::string PlanSummary(const planner::Plan& plan) {
  std::string text = Plural(plan.pods.size(), "pod");
  if (!plan.pods.empty()) text += ": " + Counts(plan.pods, "already running", "newly placed");
  for (const planner::MissingPods& missing : plan.missing) {
    text += fmt::format("; {} of {} not created", missing.missing, missing.owners.back());
  }
  if (plan.claims.empty()) return text;
  return fmt::format("{}; {} without a pod: {}", text, Plural(plan.claims.size(), "claim"),
                     Counts(plan.claims, "already allocated", "newly allocated"));
}

}  // namespace dray::cli::internal
