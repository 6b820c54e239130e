// SPDX-License-Identifier: Apache-2.0
//
// Whole texts, one for each shape that a conflict can have, and the JSON of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "allocator/explain.h"
#include "engine/engine.h"
#include "engine/small_world.h"
#include "testing/claim_builder.h"
#include "testing/slice_builder.h"

namespace dray::engine {
namespace {

using dray::testing::AllocatedClaim;
using dray::testing::Device;
using dray::testing::Slice;
using model::Instance;

allocator::Explanation ExplanationOf(const Instance& instance) {
  World world(instance);
  EXPECT_TRUE(world.status().ok()) << world.status().ToString();
  return Explain(*world.plan(), world.usage());
}

std::string TextOf(const Instance& instance) { return ToText(ExplanationOf(instance)); }

// The first line break is for the eye.
std::string Lines(std::string_view text) { return std::string(text.substr(1)); }

Instance EightGpus() {
  Slice slice = OnNode();
  for (int i = 0; i < 8; ++i) {
    Device device("gpu-" + std::to_string(i));
    if (i >= 6) device.Taint("maintenance");
    slice.With(device);
  }
  return WorldOf({slice, OnNode("nics").Driver("nic.example.com").With(Device("nic-0"))},
                 {Claim("train", {Ask("gpu", 3)})},
                 {AllocatedClaim("a").Exclusive("gpu-0").Exclusive("gpu-1"),
                  AllocatedClaim("b").Exclusive("gpu-2").Exclusive("gpu-3")});
}

Instance GpusAndNicsOnRoots() {
  return WorldOf({OnNode()
                      .With(Device("gpu-0").String("example.com/root", "pci0"))
                      .With(Device("gpu-1").String("example.com/root", "pci0"))
                      .With(Device("gpu-2").String("example.com/root", "pci1")),
                  OnNode("nics")
                      .Driver("nic.example.com")
                      .With(Device("nic-0").String("example.com/root", "pci1"))
                      .With(Device("nic-1").String("example.com/root", "pci2"))},
                 {Claim("train", {Ask("gpu", 2), Ask("nic").Class("nic"), Ask("more", 1)},
                        {{.requests = {"gpu", "nic"}, .match_attribute = "example.com/root"}})});
}

Instance Partitions(std::vector<std::string> first, std::vector<std::string> second,
                    std::vector<api::DeviceRequest> requests) {
  return WorldOf(
      {Slice("counters").OnNode("node-1").Of(2).Counters("card", {{"memory", "40Gi"}}),
       OnNode()
           .Of(2)
           .With(Device("p0").Int("k", 0).Consumes("card", {{"memory", "15Gi"}}, first))
           .With(Device("p1").Int("k", 1).Consumes("card", {{"memory", "15Gi"}}, second))
           .With(Device("p2").Int("k", 2).Consumes("card", {{"memory", "15Gi"}}, first))},
      {Claim("c", std::move(requests))});
}

TEST(ExplanationText, TooFewUsableDevices) {
  EXPECT_EQ(TextOf(EightGpus()), Lines(R"(
cannot allocate all claims: claim default/train: request gpu needs 3 devices, 2 of 8 usable (4 in use, 2 tainted maintenance:NoSchedule)
claim default/train
└─ request gpu (class gpu): needs 3, 2 of 8 devices usable
   ├─ 4 in use: gpu-0, gpu-1 by ns/a; gpu-2, gpu-3 by ns/b
   ├─ 2 tainted maintenance:NoSchedule: gpu-6, gpu-7
   └─ 1 not of the class: device.driver == 'gpu.example.com'
)"));
}

TEST(ExplanationText, AMatchThatNoValueCanServe) {
  EXPECT_EQ(TextOf(GpusAndNicsOnRoots()), Lines(R"(
cannot allocate all claims: claim default/train: requests gpu, nic with matchAttribute example.com/root cannot be met together
claim default/train
├─ request gpu (class gpu): needs 2, 3 of 3 devices usable
│  └─ 2 not of the class: device.driver == 'gpu.example.com'
├─ request nic (class nic): needs 1, 2 of 2 devices usable
│  └─ 3 not of the class: device.driver == 'nic.example.com'
├─ request more (class gpu): needs 1, 3 of 3 devices usable
└─ constraint matchAttribute example.com/root over gpu, nic: no value has enough of each
   ├─ pci0: 2 gpu, 0 nic
   ├─ pci1: 1 gpu, 1 nic
   └─ pci2: 0 gpu, 1 nic
)"));
}

TEST(ExplanationText, ADistinctnessWithTooFewValues) {
  EXPECT_EQ(TextOf(WorldOf({OnNode()
                                .With(Device("g0").Int("numa", 0))
                                .With(Device("g1").Int("numa", 0))
                                .With(Device("g2").Int("numa", 1))},
                           {Claim("c", {Ask("gpu", 3)}, {Distinct("gpu.example.com/numa")})})),
            Lines(R"(
cannot allocate all claims: claim default/c: request gpu needs 3 devices with distinctAttribute gpu.example.com/numa, at most 2 can be allocated
claim default/c
├─ request gpu (class gpu): needs 3, 3 of 3 devices usable
└─ constraint distinctAttribute gpu.example.com/numa over gpu: 2 values
   ├─ 0: 2 gpu
   └─ 1: 1 gpu
)"));
}

TEST(ExplanationText, ClaimsThatNeedTheSameDevices) {
  EXPECT_EQ(TextOf(WorldOf({OnNode().With(Device("g0")).With(Device("g1"))},
                           {Claim("a", {Ask("gpu")}), Claim("b", {Ask("gpu")}),
                            Claim("other", {Ask("nothing", 0)}), Claim("d", {Ask("gpu")})})),
            Lines(R"(
cannot allocate all claims: claim default/a: request gpu; claim default/b: request gpu; claim default/d: request gpu cannot be met together: they need 3 devices, there is room for 2
claim default/a
└─ request gpu (class gpu): needs 1, 2 of 2 devices usable
claim default/b
└─ request gpu (class gpu): needs 1, 2 of 2 devices usable
claim default/d
└─ request gpu (class gpu): needs 1, 2 of 2 devices usable
)"));
}

TEST(ExplanationText, PartitionsBeyondACounter) {
  EXPECT_EQ(TextOf(Partitions({}, {}, {Ask("gpu", 3)})), Lines(R"(
cannot allocate all claims: claim default/c: request gpu needs 3 devices, at most 2 of 3 usable ones fit together: counter memory of counter set card: at least 45Gi needed, 40Gi left
claim default/c
└─ request gpu (class gpu): needs 3, 3 of 3 devices usable
)"));
}

TEST(ExplanationText, PartitionsWhoseGroupsExcludeEachOther) {
  EXPECT_EQ(TextOf(Partitions({"mig"}, {"vgpu"},
                              {Ask("one").Where("device.attributes['gpu.example.com'].k == 0"),
                               Ask("two").Where("device.attributes['gpu.example.com'].k == 1")})),
            Lines(R"(
cannot allocate all claims: claim default/c: requests one, two cannot be met together: the compatibility groups of the devices exclude each other
claim default/c
├─ request one (class gpu): needs 1, 1 of 3 devices usable
│  ├─ 1 usable with compatibility groups mig
│  └─ 2 that do not match the selector device.attributes['gpu.example.com'].k == 0: p1, p2
└─ request two (class gpu): needs 1, 1 of 3 devices usable
   ├─ 1 usable with compatibility groups vgpu
   └─ 2 that do not match the selector device.attributes['gpu.example.com'].k == 1: p0, p2
)"));
}

TEST(ExplanationText, SharesBeyondADevice) {
  EXPECT_EQ(TextOf(WorldOf({OnNode().With(Device("g0").Shared().Capacity("memory", "80Gi"))},
                           {Claim("c", {Ask("a").Capacity("memory", "30Gi"),
                                        Ask("b").Capacity("memory", "30Gi"),
                                        Ask("c").Capacity("memory", "30Gi")})})),
            Lines(R"(
cannot allocate all claims: claim default/c: requests a, b, c cannot be met together: they need 3 devices, there is room for 2
claim default/c
├─ request a (class gpu): needs 1, 1 of 1 device usable
├─ request b (class gpu): needs 1, 1 of 1 device usable
└─ request c (class gpu): needs 1, 1 of 1 device usable
)"));
}

TEST(ExplanationText, APrioritizedListWithoutAnAlternative) {
  EXPECT_EQ(TextOf(WorldOf({OnNode().With(Device("g0"))},
                           {Claim("c", {Ask("gpu").Or("many", 3).Or("few", 2)})})),
            Lines(R"(
cannot allocate all claims: claim default/c: request gpu: none of gpu/many, gpu/few can be allocated
claim default/c
└─ request gpu: the first available of 2
   ├─ subrequest gpu/many (class gpu): needs 3, 1 of 1 device usable
   └─ subrequest gpu/few (class gpu): needs 2, 1 of 1 device usable
)"));
}

TEST(ExplanationText, AllOfWhichOneIsInUse) {
  EXPECT_EQ(
      TextOf(WorldOf({OnNode().With(Device("g0")).With(Device("g1"))},
                     {Claim("c", {Ask("gpu").All()})}, {AllocatedClaim("a").Exclusive("g1")})),
      Lines(R"(
cannot allocate all claims: claim default/c: request gpu needs all 2 devices that match, 1 of 2 usable (1 in use)
claim default/c
└─ request gpu (class gpu): needs all 2 that match, 1 of 2 devices usable
   └─ 1 in use: g1 by ns/a
)"));
}

TEST(ExplanationText, AllOfNothing) {
  EXPECT_EQ(
      TextOf(WorldOf({OnNode().With(Device("g0"))}, {Claim("c", {Ask("nic").Class("nic").All()})})),
      Lines(R"(
cannot allocate all claims: claim default/c: request nic asks for all matching devices, and none matches
claim default/c
└─ request nic (class nic): needs all that match, and none does
   └─ 1 not of the class: device.driver == 'nic.example.com'
)"));
}

TEST(ExplanationText, AnIncompletePoolBesideIt) {
  EXPECT_EQ(TextOf(WorldOf(
                {OnNode().With(Device("g0")), OnNode("half").Pool("half").Of(2).With(Device("g1"))},
                {Claim("c", {Ask("gpu", 2)})})),
            Lines(R"(
cannot allocate all claims: claim default/c: request gpu needs 2 devices, 1 of 1 usable
claim default/c
└─ request gpu (class gpu): needs 2, 1 of 1 device usable
pool gpu.example.com/half is incomplete: has 1 of 2 slices of generation 1
)"));
}

TEST(ExplanationText, AnInvalidPoolIsAFaultWithReasons) {
  EXPECT_EQ(TextOf(WorldOf({OnNode().With(Device("g0")),
                            OnNode("bad").Pool("bad").With(Device("g1")).With(Device("g1"))},
                           {Claim("c", {Ask("gpu", 2)})})),
            Lines(R"(
cannot allocate all claims: invalid resource pools were encountered: claim default/c: request gpu needs 2 devices, 1 of 1 usable
claim default/c
└─ request gpu (class gpu): needs 2, 1 of 1 device usable
pool gpu.example.com/bad is invalid: two devices are named "g1"
)"));
}

TEST(ExplanationText, AClassThatDoesNotExist) {
  EXPECT_EQ(TextOf(WorldOf({OnNode().With(Device("g0"))}, {Claim("c", {Ask("gpu").Class("tpu")})})),
            Lines(R"(
cannot allocate all claims: claim default/c: request gpu: device class tpu does not exist
claim default/c
└─ request gpu: device class tpu does not exist
)"));
}

TEST(ExplanationJson, HasStableNamesAndCodes) {
  allocator::Explanation explanation =
      ExplanationOf(WorldOf({OnNode()
                                 .With(Device("g0").Int("numa", 0))
                                 .With(Device("g1").Int("numa", 0))
                                 .With(Device("g2").Int("numa", 1))},
                            {Claim("c", {Ask("gpu", 2)}, {Match("gpu.example.com/numa")})},
                            {AllocatedClaim("a").Exclusive("g0")}));
  explanation.steps = 7;  // not what this is about
  EXPECT_EQ(ToJson(explanation),
            R"({"kind":"refused","node":"node-1",)"
            R"("summary":"claim default/c: request gpu needs 2 devices with matchAttribute )"
            R"(gpu.example.com/numa, at most 1 can be allocated","steps":7,)"
            R"("conflict":[{"claim":0,"constraint":false,"index":0},)"
            R"({"claim":0,"constraint":true,"index":0}],"conflictExact":true,)"
            R"("neededTogether":2,"roomTogether":2,"atMost":1,)"
            R"("claims":[{"name":"default/c","requests":[{"name":"gpu","inConflict":true,)"
            R"("alternatives":[{"name":"gpu","deviceClass":"gpu","needed":2,"considered":3,)"
            R"("ofClass":3,"usable":2,"drops":[{"reason":"in_use","devices":1,)"
            R"("examples":[{"driver":"gpu.example.com","pool":"pool","device":"g0"}],)"
            R"("holders":[{"claim":"ns/a","devices":1,)"
            R"("examples":[{"driver":"gpu.example.com","pool":"pool","device":"g0"}]}]}]}]}],)"
            R"("constraints":[{"distinct":false,"type":"matchAttribute",)"
            R"("attribute":"gpu.example.com/numa",)"
            R"("inConflict":true,"covers":["gpu"],"values":[)"
            R"({"value":"0","type":"int","devices":[1]},{"value":"1","type":"int","devices":[1]}],)"
            R"("valuesInAll":2}]}]})");
}

}  // namespace
}  // namespace dray::engine
