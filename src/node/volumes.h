// SPDX-License-Identifier: Apache-2.0
//
// The volumes of a pod on this machine: emptyDir, hostPath, and what the cluster keeps (configMap,
// secret, downwardAPI, projected). Others are refused by name.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "api/pod.h"
#include "base/status.h"
#include "base/time.h"
#include "node/container_config.h"
#include "node/sources.h"

namespace dray::node {

// <root>/pods/<uid>
std::string PodFolder(const std::string& root, const std::string& uid);

struct VolumeWork {
  api::Pod pod;
  std::string root;
  PodFacts facts;  // of which the volumes are not known yet
  base::Time now;
  // Of tokens that were made earlier: when each is to be replaced, by volume and path.
  std::map<std::string, base::Time> tokens = {};
};

struct VolumesMade {
  std::map<std::string, VolumePlace> places;  // by volume
  bool changes = false;                       // what is in them may be different later
  std::map<std::string, base::Time> tokens;   // as above
  std::string exceeded;                       // not empty: one is larger than it may be, and which
};

// Makes what is missing, and renews what is old; asked again, nothing else changes. Waits for disk and
// server.
StatusOr<VolumesMade> MakeVolumes(const VolumeWork& work, Sources& sources);

// A mount of something below a volume: it is opened without leaving the volume, made if it is missing,
// and held where nobody else can change it. Where that is; touches the disk.
StatusOr<std::string> PlaceSubPath(const std::string& pod_folder, const std::string& volume_name,
                                   const std::string& volume, const std::string& sub_path,
                                   const std::string& container, std::size_t index);

// Everything that was mounted and made for the pod. What runs there has ended.
Status RemovePodFolder(const std::string& root, const std::string& uid);

}  // namespace dray::node
