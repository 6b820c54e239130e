// SPDX-License-Identifier: Apache-2.0
//
// For tests: real etcds on loopback, one member or several, that can be killed, stopped and started
// again. tools/fetch-etcd brings the program; without it such tests are skipped and say so.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "store/etcd/etcd_store.h"

namespace dray::store {

// Empty: it is not there.
std::string EtcdProgram();
// Waits until it is true; false after 30 s.
bool Eventually(const std::function<bool()>& what);
// A TCP port of loopback that nobody has at this moment.
int FreePort();

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): a test is skipped by its own return.
#define DRAY_NEEDS_ETCD()                                                            \
  if (::dray::store::EtcdProgram().empty()) {                                        \
    GTEST_SKIP() << "there is no etcd here: tools/fetch-etcd build/etcd brings one"; \
  }

struct EtcdClusterOptions {
  std::size_t members = 1;
  std::vector<std::string> flags;  // besides
  bool fsync = false;              // survives a power cut, which no test makes
};

// Members on free ports with data in a folder of their own; ends with its owner.
class EtcdCluster {
 public:
  explicit EtcdCluster(EtcdClusterOptions options = {});
  ~EtcdCluster();
  EtcdCluster(const EtcdCluster&) = delete;
  EtcdCluster& operator=(const EtcdCluster&) = delete;

  std::size_t size() const { return members_.size(); }
  // host:port of a member's clients.
  const std::string& client(std::size_t member) const { return members_[member].client; }
  // All of them.
  EtcdAddress Address(std::string prefix) const;
  pid_t pid(std::size_t member) const { return members_[member].pid; }

  void Start(std::size_t member);
  // Sends it; KILL and TERM are waited for.
  void Signal(std::size_t member, int signal);
  bool Serves(std::size_t member) const;
  // Until a member answers reads that need a majority; fails the test after a minute.
  void AwaitHealthy() const;
  // The member that leads; size(): none.
  std::size_t Leader() const;
  const std::string& folder() const { return folder_; }

 private:
  struct Member {
    std::string name;
    std::string client;
    std::string peer;
    pid_t pid = 0;
  };
  const EtcdClusterOptions options_;
  std::string folder_;
  std::vector<Member> members_;
};

// One member for all tests of a program, and a prefix that nobody has used.
EtcdCluster& SharedEtcd();
std::string FreshPrefix();
// A store in it.
EtcdOptions SharedOptions();

}  // namespace dray::store
