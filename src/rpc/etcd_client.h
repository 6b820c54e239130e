// SPDX-License-Identifier: Apache-2.0
//
// EtcdMember: the calls that a store makes to one member of an etcd cluster. Nothing here waits, and
// nothing is repeated: whether a call may be repeated is for the store to know.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "rpc/etcd_messages.h"
#include "rpc/messages.h"

namespace dray::rpc {

struct EtcdTls {
  // PEM. Empty certificates of authorities: those of the system.
  std::string authorities;
  std::string certificate;  // of this client; empty: it shows none
  std::string key;
};

struct EtcdEndpoint {
  std::string address;  // host:port
  bool tls = false;
};

// A call that etcd answered with an error has gRPC's code and etcd's text; etcd's own texts begin with
// "etcdserver: ".
//
// Whether a call that failed never left this process: nobody was there to send it to.
bool NeverSent(const Status& status);

// A watch, which is a stream of its own.
class EtcdWatch {
 public:
  // Ends it; nobody is told anything after that. Not from the function that is told.
  virtual ~EtcdWatch() = default;
  // Asks for the next answer. One at a time: what is not asked for waits at the server.
  virtual void Next() = 0;
  // Asks the server to say up to where everything has been sent.
  virtual void AskProgress() = 0;
};
// An answer, or why there are no more. From a thread of the room's own.
using EtcdWatchFn = std::function<void(StatusOr<EtcdWatchAnswer>)>;

// Thread-safe. Calls that are on their way when it is destroyed are cancelled, and their functions
// called before the destructor returns. It must not be destroyed from inside such a function.
class EtcdMember {
 public:
  using Time = std::chrono::nanoseconds;
  virtual ~EtcdMember() = default;

  virtual void Range(const EtcdRange& range, Time deadline, Done<EtcdRangeAnswer> done) = 0;
  virtual void Transact(const EtcdTransaction& transaction, Time deadline,
                        Done<EtcdTransactionAnswer> done) = 0;
  virtual void Compact(std::int64_t revision, Time deadline, Done<EtcdHeader> done) = 0;
  virtual void Status(Time deadline, Done<EtcdStatus> done) = 0;
  // The token, for SetToken.
  virtual void Authenticate(const std::string& user, const std::string& password, Time deadline,
                            Done<std::string> done) = 0;
  // Its id.
  virtual void GrantLease(std::chrono::seconds ttl, Time deadline, Done<std::int64_t> done) = 0;
  virtual void RevokeLease(std::int64_t id, Time deadline, DoneStatus done) = 0;
  // Tells from its first answer, which comes without being asked for. Destroyed before the member.
  virtual std::unique_ptr<EtcdWatch> Watch(const EtcdWatchRequest& request, EtcdWatchFn tell) = 0;

  // Of all calls from now on; empty: none.
  virtual void SetToken(std::string token) = 0;
};

// Connects when it is first used, and again whenever it has to.
std::unique_ptr<EtcdMember> ConnectEtcd(const EtcdEndpoint& endpoint, const EtcdTls& tls);

}  // namespace dray::rpc
