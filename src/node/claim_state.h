// SPDX-License-Identifier: Apache-2.0
//
// What the agent remembers of claims, and the bytes that it keeps of it: the kubelet's
// dra_manager_state, byte for byte, so that one may follow the other on a machine.
//
// Spec: docs/spec/node.md section 7.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace dray::node {

inline constexpr std::string_view kStateFileName = "dra_manager_state";
inline constexpr std::string_view kStateLogName = "dra_manager_state.log";

inline constexpr std::string_view kSkipPrepare = "NodePrepareResources";
inline constexpr std::string_view kSkipUnprepare = "NodeUnprepareResources";
inline constexpr std::string_view kSkipAll = "*";

// A device, or a share of one, as its driver has prepared it.
struct DeviceState {
  std::string pool;
  std::string device;
  std::optional<std::string> share_id;
  std::vector<std::string> requests;  // without subrequests; none: all requests of the claim
  std::vector<std::string> cdi_ids;
  friend bool operator==(const DeviceState&, const DeviceState&) = default;
};

struct DriverState {
  std::vector<DeviceState> devices;  // in the driver's order
  std::vector<std::string> skips;    // node operations that are not done for it
  friend bool operator==(const DriverState&, const DriverState&) = default;

  bool Skips(std::string_view operation) const;
};

struct ClaimState {
  std::string uid;
  std::string name;
  std::string namespace_;
  std::set<std::string, std::less<>> pods;  // UIDs of those that use it
  std::map<std::string, DriverState, std::less<>> drivers;
  friend bool operator==(const ClaimState&, const ClaimState&) = default;
};

// The contents of the file. Claims are written in the order of their UIDs. `fresh`: of a machine on
// which nothing was ever prepared.
std::string EncodeClaimStates(std::vector<ClaimState> claims, bool fresh = false);

// DataLoss: these bytes are no such file, or not all of it. Fields that are missing or not known are
// no mistake.
StatusOr<std::vector<ClaimState>> DecodeClaimStates(std::string_view bytes);

// What has become of some claims.
struct ClaimChanges {
  std::vector<ClaimState> now;
  std::vector<std::string> gone;  // UIDs
  // It has to be there after a power cut, too; else only after the death of the agent.
  bool must_last = false;
  friend bool operator==(const ClaimChanges&, const ClaimChanges&) = default;
};
// Without must_last.
std::string EncodeClaimChanges(const ClaimChanges& changes);
StatusOr<ClaimChanges> DecodeClaimChanges(std::string_view bytes);

}  // namespace dray::node
