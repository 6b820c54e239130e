// SPDX-License-Identifier: Apache-2.0
//
// PreparedClaims: which claims a driver has prepared, on disk, so that a driver that is killed at any
// moment knows afterwards what it may have begun. It is a journal: claims.json, and beside it
// claims.log with what has changed since.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_table.h"
#include "base/status.h"
#include "driver/claim_view.h"
#include "files/journal.h"

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

// Whether who has the one leaves no room for who wants the other: one of them wants the device alone.
// Admin access takes nothing from anybody.
bool Exclude(const PreparedDeviceRecord& has, const PreparedDeviceRecord& wants);

// One thread at a time.
class PreparedClaims {
 public:
  // Files are <folder>/claims.json and claims.log; the folder is made. What cannot be understood is an
  // error: whoever guesses what it said may give a device twice. The disk outlives it.
  static StatusOr<PreparedClaims> Open(const std::string& folder,
                                       files::Disk& disk = files::TheDisk());

  // Takes in what another process has written.
  Status Refresh();
  // Null: not known.
  const PreparedClaimRecord* Find(std::string_view uid) const;
  // All of them or none. `sync`: they are there after a power cut, too. Not OK: nothing has changed as
  // far as this process is concerned; what the next one finds is not known.
  Status Put(std::vector<PreparedClaimRecord> records, files::Sync sync);
  // Nothing there is fine. It may be there again after a power cut.
  Status Remove(std::string_view uid);
  // The claim other than `uid` that has the device and leaves no room for this. Null: none.
  const PreparedClaimRecord* Holder(std::string_view uid, const PreparedDeviceRecord& device) const;
  const std::map<std::string, PreparedClaimRecord, std::less<>>& all() const { return records_; }

 private:
  using Records = std::map<std::string, PreparedClaimRecord, std::less<>>;  // by uid
  struct Change;

  explicit PreparedClaims(std::string folder) : folder_(std::move(folder)) {}
  Status Take(const files::Journal::Contents& read);
  Status Write(Change change, files::Sync sync);
  Status Fold(const Records& records);

  std::string folder_;
  std::optional<files::Journal> journal_;
  Records records_;
};

}  // namespace dray::driver
