// SPDX-License-Identifier: Apache-2.0
#include "fleet/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/document.h"
#include "api/node.h"
#include "api/pod.h"
#include "fleet/fleet_json.h"
#include "fleet/playground.h"
#include "fleet/usage.h"
#include "testing/claim_builder.h"
#include "testing/objects_from.h"
#include "testing/request_builder.h"
#include "testing/slice_builder.h"

namespace dray::fleet {
namespace {

using testing::AllocatedClaim;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Slice;

class FleetTest : public ::testing::Test {
 protected:
  template <typename T>
  void Put(T object) {
    fleet.Apply({api::Change::Kind::kAdded, api::Object::Of(std::move(object))});
  }
  template <typename T>
  void Remove(T object) {
    fleet.Apply({api::Change::Kind::kDeleted, api::Object::Of(std::move(object))});
  }
  void Yaml(std::string_view text) {
    for (api::Object& object : testing::ObjectsFrom(text)) {
      fleet.Apply({api::Change::Kind::kAdded, std::move(object)});
    }
  }
  const Device& Of(std::string_view device, std::string_view pool = "pool") {
    fleet.Settle();
    const auto id = fleet.FindDevice(testing::kDriver, pool, device);
    EXPECT_TRUE(id.has_value()) << device;
    return fleet.devices()[*id];
  }
  State StateOf(std::string_view device) { return Of(device).state; }
  std::string Why(std::string_view device) {
    fleet.Settle();
    const auto id = fleet.FindDevice(testing::kDriver, "pool", device);
    std::vector<api::Diagnostic> none;
    return api::ParseJson(*DeviceJson(fleet, *id), none).Find("why")->value.text;
  }

  Fleet fleet{{}};
};

TEST_F(FleetTest, ADeviceThatNobodyHasIsFree) {
  Put<api::ResourceSlice>(Slice("s").OnNode("n1").With(testing::Device("a")));
  EXPECT_EQ(StateOf("a"), State::kFree);
  EXPECT_EQ(Why("a"), "free: not allocated to any claim");
}

TEST_F(FleetTest, WhoHasItIsTold) {
  Put<api::ResourceSlice>(Slice("s").OnNode("n1").With(testing::Device("a")));
  Put<api::ResourceClaim>(AllocatedClaim("c").Exclusive("a"));
  EXPECT_EQ(StateOf("a"), State::kHeld);
  EXPECT_EQ(Why("a"), "held by claim ns/c");
  Remove<api::ResourceClaim>(AllocatedClaim("c").Exclusive("a"));
  EXPECT_EQ(StateOf("a"), State::kFree);
}

TEST_F(FleetTest, SharesFillADeviceByItsFullestCapacity) {
  Put<api::ResourceSlice>(Slice("s").OnNode("n1").With(
      testing::Device("nic").Shared().Capacity("bandwidth", "100G").Capacity("queues", "10")));
  Put<api::ResourceClaim>(AllocatedClaim("c").Share("nic", {{"bandwidth", "40G"}}));
  Put<api::ResourceClaim>(
      AllocatedClaim("d").Share("nic", {{"bandwidth", "40G"}, {"queues", "1"}}));
  EXPECT_EQ(StateOf("nic"), State::kShared);
  EXPECT_EQ(Of("nic").fill, 80);
}

TEST_F(FleetTest, ADeviceThatIsInNoSliceAndInUseIsGone) {
  const api::ResourceSlice slice = Slice("s").OnNode("n1").With(testing::Device("a"));
  Put(slice);
  Put<api::ResourceClaim>(AllocatedClaim("c").Exclusive("a"));
  fleet.Settle();
  Remove(slice);
  EXPECT_EQ(StateOf("a"), State::kGone);
  EXPECT_THAT(Why("a"), HasSubstr("claim ns/c"));
  Remove<api::ResourceClaim>(AllocatedClaim("c").Exclusive("a"));
  EXPECT_EQ(StateOf("a"), State::kRemoved);
  EXPECT_EQ(fleet.live_devices(), 0U);
  // The same device is the same number.
  const auto before = fleet.FindDevice(testing::kDriver, "pool", "a");
  Put(slice);
  EXPECT_EQ(StateOf("a"), State::kFree);
  EXPECT_EQ(fleet.FindDevice(testing::kDriver, "pool", "a"), before);
}

TEST_F(FleetTest, AnOlderGenerationIsGone) {
  Put<api::ResourceSlice>(Slice("s").OnNode("n1").With(testing::Device("a")));
  Put<api::ResourceClaim>(AllocatedClaim("c").Exclusive("a"));
  fleet.Settle();
  Put<api::ResourceSlice>(Slice("t").OnNode("n1").Generation(2).With(testing::Device("b")));
  EXPECT_EQ(StateOf("a"), State::kGone);
  EXPECT_EQ(StateOf("b"), State::kFree);
}

class PartitionsTest : public FleetTest {
 protected:
  PartitionsTest() {
    Put<api::ResourceSlice>(
        Slice("counters").OnNode("n1").Of(2).Counters("card", {{"units", "4"}}));
    Put<api::ResourceSlice>(Slice("devices")
                                .OnNode("n1")
                                .Of(2)
                                .With(testing::Device("whole").Consumes("card", {{"units", "4"}}))
                                .With(testing::Device("half-0").Consumes("card", {{"units", "2"}}))
                                .With(testing::Device("half-1").Consumes("card", {{"units", "2"}}))
                                .With(testing::Device("most").Consumes("card", {{"units", "3"}})));
  }
};

TEST_F(PartitionsTest, AWholeCardOfWhichAPartIsInUseIsPartitioned) {
  EXPECT_EQ(StateOf("whole"), State::kFree);
  Put<api::ResourceClaim>(AllocatedClaim("c").Exclusive("half-0"));
  EXPECT_EQ(StateOf("whole"), State::kPartitioned);
  EXPECT_EQ(StateOf("half-1"), State::kFree);
  EXPECT_EQ(StateOf("most"), State::kBlocked);
  EXPECT_EQ(Why("most"),
            "blocked: it takes 3 of units from counter set card, which has 2 of 4 left");
  EXPECT_EQ(fleet.cards().size(), 1U);
  Remove<api::ResourceClaim>(AllocatedClaim("c").Exclusive("half-0"));
  EXPECT_EQ(StateOf("most"), State::kFree);
}

TEST_F(FleetTest, CompatibilityGroupsBlock) {
  Put<api::ResourceSlice>(Slice("counters").OnNode("n1").Of(2).Counters("card", {{"units", "4"}}));
  Put<api::ResourceSlice>(
      Slice("devices")
          .OnNode("n1")
          .Of(2)
          .With(testing::Device("mig").Consumes("card", {{"units", "1"}}, {"mig"}))
          .With(testing::Device("vgpu").Consumes("card", {{"units", "1"}}, {"vgpu"})));
  Put<api::ResourceClaim>(AllocatedClaim("c").Exclusive("mig").Groups("card", {"mig"}));
  EXPECT_EQ(StateOf("vgpu"), State::kBlocked);
  EXPECT_EQ(Why("vgpu"), "blocked: card is in use as mig, and this device is of group vgpu");
}

TEST_F(FleetTest, MarksComeBesideStates) {
  Put<api::ResourceSlice>(Slice("s")
                              .OnNode("n1")
                              .With(testing::Device("a").Taint("broken"))
                              .With(testing::Device("b")));
  Put<api::ResourceClaim>(AllocatedClaim("c").Exclusive("a").Admin("b"));
  EXPECT_EQ(StateOf("a"), State::kHeld);
  EXPECT_EQ(Of("a").marks, kTainted);
  EXPECT_EQ(StateOf("b"), State::kFree);
  EXPECT_EQ(Of("b").marks, kAdmin);
  Yaml(R"(
apiVersion: resource.k8s.io/v1beta2
kind: DeviceTaintRule
metadata: {name: r}
spec:
  deviceSelector: {device: b}
  taint: {key: k, effect: NoExecute}
)");
  EXPECT_EQ(Of("b").marks, kAdmin | kTainted);
  Yaml(R"(
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {conditions: [{type: Ready, status: "False"}]}
)");
  EXPECT_EQ(Of("b").marks, kAdmin | kTainted | kUnhealthy);
  Yaml(R"(
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {conditions: [{type: Ready, status: "True"}]}
)");
  EXPECT_EQ(Of("b").marks, kAdmin | kTainted);
}

TEST_F(FleetTest, AnIncompletePoolIsUnhealthy) {
  Put<api::ResourceSlice>(Slice("s").OnNode("n1").Of(2).With(testing::Device("a")));
  EXPECT_EQ(Of("a").marks, kUnhealthy);
  EXPECT_EQ(
      Why("a"),
      "not allocated, and not available as long as the pool has 1 of 2 slices of generation 1");
}

TEST_F(FleetTest, WhoHasDevicesIsUnknownIfClaimsAre) {
  Put<api::ResourceSlice>(Slice("s").OnNode("n1").With(testing::Device("a")));
  fleet.SetClaimsUnknown(true);
  EXPECT_EQ(StateOf("a"), State::kUnknown);
  fleet.SetClaimsUnknown(false);
  EXPECT_EQ(StateOf("a"), State::kFree);
}

TEST_F(FleetTest, PodsSayThatADeviceIsUnhealthy) {
  Put<api::ResourceSlice>(
      Slice("s").OnNode("n1").With(testing::Device("a")).With(testing::Device("b")));
  Put<api::ResourceClaim>(AllocatedClaim("c").Exclusive("a").Exclusive("b"));
  Yaml(R"(
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: ns}
spec:
  nodeName: n1
  resourceClaims: [{name: gpus, resourceClaimName: c}]
  containers: [{name: x, image: i}]
status:
  containerStatuses:
  - name: x
    image: i
    imageID: ""
    ready: true
    restartCount: 0
    allocatedResourcesStatus:
    - name: claim:gpus
      resources: [{resourceID: gpu.example.com/b, health: Unhealthy}]
)");
  EXPECT_EQ(Of("a").marks, 0);
  EXPECT_EQ(Of("b").marks, kUnhealthy);
}

TEST_F(FleetTest, AChangeIsTellableAndCostsItsPool) {
  for (int i = 0; i < 50; ++i) {
    Put<api::ResourceSlice>(Slice("s" + std::to_string(i))
                                .Pool("p" + std::to_string(i))
                                .OnNode("n" + std::to_string(i))
                                .With(testing::Device("a"))
                                .With(testing::Device("b")));
  }
  fleet.Settle();
  const std::uint64_t before = fleet.revision();
  const std::uint64_t looked = fleet.looked_at();
  Put<api::ResourceClaim>(AllocatedClaim("c").In("p7").Exclusive("a"));
  ASSERT_TRUE(fleet.Settle());
  EXPECT_EQ(fleet.looked_at() - looked, 1U);
  const auto id = fleet.FindDevice(testing::kDriver, "p7", "a");
  const auto changed = fleet.ChangedSince(before);
  EXPECT_THAT(changed.devices, ElementsAre(*id));
  EXPECT_THAT(changed.claims, ElementsAre(Fleet::Key("ns", "c")));
  EXPECT_THAT(ChangesJson(fleet, before, base::Time()),
              HasSubstr("\"d\":[[" + std::to_string(*id) + ",1,0,0]]"));
  // The same again is nothing.
  Put<api::ResourceClaim>(AllocatedClaim("c").In("p7").Exclusive("a"));
  EXPECT_FALSE(fleet.Settle());
  EXPECT_EQ(ChangesJson(fleet, fleet.revision(), base::Time()), "");
}

TEST_F(FleetTest, SerialNumbersAreNotInShapes) {
  Slice slice("s");
  slice.OnNode("n1");
  for (int i = 0; i < 100; ++i) {
    slice.With(testing::Device("d" + std::to_string(i))
                   .String("model", "H100")
                   .String("uuid", "GPU-" + std::to_string(i)));
  }
  Put<api::ResourceSlice>(slice);
  fleet.Settle();
  EXPECT_EQ(fleet.devices()[0].shape, fleet.devices()[99].shape);
  EXPECT_THAT(FleetJson(fleet, "e", base::Time()), Not(HasSubstr("GPU-")));
  EXPECT_THAT(SearchJson(fleet, "gpu-42", 20), HasSubstr("uuid = GPU-42"));
}

TEST_F(FleetTest, HiddenClaimsHaveDevicesAndNoName) {
  Put<api::ResourceSlice>(Slice("s").OnNode("n1").With(testing::Device("a")));
  api::ResourceClaim hidden = AllocatedClaim("claim-1").Exclusive("a");
  hidden.metadata.namespace_ = kHidden;
  Put(hidden);
  EXPECT_EQ(StateOf("a"), State::kHeld);
  EXPECT_EQ(Why("a"), "held by a claim you may not read");
  EXPECT_THAT(*DeviceJson(fleet, 0), HasSubstr("\"hidden\":1"));
  for (const std::string& text :
       {FleetJson(fleet, "e", base::Time()), HoldersJson(fleet, "e"), NamespacesJson(fleet),
        ChangesJson(fleet, 1, base::Time()), SearchJson(fleet, "claim-1", 20)}) {
    EXPECT_THAT(text, Not(HasSubstr("claim-1")));
  }
}

TEST_F(FleetTest, AClassDecidesWhichDevicesAreItsOwnAndEverybodyBeginsAnew) {
  Put<api::ResourceSlice>(Slice("s")
                              .OnNode("n1")
                              .With(testing::Device("a").Int("numa", 0))
                              .With(testing::Device("b").Int("numa", 1)));
  fleet.Settle();
  const std::uint64_t before = fleet.revision();
  Yaml(R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: zero}
spec: {selectors: [{cel: {expression: 'device.attributes["gpu.example.com"].numa == 0'}}]}
)");
  fleet.Settle();
  EXPECT_LT(before + 1, fleet.oldest() + 1);
  EXPECT_GT(fleet.oldest(), before);
  EXPECT_THAT(
      fleet.shapes()[Of("a").shape].classes.size() + fleet.shapes()[Of("b").shape].classes.size(),
      1U);
}

TEST_F(FleetTest, PendingPodsComeAndGo) {
  const auto pod = [](std::string_view node) {
    return std::string(R"(
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: ns, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {)") +
           std::string(node) + R"( containers: [{name: x, image: i}]}
)";
  };
  Yaml(pod(""));
  fleet.Settle();
  EXPECT_THAT(FleetJson(fleet, "e", base::Time()),
              HasSubstr(R"("pending":[{"namespace":"ns","name":"p","since":1767225600)"));
  const std::uint64_t before = fleet.revision();
  Yaml(pod("nodeName: n1,"));
  fleet.Settle();
  EXPECT_THAT(ChangesJson(fleet, before, base::Time()),
              HasSubstr(R"("p":[{"namespace":"ns","name":"p","removed":true}])"));
}

TEST_F(FleetTest, ClaimsTellTheirLife) {
  Put<api::ResourceSlice>(Slice("s").OnNode("n1").With(testing::Device("a").Int("numa", 1)));
  Yaml(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, namespace: ns, uid: u, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: any, allocationMode: ExactCount, count: 1}
    constraints: [{requests: [gpu], matchAttribute: gpu.example.com/numa}]
status:
  allocation:
    devices: {results: [{request: gpu, driver: gpu.example.com, pool: pool, device: a}]}
  reservedFor: [{resource: pods, name: p, uid: q}]
)");
  fleet.Settle();
  const std::string json = *ClaimJson(fleet, "ns", "c", {});
  std::vector<api::Diagnostic> faults;
  const api::DocumentNode page = api::ParseJson(json, faults);
  ASSERT_TRUE(faults.empty()) << json;
  std::vector<std::string> steps;
  for (const api::DocumentNode& step : page.Find("steps")->value.items) {
    steps.push_back(step.Find("step")->value.text + " " + step.Find("state")->value.text);
  }
  EXPECT_THAT(steps, ElementsAre("created done", "allocated done", "reserved done",
                                 "prepared unknown", "released open"));
  {
    EXPECT_THAT(json, HasSubstr("\"holds\":true"));
    EXPECT_THAT(json, HasSubstr("\"node\":\"n1\""));
  }
  EXPECT_FALSE(ClaimJson(fleet, "ns", "other", {}).has_value());
}

TEST(Ranges, AreShort) {
  EXPECT_EQ(RangesOf({}), "");
  EXPECT_EQ(RangesOf({7, 0, 1, 2, 1}), "0-2,7");
}

TEST(Json, EscapesWhatATextMayHave) {
  JsonOut out;
  out.BeginMap().Text("a\"\\\n\x01", "</script>").Key("n").Real(0.5).Key("m").Real(2).EndMap();
  EXPECT_EQ(out.Take(), "{\"a\\\"\\\\\\n\\u0001\":\"</script>\",\"n\":0.5,\"m\":2}");
}

TEST_F(FleetTest, AnExpressionIsTriedOncePerShape) {
  Slice slice("s");
  slice.OnNode("n1");
  for (int i = 0; i < 40; ++i) {
    slice.With(testing::Device("d" + std::to_string(i)).Int("numa", i % 2));
  }
  slice.With(testing::Device("none"));
  Put<api::ResourceSlice>(slice);
  fleet.Settle();
  Playground playground("device.attributes[\"" + std::string(testing::kDriver) + "\"].numa == 0",
                        false);
  // Three shapes: three evaluations are enough.
  EXPECT_FALSE(playground.Step(fleet, 3));
  const std::string json = playground.Json(fleet);
  EXPECT_THAT(json, HasSubstr(R"("counts":{"match":20,"noMatch":20,"error":1})"));
  EXPECT_THAT(json, HasSubstr(R"("type":"bool")"));
  Playground broken("device.name = 0", false);
  EXPECT_FALSE(broken.Step(fleet, 1));
  EXPECT_THAT(broken.Json(fleet), HasSubstr("\"issues\":[{\"severity\":\"error\",\"line\":1"));
}

TEST_F(FleetTest, UsageAddsUp) {
  Put<api::ResourceSlice>(Slice("s")
                              .OnNode("n1")
                              .With(testing::Device("a"))
                              .With(testing::Device("b"))
                              .With(testing::Device("c"))
                              .With(testing::Device("d").Taint("broken")));
  Put<api::ResourceClaim>(AllocatedClaim("c").Exclusive("a"));
  Yaml(R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: all}
)");
  fleet.Settle();
  const UsageSample sample = Measure(fleet, base::Time::FromUnix(100));
  ASSERT_EQ(sample.classes.size(), 1U);
  EXPECT_EQ(sample.classes[0].devices, 4);
  EXPECT_EQ(sample.classes[0].used, 1);
  EXPECT_EQ(sample.classes[0].blocked, 1);
  History history(base::Time::FromUnix(0));
  for (int i = 0; i < 5000; ++i) {
    UsageSample at = sample;
    at.at = i * 10;
    history.Add(at);
  }
  EXPECT_LE(history.samples(), History::kMostFine + History::kMostCoarse);
  const auto json = history.Json("1h", base::Time::FromUnix(50'000));
  ASSERT_TRUE(json.has_value());
  EXPECT_THAT(*json, HasSubstr("\"utilisation\":[0.3333"));
  EXPECT_FALSE(history.Json("2h", base::Time()).has_value());
}

}  // namespace
}  // namespace dray::fleet
