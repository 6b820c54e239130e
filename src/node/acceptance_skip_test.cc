// SPDX-License-Identifier: Apache-2.0
//
// The acceptance rows about skipNodeOperations (docs/spec/node.md 20; KEP-5945).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "node/agent_for_test.h"

namespace dray::node {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

api::ResourceClaim Skipping(const std::vector<std::string>& drivers,
                            const std::vector<std::string>& operations) {
  api::ResourceClaim claim = ClaimOf("a", drivers, {"p"});
  for (auto& result : claim.status.allocation->devices.results) {
    result.skip_node_operations = operations;
  }
  return claim;
}

TEST_F(Acceptance, Row45EverythingIsSkippedAndThereIsNoDriver) {
  AddClaim(Skipping({"nobody"}, {"*"}));
  CreatePodWith("p", {"a"});
  StartAgent();
  EXPECT_EQ(PhaseOf("p"), "Running");
  EXPECT_FALSE(HasEvent("Warning"));
  EXPECT_THAT(Checkpoint().at(0).drivers.at("nobody").skips, ElementsAre("*"));
  runtime_.End("uid-p", "c", 0);
  Run();
  EXPECT_EQ(PhaseOf("p"), "Succeeded");
  EXPECT_THAT(plugins_.calls(), IsEmpty());
  const std::string text = metrics_->Text();
  EXPECT_NE(text.find(R"(dra_node_prepare_skips_total{driver_name="nobody"} 1)"),
            std::string::npos);
  EXPECT_NE(text.find(R"(dra_node_unprepare_skips_total{driver_name="nobody"} 1)"),
            std::string::npos);
}

TEST_F(Acceptance, Row46OnlyUnprepareIsSkipped) {
  AddClaim(Skipping({"d1"}, {"NodeUnprepareResources"}));
  CreatePodWith("p", {"a"});
  StartAgent();
  runtime_.End("uid-p", "c", 0);
  Run();
  EXPECT_EQ(PhaseOf("p"), "Succeeded");
  EXPECT_THAT(plugins_.calls(), ElementsAre("prepare d1 a"));
  EXPECT_THAT(Checkpoint(), IsEmpty());
}

// An operation is skipped only when every result of the driver says so.
TEST_F(Acceptance, Row46OfSomeResultsOnlyIsNotSkipped) {
  api::ResourceClaim claim = Skipping({"d1", "d1"}, {"*"});
  claim.status.allocation->devices.results[1].skip_node_operations = {"NodeUnprepareResources"};
  AddClaim(claim);
  CreatePodWith("p", {"a"});
  StartAgent();
  runtime_.End("uid-p", "c", 0);
  Run();
  EXPECT_THAT(plugins_.calls(), ElementsAre("prepare d1 a"));
}

TEST_F(Acceptance, Row47TheGateIsOff) {
  gates_.Set(api::Gate::kDRAOptionalNodeOperations, false);
  AddClaim(Skipping({"d1"}, {"*"}));
  CreatePodWith("p", {"a"});
  StartAgent();
  EXPECT_EQ(PhaseOf("p"), "Pending");
  EXPECT_TRUE(
      HasEvent("ResourceClaim a: DRAOptionalNodeOperations feature gate is disabled on kubelet"));
  EXPECT_THAT(Checkpoint(), IsEmpty());
}

TEST_F(Acceptance, Row47TheGateIsSwitchedOffAfterPreparing) {
  AddClaim(Skipping({"d1"}, {"*"}));
  CreatePodWith("p", {"a"});
  StartAgent();
  EXPECT_EQ(PhaseOf("p"), "Running");
  gates_.Set(api::Gate::kDRAOptionalNodeOperations, false);
  RestartAgent();
  runtime_.End("uid-p", "c", 0);
  Run();
  EXPECT_EQ(PhaseOf("p"), "Succeeded");
  EXPECT_THAT(plugins_.calls(), IsEmpty());
  EXPECT_THAT(Checkpoint(), IsEmpty());
}

}  // namespace
}  // namespace dray::node
