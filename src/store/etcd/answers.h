// SPDX-License-Identifier: Apache-2.0
//
// What an error of etcd says about the call that it ended: the table of docs/spec/etcd.md
// chapter 1. Code and text decide, because etcd sends some errors with codes that are not theirs.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace dray::store::internal {

enum class Failure : std::uint8_t {
  // The call has not happened, and will not:
  kNotSent,      // it never left this process, or the member has no leader: another one may do
  kOtherMember,  // this member does not serve it (a learner)
  kTooMany,      // later
  kNoSpace,      // the database is full
  kTooLarge,     // request or number of operations
  kCompacted,    // the revision is gone
  kFuture,       // the revision is not there yet
  kLease,        // the lease is gone
  kToken,        // another token, then again
  kDenied,       // this user may not
  kCorrupt,      // the cluster says that its members differ
  // It may have happened, or happen later:
  kUnknown,
};

Failure FailureOf(const Status& status);
inline bool NotDone(Failure failure) { return failure != Failure::kUnknown; }

}  // namespace dray::store::internal
