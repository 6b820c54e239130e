// SPDX-License-Identifier: Apache-2.0
//
// Site: three members of etcd, several API servers on one prefix, schedulers and controllers, each a
// process of its own, and a proxy on every connection between them. What ends is started again, as
// systemd would.
#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/client_for_test.h"
#include "parts/child.h"
#include "store/etcd/tcp_proxy_for_test.h"

namespace dray::parts {

inline constexpr std::size_t kMembers = 3;
inline constexpr std::size_t kServers = 3;
inline constexpr std::size_t kDeciders = 2;  // of each sort

// One thread.
class Site {
 public:
  explicit Site(std::string folder);
  ~Site();
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  // Empty once everything runs; else what went wrong.
  std::string Start();
  // Starts again what has ended, half a second later or more. Often.
  void Tend();
  // Nothing is started again from now on; all of dray is told to end. What did not end in order.
  std::vector<std::string> End();

  std::vector<Child>& children() { return children_; }
  // Of etcd: those are the first of the children.
  static bool IsMember(std::size_t child) { return child < kMembers; }
  // Every wire, by who asks and who answers: "server-0 etcd-1", "etcd etcd-1" (from the other members),
  // "scheduler-0 server-0", "clients server-2".
  std::map<std::string, std::unique_ptr<store::TcpProxy>>& wires() { return wires_; }

  // Members past the proxies.
  std::vector<std::string> members() const;
  const std::string& prefix() const { return prefix_; }
  // Where clients reach a server: by the proxy, or past it.
  std::uint16_t ClientPort(std::size_t server) const;
  std::uint16_t Port(std::size_t server) const { return ports_[server]; }
  const apiserver::ClientTls& tls() const { return tls_; }
  // Ends of processes that nobody had asked for and that no page describes.
  const std::vector<std::string>& surprises() const { return surprises_; }
  std::size_t ends() const { return ends_; }
  const std::string& folder() const { return folder_; }

  // A line in the list of what was done, with the time.
  void Note(std::string_view what);

 private:
  using Time = std::chrono::steady_clock::time_point;
  void AddMembers();
  void AddServer(std::size_t index);
  void AddDeciders();
  bool AwaitMembers() const;
  store::TcpProxy& Wire(const std::string& name, const std::string& target);
  Child& Add(ChildOptions options);
  std::string Await(Child& child, const std::string& text);
  void OnEnd(Child& child, const Ending& ending);

  const std::string folder_;
  const std::string prefix_ = "/dray";
  const std::string binary_;
  const Time began_ = std::chrono::steady_clock::now();
  std::vector<std::string> addresses_;  // of etcd's members
  std::vector<std::uint16_t> ports_;    // of servers
  std::map<std::string, std::unique_ptr<store::TcpProxy>> wires_;
  std::vector<Child> children_;
  std::map<std::string, Time> down_;  // since when
  apiserver::ClientTls tls_;
  std::vector<std::string> surprises_;
  std::size_t ends_ = 0;
  std::ofstream notes_;
};

}  // namespace dray::parts
