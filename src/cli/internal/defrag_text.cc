// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/defrag_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "cli/internal/columns.h"
#include "cli/internal/json_tree.h"
#include "fmt/format.h"
#include "planner/plan_json.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kNone = "<none>";
constexpr std::size_t kShownKept = 10;

std::string OrNone(std::string_view text) { return std::string(text.empty() ? kNone : text); }

std::string DevicesOf(const std::vector<planner::ClaimUse>& claims) {
  std::string text;
  for (const planner::ClaimUse& claim : claims) {
    for (const planner::DeviceGrant& device : claim.devices) {
      text.append(text.empty() ? "" : ",").append(device.device);
    }
  }
  return OrNone(text);
}

std::string Plural(std::size_t n, std::string_view word) {
  return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
}

std::string Called(const planner::FreeDevices& devices) {
  return fmt::format("{}={}", devices.device_class, devices.count);
}

bool ShowsSpaces(const planner::Defrag& found) {
  std::set<std::string_view> spaces;
  for (const planner::Move& move : found.moves) spaces.insert(move.pod.namespace_);
  for (const planner::Arrival& arrival : found.arrivals) {
    if (!arrival.devices) spaces.insert(arrival.pod.namespace_);
  }
  return spaces.size() > 1 || (spaces.size() == 1 && *spaces.begin() != "default");
}

class Table {
 public:
  Table(const planner::Defrag& found, const TableOptions& options)
      : found_(found), options_(options), spaces_(ShowsSpaces(found)) {}

  std::vector<Row> Rows() {
    if (options_.headers) Headers();
    for (std::size_t i = 0; i < found_.moves.size(); ++i) {
      const planner::Move& move = found_.moves[i];
      Row& row = Begin(std::to_string(i + 1), move.pod.namespace_, "pod/" + move.pod.name,
                       move.from, move.to);
      row.push_back({DevicesOf(move.after)});
      if (!options_.wide) continue;
      row.push_back({DevicesOf(move.before)});
      row.push_back({std::to_string(move.priority)});
      row.push_back({OrNone(move.owners.empty() ? "" : move.owners.front())});
    }
    for (const planner::Arrival& arrival : found_.arrivals) {
      const std::string name =
          arrival.devices ? "free/" + Called(*arrival.devices) : "pod/" + arrival.pod.name;
      End(Begin("then", arrival.pod.namespace_, name, "", arrival.node), DevicesOf(arrival.claims));
    }
    for (const std::string& node : found_.free_nodes) {
      End(Begin("then", "", "node/" + node, "", "free"), std::string(kNone));
    }
    return std::move(rows_);
  }

 private:
  void Headers() {
    Row& row = rows_.emplace_back();
    const auto add = [&](std::string_view name) { row.push_back({std::string(name), kBold}); };
    add("STEP");
    if (spaces_) add("NAMESPACE");
    for (const std::string_view name : {"NAME", "FROM", "TO", "DEVICES"}) add(name);
    if (!options_.wide) return;
    for (const std::string_view name : {"BEFORE", "PRIORITY", "OWNER"}) add(name);
  }
  Row& Begin(std::string step, std::string_view space, std::string name, std::string_view from,
             std::string_view to) {
    Row& row = rows_.emplace_back();
    row.push_back({std::move(step)});
    if (spaces_) row.push_back({OrNone(space)});
    row.push_back({std::move(name)});
    row.push_back({OrNone(from)});
    row.push_back({OrNone(to)});
    return row;
  }
  void End(Row& row, std::string devices) const {
    row.push_back({std::move(devices)});
    if (!options_.wide) return;
    for (int i = 0; i < 3; ++i) row.push_back({std::string(kNone)});
  }

  const planner::Defrag& found_;
  const TableOptions& options_;
  const bool spaces_;
  std::vector<Row> rows_;
};

std::string Shown(const planner::PodName& name) {
  return name.namespace_ == "default" ? name.name : name.namespace_ + "/" + name.name;
}

api::DocumentNode Devices(const std::vector<planner::ClaimUse>& claims) {
  std::vector<api::DocumentNode> list;
  for (const planner::ClaimUse& claim : claims) list.push_back(planner::ToJson(claim));
  return List(std::move(list));
}

api::DocumentNode Strings(const std::vector<std::string>& texts) {
  std::vector<api::DocumentNode> list;
  for (const std::string& text : texts) list.push_back(String(text));
  return List(std::move(list));
}

api::DocumentNode Integer(std::int64_t value) {
  api::DocumentNode node = Number(0);
  node.text = std::to_string(value);
  return node;
}

api::DocumentNode JsonOf(const planner::Move& move) {
  return Map({{"namespace", String(move.pod.namespace_)},
              {"name", String(move.pod.name)},
              {"owners", Strings(move.owners)},
              {"priority", Integer(move.priority)},
              {"from", String(move.from)},
              {"to", String(move.to)},
              {"claimsBefore", Devices(move.before)},
              {"claimsAfter", Devices(move.after)}});
}

api::DocumentNode JsonOf(const planner::CarriedOut& carried) {
  std::vector<api::DocumentNode> made;
  for (const planner::MadeMove& move : carried.made) {
    made.push_back(Map({{"namespace", String(move.move.pod.namespace_)},
                        {"name", String(move.move.pod.name)},
                        {"replacement", String(move.replacement)},
                        {"node", String(move.node)}}));
  }
  std::vector<Entry> entries = {{"done", Bool(carried.done)},
                                {"made", List(std::move(made))},
                                {"cordoned", Strings(carried.closed)}};
  if (!carried.surprise.empty()) entries.push_back({"surprise", String(carried.surprise)});
  return Map(std::move(entries));
}

}  // namespace

std::string DefragTable(const planner::Defrag& found, const TableOptions& options,
                        const Painter& paint) {
  if (found.moves.empty() && found.arrivals.empty() && found.free_nodes.empty()) return "";
  return Columns(Table(found, options).Rows(), paint);
}

std::string KeptTable(const planner::Defrag& found, const TableOptions& options,
                      const Painter& paint) {
  if (found.kept.empty()) return "";
  std::vector<Row> rows;
  if (options.headers) {
    rows.push_back({{"NOT MOVED", kBold}, {"NODE", kBold}, {"RULE", kBold}, {"REASON", kBold}});
  }
  for (const planner::KeptPod& kept : found.kept) {
    rows.push_back({{"pod/" + Shown(kept.pod)},
                    {kept.node},
                    {std::string(planner::CodeOf(kept.rule))},
                    {kept.text}});
    if (!options.wide && rows.size() > kShownKept) break;
  }
  std::string text = Columns(rows, paint);
  if (!options.wide && found.kept.size() > kShownKept) {
    text += fmt::format("and {} more; -o wide lists all\n", found.kept.size() - kShownKept);
  }
  return text;
}

std::string DefragSummary(const planner::Defrag& found) {
  std::string text;
  if (!found.reached) {
    for (const std::string& reason : found.reasons) text += reason + "\n";
    if (found.gave_up) {
      text += fmt::format(
          "gave up after {} placement attempts; allow more with --attempts, or ask for fewer pods, "
          "nodes or moves\n",
          found.attempts);
    } else if (found.reasons.empty()) {
      text += fmt::format("no list of at most {} is enough\n", Plural(found.most, "move"));
    }
    return text;
  }
  if (found.moves.empty()) {
    text = found.arrivals.empty() && found.free_nodes.empty()
               ? "no pod is pending; nothing has to move\n"
               : "nothing has to move\n";
  } else {
    text = Plural(found.moves.size(), "move");
    if (found.shortest) {
      text += found.cheapest ? "; no shorter list is enough, and none with less important pods"
                             : "; no shorter list is enough";
    } else {
      text += "; there may be a shorter list";
    }
    text += '\n';
  }
  if (!found.others.empty()) {
    text += fmt::format("note: {} {} also pending and may be scheduled first: pod {}{}\n",
                        Plural(found.others.size(), "pod"), found.others.size() == 1 ? "is" : "are",
                        Shown(found.others.front()), found.others.size() > 1 ? ", ..." : "");
  }
  return text;
}

api::DocumentNode ToJson(const planner::Defrag& found, const planner::CarriedOut* carried) {
  std::vector<api::DocumentNode> moves;
  for (const planner::Move& move : found.moves) moves.push_back(JsonOf(move));
  std::vector<api::DocumentNode> pods;
  std::vector<api::DocumentNode> devices;
  for (const planner::Arrival& arrival : found.arrivals) {
    if (arrival.devices) {
      devices.push_back(Map({{"deviceClassName", String(arrival.devices->device_class)},
                             {"count", Integer(arrival.devices->count)},
                             {"node", String(arrival.node)},
                             {"claims", Devices(arrival.claims)}}));
    } else {
      pods.push_back(Map({{"namespace", String(arrival.pod.namespace_)},
                          {"name", String(arrival.pod.name)},
                          {"node", String(arrival.node)},
                          {"claims", Devices(arrival.claims)}}));
    }
  }
  std::vector<api::DocumentNode> kept;
  for (const planner::KeptPod& pod : found.kept) {
    kept.push_back(Map({{"namespace", String(pod.pod.namespace_)},
                        {"name", String(pod.pod.name)},
                        {"node", String(pod.node)},
                        {"rule", String(planner::CodeOf(pod.rule))},
                        {"reason", String(pod.text)}}));
  }
  std::vector<api::DocumentNode> others;
  for (const planner::PodName& pod : found.others) {
    others.push_back(Map({{"namespace", String(pod.namespace_)}, {"name", String(pod.name)}}));
  }
  std::vector<Entry> entries = {{"reached", Bool(found.reached)},
                                {"shortest", Bool(found.shortest)},
                                {"cheapest", Bool(found.cheapest)},
                                {"gaveUp", Bool(found.gave_up)},
                                {"attempts", Number(found.attempts)},
                                {"reasons", Strings(found.reasons)},
                                {"moves", List(std::move(moves))},
                                {"pods", List(std::move(pods))},
                                {"freeDevices", List(std::move(devices))},
                                {"freeNodes", Strings(found.free_nodes)},
                                {"kept", List(std::move(kept))},
                                {"otherPendingPods", List(std::move(others))},
                                {"notes", Strings(found.notes)}};
  if (carried != nullptr) entries.push_back({"applied", JsonOf(*carried)});
  return Map(std::move(entries));
}

}  // namespace dray::cli::internal
