// SPDX-License-Identifier: Apache-2.0
//
// From a volume of a pod's spec to the files in it: what config maps, secrets, tokens and the pod
// itself say.
#pragma once

#include <map>
#include <string>

#include "api/pod.h"
#include "base/status.h"
#include "base/time.h"
#include "node/container_config.h"
#include "node/internal/atomic_folder.h"
#include "node/sources.h"
#include "node/volumes.h"

namespace dray::node {

struct VolumeFiles {
  FilesToWrite files;
  bool secret = false;   // not to be on a disk
  bool changes = false;  // may be different later
};

// Whether the volume is of this kind.
bool HasFiles(const api::Volume& volume);

// `made` has the tokens; they are kept as they are in `current` (the folder as it is now) until their
// time has come. An error: something that it needs is not there, and which.
StatusOr<VolumeFiles> FilesOf(const VolumeWork& work, const api::Volume& volume, Sources& sources,
                              const std::string& current, VolumesMade& made);

}  // namespace dray::node
