// SPDX-License-Identifier: Apache-2.0
//
// Cross-checks of amounts, allocations and extended resources, one test each; the others are in
// cross_check_test.cc.
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "api/cross_check.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/objects_from.h"

namespace dray::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Found(const std::vector<Object>& objects) {
  std::vector<std::string> lines;
  for (const CrossFinding& f : CrossCheck(objects)) {
    lines.push_back(fmt::format("{} {} {} {}", f.severity == Severity::kError ? "error" : "warning",
                                f.reason, f.object, f.path.ToString()));
  }
  return lines;
}
std::vector<std::string> Found(std::string_view yaml) { return Found(testing::ObjectsFrom(yaml)); }

CrossFinding Only(std::string_view yaml) {
  const std::vector<CrossFinding> findings = CrossCheck(testing::ObjectsFrom(yaml));
  EXPECT_EQ(findings.size(), 1u);
  return findings.empty() ? CrossFinding{} : findings.front();
}

// Object 0.
std::string Slice(std::string_view devices, std::string_view more = "") {
  return fmt::format(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {{name: slice}}
spec:
  driver: nic.example.com
  nodeName: n1
  pool: {{name: p, generation: 1, resourceSliceCount: {}}}
  devices: {}
---
{})",
                     more.empty() ? 1 : 2, devices, more);
}
constexpr std::string_view kNic =
    "[{name: eth1, allowMultipleAllocations: true, capacity: {bandwidth: {value: 10Gi}}}]";

std::string Claim(std::string_view name, std::string_view requests, std::string_view results = "") {
  return fmt::format(
      R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {}}}
spec: {{devices: {{requests: [{{name: r, exactly: {{deviceClassName: nic{}}}}}]}}}}
{}---
)",
      name, requests,
      results.empty()
          ? ""
          : fmt::format("status: {{allocation: {{devices: {{results: [{}]}}}}}}\n", results));
}
std::string Asking(std::string_view amounts) {
  return fmt::format(", capacity: {{requests: {{{}}}}}", amounts);
}
// A result for request r; `more` are further fields.
std::string Result(std::string_view more = "", std::string_view device = "eth1") {
  return fmt::format("{{request: r, driver: nic.example.com, pool: p, device: {}{}}}", device,
                     more);
}
std::string Share(int id, std::string_view consumed) {
  return Result(fmt::format(
      ", shareID: a671734a-e8e5-11e4-8fde-42010af0932{}, consumedCapacity: {{{}}}", id, consumed));
}

TEST(CrossCheck, ACapacityThatNoGivenDeviceHasIsAWarning) {
  EXPECT_THAT(Found(Claim("c", Asking("bandwith: 1Gi"))), IsEmpty());
  const CrossFinding finding = Only(Slice(kNic) + Claim("c", Asking("bandwith: 1Gi")));
  EXPECT_EQ(finding.reason, "UnknownCapacity");
  EXPECT_EQ(finding.path.ToString(),
            "spec.devices.requests[0].exactly.capacity.requests[bandwith]");
  EXPECT_EQ(finding.message, "no device in the input has the capacity \"bandwith\"");
  EXPECT_EQ(finding.hint, "did you mean \"bandwidth\"?");
}

TEST(CrossCheck, ACapacityHasTwoNames) {
  EXPECT_THAT(Found(Slice(kNic) + Claim("c", Asking("nic.example.com/bandwidth: 1Gi"))), IsEmpty());
  const std::string qualified = Slice(
      "[{name: eth1, capacity: {nic.example.com/bandwidth: {value: "
      "10Gi}}}]");
  EXPECT_THAT(Found(qualified + Claim("c", Asking("bandwidth: 1Gi"))), IsEmpty());
  EXPECT_THAT(Found(qualified + Claim("c", Asking("gpu.example.com/bandwidth: 1Gi"))),
              ElementsAre("warning UnknownCapacity 1 spec.devices.requests[0].exactly.capacity."
                          "requests[gpu.example.com/bandwidth]"));
  EXPECT_EQ(Only(qualified + Claim("c", Asking("bandwidth: 2Gi, nic.example.com/bandwidth: 1Gi")))
                .message,
            "of devices of nic.example.com, \"bandwidth\" and \"nic.example.com/bandwidth\" are "
            "one capacity");
}

// KEP-5075's own example asks for 5Gi and says that 1Mi were consumed.
TEST(CrossCheck, LessConsumedThanAskedForIsAWarning) {
  const std::string asking = Asking("bandwidth: 5Gi");
  EXPECT_THAT(Found(Claim("c", asking, Share(1, "bandwidth: 5Gi"))), IsEmpty());
  EXPECT_THAT(Found(Claim("c", asking, Share(1, "nic.example.com/bandwidth: 6Gi"))), IsEmpty());
  const CrossFinding less = Only(Claim("c", asking, Share(1, "bandwidth: 1Mi")));
  EXPECT_EQ(less.reason, "LessThanAsked");
  EXPECT_EQ(less.path.ToString(),
            "status.allocation.devices.results[0].consumedCapacity[bandwidth]");
  EXPECT_EQ(less.message, "1Mi is less than the 5Gi that request \"r\" asks for");
  EXPECT_THAT(Only(Claim("c", asking, Share(1, "memory: 1Mi"))).message,
              HasSubstr("has nothing of capacity \"bandwidth\""));
  // A device that is not shared is consumed as a whole.
  EXPECT_THAT(Found(Claim("c", asking, Result())), IsEmpty());
}

TEST(CrossCheck, ADeviceThatTwoClaimsHaveIsAnError) {
  const std::string twice = Claim("a", "", Result()) + Claim("b", "", Result());
  EXPECT_THAT(Found(twice), ElementsAre("error DeviceGivenTwice 1 "
                                        "status.allocation.devices.results[0].device"));
  EXPECT_EQ(Only(twice).message,
            "device \"nic.example.com/p/eth1\" is allocated as a whole to ResourceClaim "
            "\"default/a\"");
  EXPECT_EQ(Only(twice).related, 0u);
  EXPECT_THAT(Found(Claim("a", "", Result()) + Claim("b", "", Share(1, ""))),
              ElementsAre("error DeviceGivenTwice 1 status.allocation.devices.results[0].device"));
  EXPECT_THAT(Found(Claim("a", "", Result() + ", " + Result())),
              ElementsAre("error DeviceGivenTwice 0 status.allocation.devices.results[1].device"));
  // Who has admin access takes nothing.
  EXPECT_THAT(Found(Claim("a", "", Result()) + Claim("b", "", Result(", adminAccess: true"))),
              IsEmpty());
  EXPECT_THAT(Found(Claim("a", "", Result()) + Claim("b", "", Result("", "eth2"))), IsEmpty());
}

TEST(CrossCheck, TwoSharesOfOneIdAreAnError) {
  EXPECT_THAT(Found(Claim("a", "", Share(1, "")) + Claim("b", "", Share(2, ""))), IsEmpty());
  EXPECT_THAT(Found(Claim("a", "", Share(1, "")) + Claim("b", "", Share(1, ""))),
              ElementsAre("error RepeatedShare 1 status.allocation.devices.results[0].shareID"));
}

TEST(CrossCheck, MoreAllocatedThanADeviceHasIsAnError) {
  const auto claims = [](std::string_view name) {
    return Claim("a", "", Share(1, "bandwidth: 8Gi")) +
           Claim("b", "", Share(2, fmt::format("{}: 5Gi", name)));
  };
  EXPECT_THAT(Found(claims("bandwidth")), IsEmpty());  // nobody knows what the device has
  for (const std::string_view name : {"bandwidth", "nic.example.com/bandwidth"}) {
    const CrossFinding finding = Only(Slice(kNic) + claims(name));
    EXPECT_EQ(finding.object, 2u);
    EXPECT_EQ(finding.reason, "CapacityOvercommitted");
    EXPECT_EQ(finding.message,
              "with this, 13Gi of capacity \"bandwidth\" of device \"nic.example.com/p/eth1\" are "
              "allocated, which has 10Gi");
  }
  EXPECT_THAT(Found(Slice(kNic) + Claim("a", "", Share(1, "bandwidth: 8Gi")) +
                    Claim("b", "", Share(2, "bandwidth: 2Gi"))),
              IsEmpty());
}

TEST(CrossCheck, MoreCountersAllocatedThanThereAreIsAnError) {
  constexpr std::string_view kCounters = R"(
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: counters}
spec:
  driver: nic.example.com
  nodeName: n1
  pool: {name: p, generation: 1, resourceSliceCount: 2}
  sharedCounters: [{name: card, counters: {memory: {value: "4"}}}]
---
)";
  const std::string slices = Slice(R"(
  - {name: a, consumesCounters: [{counterSet: card, counters: {memory: {value: "3"}}}]}
  - {name: b, consumesCounters: [{counterSet: card, counters: {memory: {value: "2"}}}]}
)",
                                   kCounters);
  EXPECT_THAT(Found(slices + Claim("x", "", Result("", "a"))), IsEmpty());
  const CrossFinding finding =
      Only(slices + Claim("x", "", Result("", "a")) + Claim("z", "", Result("", "b")));
  EXPECT_EQ(finding.reason, "CountersOvercommitted");
  EXPECT_EQ(finding.object, 3u);
  EXPECT_THAT(finding.message, HasSubstr("1 more of counter \"memory\" of set \"card\""));
}

std::string PodWith(std::string_view resources) {
  return fmt::format(R"(
apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec: {{containers: [{{name: c, image: i, resources: {}}}]}}
---
)",
                     resources);
}
constexpr std::string_view kGpuClass = R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {extendedResourceName: example.com/gpu}
---
)";
std::string NodeWith(std::string_view resource) {
  return fmt::format(R"(
apiVersion: v1
kind: Node
metadata: {{name: n1}}
status: {{allocatable: {{cpu: "8", {}: "2"}}}}
---
)",
                     resource);
}

TEST(CrossCheck, AnExtendedResourceThatNobodyHasIsAWarning) {
  const std::string pod = PodWith("{limits: {example.com/gpus: 1}}");
  const std::string other = PodWith("{limits: {vendor.example/npu: 1}}");
  EXPECT_THAT(Found(pod), IsEmpty());
  const CrossFinding finding = Only(std::string(kGpuClass) + pod);
  EXPECT_EQ(finding.reason, "UnknownExtendedResource");
  EXPECT_EQ(finding.path.ToString(), "spec.containers[0].resources.limits[example.com/gpus]");
  EXPECT_EQ(finding.hint, "did you mean \"example.com/gpu\"?");
  // It may come by a device plugin of a node that is not given.
  EXPECT_THAT(Found(std::string(kGpuClass) + other), IsEmpty());
  EXPECT_THAT(Found(std::string(kGpuClass) + NodeWith("example.com/fpga") + other),
              ElementsAre("warning UnknownExtendedResource 2 "
                          "spec.containers[0].resources.limits[vendor.example/npu]"));
  EXPECT_THAT(Found(std::string(kGpuClass) + NodeWith("vendor.example/npu") + other), IsEmpty());
}

// A dump of a whole cluster is an ordinary input: four times the objects take about four times as
// long, also when nearly everything is wrong.
TEST(CrossCheck, TakesTimeInProportionToTheObjects) {
  const auto dump = [](int size) {
    std::vector<Object> objects = testing::ObjectsFrom(Slice(kNic) + std::string(kGpuClass));
    const std::vector<Object> each =
        testing::ObjectsFrom(Claim("c", Asking("bandwith: 1Gi"), Share(1, "bandwidth: 8Gi")) +
                             PodWith("{limits: {example.com/gpus: 1}}") + R"(
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: t}
spec: {deviceSelector: {driver: nic.example.com, pool: p, device: none}, taint: {key: a.b/c, effect: NoSchedule}}
---
apiVersion: v1
kind: Pod
metadata: {name: q}
spec: {containers: [{name: c, image: i}], resourceClaims: [{name: r, resourceClaimName: missing}]}
)");
    for (int i = 0; i < size; ++i) {
      for (Object object : each) {
        object.MutableMetadata().name += fmt::format("-{}", i);
        objects.push_back(std::move(object));
      }
    }
    return objects;
  };
  const auto best_of = [](const std::vector<Object>& objects) {
    auto best = std::chrono::nanoseconds::max();
    for (int i = 0; i < 3; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_FALSE(CrossCheck(objects).empty());
      best = std::min<std::chrono::nanoseconds>(best, std::chrono::steady_clock::now() - begin);
    }
    return best;
  };
  const auto small = best_of(dump(500));
  const auto large = best_of(dump(4000));
  EXPECT_LT(large.count(), 8 * 4 * small.count());
}

}  // namespace
}  // namespace dray::api
