// SPDX-License-Identifier: Apache-2.0
//
// For tests: an etcd in memory that does what a test says: answers that are lost after the call has
// happened, watches that are late, in pieces or lie, versions, alarms, another cluster. What it does
// otherwise is what docs/spec/etcd.md chapters 1 and 2, say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "rpc/etcd_messages.h"

namespace dray::rpc {

class FakeEtcd {
 public:
  // Of a call, before it happens and after it: not OK is its answer. May wait. `method` is the last
  // part of its path.
  enum class When : std::uint8_t { kBefore, kAfter };
  using Fault = std::function<Status(const std::string& method, When)>;

  FakeEtcd();
  ~FakeEtcd();
  FakeEtcd(const FakeEtcd&) = delete;
  FakeEtcd& operator=(const FakeEtcd&) = delete;

  const std::string& address() const { return address_; }

  void SetFault(Fault fault);
  // How many calls are inside of one, the one that was set before included.
  int in_faults() const;
  void SetVersion(std::string version);
  void SetCluster(std::uint64_t cluster);
  void SetErrors(std::vector<std::string> errors);
  // Watches say nothing while they are held.
  void HoldWatches(bool hold);
  // So many events in a piece; 0: whole.
  void SetFragments(std::size_t events);
  // All streams end with this.
  void EndWatches(Status status);
  // Progress is said at once, whatever has not been sent: as 3.4.23 does.
  void LieAboutProgress(bool lie);
  // Calls without a token that was handed out since are refused. Empty: nobody has to show one.
  void RequireToken(std::string password);
  void ExpireTokens();
  // As another client.
  std::int64_t Put(const std::string& key, const std::string& value);
  std::int64_t PutAll(const std::vector<std::pair<std::string, std::string>>& keys);
  std::int64_t Delete(const std::string& key);
  void Compact(std::int64_t revision);
  // The database is as it was then: an older snapshot was restored.
  void Restore(std::int64_t revision);
  std::int64_t revision() const;
  std::optional<EtcdKeyValue> Get(const std::string& key) const;
  // How often a method was called.
  int calls(const std::string& method) const;
  int open_watches() const;

 private:
  struct Server;
  friend struct Server;
  std::unique_ptr<Server> server_;
  std::string address_;
};

}  // namespace dray::rpc
