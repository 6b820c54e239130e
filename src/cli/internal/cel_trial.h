// SPDX-License-Identifier: Apache-2.0
//
// An expression tried on the devices of slices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cel/compile.h"
#include "cel/device_trial.h"
#include "cel/program.h"
#include "cli/manifests.h"

namespace dray::cli::internal {

// What the expression gave on one device.
struct DeviceTrial {
  std::string driver;
  std::string pool;
  std::string device;
  std::optional<std::string> error;
  std::string hint;    // to the error; may be empty
  bool match = false;  // of a selector
  std::string value;   // of a derived attribute: its JSON form
  std::uint64_t cost = 0;

  std::string Name() const { return driver + "/" + pool + "/" + device; }
};

// On every device, in the order of files and slices.
std::vector<DeviceTrial> TryOnDevices(const cel::Program& program, cel::Purpose purpose,
                                      const Manifests& manifests);

}  // namespace dray::cli::internal
