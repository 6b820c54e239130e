// SPDX-License-Identifier: Apache-2.0
//
// Properties: reading a file of devices never crashes; one that is good reads back from what is
// printed of it, its pools can be published, and placeholders are filled in.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "driver/device_file.h"
#include "driver/placeholders.h"
#include "driver/slice_plan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dray::driver;  // NOLINT: a fuzz target is about one room
  const auto file = ReadDeviceFile({reinterpret_cast<const char*>(data), size});
  if (!file.ok()) return 0;
  const auto again = ReadDeviceFile(ToYaml(*file));
  DRAY_CHECK(again.ok());
  DRAY_CHECK(*again == *file);
  ClaimView claim;
  claim.name = {.namespace_ = "ns", .uid = "uid", .name = "${claim.uid}"};
  claim.devices.push_back({.request = "r", .base_request = "r", .pool = "p", .device = "d"});
  const Publisher publisher{.driver = "d.example.com"};
  for (const auto& [name, pool] : PoolsOf(*file, "node")) {
    DRAY_CHECK(CheckPool(name, pool, false).ok());
    DRAY_CHECK(!PlanPool(publisher, name, &pool, {}).creates.empty());
  }
  for (const DescribedPool& pool : file->pools) {
    for (const DescribedDevice& device : pool.devices) {
      if (!device.cdi) continue;
      // What is filled in is not looked at again.
      const auto filled = Fill(*device.cdi, claim, claim.devices[0]);
      DRAY_CHECK(filled.env.size() == device.cdi->env.size());
    }
  }
  return 0;
}
