// SPDX-License-Identifier: Apache-2.0
//
// Traces: tables are read, pods come in the order that is wanted, and the real scheduler places
// them.
#include "simulator/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "fmt/format.h"
#include "simulator/internal/trace_bound.h"
#include "simulator/trace_for_test.h"
#include "testing/status_matchers.h"

namespace dray::simulator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

constexpr std::string_view kNodes =
    "sn,cpu_milli,memory_mib,gpu,model\n"
    "a,64000,262144,2,T4\n"
    "b,64000,262144,2,G2\r\n"
    "c,8000,16384,0,\n";
constexpr std::string_view kPods =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n"
    "p0,1000,1024,1,460,T4|V100,5,20\n"
    "p1,1000,1024,2,500,,1,\n"
    "p2,1000,1024,0,0,,7,9\n";

TEST(TraceTable, IsReadByTheNamesOfItsColumns) {
  const auto nodes = ReadTraceNodes(Columns(), kNodes);
  ASSERT_THAT(nodes, IsOk());
  ASSERT_EQ(nodes->size(), 3u);
  EXPECT_EQ((*nodes)[1].model, "G2");
  EXPECT_EQ((*nodes)[2].devices, 0);
  const auto pods = ReadTracePods(Columns(), kPods);
  ASSERT_THAT(pods, IsOk());
  ASSERT_EQ(pods->size(), 3u);
  EXPECT_THAT((*pods)[0].models, ElementsAre("T4", "V100"));
  EXPECT_EQ((*pods)[0].milli(), 460);
  EXPECT_EQ((*pods)[1].milli(), 2000) << "several devices are whole ones";
  EXPECT_EQ((*pods)[2].milli(), 0);
}

TEST(TraceTable, FaultsAreToldWithTheirPlace) {
  EXPECT_THAT(ReadTraceNodes(Columns(), "sn,cpu_milli\na,1\n"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("nodes.csv:1: must have a column \"memory_mib\"")));
  EXPECT_THAT(ReadTraceNodes(Columns(), "sn,cpu_milli,memory_mib,gpu,model\na,x,1,1,T4\n"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("nodes.csv:2: column cpu_milli: \"x\" must be a whole number")));
  EXPECT_THAT(ReadTraceNodes(Columns(), "sn,cpu_milli,memory_mib,gpu,model\na,1\n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("has 2 fields")));
}

// Which of the two is meant nobody can know.
TEST(TraceTable, AColumnThatIsNamedIsThereOnce) {
  EXPECT_THAT(ReadTraceNodes(Columns(), "sn,cpu_milli,memory_mib,gpu,gpu,model\na,1,1,1,2,T4\n"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("nodes.csv:1: must have one column \"gpu\", and has several")));
  EXPECT_THAT(ReadTraceNodes(Columns(), "sn,cpu_milli,memory_mib,gpu,model,x,x\na,1,1,1,T4,,\n"),
              IsOk())
      << "nobody looks at these";
  EXPECT_THAT(ReadTraceNodes(Columns(), ""),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("nodes.csv:1: must have a line with the names of its columns")));
}

// They were other models, which no node has, and such pods were dropped.
TEST(TraceTable, SpacesAroundModelsCountForNothing) {
  const auto pods =
      ReadTracePods(Columns(), std::string(kPods.substr(0, kPods.find('\n') + 1)) +
                                   "p0,1,1,1,,T4 | V100,,\np1,1,1,1,,|| T4|,,\np2,1,1,1,, | ,,\n");
  ASSERT_THAT(pods, IsOk());
  EXPECT_THAT((*pods)[0].models, ElementsAre("T4", "V100"));
  EXPECT_THAT((*pods)[1].models, ElementsAre("T4"));
  EXPECT_THAT((*pods)[2].models, ElementsAre());
}

// A slip in the name of a column must not turn shares into whole devices.
TEST(TraceTable, AColumnThatIsNamedHasToBeThere) {
  Trace trace = Columns();
  trace.pod_columns.share = "gpu_mili";
  EXPECT_THAT(ReadTracePods(trace, kPods),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("pods.csv:1: must have a column \"gpu_mili\"")));
  // Nobody looks at times unless pods come by them.
  trace = Columns();
  trace.pod_columns.arrival = "came";
  EXPECT_THAT(ReadTracePods(trace, kPods), IsOk());
  trace.order = Trace::Order::kTimes;
  EXPECT_THAT(ReadTracePods(trace, kPods),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("must have a column \"came\"")));
}

// As other programs write them: with a byte order mark, spaces, whole numbers as fractions, names in quotes.
TEST(TraceTable, TheWaysInWhichTablesAreWritten) {
  const auto nodes = ReadTraceNodes(Columns(),
                                    "\xEF\xBB\xBFsn, cpu_milli ,memory_mib,gpu,\"model\"\r\n"
                                    "\"a, the \"\"first\"\"\", 64000.0,262144. ,2.00,\"T4\" \r\n"
                                    "\"two\nlines\",1,1,0,\n");
  ASSERT_THAT(nodes, IsOk());
  ASSERT_EQ(nodes->size(), 2u);
  EXPECT_EQ((*nodes)[0].name, "a, the \"first\"");
  EXPECT_EQ((*nodes)[0].milli_cpu, 64000);
  EXPECT_EQ((*nodes)[0].memory_mib, 262144);
  EXPECT_EQ((*nodes)[0].devices, 2);
  EXPECT_EQ((*nodes)[0].model, "T4");
  EXPECT_EQ((*nodes)[1].name, "two\nlines");
  const std::string head = "sn,cpu_milli,memory_mib,gpu,model\n";
  EXPECT_THAT(ReadTraceNodes(Columns(), head + "\"a\nb\",1,1,1,\nc,1.5,1,1,\n"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("nodes.csv:4: column cpu_milli: \"1.5\" must be a whole number")));
  EXPECT_THAT(
      ReadTraceNodes(Columns(), head + "\"a,1,1,1,\n"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("nodes.csv:2: a quote is not closed")));
  for (const char* cpu : {"-1", "1e3", "0x10", ".0", ".", "1..0", "99999999999999999999"}) {
    EXPECT_THAT(ReadTraceNodes(Columns(), fmt::format("{}a,{},1,1,\n", head, cpu)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("must be a whole number")))
        << cpu;
  }
}

TEST(TraceTable, OneDeviceOfWhichNoShareIsSaidIsAWholeOne) {
  const auto pods = ReadTracePods(Columns(), std::string(kPods.substr(0, kPods.find('\n') + 1)) +
                                                 "p0,1,1,1,,,,\np1,1,1,1,0,,,\np2,1,1,0,,,,\n");
  ASSERT_THAT(pods, IsOk());
  EXPECT_EQ((*pods)[0].milli(), 1000);
  EXPECT_EQ((*pods)[1].milli(), 0);
  EXPECT_EQ((*pods)[2].milli(), 0);
}

// A table without a column for names, memory or models: nodes are numbered, and nobody lacks memory.
TEST(TraceRun, ColumnsThatNobodyNamesAreNotLookedAt) {
  Trace trace = Columns();
  trace.order = Trace::Order::kFile;
  trace.fill = 0.1;
  trace.node_columns.name.clear();
  trace.node_columns.memory.clear();
  trace.node_columns.model.clear();
  const auto nodes = ReadTraceNodes(trace, kNodes);
  ASSERT_THAT(nodes, IsOk());
  auto pods = ReadTracePods(trace, kPods);
  ASSERT_THAT(pods, IsOk());
  pods->erase(pods->begin());  // which wants a model
  const auto result = RunTrace(trace, *nodes, Arrivals(trace, *nodes, *pods, 1), {});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->refused, 0);
}

// Some nodes say no model, and somebody wants one: those are not for him.
TEST(TraceRun, NodesWithoutAModelAreForThoseWhoWantNone) {
  Trace trace = Columns();
  trace.order = Trace::Order::kFile;
  trace.fill = 0.1;
  for (const auto policy : {allocator::Policy::kFirstFit, allocator::Policy::kFragmentation}) {
    const std::vector<TraceNode> nodes = {
        {.name = "a", .milli_cpu = 9000, .memory_mib = 9000, .devices = 2, .model = ""},
        {.name = "b", .milli_cpu = 9000, .memory_mib = 9000, .devices = 1, .model = "T4"}};
    const TracePod wants{
        .name = "p", .milli_cpu = 1, .memory_mib = 1, .devices = 1, .share = 600, .models = {"T4"}};
    TracePod any = wants;
    any.models.clear();
    const auto result = RunTrace(trace, nodes, {any, wants, wants, any}, {.policy = policy});
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->pods, 4);
    EXPECT_LE(result->refused, 2);
    EXPECT_GE(result->refused, 1);
  }
}

TEST(TraceTable, TimesAreNumbersAndInOrder) {
  Trace trace = Columns();
  trace.order = Trace::Order::kTimes;
  const std::string head(kPods.substr(0, kPods.find('\n') + 1));
  EXPECT_THAT(ReadTracePods(trace, head + "p0,1,1,1,460,,nan,\n"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("pods.csv:2: column creation_time: \"nan\" must be a number")));
  EXPECT_THAT(ReadTracePods(trace, head + "p0,1,1,1,460,,9,8\n"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("column deletion_time: must not be before creation_time")));
}

constexpr std::string_view kTraceScenario = R"(apiVersion: dray/v1alpha1
kind: Scenario
policy: fragmentation
trace:
  nodes:
    file: n.csv
    columns: {name: sn, milliCPU: c, memoryMiB: m, devices: g, model: k}
  pods:
    file: p.csv
    columns: {name: id, milliCPU: c, memoryMiB: m, devices: g, share: s, model: k, arrival: a, departure: d}
  order: times
  fill: 1.1
)";

TEST(TraceScenario, IsReadAsItIsWritten) {
  std::vector<Fault> faults;
  const auto scenario = ReadScenario(kTraceScenario, faults);
  for (const Fault& fault : faults) ADD_FAILURE() << ToString(fault);
  ASSERT_TRUE(scenario && scenario->trace);
  EXPECT_EQ(scenario->policy, allocator::Policy::kFragmentation);
  EXPECT_EQ(scenario->trace->pod_columns.departure, "d");
  EXPECT_EQ(scenario->trace->order, Trace::Order::kTimes);
  EXPECT_DOUBLE_EQ(scenario->trace->fill, 1.1);
}

TEST(TraceScenario, SlipsAreToldWithTheirPlace) {
  const auto told = [](std::string_view from, std::string_view to) {
    std::string text(kTraceScenario);
    text.replace(text.find(from), from.size(), to);
    std::vector<Fault> faults;
    EXPECT_FALSE(ReadScenario(text, faults));
    std::string texts;
    for (const Fault& fault : faults) texts += ToString(fault) + "\n";
    return texts;
  };
  EXPECT_THAT(told("order: times", "order: time"),
              HasSubstr("trace.order: \"time\": must be shuffled, file or times"));
  EXPECT_THAT(told("file: p.csv", "file: ''"),
              HasSubstr("trace.pods.file: must be the name of a file"));
  EXPECT_THAT(told("fill: 1.1", "fill: -1"), HasSubstr("trace.fill: -1: must be above 0"));
  EXPECT_THAT(told("fill: 1.1", "offered: 1.1"), HasSubstr("trace.offered: must not be set with"));
  EXPECT_THAT(told("milliCPU: c", "millicpu: c"), HasSubstr("unknown field"));
  EXPECT_THAT(told("trace:", "cluster: {nodeGroups: [{name: a}]}\ntrace:"),
              HasSubstr("must not be set together with a cluster"));
  EXPECT_THAT(told("trace:", "failures: {writes: {probability: 0.1}}\ntrace:"),
              HasSubstr("must not be set together with a cluster"));
  EXPECT_THAT(told("trace:", "duration: 1h\ntrace:"),
              HasSubstr("trace: must not be set together with duration"));
  EXPECT_THAT(told("arrival: a, ", ""),
              HasSubstr("trace.pods.columns.arrival: must be the name of a column"));
}

TEST(TraceArrivals, FillUpAndAreShuffledBySeed) {
  const Trace trace = Columns();
  const auto nodes = *ReadTraceNodes(trace, kNodes);
  const auto pods = *ReadTracePods(trace, kPods);
  const auto names = [&](std::uint64_t seed) {
    std::vector<std::string> list;
    std::int64_t asked = 0;
    for (const TracePod& pod : Arrivals(trace, nodes, pods, seed)) {
      list.push_back(pod.name);
      asked += pod.milli();
    }
    EXPECT_LE(asked, 5200);
    return list;
  };
  EXPECT_EQ(names(1), names(1));
  bool differs = false;
  for (std::uint64_t seed = 2; seed < 8; ++seed) differs |= names(seed) != names(1);
  EXPECT_TRUE(differs);
}

// A list of pods that want next to nothing, and a large cluster.
TEST(TraceArrivals, ListsThatWouldBeDrawnFromForEverAreRefused) {
  Trace trace = Columns();
  const std::vector<TraceNode> nodes(2000, {.milli_cpu = 1, .memory_mib = 1, .devices = 100});
  std::vector<TracePod> pods(1000, {.name = "cpu"});
  EXPECT_THAT(CheckFill(trace, nodes, pods), IsOk()) << "who asks for no device fills nothing";
  pods.push_back({.name = "gpu", .devices = 1, .share = 1});
  EXPECT_THAT(CheckFill(trace, nodes, pods),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("pods.csv: its 1001 pods ask for 0.001 devices together")));
  trace.fill = 1e-12;
  EXPECT_THAT(CheckFill(trace, nodes, pods), IsOk());
  trace.offered = 1.1;
  pods.pop_back();
  EXPECT_THAT(CheckFill(trace, nodes, pods),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("pods.csv: none of its 1000 pods asks for a device")));
  pods.push_back({.name = "gpu", .devices = 1, .share = 1});
  EXPECT_THAT(CheckFill(trace, nodes, pods),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("trace.offered must be smaller")));
}

TEST(TraceArrivals, ByTimeComeInTheOrderOfTheirTimes) {
  Trace trace = Columns();
  trace.order = Trace::Order::kTimes;
  const auto nodes = *ReadTraceNodes(trace, kNodes);
  std::vector<std::string> list;
  for (const TracePod& pod : Arrivals(trace, nodes, *ReadTracePods(trace, kPods), 1)) {
    list.push_back(pod.name);
  }
  EXPECT_THAT(list, ElementsAre("p1", "p0", "p2"));
}

TEST(TraceRun, GivesWhatThereIsAndDropsTheRest) {
  Trace trace = Columns();
  trace.order = Trace::Order::kFile;
  const auto nodes = *ReadTraceNodes(trace, kNodes);
  std::vector<TracePod> pods;
  for (int i = 0; i < 6; ++i) {
    pods.push_back({.name = "p", .milli_cpu = 1000, .memory_mib = 1, .devices = 1, .share = 700});
  }
  pods.push_back({.name = "q", .milli_cpu = 1000, .devices = 1, .share = 300, .models = {"G2"}});
  const auto result = RunTrace(trace, nodes, pods, {.policy = allocator::Policy::kFragmentation});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->pods, 7);
  EXPECT_EQ(result->refused, 2);
  EXPECT_DOUBLE_EQ(result->rows.back().allocated, 3.1 / 4);
  EXPECT_THAT(result->models, ElementsAre("G2", "T4"));
  // What is left are 0.3 of three devices, of use to one pod in seven, and only of G2.
  EXPECT_GT(result->rows.back().fragmentation, 0.9);
  EXPECT_THAT(ToText(*result), HasSubstr("7 pods came, 2 were refused"));
  EXPECT_THAT(ToJson(*result), HasSubstr("\"allocatedAtEnd\": 0.775"));
  // Nobody can do better: two shares of 0.7 do not fit into one device.
  ASSERT_TRUE(result->rows.back().bound.has_value());
  EXPECT_NEAR(*result->rows.back().bound, 0.775, 1e-6);
  for (const TraceRow& row : result->rows) EXPECT_GE(*row.bound + 1e-9, row.allocated);
  EXPECT_THAT(ToText(*result),
              HasSubstr("at the end: 77.50 %\nno policy can allocate more than: "));
  EXPECT_THAT(ToJson(*result), HasSubstr("\"boundAtEnd\": 0.775"));
  EXPECT_THAT(ToHtml(*result, "t"), HasSubstr("at most, by any policy"));
}

// The program's size is that of what differs; lists from elsewhere may differ in every line.
TEST(TraceBounds, OfManyShapesAreHigherAndQuicklyFound) {
  const std::vector<TraceNode> nodes = {
      {.name = "n", .milli_cpu = 1000, .memory_mib = 1000, .devices = 2, .model = "m"}};
  std::vector<TracePod> pods(3, {.name = "p", .milli_cpu = 600, .devices = 1, .share = 1000});
  const auto bound = [&](std::size_t end) {
    const std::vector<std::size_t> ends = {end};
    const std::vector<std::size_t> solved = {0};
    return internal::TraceBounds(nodes, pods, ends, solved).at(0);
  };
  EXPECT_NEAR(bound(3), 1000.0 / 600 / 2, 1e-6) << "cpu for one and two thirds";
  for (int i = 1; i <= 20'000; ++i) {
    pods.push_back({.name = "p", .milli_cpu = 600 + i, .devices = 1, .share = 1000});
  }
  EXPECT_NEAR(bound(3), 1, 1e-6) << "without cpu";
  for (int i = 1; i < 1000; ++i) pods[static_cast<std::size_t>(i)].share = i;
  pods[0].share = 300;
  EXPECT_NEAR(bound(1), 0.15, 1e-6);
}

TEST(TraceRun, NeedsDevices) {
  const Trace trace = Columns();
  const auto nodes = *ReadTraceNodes(trace, "sn,cpu_milli,memory_mib,gpu,model\nc,8000,16384,0,\n");
  EXPECT_THAT(RunTrace(trace, nodes, {{.name = "p", .milli_cpu = 1000}}, {}),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("nodes.csv: must have a node with devices")));
}

// What a model is called is text, whatever is in it.
TEST(TraceRun, ModelsMayHaveAnyName) {
  Trace trace = Columns();
  const auto nodes =
      *ReadTraceNodes(trace, "sn,cpu_milli,memory_mib,gpu,model\na,8000,16384,1,\"15\"\" \\d\"\n");
  ASSERT_EQ(nodes.front().model, R"(15" \d)");
  const auto result = RunTrace(trace, nodes,
                               {{.name = "p",
                                 .milli_cpu = 1000,
                                 .devices = 1,
                                 .share = 1000,
                                 .models = {nodes.front().model}}},
                               {});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->refused, 0);
}

// What nodes are called, and where they stand in their file, changes who wins a tie, by chance, and
// nothing else.
TEST(TraceRun, NamesOfNodesAndTheirOrderDecideNothing) {
  const Generated made = Generate(7);
  const auto allocated = [&](allocator::Policy policy, std::vector<TraceNode> nodes,
                             const std::function<std::string(std::size_t)>& rename) {
    for (std::size_t n = 0; n < nodes.size(); ++n) nodes[n].name = rename(n);
    TraceOptions options;
    options.policy = policy;
    const auto result = RunTrace(Columns(), nodes, made.pods, options);
    EXPECT_THAT(result, IsOk());
    EXPECT_GE(*result->rows.back().bound + 1e-9, result->rows.back().allocated);
    return result->rows.back().allocated;
  };
  const auto forwards = [](std::size_t n) { return fmt::format("n{:03}", n); };
  const auto backwards = [](std::size_t n) { return fmt::format("n{:03}", 999 - n); };
  const auto mixed = [](std::size_t n) { return fmt::format("n{:03}", n * 367 % 1000); };
  std::vector<TraceNode> reversed(made.nodes.rbegin(), made.nodes.rend());
  std::vector<TraceNode> by_model = made.nodes;
  std::ranges::stable_sort(by_model, {}, &TraceNode::model);
  constexpr auto kPolicy = allocator::Policy::kFragmentation;
  const std::vector<double> found = {
      allocated(kPolicy, made.nodes, forwards), allocated(kPolicy, made.nodes, backwards),
      allocated(kPolicy, made.nodes, mixed), allocated(kPolicy, reversed, forwards),
      allocated(kPolicy, by_model, forwards)};
  const auto [least, most] = std::ranges::minmax(found);
  EXPECT_LT(most - least, 0.03);
  EXPECT_GT(least, allocated(allocator::Policy::kFirstFit, made.nodes, forwards));
}

// Memory per shape holds when shapes alternate: how much is asked for does not decide how much is
// computed.
// As many as a node may have: what the policy does for each of them has to be little.
TEST(TraceRun, ANodeMayHaveManyDevices) {
  Trace trace = Columns();
  trace.fill = 1;
  std::vector<TraceNode> nodes;
  for (const char* name : {"a", "b"}) {
    nodes.push_back(
        {.name = name, .milli_cpu = 999'000, .memory_mib = 999'000, .devices = 128, .model = "T4"});
  }
  const std::vector<TracePod> pods = {
      {.name = "p", .milli_cpu = 1, .memory_mib = 1, .devices = 1, .share = 300},
      {.name = "q", .milli_cpu = 1, .memory_mib = 1, .devices = 1, .share = 700},
      {.name = "r", .milli_cpu = 1, .memory_mib = 1, .devices = 8, .share = 1000}};
  const auto result = RunTrace(trace, nodes, Arrivals(trace, nodes, pods, 1),
                               {.policy = allocator::Policy::kFragmentation});
  ASSERT_THAT(result, IsOk());
  EXPECT_GT(result->rows.back().allocated, 0.95);
}

TEST(TraceRun, NodesAreAskedAboutFewTimes) {
  const Generated made = Generate(8);
  const auto result =
      RunTrace(Columns(), made.nodes, made.pods, {.policy = allocator::Policy::kFragmentation});
  ASSERT_THAT(result, IsOk());
  // Of 40 nodes one for each pod that is placed, and those that have changed for one that is not.
  EXPECT_LT(result->node_evaluations, 12 * result->pods);
}

class TimesFrom : public ::testing::TestWithParam<double> {};

TEST_P(TimesFrom, PodsThatLeaveGiveTheirDevicesBack) {
  Trace trace = Columns();
  trace.order = Trace::Order::kTimes;
  const auto nodes = *ReadTraceNodes(trace, kNodes);
  std::vector<TracePod> pods;
  for (int i = 0; i < 12; ++i) {
    TracePod& pod = pods.emplace_back(
        TracePod{.name = "p", .milli_cpu = 1000, .memory_mib = 1, .devices = 2, .share = 1000});
    pod.arrival = GetParam() + i;
    pod.departure = pod.arrival + 1.5;
  }
  const auto result = RunTrace(trace, nodes, pods, {.policy = allocator::Policy::kFragmentation});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->refused, 0);
  EXPECT_GE(result->departed, 10);
  ASSERT_TRUE(result->mean_allocated.has_value());
  EXPECT_NEAR(*result->mean_allocated, 0.75, 0.05);
  EXPECT_FALSE(result->rows.back().bound.has_value()) << "it is about pods that stay";
}

INSTANTIATE_TEST_SUITE_P(Zero, TimesFrom, ::testing::Values(0, 1'700'000'000));

}  // namespace
}  // namespace dray::simulator
