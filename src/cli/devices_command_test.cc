// SPDX-License-Identifier: Apache-2.0
//
// `dray devices` as a command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <ostream>
#include <sstream>
#include <streambuf>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/utf8.h"
#include "cli/cli_test_support.h"
#include "plane/plane_for_test.h"

namespace dray::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kDevices = R"(  devices:
  - {name: gpu-0, capacity: {memory: {value: 80Gi}}}
  - name: gpu-1
    taints: [{key: example.com/hot, effect: NoSchedule}]
  - name: nic
    allowMultipleAllocations: true
    capacity: {bandwidth: {value: 100G}}
  - {name: half-0, consumesCounters: [{counterSet: card, counters: {memory: {value: 40Gi}}}]}
  - {name: half-1, consumesCounters: [{counterSet: card, counters: {memory: {value: 40Gi}}}]}
  - {name: whole, consumesCounters: [{counterSet: card, counters: {memory: {value: 80Gi}}}]}
  - {name: gpu-2, attributes: {model: {string: H100}}}
)";

// A claim with a device, reserved for pods of its namespace.
std::string HeldYaml(std::string_view name, std::string_view device, std::string_view pods,
                     std::string_view more = "") {
  return fmt::format(R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {0}, namespace: team, uid: u-{0}, resourceVersion: "1"}}
spec: {{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: gpu, allocationMode: ExactCount, count: 1}}}}]}}}}
status:
  reservedFor: [{2}]
  allocation:
    devices: {{results: [{{request: gpu, driver: gpu.example.com, pool: n1, device: {1}{3}}}]}}
    nodeSelector: {{nodeSelectorTerms: [{{matchFields: [{{key: metadata.name, operator: In, values: [n1]}}]}}]}}
)",
                     name, device, pods, more);
}

std::string Input() {
  // Counters are in a slice of their own.
  std::string slices = OneNodeYaml(kDevices);
  const std::string_view count = "resourceSliceCount: 1";
  slices.replace(slices.find(count), count.size(), "resourceSliceCount: 2");
  slices +=
      testing::SliceYaml("  sharedCounters: [{name: card, counters: {memory: {value: 80Gi}}}]\n",
                         {.name = "counters", .slices = 2});
  return slices + HeldYaml("a", "gpu-0", "{resource: pods, name: train, uid: t}") +
         HeldYaml("b", "half-1", "{resource: pods, name: infer, uid: i}") +
         HeldYaml("c", "nic", "{resource: pods, name: infer, uid: i}",
                  ", shareID: 9e4a0d0e-7f5e-4c1c-9f0a-6d0f1f3b2a11, consumedCapacity: {bandwidth: "
                  "40G}") +
         HeldYaml("d", "old", "") + R"(---
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: team, uid: t, creationTimestamp: "2026-05-28T17:26:40Z"}
spec: {nodeName: n1, priority: 100, containers: [{name: c, image: i}]}
status: {phase: Running}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {disk: fast}}
)";
}

Outcome Devices(std::vector<std::string> words, const RunOptions& options = {}) {
  std::vector<std::string> line = {"devices"};
  line.insert(line.end(), words.begin(), words.end());
  line.insert(line.end(), {"-f", "-"});
  RunOptions with_input = options;
  with_input.in = Input();
  return RunLine(line, with_input);
}

TEST(DevicesCommand, ShowsWhoHasWhatAndWhatIsLeft) {
  const Outcome outcome = Devices({});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(outcome.out,
            "n1\n"
            "└─ gpu.example.com: 8 devices, 3 free\n"
            "   ├─ gpu-0: held by pod team/train (claim a, for 3h, priority 100)\n"
            "   ├─ gpu-1: free, tainted example.com/hot:NoSchedule\n"
            "   ├─ nic: shared, 60G of 100G bandwidth left: pod team/infer (claim c, 40G "
            "bandwidth)\n"
            "   ├─ half-1: held by pod team/infer (claim b)\n"
            "   ├─ whole: blocked, memory of card: 80Gi needed, 40Gi left\n"
            "   ├─ old: gone, no slice publishes it any more, held by claim team/d\n"
            "   ├─ 2 free: half-0, gpu-2\n"
            "   └─ counters of card: 40Gi of 80Gi memory left\n");
  EXPECT_EQ(outcome.err,
            "8 devices on 1 node: 3 free, 2 held, 1 shared, 1 blocked, 1 gone; 1 node without "
            "devices\n");
}

TEST(DevicesCommand, WideHasARowPerDevice) {
  const Outcome outcome = Devices({"-o", "wide"});
  EXPECT_THAT(outcome.out, AllOf(StartsWith("NODE "), HasSubstr("pod/team/train  3h"),
                                 HasSubstr("bandwidth=60G/100G"), HasSubstr("model=H100"),
                                 HasSubstr("memory=0/80Gi")));
  EXPECT_THAT(Devices({"-o", "wide", "--no-headers"}).out, Not(HasSubstr("NODE ")));
}

TEST(DevicesCommand, SpeaksJsonAndYaml) {
  EXPECT_THAT(
      Devices({"-o", "json"}).out,
      AllOf(HasSubstr("\"device\": \"gpu-0\""), HasSubstr("\"state\": \"Held\""),
            HasSubstr("\"claim\": \"team/a\""), HasSubstr("\"priority\": 100"),
            HasSubstr("\"left\": \"60G\""), HasSubstr("\"gone\": 1"), HasSubstr("\"free\": 3")));
  EXPECT_THAT(Devices({"-o", "yaml"}).out, StartsWith("nodes:\n- name: n1\n"));
}

TEST(DevicesCommand, NodesAndNamespacesAreChosen) {
  EXPECT_EQ(Devices({"n2"}).out, "");
  EXPECT_EQ(Devices({"-l", "disk=fast"}).out, "");
  EXPECT_THAT(Devices({"n1"}).out, StartsWith("n1\n"));
  // Also after the files, as people write it.
  RunOptions input;
  input.in = Input();
  EXPECT_THAT(RunLine({"devices", "-f", "-", "n1"}, input).out, StartsWith("n1\n"));
  EXPECT_THAT(Devices({"-n", "team"}).out, AllOf(HasSubstr("gpu-0"), Not(HasSubstr("gpu-2"))));
  EXPECT_THAT(Devices({"-n", "other", "-A"}).out, HasSubstr("gpu-2"));
}

TEST(DevicesCommand, WhatCannotBeIsSaid) {
  const Outcome node = Devices({"n11"});
  EXPECT_EQ(node.code, kExitUsage);
  EXPECT_THAT(node.err, AllOf(HasSubstr("node \"n11\" not found"), HasSubstr("did you mean n1?")));
  const Outcome file = Devices({"more.yaml"});
  EXPECT_EQ(file.code, kExitUsage);
  EXPECT_THAT(file.err, HasSubstr("name files with -f, as in -f more.yaml"));
  const Outcome space = Devices({"-n", "taem"});
  EXPECT_EQ(space.code, kExitUsage);
  EXPECT_THAT(space.err,
              AllOf(HasSubstr("namespace \"taem\" not found"), HasSubstr("did you mean team?")));
  EXPECT_THAT(Devices({"-l", "a=("}).err, HasSubstr("-l: "));
  EXPECT_THAT(Devices({"-w"}).err,
              HasSubstr("-w watches a cluster and cannot be combined with -f"));
}

TEST(DevicesCommand, FitsTheTerminalAndItsLetters) {
  const Outcome narrow = Devices({}, {.columns = 60});
  std::istringstream lines(narrow.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(base::CodePoints(line), 60U) << line;
  }
  EXPECT_THAT(Devices({}, {.variables = {{"LC_ALL", "C"}}}).out,
              HasSubstr("`- gpu.example.com: 8 devices"));
  EXPECT_THAT(Devices({}).out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(Devices({}, {.terminal = true}).out, HasSubstr("\x1b[1mn1\x1b[0m"));
  EXPECT_THAT(Devices({}, {.variables = {{"NO_COLOR", "1"}}, .terminal = true}).out,
              Not(HasSubstr("\x1b")));
}

// Output that somebody else reads while it is written.
class Heard : public std::streambuf {
 public:
  std::string Text() {
    const base::MutexLock lock(mutex_);
    return text_;
  }
  bool Until(std::string_view words) {
    for (int tries = 0; tries < 12000; ++tries) {
      if (Text().find(words) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "no \"" << words << "\" in: " << Text();
    return false;
  }

 protected:
  int_type overflow(int_type c) override {
    const char one = traits_type::to_char_type(c);
    xsputn(&one, 1);
    return c;
  }
  std::streamsize xsputn(const char* from, std::streamsize n) override {
    const base::MutexLock lock(mutex_);
    text_.append(from, static_cast<std::size_t>(n));
    return n;
  }

 private:
  base::Mutex mutex_;
  std::string text_ ABSL_GUARDED_BY(mutex_);
};

// A whole control plane in this process.
TEST(DevicesOfACluster, AreFollowed) {
  plane::TestPlane plane;
  plane.Start();
  const std::vector<std::string> ask = {"devices", "--kubeconfig",
                                        plane.folder() + "/viewer.kubeconfig"};
  const Outcome before = RunLine(ask);
  EXPECT_EQ(before.code, kExitOk) << before.err;
  EXPECT_THAT(before.err, StartsWith("8 devices on 2 nodes: 8 free"));
  std::vector<std::string> watch = ask;
  watch.emplace_back("-w");
  Heard heard;
  int code = -1;
  std::thread watcher([&] {
    const base::ManualClock clock(base::Time::FromUnix(1'780'000'000));
    std::istringstream in;
    std::ostringstream err;
    std::ostream out(&heard);
    code = cli::Run(watch, in, out, err, {.clock = clock});
  });
  EXPECT_TRUE(heard.Until("4 free: gpu-0, gpu-1, gpu-2, gpu-3"));
  plane.Create(plane::PodFromTemplate("p"));
  EXPECT_TRUE(heard.Until("gpu.example.com/node-a/gpu-0: held by pod default/p (was free)"));
  EXPECT_THAT(heard.Text(), StartsWith("node-a\n"));
  // As Ctrl-C.
  pthread_kill(watcher.native_handle(), SIGTERM);
  watcher.join();
  EXPECT_EQ(code, kExitOk);
  EXPECT_THAT(RunLine(ask).out, HasSubstr("gpu-0: held by pod default/p"));
}

}  // namespace
}  // namespace dray::cli
