// SPDX-License-Identifier: Apache-2.0
//
// What a pod finds in /etc/hosts, /etc/resolv.conf and /etc/hostname. Pure, but for WritePodFiles.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/pod.h"
#include "base/status.h"
#include "container/runtime.h"

namespace dray::node {

// Of names below it others may ask the cluster's DNS, if it has one.
inline constexpr std::string_view kClusterDomain = "cluster.local";

// As the pod calls itself: hostnameOverride, hostname or its name; with setHostnameAsFQDN all of it. An
// error: it is longer than a host's name may be.
StatusOr<std::string> HostnameOf(const api::Pod& pod);

// `host`: the machine's own, which pods on its network share.
std::string HostsText(const api::Pod& pod, const std::vector<std::string>& ips,
                      std::string_view host);
// `host`: the machine's own. InvalidArgument: dnsConfig cannot be understood.
StatusOr<std::string> ResolvText(const api::Pod& pod, std::string_view host);

// Those three as mounts of a container, unless it has something of its own there.
void AddPodFiles(const std::string& pod_folder, std::vector<container::Mount>& mounts);
// Touches the disk.
Status WritePodFiles(const api::Pod& pod, const std::vector<std::string>& ips,
                     const std::string& pod_folder);

}  // namespace dray::node
