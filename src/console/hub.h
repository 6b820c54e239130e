// SPDX-License-Identifier: Apache-2.0
//
// Hub: follows the objects of a cluster on a thread of its own, and keeps a fleet for everybody who
// looks, or one for each who may not see everything.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "apiserver/http.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "console/desk.h"
#include "console/rights.h"
#include "console/source.h"
#include "fleet/fleet.h"
#include "fleet/usage.h"

namespace dray::console {

// What has become of the watch.
struct Connection {
  bool ready = false;  // everything has been listed once
  bool lost = false;
  base::Time since;     // lost
  std::string message;  // why
};

// Takes lines of a stream: one at a time, so that who reads slowly has one line and no more.
// Thread-safe.
class Listener {
 public:
  virtual ~Listener() = default;
  // Up to which revision it has been told; nothing: it has not taken the last line yet, or it is
  // gone.
  virtual std::optional<std::uint64_t> Wants() const = 0;
  // The line, and up to which revision it tells. `last`: there will be no other.
  virtual void Tell(std::shared_ptr<const std::string> line, std::uint64_t revision, bool last) = 0;
};

struct HubOptions {
  api::FeatureGates gates;
  // Between two revisions; the first change of a quiet fleet is told at once.
  std::chrono::milliseconds gather{100};
  // How often a source is asked that does not tell.
  std::chrono::milliseconds poll{50};
  std::size_t most_views = 32;
  std::chrono::seconds keep_view{60};  // that nobody looks at
};

// A fleet as some people see it. Thread-safe.
class View {
 public:
  View(Rights rights, const HubOptions& options, std::string epoch, base::Time since,
       std::uint64_t first_revision);

  const Rights& rights() const { return rights_; }
  // With the fleet to oneself.
  template <typename F>
  auto With(F look) const {
    const base::MutexLock lock(mutex_);
    return look(*fleet_, epoch_, history_);
  }
  void Listen(const std::shared_ptr<Listener>& listener);
  // When a claim gave its devices back, as far as that was seen.
  std::optional<base::Time> ReleasedAt(std::string_view namespace_, std::string_view name) const;

 private:
  friend class Hub;
  void Apply(const api::Change& change, base::Time now);
  void Settle(base::Time now, bool claims_unknown);
  void Tell(base::Time now);
  void Rebuild();
  bool Listened();
  void End(std::string_view why);

  const Rights rights_;
  const HubOptions& options_;
  const std::string base_epoch_;
  mutable base::Mutex mutex_;
  Sight sight_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<fleet::Fleet> fleet_ ABSL_GUARDED_BY(mutex_);
  std::string epoch_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t rebuilt_ ABSL_GUARDED_BY(mutex_) = 0;
  fleet::History history_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<Listener>> listeners_ ABSL_GUARDED_BY(mutex_);
  std::map<std::pair<std::string, std::string>, base::Time> released_ ABSL_GUARDED_BY(mutex_);
  std::atomic<std::int64_t> used_ = 0;  // seconds of the monotonic clock
};

// Thread-safe. Follows from the first time on that somebody asks.
class Hub {
 public:
  // All outlive it.
  Hub(Source& source, const Desk& desk, const base::Clock& clock, HubOptions options);
  ~Hub();

  // Begins to follow, if it does not yet.
  void Start();
  Connection connection() const;
  base::Time started() const { return started_; }
  Source& source() { return source_; }
  const base::Clock& clock() const { return clock_; }

  // ResourceExhausted: too many different people look at once.
  StatusOr<std::shared_ptr<View>> ViewFor(const Rights& rights);
  // What somebody with these rights sees of all objects that decisions depend on.
  Scene SceneFor(const View& view) const;
  std::vector<std::string> Namespaces() const;
  // Kinds that are followed.
  const std::vector<const api::KindInfo*>& kinds() const { return kinds_; }
  // Looks for changes now. For tests, and for whoever has just changed something.
  void Wake();

 private:
  using Key = std::tuple<const api::TypeInfo*, std::string, std::string>;
  void Run();
  // Whether there was anything.
  bool Drain(api::ObjectWatch& watch, base::Time now);
  void ForgetViews();

  Source& source_;
  const base::Clock& clock_;
  const HubOptions options_;
  const std::string epoch_;
  const base::Time started_;
  std::vector<const api::KindInfo*> kinds_;

  // Its own: who wakes the hub may not wait for what it is at.
  base::Mutex wake_mutex_;
  base::CondVar wake_;
  bool woken_ ABSL_GUARDED_BY(wake_mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(wake_mutex_) = false;
  std::atomic<bool> running_ = false;
  mutable base::Mutex mutex_;
  // Its own: who asks for it may not wait.
  mutable base::Mutex connection_mutex_;
  Connection connection_ ABSL_GUARDED_BY(connection_mutex_);
  std::map<Key, api::Object> objects_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<View>> views_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t views_made_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace dray::console
