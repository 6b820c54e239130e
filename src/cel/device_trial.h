// SPDX-License-Identifier: Apache-2.0
//
// Expressions tried on published devices, and what there is to say about one: what `dray cel` and
// the console's playground show.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource_slice.h"
#include "cel/compile.h"
#include "cel/device_hints.h"
#include "cel/program.h"

namespace dray::cel {

// What an expression gave on one device.
struct DeviceTrial {
  std::optional<std::string> error;
  std::string hint;    // to the error; may be empty
  bool match = false;  // of a selector
  // Of a derived attribute.
  std::optional<api::DeviceAttribute> attribute;
  std::uint64_t cost = 0;
};
DeviceTrial TryOn(const Program& program, Purpose purpose, std::string_view driver,
                  const api::Device& device);

// "driver", "attribute gpu.example.com/model", ...
std::vector<std::string> ReadNames(const Reads& reads);

// An expression as the API server would take it, with all features on.
struct Review {
  struct Remark {
    bool error = true;  // else a warning
    Advice advice;
  };
  std::vector<Remark> remarks;
  std::string error;                       // it does not compile
  std::shared_ptr<const Program> program;  // null: it does not compile
  std::string type;
  std::uint64_t cost = 0;  // estimated, the most
  std::uint64_t limit = 0;
};
Review ReviewExpression(std::string_view expression, Purpose purpose);

}  // namespace dray::cel
