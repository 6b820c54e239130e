// SPDX-License-Identifier: Apache-2.0
//
// Network interfaces: /sys/class/net. Their bandwidth can be shared out (KEP-5075).
#include <algorithm>

#include "driver/internal/sysfs.h"
#include "fmt/format.h"

namespace dray::driver::internal {
namespace {

constexpr std::int64_t kMegabit = 1'000'000;

// Bits per second, in steps of a megabit; who asks for nothing gets a hundredth.
void ShareBandwidth(api::Device& device, std::int64_t megabits) {
  SetCapacity(device, "bandwidth", megabits * kMegabit, false);
  device.allow_multiple_allocations = true;
  api::CapacityRequestPolicy& policy = device.capacity["bandwidth"].request_policy.emplace();
  policy.default_value =
      base::Quantity::FromInt(std::max<std::int64_t>(1, megabits / 100) * kMegabit);
  api::CapacityRequestPolicyRange& range = policy.valid_range.emplace();
  range.min = base::Quantity::FromInt(kMegabit);
  range.step = base::Quantity::FromInt(kMegabit);
}

}  // namespace

void DiscoverNet(const DiscoverOptions& options, std::vector<DescribedDevice>& devices) {
  const std::string folder = options.sys + "/class/net";
  for (const std::string& name : List(folder)) {
    const std::string path = fmt::format("{}/{}", folder, name);
    const auto hardware = Resolved(path + "/device");
    if (!hardware && !options.virtual_interfaces) continue;
    if (!ReadLine(path + "/address")) continue;  // a file such as bonding_masters
    DescribedDevice& entry = devices.emplace_back();
    api::Device& device = entry.device;
    device.name = LabelOf("net-" + name);
    SetString(device, "interface", name);
    SetString(device, "mac", *ReadLine(path + "/address"));
    SetString(device, "state", ReadLine(path + "/operstate").value_or(""));
    device.attributes["virtual"].bool_value = !hardware.has_value();
    if (const auto mtu = ReadNumber(path + "/mtu")) SetInt(device, "mtu", *mtu);
    if (hardware) {
      SetString(device, "driver", LinkName(path + "/device/driver").value_or(""));
      if (const auto node = ReadNumber(path + "/device/numa_node"); node && *node >= 0) {
        SetNumaNode(device, options, *node);
      }
    }
    entry.cdi.emplace();
    entry.cdi->env.push_back(fmt::format("NET_INTERFACE_{}={}", VariableOf(name), name));
    // Interfaces that do not know how fast they are (-1, or an error) belong to one claim at a time.
    if (const auto speed = ReadNumber(path + "/speed"); speed && *speed > 0) {
      SetInt(device, "speedMbps", *speed);
      ShareBandwidth(device, *speed);
      entry.cdi->env.push_back(
          fmt::format("NET_BANDWIDTH_{}=${{capacity.bandwidth}}", VariableOf(name)));
    }
  }
}

}  // namespace dray::driver::internal
