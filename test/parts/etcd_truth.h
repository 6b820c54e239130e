// SPDX-License-Identifier: Apache-2.0
//
// EtcdTruth: what has happened in etcd from its first revision on, by a plain watch of everything that
// asks the members themselves, past every proxy and without dray's store.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "parts/judges.h"
#include "rpc/etcd_client.h"

namespace dray::parts {

class EtcdTruth {
 public:
  // `tell` is called from a thread of its own with what is below the prefix, as dray calls it, revision
  // by revision.
  EtcdTruth(std::vector<std::string> members, std::string prefix,
            std::function<void(const StoredRevision&)> tell);
  ~EtcdTruth();
  EtcdTruth(const EtcdTruth&) = delete;
  EtcdTruth& operator=(const EtcdTruth&) = delete;

  // Everything up to here has been told.
  std::int64_t seen() const { return seen_; }
  // Writes beside the prefix, and waits until that has come: then everything before has. False: not in
  // time.
  bool AwaitAll(std::chrono::seconds patience);
  // Empty, or why it cannot know everything.
  std::string failure() const;

 private:
  void Follow();
  // Until nothing comes any more.
  void FollowOne(const std::string& member);
  void Take(const std::vector<rpc::EtcdEvent>& events);

  const std::vector<std::string> members_;
  const std::string prefix_;
  const std::function<void(const StoredRevision&)> tell_;
  std::atomic<std::int64_t> seen_ = 0;
  std::atomic<bool> stop_ = false;
  mutable base::Mutex mutex_;
  std::string failure_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// Tells etcd to forget what was before. False: it was not done within a second.
bool Compact(const std::string& member, std::int64_t revision);

}  // namespace dray::parts
