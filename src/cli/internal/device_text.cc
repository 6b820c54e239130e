// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/device_text.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "base/human_duration.h"
#include "cli/internal/columns.h"
#include "cli/internal/wrap.h"
#include "fmt/format.h"
#include "planner/plan_json.h"

namespace dray::cli::internal {
namespace {

using planner::AmountLeft;
using planner::DeviceEntry;
using planner::DeviceHolder;
using planner::DeviceState;
using planner::DeviceTree;
using planner::NodeEntry;
using planner::PoolEntry;

constexpr std::string_view kNone = "<none>";

std::string Word(DeviceState state) {
  return absl::AsciiStrToLower(std::string(planner::NameOf(state)));
}

std::string Plural(std::size_t n, std::string_view word) {
  return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
}

std::string_view ColorOf(const DeviceEntry& device) {
  switch (device.state) {
    case DeviceState::kFree:
      return device.taints.empty() ? kGreen : kMagenta;
    case DeviceState::kGone:
    case DeviceState::kUnusable:
      return kRed;
    case DeviceState::kBlocked:
      return kMagenta;
    case DeviceState::kHeld:
    case DeviceState::kShared:
      return "";
  }
  return "";
}

std::string Join(const std::vector<std::string>& texts, std::string_view between = ", ") {
  std::string text;
  for (const std::string& one : texts) text.append(text.empty() ? "" : between).append(one);
  return text;
}

// "pod default/a", "pods default/a, default/b", "claim default/c"
std::string NameOf(const DeviceHolder& holder) {
  if (holder.pods.empty()) return "claim " + holder.claim;
  std::vector<std::string> pods;
  for (const std::string& pod : holder.pods) pods.push_back(holder.namespace_() + "/" + pod);
  return fmt::format("{} {}", pods.size() == 1 ? "pod" : "pods", Join(pods));
}

std::string AgeOf(const DeviceHolder& holder, base::Time now) {
  if (!holder.since || *holder.since >= now.TruncateToSeconds()) return "";
  return base::HumanDuration((now - *holder.since) / std::chrono::seconds(1));
}

// "pod default/a (claim c, 40Gi memory, for 3h, priority 100)"
std::string TextOf(const DeviceHolder& holder, base::Time now) {
  std::vector<std::string> about;
  const std::string claim = holder.claim.substr(holder.claim.find('/') + 1);
  // The name of a claim that was made for one pod says nothing that the pod's does not.
  if (!holder.pods.empty() && !claim.starts_with(holder.pods.front() + "-")) {
    about.push_back("claim " + claim);
  }
  for (const auto& [name, amount] : holder.consumed) {
    about.push_back(fmt::format("{} {}", amount, name));
  }
  if (holder.admin_access) about.emplace_back("for administration");
  if (const std::string age = AgeOf(holder, now); !age.empty()) about.push_back("for " + age);
  if (holder.priority.value_or(0) != 0) {
    about.push_back(fmt::format("priority {}", *holder.priority));
  }
  return about.empty() ? NameOf(holder) : fmt::format("{} ({})", NameOf(holder), Join(about));
}

std::string HoldersOf(const DeviceEntry& device, base::Time now) {
  std::vector<std::string> holders;
  for (const DeviceHolder& holder : device.holders) holders.push_back(TextOf(holder, now));
  return Join(holders, "; ");
}

std::string LeftOf(const std::vector<AmountLeft>& amounts) {
  std::vector<std::string> texts;
  for (const AmountLeft& amount : amounts) {
    texts.push_back(fmt::format("{} of {} {} left", amount.left, amount.value, amount.name));
  }
  return Join(texts);
}

std::string LineOf(const DeviceEntry& device, base::Time now) {
  std::string text = fmt::format("{}: {}", device.name, Word(device.state));
  if (!device.blocked_by.empty()) text += ", " + Join(device.blocked_by);
  if (device.state == DeviceState::kGone) text += ", no slice publishes it any more, held";
  if (device.state == DeviceState::kUnusable) text += ", held";
  if (device.state == DeviceState::kShared && !device.capacity.empty()) {
    text += ", " + LeftOf(device.capacity);
  }
  if (!device.taints.empty()) text += ", tainted " + Join(device.taints);
  if (!device.holders.empty()) {
    text += fmt::format(
        "{}{}",
        device.state == DeviceState::kShared || device.state == DeviceState::kFree ? ": " : " by ",
        HoldersOf(device, now));
  }
  return text;
}

struct Line {
  std::string text;
  std::string_view color = {};
};

std::vector<Line> LinesOf(const PoolEntry& pool, base::Time now) {
  std::vector<Line> lines;
  std::vector<std::string> free;  // and nothing to say about them
  for (const DeviceEntry& device : pool.devices) {
    if (device.state == DeviceState::kFree && device.taints.empty() && device.holders.empty()) {
      free.push_back(device.name);
    } else {
      lines.push_back({LineOf(device, now), ColorOf(device)});
    }
  }
  if (!free.empty()) {
    lines.push_back({fmt::format("{} free: {}", free.size(), Join(free)), kGreen});
  }
  for (const planner::CounterSetEntry& set : pool.counter_sets) {
    // Of a card of which nobody has a part there is nothing to say.
    const bool drawn = std::ranges::any_of(
        set.counters, [](const AmountLeft& counter) { return counter.left != counter.value; });
    if (!drawn) continue;
    std::string text = fmt::format("counters of {}: {}", set.name, LeftOf(set.counters));
    if (!set.groups.empty()) {
      text += fmt::format("; only for compatibility groups {}", Join(set.groups));
    }
    lines.push_back({std::move(text)});
  }
  if (!pool.problem.empty()) lines.push_back({"pool is " + pool.problem, kRed});
  return lines;
}

// "gpu.example.com, pool b: 4 devices, 2 free"
std::string HeadOf(const PoolEntry& pool, std::string_view node) {
  std::string text = pool.driver;
  if (pool.name != node) text += ", pool " + pool.name;
  return fmt::format("{}: {}, {} free", text, Plural(pool.devices.size(), "device"),
                     pool.Count(DeviceState::kFree));
}

class TreeWriter {
 public:
  TreeWriter(const TextStyle& style, base::Time now) : style_(style), now_(now) {}

  void Add(std::string_view head, const std::vector<PoolEntry>& pools, std::string_view node) {
    Put(std::string(head), kBold);
    for (std::size_t i = 0; i < pools.size(); ++i) {
      const bool last = i + 1 == pools.size();
      Put(fmt::format("{}{}", last ? "└─ " : "├─ ", HeadOf(pools[i], node)), "");
      const std::vector<Line> lines = LinesOf(pools[i], now_);
      for (std::size_t j = 0; j < lines.size(); ++j) {
        const std::string indent =
            fmt::format("{}{}", last ? "   " : "│  ", j + 1 == lines.size() ? "└─ " : "├─ ");
        Put(indent + lines[j].text, lines[j].color, indent.size());
      }
    }
  }
  std::string Take() { return std::move(text_); }

 private:
  void Put(const std::string& line, std::string_view color, std::size_t indent = 0) {
    std::string shown = Wrapped(Printable(line), style_.columns);
    const std::string before = shown.substr(0, indent);
    const std::string rest = shown.substr(indent);
    shown = (style_.unicode ? before : InAscii(before)) +
            (color.empty() ? Drawn(rest) : style_.paint.Paint(color, Drawn(rest)));
    text_ += shown + '\n';
  }
  std::string Drawn(const std::string& text) const { return style_.unicode ? text : InAscii(text); }

  const TextStyle& style_;
  base::Time now_;
  std::string text_;
};

std::string OrNone(const std::string& text) { return text.empty() ? std::string(kNone) : text; }

void AddRows(const std::string& node, const PoolEntry& pool, base::Time now,
             std::vector<Row>& rows) {
  for (const DeviceEntry& device : pool.devices) {
    std::vector<std::string> left;
    for (const AmountLeft& amount : device.capacity) {
      left.push_back(fmt::format("{}={}/{}", amount.name, amount.left, amount.value));
    }
    std::vector<std::string> attributes;
    for (const auto& [name, value] : device.attributes) attributes.push_back(name + "=" + value);
    const auto add = [&](const std::string& holder, const std::string& age,
                         const std::string& priority) {
      rows.push_back({{OrNone(node)},
                      {pool.driver},
                      {pool.name},
                      {device.name},
                      {std::string(planner::NameOf(device.state)), ColorOf(device)},
                      {OrNone(holder)},
                      {OrNone(age)},
                      {OrNone(priority)},
                      {OrNone(Join(left, ","))},
                      {OrNone(Join(device.taints, ","))},
                      {OrNone(Join(attributes, ","))}});
    };
    if (device.holders.empty()) add("", "", "");
    for (const DeviceHolder& holder : device.holders) {
      std::vector<std::string> pods;
      for (const std::string& pod : holder.pods) {
        pods.push_back(fmt::format("pod/{}/{}", holder.namespace_(), pod));
      }
      add(pods.empty() ? "claim/" + holder.claim : Join(pods, ","), AgeOf(holder, now),
          holder.priority ? std::to_string(*holder.priority) : "");
    }
  }
}

// Every device with what is to be said of it when it changes.
std::map<std::string, std::string> StatesOf(const DeviceTree& tree) {
  std::map<std::string, std::string> states;
  const auto add = [&](const std::string& node, const PoolEntry& pool) {
    for (const DeviceEntry& device : pool.devices) {
      std::vector<std::string> holders;
      for (const DeviceHolder& holder : device.holders) holders.push_back(NameOf(holder));
      std::string text = Word(device.state);
      if (!holders.empty()) text += " by " + Join(holders);
      if (!device.taints.empty()) text += ", tainted " + Join(device.taints);
      states.emplace(Printable(fmt::format("{}{}/{}/{}", node.empty() ? "" : node + ": ",
                                           pool.driver, pool.name, device.name)),
                     Printable(text));
    }
  };
  for (const NodeEntry& node : tree.nodes) {
    for (const PoolEntry& pool : node.pools) add(node.name, pool);
  }
  for (const PoolEntry& pool : tree.pools) add("", pool);
  return states;
}

}  // namespace

std::string DeviceTreeText(const DeviceTree& tree, const TextStyle& style, base::Time now) {
  TreeWriter writer(style, now);
  for (const NodeEntry& node : tree.nodes) {
    const std::string head =
        node.marks.empty() ? node.name : fmt::format("{} ({})", node.name, Join(node.marks));
    writer.Add(head, node.pools, node.name);
  }
  if (!tree.pools.empty()) writer.Add("devices of more than one node", tree.pools, "");
  return writer.Take();
}

std::string DeviceTable(const DeviceTree& tree, bool headers, const Painter& paint,
                        base::Time now) {
  std::vector<Row> rows;
  if (headers) {
    Row& row = rows.emplace_back();
    for (const std::string_view name : {"NODE", "DRIVER", "POOL", "DEVICE", "STATE", "HOLDER",
                                        "AGE", "PRIORITY", "LEFT", "TAINTS", "ATTRIBUTES"}) {
      row.push_back({std::string(name), kBold});
    }
  }
  for (const NodeEntry& node : tree.nodes) {
    for (const PoolEntry& pool : node.pools) AddRows(node.name, pool, now, rows);
  }
  for (const PoolEntry& pool : tree.pools) AddRows("", pool, now, rows);
  return Columns(rows, paint);
}

std::string DeviceSummary(const DeviceTree& tree) {
  std::string text =
      fmt::format("{} on {}", Plural(tree.Devices(), "device"), Plural(tree.nodes.size(), "node"));
  std::string counts;
  for (const DeviceState state :
       {DeviceState::kFree, DeviceState::kHeld, DeviceState::kShared, DeviceState::kBlocked,
        DeviceState::kUnusable, DeviceState::kGone}) {
    const std::size_t n = tree.Count(state);
    if (n > 0) counts += fmt::format("{}{} {}", counts.empty() ? ": " : ", ", n, Word(state));
  }
  text += counts;
  if (tree.nodes_without > 0) {
    text += fmt::format("; {} without devices", Plural(tree.nodes_without, "node"));
  }
  return text;
}

std::string DeviceChanges(const DeviceTree& before, const DeviceTree& now) {
  const auto old_states = StatesOf(before);
  const auto new_states = StatesOf(now);
  std::string text;
  for (const auto& [device, state] : new_states) {
    const auto was = old_states.find(device);
    if (was == old_states.end()) {
      text += fmt::format("{}: new, {}\n", device, state);
    } else if (was->second != state) {
      text += fmt::format("{}: {} (was {})\n", device, state, was->second);
    }
  }
  for (const auto& [device, state] : old_states) {
    if (!new_states.contains(device)) text += fmt::format("{}: gone (was {})\n", device, state);
  }
  return text;
}

}  // namespace dray::cli::internal
