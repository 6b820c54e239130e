// SPDX-License-Identifier: Apache-2.0
//
// PluginService: everything between the calls of an agent and what a driver's author writes. Claims
// are fetched and checked, remembered on disk before anything is done for them, answered from there
// when they are asked for again; CDI and metadata files are written and removed.
//
// Spec: docs/spec/node.md chapters 4, 10, 17.1 and 19.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "base/mutex.h"
#include "cdi/spec.h"
#include "driver/claim_view.h"
#include "driver/health_board.h"
#include "driver/internal/claim_turns.h"
#include "driver/metadata.h"
#include "driver/prepared_claims.h"
#include "files/files.h"
#include "rpc/plugin_server.h"

namespace dray::driver {

// What a container needs so that it can use a device.
struct DeviceSetup {
  cdi::ContainerEdits edits;         // none: no CDI device is made
  std::vector<std::string> cdi_ids;  // CDI devices that exist already, by their qualified names
  // For the metadata that containers read: over what was published of the device.
  api::Map<api::DeviceAttribute> attributes;
  api::Box<api::NetworkDeviceData> network_data;
};

// What an author writes. Both calls may come again for what is done already: after a crash, after a
// restart of the agent or of the machine. One at a time, unless the driver was started otherwise.
class DeviceHandler {
 public:
  virtual ~DeviceHandler() = default;
  // Makes the devices ready and says what containers need, one setup per device, in order. An error
  // is this claim's alone: its pod waits and tries again.
  virtual StatusOr<std::vector<DeviceSetup>> Prepare(const ClaimView& claim) = 0;
  // The claim itself may be gone long since. `devices` are those that were prepared, or may have been
  // when a preparation was interrupted.
  virtual Status Unprepare(const rpc::ClaimName& claim,
                           const std::vector<PreparedDeviceRecord>& devices) {
    (void)claim;
    (void)devices;
    return {};
  }
};

struct ServiceOptions {
  std::string driver;
  std::string endpoint;  // where agents find the DRA service; empty: where they register
  std::vector<std::string> services;  // as they are told at registration
  std::string folder;                 // the driver's own
  std::string cdi_folder;
  std::string boot_id;         // changes when the machine starts
  bool serialize = true;       // one call after the other
  bool shared_folder = false;  // another instance of the driver may work in it, too
  bool admin_access = false;   // the author knows what that means
  bool metadata = false;
  bool health = true;
  // What was published of a device, for its metadata.
  std::function<api::Map<api::DeviceAttribute>(std::string_view pool, std::string_view device)>
      attributes;
  std::function<void(const Status&)> problem;
  std::function<void()> registered;  // an agent has accepted the driver
  files::Disk* disk = nullptr;       // instead of the machine's, for what is remembered
};

// Thread-safe.
class PluginService final : public rpc::PluginHandler {
 public:
  // All outlive it. Reads what was prepared before.
  static StatusOr<std::unique_ptr<PluginService>> Open(ServiceOptions options,
                                                       DeviceHandler& handler,
                                                       const api::Cluster& cluster,
                                                       HealthBoard& health);

  StatusOr<rpc::PrepareAnswer> Prepare(const std::vector<rpc::ClaimName>& claims) override;
  StatusOr<rpc::UnprepareAnswer> Unprepare(const std::vector<rpc::ClaimName>& claims) override;
  Status WatchHealth(std::shared_ptr<rpc::HealthReports> reports) override;
  StatusOr<rpc::PluginInfo> Info() override;
  Status Registered(bool registered, const std::string& error) override;

  // UIDs of claims that are prepared, or were begun.
  std::set<std::string> PreparedUids() const;
  // The kind of the CDI devices that are made for claims.
  std::string cdi_kind() const { return folders_.vendor + "/claim"; }

 private:
  PluginService(ServiceOptions options, DeviceHandler& handler, const api::Cluster& cluster,
                HealthBoard& health, PreparedClaims prepared);

  StatusOr<ClaimView> Fetch(const rpc::ClaimName& claim) const;
  std::set<std::string> KeysOf(const std::vector<rpc::ClaimName>& claims) const;
  StatusOr<files::Fd> LockFolder();
  StatusOr<rpc::PreparedClaim> PrepareOne(const ClaimView& claim);
  std::optional<rpc::PreparedClaim> Remembered(const ClaimView& claim) const;
  bool CdiFileIsThere(const PreparedClaimRecord& record) const;
  Status DropOthers(const ClaimView& claim);
  Status Begin(const ClaimView& claim, std::vector<PreparedClaimRecord>& begun);
  std::optional<PreparedClaimRecord> HolderOf(std::string_view uid,
                                              const PreparedDeviceRecord& device) const;
  StatusOr<std::vector<std::string>> WriteCdi(const ClaimView& claim,
                                              const std::vector<DeviceSetup>& setups) const;
  void AddMetadata(const ClaimView& claim, const std::vector<DeviceSetup>& setups,
                   PreparedClaimRecord& record) const;
  Status UnprepareOne(const rpc::ClaimName& claim);
  std::string CdiFile(std::string_view uid) const;
  void Problem(const Status& status) const;

  const ServiceOptions options_;
  const MetadataFolders folders_;
  DeviceHandler& handler_;
  const api::Cluster& cluster_;
  HealthBoard& health_;
  internal::ClaimTurns turns_;
  mutable base::Mutex mutex_;
  PreparedClaims prepared_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::driver
