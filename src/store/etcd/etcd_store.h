// SPDX-License-Identifier: Apache-2.0
//
// A store in etcd, which several servers share: all see the same revisions, which are etcd's. Reads
// come from a cache that one watch feeds; writes are transactions that compare revisions, many to a
// request (README.md). What became of a write whose answer was lost is found out, not guessed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/etcd_client.h"
#include "store/commit_report.h"
#include "store/store.h"

namespace dray::store {

struct EtcdAddress {
  std::vector<rpc::EtcdEndpoint> endpoints;
  std::string prefix = "/dray";
};
// etcd://host:2379,host:2379/prefix, or etcds:// over TLS; without a prefix /dray. kInvalidArgument says
// what would be right.
StatusOr<EtcdAddress> ParseEtcdAddress(std::string_view text);

// What has happened, for metrics and tests.
struct EtcdCounts {
  std::atomic<std::uint64_t> groups = 0;        // requests with writes
  std::atomic<std::uint64_t> nested = 0;        // etcd's transactions in them
  std::atomic<std::uint64_t> transactions = 0;  // of callers in those
  std::atomic<std::uint64_t> fences = 0;        // how often an answer was missed
  std::atomic<std::uint64_t> watches = 0;       // opened
  std::atomic<std::uint64_t> relists = 0;
  std::atomic<std::uint64_t> compactions = 0;
  std::atomic<std::uint64_t> barriers = 0;  // reads for those who want what is current
};

struct EtcdOptions {
  EtcdAddress address;
  rpc::EtcdTls tls;  // PEM, of endpoints with TLS
  std::string user;  // empty: no password is sent (a client certificate may be enough)
  std::string password;

  // Of this server, unlike those of all others; empty: made up.
  std::string id;
  // Nobody else may use this prefix meanwhile: whoever decides what is given to whom does so alone.
  bool alone = false;
  // Whoever copies opens what is a part of something only (copy.h); nobody else does.
  bool unfinished = false;

  HistoryOptions history;
  // Is told, in a sentence each, what an operator should know. Any thread; quick.
  std::function<void(const std::string&)> warn = nullptr;
  EtcdCounts* counts = nullptr;  // outlives the store
  // As SqliteOptions: before each request that writes, and when it is known what became of it. On the
  // store's thread: quick, and call nothing of the store.
  std::function<void()> on_begin = nullptr;
  std::function<void(const CommitReport&)> on_commit = nullptr;
  // For tests with an etcd that loses events.
  bool any_version = false;

  // How long the answer to a write is waited for, before it is found out what became of it.
  std::chrono::nanoseconds answer_patience = std::chrono::seconds(2);
  // How long a write is tried that etcd has not taken, and after which it is not done.
  std::chrono::nanoseconds write_patience = std::chrono::seconds(10);
  // How long it is tried to find out what became of a write, before it is unknown.
  std::chrono::nanoseconds fence_patience = std::chrono::seconds(30);
  // How long readers wait for what others have written.
  std::chrono::nanoseconds barrier_patience = std::chrono::seconds(3);
  // How long a watch may lack what is known to be there.
  std::chrono::nanoseconds watch_patience = std::chrono::seconds(3);
  // History older than one to two of these is thrown away; 0: not by this server.
  std::chrono::nanoseconds compaction_interval = std::chrono::minutes(5);
  // How long a server that says nothing counts as alive.
  std::chrono::seconds alive{15};
  std::int64_t page = 10'000;            // keys in one answer, when everything is read
  std::size_t group_bytes = 1u << 20;    // of writes sent together
  std::size_t request_bytes = 3u << 19;  // etcd's --max-request-bytes
};

// kUnavailable: no member answers. kFailedPrecondition: its version, its user's rights, another
// server that is alone, endpoints of different clusters, a copy that was not finished; none of the
// store's keys has been written then.
StatusOr<std::unique_ptr<Store>> OpenEtcdStore(const EtcdOptions& options);

}  // namespace dray::store
