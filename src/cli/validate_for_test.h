// SPDX-License-Identifier: Apache-2.0
//
// `dray validate` of a text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/cli_test_support.h"

namespace dray::cli {

inline constexpr std::string_view kGoodClass = R"(apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: gpu.example.com
spec: {}
)";

inline constexpr std::string_view kBadClaim = R"(apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: foo
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        count: -1
)";

inline constexpr std::string_view kUnknownField = R"(apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: gpu.example.com
spec:
  selector: []
)";

inline Outcome ValidateText(std::string_view text, std::vector<std::string> flags = {}) {
  std::vector<std::string> args = {"validate", "-f", "-"};
  args.insert(args.end(), flags.begin(), flags.end());
  return RunLine(args, {.in = std::string(text)});
}

}  // namespace dray::cli
