// SPDX-License-Identifier: Apache-2.0
//
// etcd's messages as protobuf has them, and ours.
#pragma once

#include "proto/etcd.pb.h"
#include "rpc/etcd_messages.h"

namespace dray::rpc::internal {

etcdserverpb::RangeRequest ToProto(const EtcdRange& range);
etcdserverpb::TxnRequest ToProto(const EtcdTransaction& transaction);
etcdserverpb::WatchRequest ToProto(const EtcdWatchRequest& request);

// Whether it says something of each operation of the branch that was taken, in the order of the
// request, and nothing else. Whoever reads it counts on that.
bool Answers(const etcdserverpb::TxnRequest& asked, const etcdserverpb::TxnResponse& told);

// Values are moved out of what they get.
EtcdHeader FromProto(const etcdserverpb::ResponseHeader& header);
EtcdRangeAnswer FromProto(etcdserverpb::RangeResponse&& answer);
EtcdTransactionAnswer FromProto(etcdserverpb::TxnResponse&& answer);
EtcdWatchAnswer FromProto(etcdserverpb::WatchResponse&& answer);
EtcdStatus FromProto(const etcdserverpb::StatusResponse& answer);

}  // namespace dray::rpc::internal
