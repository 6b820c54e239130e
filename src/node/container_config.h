// SPDX-License-Identifier: Apache-2.0
//
// From a pod's spec to what a runtime is told: environment, mounts, limits, security. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/map.h"
#include "api/pod.h"
#include "base/quantity.h"
#include "base/status.h"
#include "container/runtime.h"
#include "node/sources.h"

namespace dray::node {

// Where a volume is on this machine.
struct VolumePlace {
  std::string path;
  bool read_only = false;  // whatever a mount says
  friend bool operator==(const VolumePlace&, const VolumePlace&) = default;
};

// What is known of a pod only when it runs.
struct PodFacts {
  std::vector<std::string> pod_ips;
  std::vector<std::string> host_ips;
  api::Map<base::Quantity> allocatable;        // the node's: a limit that is not set
  std::map<std::string, VolumePlace> volumes;  // by name
  // What was fetched for its environment, by name; nothing: there is none.
  std::map<std::string, std::optional<Kept>> config_maps;
  std::map<std::string, std::optional<Kept>> secrets;
  std::string seccomp_folder;  // where profiles of this machine are
  bool runtime_checks_user = false;
};

// Which config maps and secrets the environment of a container names, each once.
struct KeptNames {
  std::vector<std::string> config_maps;
  std::vector<std::string> secrets;
  bool empty() const { return config_maps.empty() && secrets.empty(); }
};
KeptNames NamedIn(const api::Container& container);

// What the pod says of itself: of a field, and of what a container asks for. Without a container of
// one's own (null) the selector names it.
StatusOr<std::string> DownwardField(const api::Pod& pod, std::string_view path,
                                    const PodFacts& facts);
StatusOr<std::string> DownwardResource(const api::Pod& pod, const api::Container* container,
                                       const api::ResourceFieldSelector& selector,
                                       const PodFacts& facts);

// What Linux takes of one argument or variable, and of all of them together. Variables that are made of others
// could be as long as all memory.
inline constexpr std::size_t kLongestArgument = 128u << 10;
inline constexpr std::size_t kLongestEnvironment = 2u << 20;

// $(NAME) replaced by the variable's value; $$(NAME) is $(NAME), and one that is not known stays. OutOfRange: it is
// longer than an argument can be.
StatusOr<std::string> Expand(std::string_view text,
                             const std::vector<std::pair<std::string, std::string>>& variables);

// In order, each name once. An error: something that it refers to cannot be had.
StatusOr<std::vector<std::pair<std::string, std::string>>> EnvironmentOf(
    const api::Pod& pod, const api::Container& container, const PodFacts& facts);

// Everything but the image, CDI devices, attempt and log path. A mount of something below a volume has
// the path that was asked for: whoever mounts it resolves it (volumes.h).
StatusOr<container::ContainerConfig> ConfigOf(const api::Pod& pod, const api::Container& container,
                                              const PodFacts& facts);

// All but the attempt; logs go to a folder of the pod's own below `log_root`.
StatusOr<container::SandboxConfig> SandboxConfigOf(const api::Pod& pod, const std::string& log_root,
                                                   const std::string& cgroup_parent);

container::PodIdentity IdentityOf(const api::Pod& pod);
// Of a container, or of a pod as a whole.
container::Limits LimitsOf(const api::ResourceRequirements& resources);

}  // namespace dray::node
