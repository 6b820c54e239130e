// SPDX-License-Identifier: Apache-2.0
//
// What must be true of everything that a server has, from its objects and the model alone.
#pragma once

#include <string>
#include <vector>

#include "api/device_class.h"
#include "api/job.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_quota.h"
#include "api/resource_slice.h"
#include "api/workloads.h"
#include "process/requests.h"

namespace dray::crash {

struct World {
  std::vector<api::Node> nodes;
  std::vector<api::ResourceSlice> slices;
  std::vector<api::DeviceClass> classes;
  std::vector<api::ResourceClaim> claims;
  std::vector<api::Pod> pods;
  std::vector<api::Deployment> deployments;
  std::vector<api::Job> jobs;
  std::vector<api::ResourceQuota> quotas;
};

// Nothing if there was no answer. Each kind is of one moment, not all together.
std::optional<World> ReadWorld(process::Requests& requests);

// At any time: no device, share, capacity or counter is given twice, and each allocation is right.
std::vector<std::string> CheckDevices(const World& world);

// When nobody asks for anything any more: what is not yet as it has to be in the end. Every pod
// runs or is over, workloads have what they want, claims are held by who uses them, quotas say
// what is used.
std::vector<std::string> Unsettled(const World& world);

}  // namespace dray::crash
