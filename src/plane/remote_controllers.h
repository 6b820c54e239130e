// SPDX-License-Identifier: Apache-2.0
//
// RemoteControllers: the controllers alone, for an API server of dray's somewhere else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "apiserver/certificates.h"
#include "base/clock.h"
#include "base/status.h"
#include "plane/remote_process.h"

namespace dray::plane {

// As kube-controller-manager's.
inline constexpr std::uint16_t kControllersPort = 10257;

// A lease without a name is "dray-controllers".
struct RemoteControllersOptions : ProcessOptions {
  bool controllers = true;
  bool nodes = false;  // simulated ones
  // Of the cluster's authority, PEM: what pods are told to trust. Empty: as the access says; when that
  // says nothing either, namespaces get no service accounts.
  std::string authority;
  // Signs certificates of nodes and clients for who may have them; none: nobody does.
  std::optional<apiserver::KeyPair> signer;
};

// Runs from Start until it is destroyed: what is being written is finished then, and the lease is
// given back. Thread-safe.
class RemoteControllers : public RemoteProcess {
 public:
  // The clock outlives it. An error: the server cannot be reached, or does not want to talk to us.
  // kFailedPrecondition: the cluster has kube-controller-manager.
  static StatusOr<std::unique_ptr<RemoteControllers>> Start(RemoteControllersOptions options,
                                                            const base::Clock& clock);
};

}  // namespace dray::plane
