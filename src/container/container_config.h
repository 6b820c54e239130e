// SPDX-License-Identifier: Apache-2.0
//
// From what a pod wants to what runc runs: the config.json of a container. Pure.
//
// Spec: docs/spec/node.md, chapter 16; the runtime specification of OCI.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "cdi/oci_config.h"
#include "container/runtime.h"
#include "image/documents.h"

namespace dray::container {

// What the machine and the sandbox add.
struct ContainerPlace {
  std::int64_t pause_pid = 0;   // whose namespaces are joined
  std::int64_t target_pid = 0;  // of ContainerConfig::pid_target
  std::string rootfs;           // the folder, mounted
  std::string cgroups_path;
  // Capabilities that this process can give away (CAP_...): what is not among them is left out, as
  // runc could not give it.
  std::vector<std::string> capabilities;
  // Of the image, to find its user by name; may be empty.
  std::string passwd;
  std::string group;
  std::string seccomp;  // JSON, of a profile that is a file
};

// The command, as Kubernetes puts it together: command replaces the image's entrypoint and its
// arguments, args the arguments alone.
StatusOr<std::vector<std::string>> CommandOf(const ContainerConfig& config,
                                             const image::ImageConfig& image);

// Without CDI's edits, which are made to the result.
StatusOr<cdi::oci::Config> BuildConfig(const SandboxConfig& sandbox, const ContainerConfig& config,
                                       const image::ImageConfig& image,
                                       const ContainerPlace& place);

// All that Linux has, in its order: bit 0 is CAP_CHOWN.
const std::vector<std::string>& AllCapabilities();
// Those of a mask, as /proc/self/status shows it.
std::vector<std::string> CapabilitiesIn(std::uint64_t mask);

}  // namespace dray::container
