// SPDX-License-Identifier: Apache-2.0
//
// Devices that a machine has, as it says itself in /sys: described as a file of devices would, so
// that the same driver serves both.
//
// Spec: docs/spec/node.md 17.3; standard attributes of resource.kubernetes.io.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "driver/device_file.h"

namespace dray::driver {

// A device is taken if it has the attribute (with or without its domain) and the pattern fits its
// value; * stands for anything.
struct DeviceFilter {
  std::string attribute;
  std::string pattern;
  friend bool operator==(const DeviceFilter&, const DeviceFilter&) = default;
};
// attribute=pattern.
StatusOr<DeviceFilter> ParseFilter(std::string_view text);
bool Takes(const DeviceFilter& filter, const api::Device& device);

// The kinds of devices that can be looked for.
inline constexpr std::string_view kDiscoverable[] = {"pci", "net", "numa", "cpu", "hugepages"};

struct DiscoverOptions {
  std::string sys = "/sys";                         // a copy of it in tests
  std::string pci_ids = "/usr/share/misc/pci.ids";  // names of vendors and models, if it is there
  std::set<std::string> kinds;                      // of kDiscoverable
  std::vector<DeviceFilter> filters;                // all must take a device
  bool virtual_interfaces = false;                  // bridges, veths, lo
  // numaNode of PCI functions and interfaces as a list (KEP-5491): their own node first, then those of
  // its socket that are nearest. Else the own node alone, as a number.
  bool numa_lists = false;
};

// One pool with the name of the node. What cannot be read of a device is left out; InvalidArgument
// for a kind that there is not.
StatusOr<DeviceFile> Discover(const DiscoverOptions& options);

}  // namespace dray::driver
