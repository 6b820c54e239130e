// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "packing/relaxation.h"
#include "simulator/internal/trace_bound.h"

namespace dray::simulator::internal {
namespace {

constexpr std::int32_t kParts = packing::kRelaxedParts;  // as many as shares have: thousandths

// Requests that are alike are one, in the order in which they came first.
class Shapes {
 public:
  explicit Shapes(const std::map<std::string, std::uint16_t>& models) : models_(models) {}

  // Nothing: no device is asked for.
  std::optional<std::size_t> NumberOf(const TracePod& pod) {
    if (pod.milli() == 0) return std::nullopt;
    packing::Kinds kinds = 0;
    for (const auto& [model, kind] : models_) {
      if (pod.models.empty() || std::ranges::find(pod.models, model) != pod.models.end()) {
        kinds |= packing::KindBit(kind);
      }
    }
    // Parts of several devices are counted as if each went by itself, which can only be more.
    const bool split = pod.devices > 1 && pod.share < kParts;
    const double times = split ? pod.devices : 1;
    const packing::RelaxedRequest request{.cpu = static_cast<double>(pod.milli_cpu) / times,
                                          .memory = static_cast<double>(pod.memory_mib) / times,
                                          .count = split ? 1 : pod.devices,
                                          .parts = pod.share,
                                          .kinds = kinds};
    const auto [at, added] = numbers_.try_emplace(
        std::tuple(request.cpu, request.memory, request.count, request.parts, kinds), list_.size());
    if (added) list_.push_back(request);
    return at->second;
  }
  std::vector<packing::RelaxedRequest>& list() { return list_; }

 private:
  const std::map<std::string, std::uint16_t>& models_;
  std::map<std::tuple<double, double, std::int32_t, std::int32_t, packing::Kinds>, std::size_t>
      numbers_;
  std::vector<packing::RelaxedRequest> list_;
};

}  // namespace

std::vector<double> TraceBounds(const std::vector<TraceNode>& nodes,
                                const std::vector<TracePod>& arrivals,
                                std::span<const std::size_t> ends,
                                std::span<const std::size_t> solved) {
  std::map<std::string, std::uint16_t> models;
  for (const TraceNode& node : nodes) {
    if (node.devices > 0) models.try_emplace(node.model, static_cast<std::uint16_t>(models.size()));
  }
  std::map<std::tuple<std::int64_t, std::int64_t, std::int32_t, std::string>, double> alike;
  double devices = 0;
  for (const TraceNode& node : nodes) {
    if (node.devices == 0) continue;
    ++alike[{node.milli_cpu, node.memory_mib, node.devices, node.model}];
    devices += node.devices;
  }
  std::vector<packing::RelaxedNodes> groups;
  for (const auto& [of, count] : alike) {
    const auto& [cpu, memory, per_node, model] = of;
    groups.push_back({.nodes = count,
                      .cpu = static_cast<double>(cpu),
                      .memory = static_cast<double>(memory),
                      .devices = per_node,
                      .kind = models.at(model)});
  }
  Shapes shapes(models);
  std::vector<std::optional<std::size_t>> shape_of;
  for (const TracePod& pod : arrivals) shape_of.push_back(shapes.NumberOf(pod));
  // How many of each shape have come, by end.
  std::vector<std::vector<double>> came(ends.size(), std::vector<double>(shapes.list().size()));
  std::vector<double> so_far(shapes.list().size());
  for (std::size_t e = 0, i = 0; e < ends.size(); ++e) {
    for (; i < ends[e]; ++i) {
      if (!shape_of[i]) continue;
      const bool split = arrivals[i].devices > 1 && arrivals[i].share < kParts;
      so_far[*shape_of[i]] += split ? arrivals[i].devices : 1;
    }
    came[e] = so_far;
  }
  std::vector<packing::RelaxedBound> known;
  for (const std::size_t e : solved) {
    for (std::size_t s = 0; s < shapes.list().size(); ++s) shapes.list()[s].came = came[e][s];
    known.push_back(packing::Relaxation(shapes.list(), groups).Solve());
  }
  std::vector<double> bounds;
  for (std::size_t e = 0; e < ends.size(); ++e) {
    double asked = 0;
    for (std::size_t s = 0; s < shapes.list().size(); ++s) {
      asked += came[e][s] * shapes.list()[s].count * shapes.list()[s].parts / kParts;
    }
    double bound = std::min(asked, devices);
    for (const packing::RelaxedBound& of : known) bound = std::min(bound, of.For(came[e]));
    bounds.push_back(devices > 0 ? bound / devices : 0);
  }
  return bounds;
}

}  // namespace dray::simulator::internal
