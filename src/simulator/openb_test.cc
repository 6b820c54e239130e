// SPDX-License-Identifier: Apache-2.0
//
// The openb lists from ../shared/traces, where they are, through the real scheduler; and lists with
// pods that leave, against a slow model of FGD that knows in advance what will be asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <queue>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "packing/fgd_for_test.h"
#include "simulator/trace.h"
#include "simulator/trace_for_test.h"
#include "testing/status_matchers.h"

namespace dray::simulator {
namespace {

using testing::IsOk;

// The goals of the openb lists, through the real scheduler: above the best published policy.
struct Goal {
  std::string list;
  double published_at_100;  // FGD, in percent
  double published_at_130;
  bool always = false;  // the others with DRAY_INSTANCES, which says how many seeds
  friend void PrintTo(const Goal& goal, std::ostream* os) { *os << goal.list; }
};
class OpenbTest : public ::testing::TestWithParam<Goal> {};

std::optional<std::string> Shared(const std::string& file) {
  const char* const shared = std::getenv("DRAY_SHARED");
  std::ifstream in(
      (shared != nullptr ? std::string(shared) : "../shared") + "/traces/openb/" + file,
      std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct List {
  Trace trace;
  std::vector<TraceNode> nodes;
  std::vector<TracePod> pods;
};
// Nothing: the files are not there.
std::optional<List> ReadList(const std::string& name) {
  const auto node_text = Shared("nodes.csv");
  const auto pod_text = Shared("pods-" + name + ".csv");
  if (!node_text || !pod_text) return std::nullopt;
  List list{.trace = Columns(), .nodes = {}, .pods = {}};
  if (name.starts_with("multigpu")) list.trace.pod_columns.model.clear();
  list.nodes = *ReadTraceNodes(list.trace, *node_text);
  list.pods = *ReadTracePods(list.trace, *pod_text);
  return list;
}

TEST_P(OpenbTest, IsAllocatedBetterThanByTheBestPublishedPolicy) {
  const char* const wanted = std::getenv("DRAY_INSTANCES");
  if (!GetParam().always && wanted == nullptr) GTEST_SKIP() << "takes long: set DRAY_INSTANCES";
  const auto list = ReadList(GetParam().list);
  if (!list) GTEST_SKIP() << "there is no ../shared/traces/openb";
  const auto& [trace, nodes, pods] = *list;
  const std::uint64_t seeds = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 1;
  double at_100 = 0;
  double at_end = 0;
  double bound = 0;
  for (std::uint64_t seed = 42; seed < 42 + seeds; ++seed) {
    const auto result = RunTrace(trace, nodes, Arrivals(trace, nodes, pods, seed),
                                 {.seed = seed, .policy = allocator::Policy::kFragmentation});
    ASSERT_THAT(result, IsOk());
    at_100 += 100 * result->At(1)->allocated / static_cast<double>(seeds);
    at_end += 100 * result->rows.back().allocated / static_cast<double>(seeds);
    bound += 100 * *result->At(1)->bound / static_cast<double>(seeds);
    EXPECT_LT(result->At(1)->allocated, *result->At(1)->bound);
    EXPECT_LT(result->rows.back().allocated, *result->rows.back().bound);
  }
  std::cout << fmt::format("{}: {:.2f} / {:.2f}, at most {:.2f} at 100 %\n", GetParam().list,
                           at_100, at_end, bound);
  EXPECT_GT(at_100, GetParam().published_at_100);
  EXPECT_GT(at_end, GetParam().published_at_130);
}

INSTANTIATE_TEST_SUITE_P(Lists, OpenbTest,
                         ::testing::ValuesIn(std::vector<Goal>{
                             {"default", 95.23, 95.39, true},
                             {"gpuspec33", 87.84, 94.55, true},
                             {"multigpu50", 97.09, 97.18, true},
                             {"cpu050", 95.00, 95.21},
                             {"cpu100", 95.21, 95.35},
                             {"cpu250", 93.20, 93.41},
                             {"gpushare100", 86.64, 86.90},
                             {"gpushare40", 93.96, 94.15},
                             {"gpushare60", 91.25, 91.40},
                             {"gpuspec10", 94.66, 94.95},
                             {"gpuspec20", 94.66, 94.84},
                             {"multigpu20", 95.53, 95.65},
                             {"multigpu30", 96.36, 96.46},
                         }),
                         [](const auto& info) { return info.param.list; });

// A cluster in which FGD places pods that come and leave.
class FgdTown {
 public:
  explicit FgdTown(const std::vector<TraceNode>& nodes) {
    for (const TraceNode& node : nodes) {
      if (node.devices > 0) {
        models_.try_emplace(node.model, static_cast<std::uint16_t>(models_.size()));
      }
      left_.push_back({.milli_cpu = node.milli_cpu, .memory_mib = node.memory_mib});
      left_.back().kind = node.devices > 0 ? models_.at(node.model) : std::uint16_t{0};
      left_.back().free.assign(static_cast<std::size_t>(node.devices), packing::kWhole);
      capacity_ += 1000.0 * node.devices;
    }
  }

  // Of the devices, the share that is given, the mean over the second half of the time.
  double Run(const std::vector<TracePod>& arrivals) {
    for (const TracePod& pod : arrivals) model_.WillCome(RequestOf(pod));
    for (std::uint32_t n = 0; n < left_.size(); ++n) model_.Set(n, StateOf(n));
    const double middle = (arrivals.front().arrival + arrivals.back().arrival) / 2;
    double since = middle;
    double given = 0;
    double area = 0;
    const auto pass = [&](double now) {
      if (now <= since) return;
      area += (now - since) * given;
      since = now;
    };
    std::priority_queue<std::pair<double, std::size_t>, std::vector<std::pair<double, std::size_t>>,
                        std::greater<>>
        leaving;
    std::vector<std::optional<Placed>> placed(arrivals.size());
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      const TracePod& pod = arrivals[i];
      for (; !leaving.empty() && leaving.top().first <= pod.arrival; leaving.pop()) {
        const auto& [time, gone] = leaving.top();
        pass(time);
        Change(arrivals[gone], *placed[gone], 1);
        given -= static_cast<double>(arrivals[gone].milli());
      }
      pass(pod.arrival);
      placed[i] = Place(pod);
      if (!placed[i]) continue;
      given += static_cast<double>(pod.milli());
      leaving.emplace(*pod.departure, i);
    }
    return area / (arrivals.back().arrival - middle) / capacity_;
  }

  // The same, when as many devices as there are had been asked for, and at the end, with pods that stay.
  std::pair<double, double> Fill(const std::vector<TracePod>& arrivals) {
    for (const TracePod& pod : arrivals) model_.WillCome(RequestOf(pod));
    for (std::uint32_t n = 0; n < left_.size(); ++n) model_.Set(n, StateOf(n));
    double asked = 0;
    double given = 0;
    double given_at_100 = 0;
    for (const TracePod& pod : arrivals) {
      if (Place(pod)) given += static_cast<double>(pod.milli());
      asked += static_cast<double>(pod.milli());
      if (asked <= capacity_) given_at_100 = given;
    }
    return {given_at_100 / capacity_, given / capacity_};
  }

 private:
  struct Left {
    std::int64_t milli_cpu = 0;
    std::int64_t memory_mib = 0;
    std::uint16_t kind = 0;
    std::vector<packing::Amount> free;  // by device
  };
  struct Placed {
    std::uint32_t node = 0;
    std::vector<std::size_t> devices;
  };

  packing::Request RequestOf(const TracePod& pod) const {
    packing::Request request;
    request.needs = {static_cast<std::int32_t>(pod.milli_cpu),
                     static_cast<std::int32_t>(pod.memory_mib), 0};
    if (pod.devices == 0) return request;
    packing::Demand demand{.count = static_cast<std::uint32_t>(pod.devices)};
    for (const auto& [model, kind] : models_) {
      if (!pod.models.empty() && std::ranges::find(pod.models, model) == pod.models.end()) continue;
      demand.options.push_back(
          {.kind = kind, .whole = pod.share == 1000, .amounts = {pod.share * 1000}});
    }
    request.demands.push_back(std::move(demand));
    return request;
  }
  // Devices as a normalized state has them: the fullest first.
  std::vector<std::size_t> Order(const Left& left) const {
    std::vector<std::size_t> order;
    for (std::size_t d = 0; d < left.free.size(); ++d) order.push_back(d);
    std::ranges::stable_sort(order, {}, [&](std::size_t d) { return left.free[d]; });
    return order;
  }
  packing::NodeState StateOf(std::uint32_t node) const {
    const Left& left = left_[node];
    packing::NodeState state;
    state.left = {static_cast<std::int32_t>(left.milli_cpu),
                  static_cast<std::int32_t>(left.memory_mib), 0};
    for (const std::size_t d : Order(left)) state.Add(left.kind, 0, {left.free[d]});
    return state;
  }
  std::optional<Placed> Place(const TracePod& pod) {
    const auto choice = model_.Choose(RequestOf(pod));
    if (!choice) return std::nullopt;
    Placed placed{.node = choice->node, .devices = {}};
    const Left& left = left_[choice->node];
    if (pod.devices == 1) {
      placed.devices.push_back(Order(left)[choice->start->unit]);
    } else {
      for (std::size_t d = 0; d < left.free.size(); ++d) {
        if (placed.devices.size() == static_cast<std::size_t>(pod.devices)) break;
        if (left.free[d] == packing::kWhole) placed.devices.push_back(d);
      }
    }
    Change(pod, placed, -1);
    return placed;
  }
  void Change(const TracePod& pod, const Placed& placed, int sign) {
    Left& left = left_[placed.node];
    left.milli_cpu += sign * pod.milli_cpu;
    left.memory_mib += sign * pod.memory_mib;
    for (const std::size_t d : placed.devices) {
      left.free[d] += sign * pod.share * 1000;
      ASSERT_GE(left.free[d], 0);
      ASSERT_LE(left.free[d], packing::kWhole);
    }
    model_.Set(placed.node, StateOf(placed.node));
  }

  std::map<std::string, std::uint16_t> models_;
  std::vector<Left> left_;
  double capacity_ = 0;
  packing::FgdForTest model_;
};

// The mean over so many seeds, in percent, with pods that leave; null: by FGD.
double WithLifetimes(const List& list, std::uint64_t seeds, const allocator::Policy* policy) {
  Trace trace = list.trace;
  trace.offered = 1.1;
  double mean = 0;
  for (std::uint64_t seed = 42; seed < 42 + seeds; ++seed) {
    const std::vector<TracePod> arrivals = Arrivals(trace, list.nodes, list.pods, seed);
    double allocated = 0;
    if (policy == nullptr) {
      allocated = FgdTown(list.nodes).Run(arrivals);
    } else {
      const auto result =
          RunTrace(trace, list.nodes, arrivals, {.seed = seed, .policy = *policy, .bounds = false});
      EXPECT_THAT(result, IsOk());
      allocated = *result->mean_allocated;
    }
    mean += 100 * allocated / static_cast<double>(seeds);
  }
  return mean;
}

constexpr allocator::Policy kOurs = allocator::Policy::kFragmentation;

// Of a small cluster, where most pods come before much has been learned, a little less than FGD
// gives that knows all beforehand; and more than first-fit.
TEST(TraceLifetimes, AMadeUpListIsAllocatedBetterThanByFirstFitAndNearlyAsByFgd) {
  const Generated made = Generate(3);
  const List list{.trace = Columns(), .nodes = made.nodes, .pods = made.pods};
  const allocator::Policy first_fit = allocator::Policy::kFirstFit;
  const double ours = WithLifetimes(list, 4, &kOurs);
  EXPECT_GT(ours, WithLifetimes(list, 4, &first_fit));
  EXPECT_GT(ours, WithLifetimes(list, 4, nullptr) - 1);
}

TEST_P(OpenbTest, WithLifetimesIsNeverAllocatedWorseThanByFgd) {
  const char* const wanted = std::getenv("DRAY_INSTANCES");
  if (wanted == nullptr) GTEST_SKIP() << "takes long: set DRAY_INSTANCES";
  const auto list = ReadList(GetParam().list);
  if (!list) GTEST_SKIP() << "there is no ../shared/traces/openb";
  const std::uint64_t seeds = std::strtoull(wanted, nullptr, 10);
  const double ours = WithLifetimes(*list, seeds, &kOurs);
  const double fgd = WithLifetimes(*list, seeds, nullptr);
  std::cout << fmt::format("{} with lifetimes: {:.2f}, FGD {:.2f}\n", GetParam().list, ours, fgd);
  EXPECT_GE(ours, fgd);
}

// As the list stands in its file: FGD knows all of it beforehand, and here it is learned as it comes.
TEST_P(OpenbTest, InTheOrderOfItsFileIsAllocatedBetterThanByFgd) {
  const char* const wanted = std::getenv("DRAY_INSTANCES");
  if (wanted == nullptr) GTEST_SKIP() << "takes long: set DRAY_INSTANCES";
  const auto list = ReadList(GetParam().list);
  if (!list) GTEST_SKIP() << "there is no ../shared/traces/openb";
  Trace trace = list->trace;
  trace.order = Trace::Order::kFile;
  const auto seeds = std::strtoull(wanted, nullptr, 10);
  std::pair<double, double> ours;
  std::pair<double, double> fgd;
  for (std::uint64_t seed = 42; seed < 42 + seeds; ++seed) {
    const std::vector<TracePod> arrivals = Arrivals(trace, list->nodes, list->pods, seed);
    const auto result =
        RunTrace(trace, list->nodes, arrivals, {.seed = seed, .policy = kOurs, .bounds = false});
    ASSERT_THAT(result, IsOk());
    ours.first += 100 * result->At(1)->allocated / static_cast<double>(seeds);
    ours.second += 100 * result->rows.back().allocated / static_cast<double>(seeds);
    const auto by_fgd = FgdTown(list->nodes).Fill(arrivals);
    fgd.first += 100 * by_fgd.first / static_cast<double>(seeds);
    fgd.second += 100 * by_fgd.second / static_cast<double>(seeds);
  }
  std::cout << fmt::format("{} in file order: {:.2f} / {:.2f}, FGD {:.2f} / {:.2f}\n",
                           GetParam().list, ours.first, ours.second, fgd.first, fgd.second);
  EXPECT_GT(ours.first, fgd.first);
  EXPECT_GT(ours.second, fgd.second);
}

}  // namespace
}  // namespace dray::simulator
