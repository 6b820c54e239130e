// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/answers.h"

#include <array>
#include <string_view>

#include "rpc/etcd_client.h"

namespace dray::store::internal {
namespace {

struct Text {
  std::string_view text;  // what the message begins with
  Failure failure;
};

// With the prefix "etcdserver: ".
constexpr std::array kOfEtcd = {
    Text{"mvcc: required revision has been compacted", Failure::kCompacted},
    Text{"mvcc: required revision is a future revision", Failure::kFuture},
    Text{"mvcc: database space exceeded", Failure::kNoSpace},
    Text{"too many requests", Failure::kTooMany},
    Text{"request is too large", Failure::kTooLarge},
    Text{"too many operations in txn request", Failure::kTooLarge},
    Text{"duplicate key given in txn request", Failure::kTooLarge},
    Text{"requested lease not found", Failure::kLease},
    Text{"no leader", Failure::kNotSent},
    Text{"invalid auth token", Failure::kToken},
    Text{"revision of auth store is old", Failure::kToken},
    Text{"permission denied", Failure::kDenied},
    Text{"authentication failed", Failure::kDenied},
    Text{"user name is empty", Failure::kDenied},
    Text{"user name not found", Failure::kDenied},
    Text{"authentication is not enabled", Failure::kDenied},
    Text{"rpc not supported for learner", Failure::kOtherMember},
    Text{"not leader", Failure::kOtherMember},
    Text{"corrupt cluster", Failure::kCorrupt},
};
constexpr std::string_view kPrefix = "etcdserver: ";

}  // namespace

Failure FailureOf(const Status& status) {
  if (rpc::NeverSent(status)) return Failure::kNotSent;
  const std::string_view message = base::Message(status);
  if (message.starts_with(kPrefix)) {
    const std::string_view text = message.substr(kPrefix.size());
    for (const Text& known : kOfEtcd) {
      if (text.starts_with(known.text)) return known.failure;
    }
    return Failure::kUnknown;
  }
  // Of the server's gRPC, before etcd sees anything.
  if (status.code() == StatusCode::kResourceExhausted &&
      message.starts_with("grpc: received message larger than max")) {
    return Failure::kTooLarge;
  }
  if (message == "raft proposal dropped") return Failure::kNotSent;
  return Failure::kUnknown;
}

}  // namespace dray::store::internal
