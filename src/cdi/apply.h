// SPDX-License-Identifier: Apache-2.0
//
// CDI's edits, made to the configuration of a container.
//
// Spec: docs/spec/node.md, chapter 14.2. Pure: what a device file of the host is, is asked.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "cdi/oci_config.h"
#include "cdi/spec.h"

namespace dray::cdi {

struct HostDevice {
  std::string type;  // b, c, p
  std::int64_t major = 0;
  std::int64_t minor = 0;
};
// What is at that path of the host; an error if it is neither a device nor a fifo.
using LookUpDevice = std::function<StatusOr<HostDevice>(const std::string& path)>;
// lstat of the machine.
StatusOr<HostDevice> DeviceOfHost(const std::string& path);

// Makes all edits, or none and says why: a device that is not there, or of another type.
Status Apply(const ContainerEdits& edits, const LookUpDevice& look_up, oci::Config& config);

}  // namespace dray::cdi
