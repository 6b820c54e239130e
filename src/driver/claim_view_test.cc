// SPDX-License-Identifier: Apache-2.0
#include "driver/claim_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/kit_for_test.h"
#include "driver/placeholders.h"
#include "testing/status_matchers.h"

namespace dray::driver {
namespace {

using dray::testing::IsOk;
using dray::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ClaimViewTest : public ::testing::Test {
 protected:
  ClaimView View(const rpc::ClaimName& name) {
    const auto stored =
        shop_.cluster.Stored(api::HubKind(api::TypeInfoOf<api::ResourceClaim>()), "ns", name.name);
    auto view = ViewOf(*stored->As<api::ResourceClaim>(), name, dray::testing::kDriver);
    EXPECT_THAT(view, IsOk());
    return *std::move(view);
  }
  static std::vector<std::string> Parameters(const AllocatedDevice& device) {
    std::vector<std::string> texts;
    for (const DeviceConfig& config : device.configs) {
      texts.push_back((config.from_claim ? "claim " : "class ") + config.parameters);
    }
    return texts;
  }
  Workshop shop_;
};

TEST_F(ClaimViewTest, ADeviceHasTheParametersThatAreMeantForIt) {
  const auto name = shop_.Claim(
      "a", {{.device = "d0", .request = "x/big"}, {.device = "d1", .request = "y"}},
      {ConfigOf("FromClass", R"({"all":1})"), ConfigOf("FromClass", R"({"x":1})", {"x"}),
       ConfigOf("FromClaim", R"({"big":1})", {"x/big"}),
       ConfigOf("FromClaim", R"({"small":1})", {"x/small"}),
       ConfigOf("FromClaim", R"({"other":1})", {}, "other.example.com"),
       ConfigOf("FromClaim", R"({"y":1})", {"y"})});
  const ClaimView view = View(name);
  ASSERT_THAT(view.devices, SizeIs(2));
  EXPECT_EQ(view.devices[0].base_request, "x");
  EXPECT_THAT(Parameters(view.devices[0]),
              ElementsAre(R"(class {"all":1})", R"(class {"x":1})", R"(claim {"big":1})"));
  EXPECT_THAT(Parameters(view.devices[1]), ElementsAre(R"(class {"all":1})", R"(claim {"y":1})"));
}

// As Kubernetes's test driver does, so that its tests find what they look for.
TEST_F(ClaimViewTest, DefaultEditsAreTheTestDriversVariables) {
  const auto name =
      shop_.Claim("pod-x.y", {{.device = "d0", .request = "container-0-request-1"}},
                  {ConfigOf("FromClass", R"({"a":"1","b":"2"})"),
                   ConfigOf("FromClaim", R"({"a":"3"})"), ConfigOf("FromClaim", R"({"a":"4"})")});
  const ClaimView view = View(name);
  const auto edits = DefaultEdits(view, view.devices[0]);
  ASSERT_THAT(edits, IsOk());
  EXPECT_THAT(edits->env, ElementsAre("admin_a=1", "admin_b=2", "user_a=4",
                                      "claim_pod_x_y_container_0_request_1=true"));
  const ClaimView bad =
      View(shop_.Claim("bad", {{.device = "d0"}}, {ConfigOf("FromClaim", "[1]")}));
  EXPECT_THAT(DefaultEdits(bad, bad.devices[0]),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("object of strings")));
}

TEST_F(ClaimViewTest, PlaceholdersAreFilledInEverywhere) {
  const ClaimView view = View(shop_.Claim(
      "a",
      {{.device = "d\"0", .request = "r/s", .share_id = "s1", .consumed = {{"memory", "2Gi"}}}}));
  cdi::ContainerEdits edits;
  edits.env = {
      "A=${claim.uid} ${claim.name} ${claim.namespace} ${request} ${device} ${pool} ${share}",
      "M=${capacity.memory}/${capacity.other}", "D=$$ $x ${"};
  edits.env.back() = "D=$$ $x";
  edits.mounts.push_back(
      {.host_path = "/h/${claim.uid}", .container_path = "/c", .options = {"bind"}});
  const cdi::ContainerEdits filled = Fill(edits, view, view.devices[0]);
  EXPECT_THAT(filled.env,
              ElementsAre("A=" + view.name.uid + " a ns r d\"0 n1 s1", "M=2Gi/", "D=$ $x"));
  EXPECT_EQ(filled.mounts.at(0).host_path, "/h/" + view.name.uid);
  EXPECT_THAT(CheckPlaceholders(edits), IsOk());
  edits.env = {"A=${clam.uid}"};
  EXPECT_THAT(CheckPlaceholders(edits),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("${clam.uid} is unknown")));
  edits.env = {"A=${claim.uid"};
  EXPECT_THAT(CheckPlaceholders(edits),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("closing brace")));
}

}  // namespace
}  // namespace dray::driver
