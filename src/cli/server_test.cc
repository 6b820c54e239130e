// SPDX-License-Identifier: Apache-2.0
//
// Commands that ask a server: a whole one in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/workloads.h"
#include "cli/cli_test_support.h"
#include "cli/internal/scheduler_flags.h"
#include "plane/plane_for_test.h"

namespace dray::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kPodYaml = R"(apiVersion: v1
kind: Pod
metadata: {name: late}
spec:
  containers: [{name: c, image: i}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-device}]
)";

// Two nodes of four devices, controllers, and nobody who schedules.
class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    plane_.StartWith({.scheduler = false, .objects = plane::SmallCluster()});
  }
  std::string Kubeconfig() const { return plane_.folder() + "/viewer.kubeconfig"; }
  Outcome Ask(std::vector<std::string> args) {
    args.insert(args.end(), {"--kubeconfig", Kubeconfig()});
    return RunLine(args);
  }
  // A pod, and the claim that was made for it.
  void AddPod(const std::string& name) {
    const std::size_t before = plane_.All<api::ResourceClaim>().size();
    plane_.Create(plane::PodFromTemplate(name));
    ASSERT_TRUE(
        plane_.Until([&] { return plane_.All<api::ResourceClaim>().size() == before + 1; }));
    ASSERT_TRUE(plane_.Until([&] {
      for (const api::Pod& pod : plane_.All<api::Pod>()) {
        if (!pod.status.resource_claim_statuses) return false;
      }
      return true;
    }));
  }

  plane::TestPlane plane_;
  TempFolder folder_;
};

TEST_F(ServerTest, APlanOfTheClusterIsReadAndChangesNothing) {
  AddPod("p");
  const auto pods = plane_.All<api::Pod>();
  const auto claims = plane_.All<api::ResourceClaim>();
  const Outcome outcome = Ask({"plan"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("p "), HasSubstr("node-a"), HasSubstr("gpu-0")));
  EXPECT_EQ(plane_.All<api::Pod>(), pods);
  EXPECT_EQ(plane_.All<api::ResourceClaim>(), claims);
}

// `dray install` gives the scheduler a name of its own, and pods name it.
TEST_F(ServerTest, PodsOfAnySchedulerArePlannedAndExplained) {
  api::Pod pod;
  pod.metadata.namespace_ = "default";
  pod.metadata.name = "p";
  pod.spec.scheduler_name = "dray-scheduler";
  pod.spec.containers.push_back({.name = "main", .image = "image"});
  plane_.Create(pod);
  const Outcome outcome = Ask({"plan"});
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("node-a"));
  EXPECT_THAT(outcome.out + outcome.err,
              HasSubstr("the configuration of scheduler dray-scheduler is unknown"));
  EXPECT_THAT(Ask({"explain", "pod/p"}).out, HasSubstr("node-a"));
}

TEST_F(ServerTest, WhatMayNotBeReadIsANote) {
  AddPod("p");
  const Outcome outcome =
      RunLine({"plan", "--kubeconfig", plane_.folder() + "/scheduler.kubeconfig"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("p "), HasSubstr("gpu-0")));
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("note: "), HasSubstr("deployments"),
                    HasSubstr("may not be read by this user; planned as if there were none")));
}

TEST_F(ServerTest, AServerThatDoesNotAnswerIsNamed) {
  const std::string away = folder_.Write("away.kubeconfig", R"(apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: k, context: {cluster: c}}]
current-context: k
)");
  for (const std::string command : {"plan", "explain", "devices", "defrag"}) {
    const Outcome outcome = RunLine({command, "--kubeconfig", away});
    EXPECT_EQ(outcome.code, kExitUsage);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("error: cannot list "),
                                   HasSubstr(" at http://127.0.0.1:1: cannot connect to"),
                                   HasSubstr("hint: check that the API server is running")));
  }
  // Said once, not once for each object.
  const Outcome install = RunLine({"install", "--apply", "--kubeconfig", away});
  EXPECT_EQ(install.code, kExitFindings);
  EXPECT_EQ(std::count(install.err.begin(), install.err.end(), '\n'), 1) << install.err;
}

TEST_F(ServerTest, FilesAreAppliedToWhatTheClusterHas) {
  for (int i = 0; i < 8; ++i) AddPod("p" + std::to_string(i));
  const std::string file = folder_.Write("pod.yaml", kPodYaml);
  // Alone it would have no node, class or template.
  EXPECT_EQ(RunLine({"plan", "-f", file}).code, 1);
  const Outcome full = Ask({"explain", "pod/late", "-f", file});
  EXPECT_EQ(full.code, 1) << full.err;
  plane_.Delete<api::Pod>("p0");
  ASSERT_TRUE(plane_.Until([&] { return plane_.All<api::ResourceClaim>().size() == 7; }));
  const Outcome room = Ask({"explain", "pod/late", "-f", file});
  EXPECT_EQ(room.code, 0) << room.out << room.err;
}

TEST_F(ServerTest, AnObjectThatIsThereIsPatched) {
  api::Deployment deployment;
  deployment.metadata.name = "d";
  deployment.metadata.namespace_ = "default";
  deployment.spec.replicas = 1;
  deployment.spec.selector.emplace().match_labels["app"] = "d";
  deployment.spec.template_.metadata.labels["app"] = "d";
  deployment.spec.template_.spec = plane::PodFromTemplate("x").spec;
  plane_.Create(deployment);
  ASSERT_TRUE(plane_.Until([&] { return plane_.All<api::ResourceClaim>().size() == 1; }));
  const std::string file = folder_.Write("d.yaml", R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: 3
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec: {containers: [{name: c, image: i}]}
)");
  const Outcome outcome = Ask({"plan", "-f", file, "--no-headers"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  // The one that is there, and two more; their claims were in the cluster's version alone.
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 3) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("gpu-2"));
}

TEST_F(ServerTest, TheContextsNamespaceIsShownUnlessAnotherIsChosen) {
  AddPod("p");
  EXPECT_THAT(Ask({"plan", "-n", "kube-system"}).out, Not(HasSubstr("node-a")));
  EXPECT_THAT(Ask({"plan", "-A"}).out, HasSubstr("node-a"));
  const Outcome other = Ask({"explain", "pod/p", "-n", "kube-system"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("it is in another namespace"));
}

TEST_F(ServerTest, TheEnvironmentSaysWhichServer) {
  AddPod("p");
  const RunOptions options{.variables = {{"KUBECONFIG", Kubeconfig()}}};
  EXPECT_THAT(RunLine({"plan"}, options).out, HasSubstr("node-a"));
  // Files alone are planned without it, unless kubectl has called.
  const std::string file = folder_.Write("pod.yaml", kPodYaml);
  EXPECT_EQ(RunLine({"plan", "-f", file}, options).code, 1);
  RunOptions plugin = options;
  plugin.plugin = true;
  EXPECT_EQ(RunLine({"plan", "-f", file}, plugin).code, 0);
}

TEST_F(ServerTest, AServerThatIsAwayIsNamed) {
  const std::string url = plane_.plane().url();
  plane_.Stop();
  const Outcome outcome = Ask({"plan"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(url), HasSubstr("refused")));
  EXPECT_EQ(Ask({"scheduler"}).code, 2);
}

TEST(Server, NoKubeconfigAndNoFilesIsAnErrorWithAWayOut) {
  const Outcome outcome = RunLine({"plan"}, {.variables = {{"HOME", "/nowhere"}}});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("/nowhere/.kube/config"), HasSubstr("name files with -f")));
}

TEST(Server, KubectlsPluginIsSpokenOfAsKubectlsUsersCallIt) {
  RunOptions plugin;
  plugin.plugin = true;
  const std::string help = RunLine({"plan", "--help"}, plugin).out;
  EXPECT_THAT(help, AllOf(HasSubstr("kubectl dray plan -f manifests/"), HasSubstr("kubectl dray")));
  EXPECT_THAT(help, Not(HasSubstr("\n  dray ")));
  EXPECT_THAT(RunLine({"plann"}, plugin).err, HasSubstr("did you mean \"plan\"?"));
  EXPECT_THAT(RunLine({"zzzzzz"}, plugin).err, HasSubstr("'kubectl dray --help'"));
  EXPECT_THAT(RunLine({"plan", "--help"}).out, Not(HasSubstr("kubectl dray")));
}

TEST(Server, TokensThatOthersCanGetAtAreRefused) {
  using std::filesystem::perms;
  std::string name = std::filesystem::temp_directory_path() / "dray-tokens-XXXXXX";
  const std::filesystem::path folder = ::mkdtemp(name.data());
  const std::filesystem::path file = folder / "tokens";
  std::ofstream(file) << "not,a\"token\n";
  // Ends at what is in the file, or before.
  const auto up = [&](perms mode) {
    std::filesystem::permissions(file, mode);
    return RunLine({"up", "--memory", "--listen", "127.0.0.1:0", "--data", folder / "data",
                    "--token-auth-file", file});
  };
  const perms own = perms::owner_read | perms::owner_write;
  for (const perms others : {perms::others_read, perms::others_write, perms::group_write}) {
    const Outcome outcome = up(own | others);
    EXPECT_EQ(outcome.code, kExitUsage);
    EXPECT_THAT(outcome.err,
                AllOf(HasSubstr("contains secrets"), HasSubstr("chmod 600 " + file.string())));
  }
  const Outcome read = up(own | perms::group_read);
  EXPECT_EQ(read.code, kExitUsage);
  EXPECT_THAT(read.err, Not(HasSubstr("contains secrets")));
  std::filesystem::remove_all(folder);
}

// As `dray scheduler` and plans do.
TEST(Server, UpReadsAConfigurationOfTheScheduler) {
  TempFolder folder;
  const auto profile = [&](const std::string& args) {
    return folder.Write("config.yaml", R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: packing
  pluginConfig: [{name: DynamicResources, args: {policy: )" +
                                           args + "}}]\n");
  };
  const std::string faulty = profile("worst-fit");
  Outcome outcome = RunLine({"up", "--config", faulty});
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_EQ(outcome.err, "error: --config " + faulty +
                             ": profiles[1].pluginConfig[0].args.policy: \"worst-fit\": must be "
                             "first-fit or best-fit or fragmentation\n");
  outcome = RunLine({"up", "--policy", "worst-fit"});
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.err,
              HasSubstr("--policy: unsupported value \"worst-fit\": must be \"first-fit\", "
                        "\"best-fit\" or \"fragmentation\""));
  // What the server gets.
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  const base::ManualClock clock;
  const Environment env{.clock = clock};
  Io io{.in = in, .out = out, .err = err, .env = env};
  const auto config = internal::ReadSchedulerConfig(io, profile("best-fit"), "fragmentation");
  ASSERT_TRUE(config) << err.str();
  ASSERT_EQ(config->profiles.size(), 2u);
  EXPECT_EQ(config->profiles[0].policy, allocator::Policy::kFragmentation);
  EXPECT_EQ(config->profiles[1].policy, allocator::Policy::kBestFit) << "profiles go first";
}

TEST(Server, AnUnknownPartOfUpIsRefused) {
  const Outcome outcome = RunLine({"up", "--without", "kubelet"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("kubelet"));
}

}  // namespace
}  // namespace dray::cli
