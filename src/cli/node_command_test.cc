// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/cli_test_support.h"

namespace dray::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct UsageCase {
  std::string name;
  std::vector<std::string> args;
  std::string want;
  friend void PrintTo(const UsageCase& c, std::ostream* os) { *os << c.name; }
};
class NodeUsageTest : public ::testing::TestWithParam<UsageCase> {};

TEST_P(NodeUsageTest, SaysWhatIsWrong) {
  std::vector<std::string> args = {"node"};
  if (GetParam().name != "node_name") args.insert(args.end(), {"--node-name", "n1"});
  args.insert(args.end(), GetParam().args.begin(), GetParam().args.end());
  const Outcome outcome = RunLine(args);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr(GetParam().want));
}
INSTANTIATE_TEST_SUITE_P(
    Flags, NodeUsageTest,
    ::testing::ValuesIn(std::vector<UsageCase>{
        {"runtime", {"--runtime", "docker"}, "--runtime: \"docker\" is not one of runc, cri, none"},
        {"cdi", {"--cdi", "never"}, "--cdi: \"never\" is not one of auto, runtime, inline"},
        {"label", {"--node-labels", "rack"}, "--node-labels: \"rack\" is not KEY=VALUE"},
        {"node_name",
         {"--node-name", "Worker_1"},
         "--node-name: \"Worker_1\" is not a valid node name"},
        {"pods", {"--max-pods", "0"}, "--max-pods: must be at least 1"},
        {"port", {"--port", "70000"}, "--port: 70000 is not a port"},
        {"gate", {"--feature-gates", "Nope=true"}, "--feature-gates"},
        {"server", {"--kubeconfig", "/nowhere/at/all"}, "/nowhere/at/all"},
    }),
    [](const auto& info) { return info.param.name; });

TEST(NodeCommand, HelpTeaches) {
  EXPECT_THAT(RunLine({"node", "--help"}).out,
              AllOf(HasSubstr("dray kubeconfig node/"), HasSubstr("plugins_registry"),
                    HasSubstr("dra_manager_state")));
}

// The name is the machine's own, and what is there already is not touched when the flags are wrong.
TEST(NodeCommand, ADamagedStateStopsItBeforeAnythingElse) {
  const TempFolder folder;
  const std::string kubeconfig = folder.Write("k.yaml", R"(
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
)");
  const std::string state = folder.Write("root/dra_manager_state", "{");
  const Outcome outcome =
      RunLine({"node", "--kubeconfig", kubeconfig, "--node-name", "n1", "--runtime", "none",
               "--root", state.substr(0, state.rfind('/')), "--port", "-1"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("checkpoint is corrupted"), HasSubstr("drain the node")));
}

}  // namespace
}  // namespace dray::cli
