// SPDX-License-Identifier: Apache-2.0
//
// CriRuntime: containers of a CRI server: containerd, CRI-O.
//
// Spec: docs/spec/node.md, chapter 15. Who applies CDI is a question of the runtime's age: containerd
// 2 and CRI-O get names, older ones get what the names stand for, as far as CRI has a place for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "cdi/registry.h"
#include "cdi/spec.h"
#include "container/runtime.h"
#include "rpc/cri_client.h"

namespace dray::container {

enum class CdiMode : std::uint8_t {
  kAuto,     // as the version of the runtime says
  kRuntime,  // names go to the runtime
  kInline,   // edits are made here
};

// Whether a runtime of that name and version applies CDI by itself: containerd from 2.0, CRI-O from
// 1.28.
bool AppliesCdi(std::string_view runtime, std::string_view version);

// Puts the edits into the request of a runtime that knows nothing of CDI. What CRI has no place for
// (hooks, network devices, resctrl, a node that is not what the host has) is an error: better no
// container than one without its device.
Status InlineEdits(const cdi::ContainerEdits& edits, rpc::CriContainerConfig& config);

rpc::CriSandboxConfig ToCri(const SandboxConfig& config);
rpc::CriContainerConfig ToCri(const SandboxConfig& sandbox, const ContainerConfig& config);

struct CriRuntimeOptions {
  CdiMode cdi = CdiMode::kAuto;
  std::vector<std::string> cdi_folders;
  // Logs are written by the runtime and put aside from here, as it never does that itself.
  std::int64_t log_max_bytes = 10 << 20;
  std::int64_t log_max_files = 5;
  std::chrono::nanoseconds log_interval = std::chrono::seconds(10);
};

// Thread-safe. With kAuto or kRuntime the first container with CDI devices is looked at after its
// start: a runtime that dropped them in silence is told as an error of Start, and that container is
// stopped. The clock outlives it.
std::unique_ptr<Runtime> MakeCriRuntime(std::unique_ptr<rpc::CriClient> client,
                                        CriRuntimeOptions options, const base::Clock& clock);

}  // namespace dray::container
