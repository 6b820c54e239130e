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
#include <utility>
#include <vector>

#include "store/etcd/etcd_store.h"

namespace dray::store {

// Empty: it is not there.
std::string EtcdProgram();
// Waits until it is true; false after two minutes.
bool Eventually(const std::function<bool()>& what);
// A TCP port of loopback that nobody has at this moment.
int FreePort();

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): a test is skipped by its own return.
#define DRAY_NEEDS_ETCD()                                                            \
  if (::dray::store::EtcdProgram().empty()) {                                        \
    GTEST_SKIP() << "there is no etcd here: tools/fetch-etcd build/etcd brings one"; \
  }

// What a program said, and how it ended.
std::pair<int, std::string> RunProgram(const std::string& command);

// An authority in a folder, made by openssl, and certificates that it has signed.
class EtcdCertificates {
 public:
  explicit EtcdCertificates(std::string folder);
  // For 127.0.0.1, with that common name; made when it is asked for first. Its file without .crt.
  std::string Make(const std::string& name);
  const std::string& authority() const { return authority_; }
  // As a client shows them.
  rpc::EtcdTls Tls(const std::string& name);

 private:
  std::string folder_;
  std::string authority_;  // file
};
std::string FileText(const std::string& path);

struct EtcdClusterOptions {
  std::size_t members = 1;
  std::vector<std::string> flags;  // besides
  bool fsync = false;              // survives a power cut, which no test makes
  // Serves over TLS, to whoever shows a certificate of theirs. The test's own calls come from root.
  std::shared_ptr<EtcdCertificates> certificates = nullptr;
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
  // etcdctl at a member.
  std::string Ctl(const std::string& arguments, std::size_t at = 0) const;
  pid_t pid(std::size_t member) const { return members_[member].pid; }

  void Start(std::size_t member);
  // A member more, which learns from the others; its index. "promote" makes it a voter.
  std::size_t AddLearner();
  // What `etcdctl member` does, asked of another one: "promote", "remove". False: it was refused.
  bool Membership(const std::string& what, std::size_t member, std::size_t at) const;
  // Sends it; KILL and TERM are waited for.
  void Signal(std::size_t member, int signal);
  bool Serves(std::size_t member) const;
  // Until a member answers reads that need a majority; fails the test after two minutes.
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
    bool joins = false;  // a cluster that is there
  };
  std::unique_ptr<rpc::EtcdMember> Connect(std::size_t member) const;
  // False: one of them has ended at once, so another program was faster at its port.
  bool Begin();
  void End();
  bool SomeServe() const;

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
