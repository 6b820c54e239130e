// SPDX-License-Identifier: Apache-2.0
//
// Why a store in etcd cannot be opened, for people: gRPC's words name neither flags nor what to do.
#pragma once

#include "base/status.h"
#include "store/etcd/etcd_store.h"

namespace dray::plane {

// What store::OpenEtcdStore said, with what would help; its own words in brackets. What is clear already
// stays as it is.
Status EtcdTrouble(const Status& status, const store::EtcdOptions& options);

}  // namespace dray::plane
