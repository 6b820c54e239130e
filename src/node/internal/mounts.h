// SPDX-License-Identifier: Apache-2.0
//
// Mounts that the agent makes for pods: file systems in memory, and what is below a volume, held in
// place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "files/files.h"

namespace dray::node {

// Only root mounts. Whoever is not runs no containers, either, and does without.
bool CanMount();

// A file system in memory on a folder that exists; one that is there stays.
Status MountMemory(const std::string& folder, std::optional<std::int64_t> bytes);

// What is at `path` below the folder, with folders made that are missing. Links are followed as long
// as they stay below: one that leads out is refused, by the kernel, so that nobody who changes links
// meanwhile can do anything about it.
StatusOr<files::Fd> OpenBelow(const std::string& folder, const std::string& path);

// Has what is opened at `place`, too, from now on and whatever becomes of its path.
Status Hold(const files::Fd& opened, const std::string& place);

// Everything that is mounted below the folder. OK: nothing is, any more.
Status UnmountBelow(const std::string& folder);

}  // namespace dray::node
