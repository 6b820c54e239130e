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

// The program takes the square of its rows for each step, and for memory.
constexpr std::size_t kMostRows = 1'000;
constexpr std::size_t kMostWork = 10'000'000'000;
constexpr std::size_t kMostSteps = 40'000;

using Models = std::map<std::string, std::uint16_t>;

// Requests that are alike are one, in the order in which they came first.
class Shapes {
 public:
  // `scalars`: whether they have cpu and memory.
  Shapes(const Models& models, const std::vector<TracePod>& arrivals, bool scalars)
      : models_(&models), scalars_(scalars) {
    for (const TracePod& pod : arrivals) of_.push_back(NumberOf(pod));
  }

  // By arrival; nothing: no device is asked for.
  const std::vector<std::optional<std::size_t>>& of() const { return of_; }
  std::vector<packing::RelaxedRequest>& list() { return list_; }

 private:
  std::optional<std::size_t> NumberOf(const TracePod& pod) {
    if (pod.milli() == 0) return std::nullopt;
    packing::Kinds kinds = 0;
    for (const auto& [model, kind] : *models_) {
      if (pod.models.empty() || std::ranges::find(pod.models, model) != pod.models.end()) {
        kinds |= packing::KindBit(kind);
      }
    }
    // Parts of several devices are counted as if each went by itself, which can only be more.
    const bool split = pod.devices > 1 && pod.share < kParts;
    const double times = split ? pod.devices : 1;
    packing::RelaxedRequest request{
        .count = split ? 1 : pod.devices, .parts = pod.share, .kinds = kinds};
    if (scalars_) {
      request.cpu = static_cast<double>(pod.milli_cpu) / times;
      request.memory = static_cast<double>(pod.memory_mib) / times;
    }
    const auto [at, added] = numbers_.try_emplace(
        std::tuple(request.cpu, request.memory, request.count, request.parts, kinds), list_.size());
    if (added) list_.push_back(request);
    return at->second;
  }

  const Models* models_;
  bool scalars_;
  std::map<std::tuple<double, double, std::int32_t, std::int32_t, packing::Kinds>, std::size_t>
      numbers_;
  std::vector<packing::RelaxedRequest> list_;
  std::vector<std::optional<std::size_t>> of_;
};

std::vector<packing::RelaxedNodes> GroupsOf(const Models& models,
                                            const std::vector<TraceNode>& nodes, bool scalars) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::int32_t, std::string>, double> alike;
  for (const TraceNode& node : nodes) {
    if (node.devices == 0) continue;
    ++alike[{scalars ? node.milli_cpu : 0, scalars ? node.memory_mib : 0, node.devices,
             node.model}];
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
  return groups;
}

}  // namespace

std::vector<double> TraceBounds(const std::vector<TraceNode>& nodes,
                                const std::vector<TracePod>& arrivals,
                                std::span<const std::size_t> ends,
                                std::span<const std::size_t> solved) {
  Models models;
  double devices = 0;
  for (const TraceNode& node : nodes) {
    if (node.devices == 0) continue;
    models.try_emplace(node.model, static_cast<std::uint16_t>(models.size()));
    devices += node.devices;
  }
  Shapes shapes(models, arrivals, true);
  std::vector<packing::RelaxedNodes> groups = GroupsOf(models, nodes, true);
  const auto rows = [&] { return shapes.list().size() + 3 * groups.size(); };
  if (rows() > kMostRows) {
    // Without cpu and memory more are alike, and the bound can only be higher.
    shapes = Shapes(models, arrivals, false);
    groups = GroupsOf(models, nodes, false);
  }
  // How many of each shape have come, by end.
  std::vector<std::vector<double>> came(ends.size(), std::vector<double>(shapes.list().size()));
  std::vector<double> so_far(shapes.list().size());
  for (std::size_t e = 0, i = 0; e < ends.size(); ++e) {
    for (; i < ends[e]; ++i) {
      if (!shapes.of()[i]) continue;
      const bool split = arrivals[i].devices > 1 && arrivals[i].share < kParts;
      so_far[*shapes.of()[i]] += split ? arrivals[i].devices : 1;
    }
    came[e] = so_far;
  }
  std::vector<packing::RelaxedBound> known;
  const std::size_t steps = std::min(kMostSteps, kMostWork / (1 + rows() * rows()));
  for (const std::size_t e : solved) {
    if (rows() > kMostRows) break;
    for (std::size_t s = 0; s < shapes.list().size(); ++s) shapes.list()[s].came = came[e][s];
    known.push_back(packing::Relaxation(shapes.list(), groups).Solve(static_cast<int>(steps)));
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
