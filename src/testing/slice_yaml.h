// SPDX-License-Identifier: Apache-2.0
//
// A slice as it stands in manifests, for tests that begin with text.
#pragma once

#include <string>
#include <string_view>

#include "fmt/format.h"

namespace dray::testing {

struct SliceYamlOptions {
  std::string_view name = "s";
  int slices = 1;  // of the pool
};

// Of gpu.example.com on node n1, whose pool has the node's name. `lines` end its spec: devices,
// shared counters.
inline std::string SliceYaml(std::string_view lines, const SliceYamlOptions& options = {}) {
  return fmt::format(R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {{name: {}}}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {{name: n1, generation: 1, resourceSliceCount: {}}}
{})",
                     options.name, options.slices, lines);
}

}  // namespace dray::testing
