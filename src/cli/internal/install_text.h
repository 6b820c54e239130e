// SPDX-License-Identifier: Apache-2.0
//
// The manifests of a scheduler in a cluster: the files of deploy/, with other names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dray::cli::internal {

// The files of deploy/base in the order of its kustomization, and those of deploy/monitoring that
// come on top, as they were when this was built.
std::string_view BaseManifests();
std::string_view MonitoringManifests();

struct InstallOptions {
  std::string namespace_ = "dray-system";
  std::string name = "dray-scheduler";  // of the objects, and of the lease
  std::string scheduler_name;           // which pods it is for; empty: as `name`
  std::string image = "dray:latest";
  int replicas = 2;
  std::vector<std::string> drivers;  // whose devices it gives away; none: all
  bool service_monitor = false;
};
// YAML. The values are names, as whoever asks for it has seen to.
std::string InstallText(const InstallOptions& options);

}  // namespace dray::cli::internal
