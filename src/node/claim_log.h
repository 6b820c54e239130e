// SPDX-License-Identifier: Apache-2.0
//
// ClaimLog: what the agent remembers of claims, on the disk. The whole of it is the kubelet's
// dra_manager_state; what has changed since is appended to dra_manager_state.log beside it, so that
// many pods start with one sync. When nothing has changed for a while, when the log is full and when
// the agent ends, the whole is written and the log begins anew: then a kubelet may follow.
//
// Spec: docs/spec/node.md section 7.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "files/journal.h"
#include "node/claim_state.h"

namespace dray::node {

// Thread-safe: what takes time is done by whoever calls.
class ClaimLog {
 public:
  // What an earlier life has left in this folder, which is made. DataLoss: it cannot be understood;
  // the text says what an operator has to do. The disk outlives it.
  static StatusOr<std::unique_ptr<ClaimLog>> Open(const std::string& root,
                                                  files::Disk& disk = files::TheDisk());

  // What is there, as somebody who only looks.
  static StatusOr<std::vector<ClaimState>> Read(const std::string& root,
                                                files::Disk& disk = files::TheDisk());

  std::vector<ClaimState> Claims() const;
  // Not OK: nobody knows whether it is written. It is known all the same, and comes with the next one
  // that is: whoever does not want that says what became of the claims instead.
  Status Write(const ClaimChanges& changes);
  // Everything into the whole, unless it is there. Waits for the disk.
  Status Fold();

 private:
  ClaimLog(files::Journal journal, std::vector<ClaimState> claims);
  Status FoldNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable base::Mutex mutex_;
  files::Journal journal_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, ClaimState> claims_ ABSL_GUARDED_BY(mutex_);  // by UID
};

}  // namespace dray::node
