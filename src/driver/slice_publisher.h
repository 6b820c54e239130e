// SPDX-License-Identifier: Apache-2.0
//
// SlicePublisher: keeps the slices of a driver as the driver wants them, whoever else writes.
//
// It watches its own slices and trusts its own writes until the watch has caught up. What the driver
// changes is written at once; what others change (people, an agent that wipes the slices of a driver
// that was away) is repaired when nothing more has happened for a while.
//
// Spec: docs/spec/node.md section 18.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/mutex.h"
#include "driver/slice_plan.h"
#include "driver/wanted_pools.h"

namespace dray::driver {

struct PublisherOptions {
  std::string driver;
  std::string node;                                            // empty: for no node; see WantedPool
  std::chrono::nanoseconds settle = std::chrono::seconds(30);  // after what others do
  std::chrono::nanoseconds trust = std::chrono::seconds(60);   // in its own writes
  std::chrono::nanoseconds first_retry = std::chrono::milliseconds(500);
  std::chrono::nanoseconds longest_retry = std::chrono::minutes(5);
  // After a write of which nobody knows whether it was done: the watch shall tell first.
  std::chrono::nanoseconds doubt = std::chrono::seconds(5);
  // Told of everything that could not be published, and of fields that a server does not store, once
  // for each. Never fatal: it is tried again where that can help.
  std::function<void(const Status&)> problem;
};

// How much was written so far.
struct PublishCounts {
  std::uint64_t creates = 0;
  std::uint64_t updates = 0;
  std::uint64_t deletes = 0;
  friend bool operator==(const PublishCounts&, const PublishCounts&) = default;
};

// One thread.
class SlicePublisher {
 public:
  // Both outlive it.
  SlicePublisher(api::Cluster& cluster, const base::Clock& clock, PublisherOptions options);
  ~SlicePublisher();

  // What is wanted from now on; written by the next Step. Until the first call nothing is touched.
  void Publish(WantedPools pools);
  // Does what is due. When there will be more to do, by the monotonic clock, if nobody does
  // anything.
  std::chrono::nanoseconds Step();

  const PublishCounts& counts() const { return counts_; }
  // Nothing is waiting to be written.
  bool idle() const { return due_.empty() && !all_due_; }

 private:
  struct Wanted {
    WantedPool given;
    WantedPool adapted;  // without what the server does not store
    bool valid = true;
  };
  // A slice, by what the watch told and by what was written here since.
  struct Known {
    std::optional<api::Object> told;
    std::optional<api::Object> written;
    bool deleted = false;  // by us
    std::chrono::nanoseconds since{0};
  };
  struct Due {
    std::chrono::nanoseconds at{0};
    std::chrono::nanoseconds first{0};  // of the events that it waits for to end
    bool settling = false;
  };

  bool FindOwner(std::chrono::nanoseconds now);
  void OpenWatch();
  void TakeChanges(std::chrono::nanoseconds now);
  void Take(const api::Change& change, std::chrono::nanoseconds now);
  void LoseTrust(std::chrono::nanoseconds now);
  void OnEvent(const std::string& pool, std::chrono::nanoseconds now);
  void SetDue(const std::string& pool, std::chrono::nanoseconds at);
  void MakeAllDue(std::chrono::nanoseconds now);
  const api::ResourceSlice* Current(const Known& known) const;
  std::vector<const api::ResourceSlice*> SlicesOf(std::string_view pool) const;
  void Sync(const std::string& pool, std::chrono::nanoseconds now);
  Status Write(const std::string& pool, const PoolPlan& plan);
  Status Stored(const std::string& pool, const api::ResourceSlice& asked,
                const api::Object& object);
  void Adapt(const std::string& pool, const api::ResourceSlice& asked,
             const api::ResourceSliceSpec& stored);
  void Problem(const Status& status) const;

  api::Cluster& cluster_;
  const base::Clock& clock_;
  const PublisherOptions options_;
  Publisher publisher_;
  bool owner_known_ = false;
  std::chrono::nanoseconds owner_at_{0};
  std::string owner_trouble_;
  int owner_failures_ = 0;
  std::unique_ptr<api::ObjectWatch> watch_;
  bool published_ = false;
  bool all_due_ = false;
  std::map<std::string, Wanted, std::less<>> wanted_;
  std::map<std::string, Known> known_;  // by uid
  std::map<std::string, Due> due_;      // by pool
  std::map<std::string, int> failures_;
  std::set<std::string> told_;  // of fields that are not stored
  PublishCounts counts_;
};

// A SlicePublisher with a thread of its own. Thread-safe.
class PublisherThread {
 public:
  // All outlive it.
  PublisherThread(api::Cluster& cluster, const base::Clock& clock, PublisherOptions options,
                  base::Host& host);
  // What is being written is finished; slices stay.
  ~PublisherThread();

  void Publish(WantedPools pools);
  // The cluster has news; otherwise it is asked once a second.
  void Ring() { alarm_->Ring(); }
  PublishCounts counts() const;
  bool idle() const;

 private:
  void Run();

  SlicePublisher publisher_;  // the thread's
  const base::Clock& clock_;
  const std::unique_ptr<base::Alarm> alarm_;
  mutable base::Mutex mutex_;
  std::optional<WantedPools> next_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool idle_ ABSL_GUARDED_BY(mutex_) = true;
  PublishCounts counts_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<base::Running> running_;  // last: it ends first
};

}  // namespace dray::driver
