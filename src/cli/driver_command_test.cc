// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/cli_test_support.h"

namespace dray::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(DriverCommand, PrintsTheDevicesOfAFile) {
  const TempFolder folder;
  const std::string file = folder.Write("d.yaml", R"(driver: cam.example.com
pools:
- devices:
  - name: front
    cdi: {env: ["CAMERA=${device}"]}
)");
  const Outcome outcome = RunLine({"driver", "--from", file, "--print"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, R"(driver: cam.example.com
pools:
- devices:
  - name: front
    cdi:
      env:
      - CAMERA=${device}
)");
}

TEST(DriverCommand, SaysWhatIsWrongWithAFile) {
  const TempFolder folder;
  const std::string file = folder.Write("d.yaml", "pools:\n- devices:\n  - nam: front\n");
  const Outcome outcome = RunLine({"driver", "--from", file, "--print"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(file), HasSubstr("3:5"), HasSubstr("nam")));
}

TEST(DriverCommand, SaysWhichPartsGoTogether) {
  const TempFolder folder;
  const std::string file = folder.Write("d.yaml", "driver: d.example.com\npools: []\n");
  const auto says = [&](std::vector<std::string> args, const std::string& text) {
    args.insert(args.begin(), "driver");
    const Outcome outcome = RunLine(args);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr(text));
  };
  says({"--only", "registration"}, "--name is missing");
  says({"--only", "publishing", "--from", file}, "--only");
  says({"--from", file, "--node-name", "n", "--lease", "a/b"}, "--lease is for --cluster-pools");
  const std::string server = folder.Write("kubeconfig", R"(apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
)");
  says({"--from", file, "--cluster-pools", "--kubeconfig", server, "--lease", "b"},
       "\"b\" is not NAMESPACE/NAME");
  says({"--from", file, "--cluster-pools", "--kubeconfig", server},
       "no pool is for more than one node");
  says({"--from", file, "--health-port", "70000"}, "--health-port");
}

TEST(DriverCommand, FindsTheDevicesOfAMachine) {
  const TempFolder folder;
  folder.Write("bus/pci/devices/0000:00:03.0/vendor", "0x1af4\n");
  folder.Write("bus/pci/devices/0000:00:03.0/class", "0x020000\n");
  folder.Write("bus/pci/devices/0000:00:04.0/vendor", "0x8086\n");
  for (const std::vector<std::string>& kinds :
       {std::vector<std::string>{"pci"}, std::vector<std::string>{}}) {
    std::vector<std::string> args = {"driver", "--discover"};
    args.insert(args.end(), kinds.begin(), kinds.end());
    for (const std::string& more :
         std::vector<std::string>{"--sys", folder.path(), "--filter", "class=02*", "--print"}) {
      args.push_back(more);
    }
    const Outcome outcome = RunLine(args);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("pci-0000-00-03-0"),
                                   ::testing::Not(HasSubstr("pci-0000-00-04-0"))));
  }
}

TEST(DriverCommand, SaysWhatIsMissing) {
  EXPECT_THAT(RunLine({"driver"}).err, HasSubstr("use --from FILE to describe them"));
  EXPECT_THAT(RunLine({"driver", "--from", "x", "--discover"}).err,
              HasSubstr("cannot be combined"));
  EXPECT_THAT(RunLine({"driver", "--discover", "usb", "--print"}).err,
              HasSubstr("pci, net, numa, cpu, hugepages"));
  EXPECT_THAT(RunLine({"driver", "--discover", "pci"}).err, HasSubstr("--node-name is missing"));
  EXPECT_THAT(RunLine({"driver", "--discover", "pci", "--filter", "x", "--print"}).err,
              HasSubstr("is not a filter"));
  EXPECT_THAT(RunLine({"driver", "serve"}).err, HasSubstr("unexpected argument \"serve\""));
  EXPECT_THAT(RunLine({"driver", "test"}).err, HasSubstr("no driver is named"));
  const TempFolder folder;
  EXPECT_THAT(RunLine({"driver", "test", "--registry", folder.path()}).err,
              HasSubstr("no driver is registered"));
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"driver"}, {"driver", "serve"}, {"driver", "test"}}) {
    EXPECT_EQ(RunLine(args).code, 2);
  }
}

TEST(DriverCommand, ADriverThatIsNotThereFailsItsTest) {
  const TempFolder folder;
  const Outcome outcome = RunLine({"driver", "test", folder.path() + "/nobody.sock"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("FAIL  registration/info"), HasSubstr("but: "),
                                 HasSubstr("0 passed, 1 failed, 0 skipped")));
}

}  // namespace
}  // namespace dray::cli
