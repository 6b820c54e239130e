// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/nodes.h"

#include <algorithm>
#include <set>
#include <utility>

#include "api/node.h"
#include "api/pod.h"
#include "api/resource_slice.h"
#include "base/quantity.h"
#include "fmt/format.h"

namespace dray::planner::internal {
namespace {

// More than any pod of an example asks for; as many pods as a kubelet takes unless it is told
// otherwise.
constexpr std::pair<std::string_view, std::string_view> kAmple[] = {
    {api::kResourceCpu, "1000"},
    {api::kResourceEphemeralStorage, "100Ti"},
    {api::kResourceMemory, "100Ti"},
    {api::kResourcePods, "110"}};
constexpr std::string_view kAmpleText = "unlimited CPU and memory, 110 pods";

constexpr std::size_t kShownNames = 3;

std::string Shown(const std::set<std::string>& names) {
  std::string text;
  std::size_t shown = 0;
  for (const std::string& name : names) {
    if (shown++ == kShownNames) return text + ", ...";
    text.append(text.empty() ? "" : ", ").append(name);
  }
  return text;
}

// "Node a", "Nodes a, b and c", "12 nodes (a, b, c, ...)"
std::string Nodes(const std::set<std::string>& names) {
  if (names.size() == 1) return "Node " + *names.begin();
  if (names.size() <= kShownNames) return "Nodes " + Shown(names);
  return fmt::format("{} nodes ({})", names.size(), Shown(names));
}
std::string_view Are(const std::set<std::string>& names) {
  return names.size() == 1 ? "is" : "are";
}

void GiveRoom(api::NodeStatus& status) {
  for (const auto& [name, amount] : kAmple) {
    base::Quantity quantity;
    base::Quantity::TryParse(amount, &quantity);
    status.capacity[name] = quantity;
    status.allocatable[name] = quantity;
  }
}

api::Object AssumedNode(const std::string& name) {
  api::Node node;
  node.metadata.name = name;
  // What every kubelet says of itself.
  node.metadata.labels[api::kHostnameLabel] = name;
  node.metadata.labels["kubernetes.io/os"] = "linux";
  GiveRoom(node.status);
  return api::Object::Of(std::move(node));
}

struct Names {
  std::set<std::string> given;
  std::set<std::string> missing;  // named by slices or pods only
};

Names NamesOf(const std::vector<api::Object>& objects) {
  Names names;
  for (const api::Object& object : objects) {
    if (const auto* slice = object.As<api::ResourceSlice>()) {
      if (slice->spec.node_name.has_value()) names.missing.insert(*slice->spec.node_name);
    } else if (const auto* pod = object.As<api::Pod>()) {
      names.missing.insert(pod->spec.node_name);
    } else if (object.As<api::Node>() != nullptr) {
      names.given.insert(object.metadata().name);
    }
  }
  names.missing.erase("");
  for (const std::string& name : names.given) names.missing.erase(name);
  return names;
}

// A manifest of a node may say what there is, and leave what can be allocated to the kubelet; or
// say nothing.
void CompleteRoom(std::vector<api::Object>& objects, std::vector<std::string>& notes) {
  std::set<std::string> silent;
  for (api::Object& object : objects) {
    const auto* node = object.As<api::Node>();
    if (node == nullptr || !node->status.allocatable.empty()) continue;
    api::NodeStatus& status = object.Mutable<api::Node>()->status;
    if (status.capacity.empty()) {
      silent.insert(object.metadata().name);
      GiveRoom(status);
    } else {
      status.allocatable = status.capacity;
    }
  }
  if (silent.empty()) return;
  notes.push_back(fmt::format("{} {} no capacity; assuming {}", Nodes(silent),
                              silent.size() == 1 ? "says" : "say", kAmpleText));
}

}  // namespace

void CompleteNodes(AssumeNodes assume, std::vector<api::Object>& objects,
                   std::vector<std::string>& notes) {
  const Names names = NamesOf(objects);
  CompleteRoom(objects, notes);
  const bool add =
      assume == AssumeNodes::kAlways || (assume == AssumeNodes::kIfNone && names.given.empty());
  if (add && !names.missing.empty()) {
    for (const std::string& name : names.missing) objects.push_back(AssumedNode(name));
    notes.push_back(fmt::format("{} {} not in the input; assuming {}", Nodes(names.missing),
                                Are(names.missing), kAmpleText));
    return;
  }
  if (!names.missing.empty() && assume == AssumeNodes::kIfNone) {
    notes.push_back(
        fmt::format("{} {} not in the input, while other nodes are; treated as gone "
                    "(--assume-nodes=always assumes them)",
                    Nodes(names.missing), Are(names.missing)));
  } else if (names.given.empty()) {
    notes.push_back(
        "there are no nodes: the input has no Node, and no slice or pod that names one");
  }
}

}  // namespace dray::planner::internal
