// SPDX-License-Identifier: Apache-2.0
//
// From what a CRI server says to an agent's words. Pure.
#pragma once

#include <string>

#include "cdi/spec.h"
#include "container/runtime.h"
#include "rpc/cri_messages.h"

namespace dray::container::internal {

inline constexpr char kUidLabel[] = "io.kubernetes.pod.uid";
inline constexpr char kNameLabel[] = "io.kubernetes.container.name";

ContainerState StateOf(rpc::CriContainerState state);
SandboxInfo InfoOf(const rpc::CriSandbox& sandbox);
ContainerInfo InfoOf(const rpc::CriContainer& container, const std::string& sandbox_id);
ImageInfo InfoOf(const rpc::CriImage& image);

// Who makes control groups, as containerd tells in the JSON of its configuration; cgroupfs, its
// default, where nothing is told. Newer ones have a call for that (CriClient::Cgroups).
rpc::CgroupDriver DriverOf(const rpc::CriMap& info);
// A group as that driver names it: /a/b, or a-b.slice, where a '-' in a name is '_' because systemd
// reads it as a step down.
std::string CgroupNameFor(rpc::CgroupDriver driver, const std::string& group);

// What of the edits the OCI configuration in a verbose status lacks; empty: nothing, or the runtime
// does not show it.
std::string MissingIn(const rpc::CriMap& info, const cdi::ContainerEdits& edits);

}  // namespace dray::container::internal
