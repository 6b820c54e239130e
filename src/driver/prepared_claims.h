// SPDX-License-Identifier: Apache-2.0
//
// PreparedClaims: which claims a driver has prepared, on disk: a file per claim, written whole or not
// at all, so that a driver that is killed at any moment knows afterwards what it may have begun.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_table.h"
#include "base/status.h"
#include "driver/claim_view.h"

namespace dray::driver {

// A device of a claim that was prepared.
struct PreparedDeviceRecord {
  std::string request;  // without a subrequest
  std::string pool;
  std::string device;
  std::optional<std::string> share_id;
  bool admin_access = false;
  std::vector<std::string> cdi_ids;
  friend bool operator==(const PreparedDeviceRecord&, const PreparedDeviceRecord&) = default;
};
const api::StructInfo& InfoOf(const PreparedDeviceRecord*);

struct PreparedClaimRecord {
  std::string namespace_;
  std::string name;
  std::string uid;
  bool complete = false;  // false: begun, and nobody knows how far it came
  std::string boot_id;    // of the machine's start in which it was prepared
  std::vector<PreparedDeviceRecord> devices;
  friend bool operator==(const PreparedClaimRecord&, const PreparedClaimRecord&) = default;
};
const api::StructInfo& InfoOf(const PreparedClaimRecord*);

// One thread at a time.
class PreparedClaims {
 public:
  // Files are <folder>/<uid>.json; the folder is made. A file that cannot be understood is an error:
  // whoever guesses what it said may give a device twice.
  static StatusOr<PreparedClaims> Open(std::string folder);

  // Takes in what another process has written or removed.
  Status Refresh();
  // Null: not known.
  const PreparedClaimRecord* Find(std::string_view uid) const;
  Status Put(PreparedClaimRecord record);
  // Nothing there is fine.
  Status Remove(std::string_view uid);
  // The claim other than `uid` that has the device in a way that leaves no room: exclusively, or the
  // asking one wants it so. Admin access takes nothing from anybody. Null: none.
  const PreparedClaimRecord* Holder(std::string_view uid, const AllocatedDevice& device) const;
  const std::map<std::string, PreparedClaimRecord, std::less<>>& all() const { return records_; }

 private:
  explicit PreparedClaims(std::string folder) : folder_(std::move(folder)) {}
  StatusOr<PreparedClaimRecord> Read(const std::string& file) const;

  std::string folder_;
  std::map<std::string, PreparedClaimRecord, std::less<>> records_;  // by uid
};

}  // namespace dray::driver
