// SPDX-License-Identifier: Apache-2.0
//
// NUMA nodes with their memory, CPUs and huge pages: /sys/devices/system/node.
#include <algorithm>
#include <charconv>
#include <limits>

#include "driver/internal/sysfs.h"
#include "files/files.h"
#include "fmt/format.h"

namespace dray::driver::internal {
namespace {

constexpr std::string_view kNumaNode = "resource.kubernetes.io/numaNode";
constexpr int kMostNumaNodes = 1024;

struct NumaNode {
  int id = 0;
  std::string path;
  std::string cpu_list;
  std::vector<int> cpus;
  std::int64_t memory = 0;  // bytes
};

std::optional<std::int64_t> NumberIn(std::string_view text) {
  const std::size_t at = text.find_first_of("0123456789");
  if (at == std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

// "Node 0 MemTotal:       16374104 kB"
std::int64_t MemoryOf(const std::string& path) {
  const auto text = files::ReadWhole(path + "/meminfo");
  if (!text.ok()) return 0;
  constexpr std::string_view kTotal = "MemTotal:";
  const std::size_t at = text->find(kTotal);
  if (at == std::string::npos) return 0;
  const std::string_view rest = std::string_view(*text).substr(at + kTotal.size());
  return NumberIn(rest.substr(0, rest.find('\n'))).value_or(0) * 1024;
}

std::vector<NumaNode> NodesOf(const std::string& sys) {
  std::vector<NumaNode> nodes;
  const std::string folder = sys + "/devices/system/node";
  for (const std::string& name : List(folder)) {
    if (!name.starts_with("node")) continue;
    const auto id = NumberIn(name);
    if (!id || name != fmt::format("node{}", *id)) continue;
    NumaNode node{.id = static_cast<int>(*id), .path = fmt::format("{}/{}", folder, name)};
    node.cpu_list = ReadLine(node.path + "/cpulist").value_or("");
    node.cpus = ParseCpuList(node.cpu_list).value_or(std::vector<int>());
    node.memory = MemoryOf(node.path);
    nodes.push_back(std::move(node));
  }
  std::ranges::sort(nodes, {}, &NumaNode::id);
  return nodes;
}

std::optional<std::int64_t> SocketOf(const std::string& sys, const NumaNode& node) {
  if (node.cpus.empty()) return std::nullopt;
  const auto socket = ReadNumber(fmt::format(
      "{}/devices/system/cpu/cpu{}/topology/physical_package_id", sys, node.cpus.front()));
  return socket && *socket >= 0 ? socket : std::nullopt;
}

void Describe(api::Device& device, const std::string& sys, const NumaNode& node) {
  SetInt(device, "resource.kubernetes.io/numaNode", node.id);
  SetString(device, "cpus", node.cpu_list);
  if (const auto socket = SocketOf(sys, node)) SetInt(device, "socket", *socket);
}

// "hugepages-2048kB" in bytes.
std::optional<std::int64_t> PageSize(std::string_view name) {
  if (!name.starts_with("hugepages-") || !name.ends_with("kB")) return std::nullopt;
  const auto kilobytes = NumberIn(name);
  if (!kilobytes) return std::nullopt;
  return *kilobytes * 1024;
}

void StepBy(api::DeviceCapacity& capacity, std::int64_t step, bool binary) {
  const auto format =
      binary ? base::Quantity::Format::kBinarySI : base::Quantity::Format::kDecimalSI;
  api::CapacityRequestPolicy& policy = capacity.request_policy.emplace();
  policy.default_value = base::Quantity::FromInt(step, format);
  api::CapacityRequestPolicyRange& range = policy.valid_range.emplace();
  range.min = base::Quantity::FromInt(step, format);
  range.step = base::Quantity::FromInt(step, format);
}

}  // namespace

// node<i>/distance has a number for each node, in their order.
std::vector<std::int64_t> NearNumaNodes(const std::string& sys, std::int64_t node) {
  const std::vector<NumaNode> nodes = NodesOf(sys);
  const auto own = std::ranges::find(nodes, node, &NumaNode::id);
  std::vector<std::int64_t> near = {node};
  if (own == nodes.end()) return near;
  std::vector<std::int64_t> distances;
  const std::string line = ReadLine(own->path + "/distance").value_or("");
  for (std::string_view rest = line; const auto number = NumberIn(rest);) {
    distances.push_back(*number);
    const std::size_t at = rest.find_first_of("0123456789");
    rest.remove_prefix(at);
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of("0123456789")));
  }
  if (distances.size() != nodes.size()) return near;
  const auto socket = SocketOf(sys, *own);
  std::int64_t nearest = std::numeric_limits<std::int64_t>::max();
  const auto beside = [&](std::size_t i) {
    return nodes[i].id != node && nodes[i].id < kMostNumaNodes && socket &&
           SocketOf(sys, nodes[i]) == socket;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (beside(i)) nearest = std::min(nearest, distances[i]);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (beside(i) && distances[i] == nearest) near.push_back(nodes[i].id);
  }
  return near;
}

void SetNumaNode(api::Device& device, const DiscoverOptions& options, std::int64_t node) {
  if (!options.numa_lists) return SetInt(device, kNumaNode, node);
  device.attributes[kNumaNode].MutableLists().int_values.emplace(NearNumaNodes(options.sys, node));
}

// A device that many claims share: each takes some of its memory and CPUs.
void DiscoverNuma(const DiscoverOptions& options, std::vector<DescribedDevice>& devices) {
  for (const NumaNode& node : NodesOf(options.sys)) {
    DescribedDevice& entry = devices.emplace_back();
    entry.device.name = fmt::format("numa-{}", node.id);
    Describe(entry.device, options.sys, node);
    entry.device.allow_multiple_allocations = true;
    constexpr std::int64_t kMebibyte = 1 << 20;
    if (node.memory >= kMebibyte) {
      SetCapacity(entry.device, "memory", node.memory / kMebibyte * kMebibyte, true);
      StepBy(entry.device.capacity["memory"], kMebibyte, true);
    }
    if (!node.cpus.empty()) {
      SetCapacity(entry.device, "cpus", static_cast<std::int64_t>(node.cpus.size()), false);
      StepBy(entry.device.capacity["cpus"], 1, false);
    }
    entry.cdi.emplace();
    entry.cdi->env = {fmt::format("NUMA_NODE_{}_MEMORY=${{capacity.memory}}", node.id),
                      fmt::format("NUMA_NODE_{}_CPUS=${{capacity.cpus}}", node.id)};
  }
}

// All CPUs of a node, for one claim at a time.
void DiscoverCpu(const DiscoverOptions& options, std::vector<DescribedDevice>& devices) {
  for (const NumaNode& node : NodesOf(options.sys)) {
    if (node.cpus.empty()) continue;
    DescribedDevice& entry = devices.emplace_back();
    entry.device.name = fmt::format("cpuset-{}", node.id);
    Describe(entry.device, options.sys, node);
    SetCapacity(entry.device, "cpus", static_cast<std::int64_t>(node.cpus.size()), false);
    entry.cdi.emplace();
    entry.cdi->env = {fmt::format("CPUSET_{}={}", node.id, node.cpu_list)};
  }
}

void DiscoverHugepages(const DiscoverOptions& options, std::vector<DescribedDevice>& devices) {
  for (const NumaNode& node : NodesOf(options.sys)) {
    for (const std::string& name : List(node.path + "/hugepages")) {
      const auto size = PageSize(name);
      const auto pages = ReadNumber(fmt::format("{}/hugepages/{}/nr_hugepages", node.path, name));
      if (!size || !pages || *pages <= 0) continue;
      const std::string shown =
          base::Quantity::FromInt(*size, base::Quantity::Format::kBinarySI).ToString();
      DescribedDevice& entry = devices.emplace_back();
      entry.device.name = LabelOf(fmt::format("hugepages-{}-node-{}", shown, node.id));
      SetInt(entry.device, "resource.kubernetes.io/numaNode", node.id);
      SetString(entry.device, "pageSize", shown);
      entry.device.allow_multiple_allocations = true;
      SetCapacity(entry.device, "memory", *size * *pages, true);
      StepBy(entry.device.capacity["memory"], *size, true);
      entry.cdi.emplace();
      entry.cdi->env = {
          fmt::format("HUGEPAGES_{}_NODE_{}=${{capacity.memory}}", VariableOf(shown), node.id)};
    }
  }
}

}  // namespace dray::driver::internal
