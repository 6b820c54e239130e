// SPDX-License-Identifier: Apache-2.0
//
// A decoded device as an expression sees it. Beside device_env.h, which has the types, and
// device_results.h, this is the edge of the room that knows the API's devices.
// Spec: docs/spec/cel.md chapters 2 and 3.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "api/resource_slice.h"
#include "cel/arena.h"
#include "cel/device_results.h"
#include "cel/device_view.h"
#include "cel/value.h"

namespace dray::cel {

// Reads the device in place; versions and lists are made in the arena each time they are read.
// Thread-safe while const.
class ApiDeviceView final : public DeviceView {
 public:
  // All outlive the view. `reads` are the program's.
  ApiDeviceView(std::span<const DeviceRead> reads, std::string_view driver,
                const api::Device& device)
      : reads_(reads), driver_(driver), device_(device) {}

  Value Read(std::uint32_t read, Arena& arena) const override;
  std::string_view driver() const override { return driver_; }
  std::string_view name() const override;
  bool allow_multiple_allocations() const override;
  std::size_t Count(Part part) const override;
  Name NameAt(Part part, std::size_t i) const override;
  Value ValueAt(Part part, std::size_t i, Arena& arena) const override;
  Value Find(Part part, const Name& name, Arena& arena) const override;

 private:
  const std::span<const DeviceRead> reads_;
  const std::string_view driver_;
  const api::Device& device_;
};

// The value of the variable `device`, for evaluation with variables. One thread.
class DeviceValue {
 public:
  // All three outlive the evaluation.
  DeviceValue(std::string_view driver, const api::Device& device, Arena& arena)
      : view_({}, driver, device), value_(MakeDeviceObject(view_, arena)) {}
  DeviceValue(const DeviceValue&) = delete;
  DeviceValue& operator=(const DeviceValue&) = delete;

  Value value() const { return value_; }

 private:
  const ApiDeviceView view_;
  const Value value_;
};

}  // namespace dray::cel
