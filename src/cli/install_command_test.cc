// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "api/document.h"
#include "cli/cli_test_support.h"
#include "plane/plane_for_test.h"
#include "scheduler/config.h"

namespace dray::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ReadDeploy(const std::string& file) {
  const char* source = std::getenv("DRAY_SOURCE");
  std::ifstream in(std::string(source == nullptr ? "." : source) + "/deploy/" + file);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// What a kustomization of deploy/ names, file by file, as compact JSON.
std::vector<std::string> ObjectsOf(const std::string& folder) {
  std::vector<api::Diagnostic> diagnostics;
  const auto list = api::ParseYaml(ReadDeploy(folder + "/kustomization.yaml"), diagnostics);
  std::vector<std::string> objects;
  for (const api::DocumentNode& item : list.at(0).Find("resources")->value.items) {
    if (item.text.starts_with("../")) {
      for (std::string& object : ObjectsOf(item.text.substr(3))) objects.push_back(object);
      continue;
    }
    for (const auto& object : api::ParseYaml(ReadDeploy(folder + "/" + item.text), diagnostics)) {
      objects.push_back(api::ToJson(object));
    }
  }
  EXPECT_TRUE(diagnostics.empty());
  return objects;
}
std::vector<std::string> ObjectsIn(const std::string& yaml) {
  std::vector<api::Diagnostic> diagnostics;
  std::vector<std::string> objects;
  for (const auto& object : api::ParseYaml(yaml, diagnostics)) {
    objects.push_back(api::ToJson(object));
  }
  EXPECT_TRUE(diagnostics.empty());
  return objects;
}

TEST(Install, PrintsWhatTheKustomizationHas) {
  const Outcome plain = RunLine({"install"});
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(ObjectsIn(plain.out), ObjectsOf("base"));
  EXPECT_EQ(ObjectsIn(plain.out).size(), 10u);
  const Outcome monitored = RunLine({"install", "--service-monitor"});
  EXPECT_EQ(ObjectsIn(monitored.out), ObjectsOf("monitoring"));
}

// The configuration that a config map of the output holds.
StatusOr<scheduler::LoadedConfig> ConfigIn(const std::string& yaml) {
  std::vector<api::Diagnostic> diagnostics;
  for (const auto& object : api::ParseYaml(yaml, diagnostics)) {
    if (object.Find("kind")->value.text != "ConfigMap") continue;
    return scheduler::ReadConfig(object.Find("data")->value.Find("scheduler.yaml")->value.text);
  }
  return base::NotFound("no config map");
}

TEST(Install, ItsConfigurationIsOne) {
  const auto plain = ConfigIn(RunLine({"install"}).out);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_TRUE(plain->notes.empty());
  EXPECT_EQ(plain->config.profiles.at(0).scheduler_name, "dray-scheduler");
  EXPECT_EQ(plain->leader_election->resource_name, "dray-scheduler");
  const auto limited =
      ConfigIn(RunLine({"install", "--name", "gpu-scheduler", "--scheduler-name", "gpus", "-n",
                        "gpu-system", "--driver", "a.example.com", "--driver", "b.example.com"})
                   .out);
  ASSERT_TRUE(limited.ok()) << limited.status();
  const scheduler::Profile& profile = limited->config.profiles.at(0);
  EXPECT_EQ(profile.scheduler_name, "gpus");
  EXPECT_THAT(profile.dynamic_resources.drivers,
              ::testing::ElementsAre("a.example.com", "b.example.com"));
  EXPECT_EQ(limited->leader_election->resource_name, "gpu-scheduler");
  EXPECT_EQ(limited->leader_election->resource_namespace, "gpu-system");
}

TEST(Install, NamesAreReplacedEverywhere) {
  const Outcome outcome = RunLine({"install", "--name", "gpu-scheduler", "--namespace", "gpus",
                                   "--image", "registry.example.com/dray:1.0", "--replicas", "3"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(Not(HasSubstr("dray-scheduler")), Not(HasSubstr("dray-system")),
                    HasSubstr("image: registry.example.com/dray:1.0\n"), HasSubstr("replicas: 3\n"),
                    HasSubstr("resourceNames: [gpu-scheduler]")));
}

TEST(Install, WhatIsNoNameIsRefused) {
  for (const auto& [flag, value] :
       std::vector<std::pair<std::string, std::string>>{{"--name", "A"},
                                                        {"--namespace", "a.b"},
                                                        {"--scheduler-name", "a b"},
                                                        {"--driver", "x: y"},
                                                        {"--image", "a\nb"},
                                                        {"--image", ""}}) {
    const Outcome outcome = RunLine({"install", flag, value});
    EXPECT_EQ(outcome.code, 2) << flag;
    EXPECT_THAT(outcome.err, HasSubstr(flag + ": ")) << flag;
  }
}

TEST(Install, WhatCanBeAppliedIsAndTheRestIsTold) {
  plane::TestPlane plane;
  plane.StartWith({.scheduler = false});
  const Outcome outcome = RunLine({"install", "--apply", "--kubeconfig",
                                   plane.folder() + "/admin.kubeconfig", "--service-monitor"});
  // Nobody here knows the Prometheus operator's kinds.
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("error: servicemonitors/dray-scheduler: "));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("namespaces/dray-system created\n"),
                                 HasSubstr("deployments/dray-scheduler created\n")));
  const Outcome again =
      RunLine({"install", "--apply", "--kubeconfig", plane.folder() + "/admin.kubeconfig"});
  EXPECT_THAT(again.out, HasSubstr("namespaces/dray-system configured\n"));
}

}  // namespace
}  // namespace dray::cli
