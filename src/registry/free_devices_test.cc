// SPDX-License-Identifier: Apache-2.0
#include "registry/internal/free_devices.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "testing/objects_from.h"

namespace dray::registry::internal {
namespace {

// One exclusive device, one that is shared by memory.
api::ResourceSlice Slice() {
  return *testing::ObjectsFrom(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: p, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: whole}
  - {name: shared, allowMultipleAllocations: true, capacity: {memory: {value: 8Gi}}}
)")
              .at(0)
              .As<api::ResourceSlice>();
}

api::ResourceClaim Claim(std::string_view device, std::string_view more = "") {
  return *testing::ObjectsFrom(fmt::format(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: c}}
status:
  allocation:
    devices:
      results: [{{request: r, driver: gpu.example.com, pool: p, device: {}{}}}]
)",
                                           device, more))
              .at(0)
              .As<api::ResourceClaim>();
}

std::int64_t FreeAfter(const std::vector<api::ResourceClaim>& claims) {
  HeldDevices held;
  for (const api::ResourceClaim& claim : claims) held.Add(claim);
  return held.FreeIn(Slice());
}

TEST(FreeDevices, AreThoseThatSomebodyCanStillGet) {
  const auto share = [](std::string_view consumed) {
    return Claim("shared", fmt::format(", shareID: x, consumedCapacity: {{{}}}", consumed));
  };
  EXPECT_EQ(FreeAfter({}), 2);
  EXPECT_EQ(FreeAfter({Claim("whole")}), 1);
  EXPECT_EQ(FreeAfter({Claim("whole", ", adminAccess: true")}), 2);
  // A shared device has room until one of its capacities is used up, by whichever name.
  EXPECT_EQ(FreeAfter({share("memory: 5Gi")}), 2);
  EXPECT_EQ(FreeAfter({share("memory: 5Gi"), share("gpu.example.com/memory: 3Gi")}), 1);
  EXPECT_EQ(FreeAfter({Claim("shared")}), 1);
}

}  // namespace
}  // namespace dray::registry::internal
