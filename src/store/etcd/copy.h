// SPDX-License-Identifier: Apache-2.0
//
// From one store to another: what somebody does who outgrows one process, or goes back.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/status.h"
#include "store/etcd/etcd_store.h"
#include "store/store.h"

namespace dray::store {

struct CopyReport {
  std::size_t keys = 0;
  std::size_t bytes = 0;
  Revision revision;  // of what was written, when that was complete
};

// Everything that is in `from` now, into a prefix of etcd that must be empty. Before that etcd's
// revision is raised above that of `from`, so that nobody who has seen one of those takes it for one
// of the new ones, and afterwards the history is thrown away: clients list anew. What was written is
// read back and compared. `say` is told what is going on, now and then. kFailedPrecondition: there are
// keys under the prefix, or a server that uses it. Until it is done a mark says that it is not: nobody
// opens such a store, and another copy deletes what the one before has left, and begins anew.
StatusOr<CopyReport> CopyToEtcd(const Store& from, EtcdOptions to,
                                const std::function<void(const std::string&)>& say);

// kDataLoss: the first key that is not the same in both.
Status CompareStores(const Store& one, const Store& other);

}  // namespace dray::store
