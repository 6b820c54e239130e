// SPDX-License-Identifier: Apache-2.0
//
// Reconciler: a controller that looks at one object after the other. What a change gives it to do
// is put into a queue of keys; each is then brought in order from what the view says.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>

#include "absl/container/flat_hash_set.h"
#include "api/cluster.h"
#include "base/clock.h"
#include "base/status.h"
#include "controllers/controller.h"
#include "controllers/object_key.h"
#include "controllers/view.h"
#include "controllers/work_queue.h"

namespace dray::controllers {

// Nothing is decided while what happens cannot be followed. One thread.
class Reconciler : public Controller, private View::Listener {
 public:
  std::size_t Sync() final;
  void LetOthersInAfter(std::size_t writes) final { most_writes_ = writes; }
  void Overlap(const Launch& launch, std::size_t most) final;
  std::optional<std::chrono::nanoseconds> NextDue() const final;
  void Observe(Observer* observer) final { observer_ = observer; }
  QueueStatistics queue_statistics() const final { return queue_.statistics(); }
  // Objects looked at so far.
  std::size_t reconciled() const { return reconciled_; }

 protected:
  // Both outlive it.
  // `defined`: also of all kinds that somebody defines.
  Reconciler(const Source& source, const base::Clock& clock,
             std::span<const api::KindInfo* const> kinds, bool defined = false)
      : clock_(clock), queue_(clock), view_(source, kinds, *this, defined) {}

  // Brings in order what depends on one object, which may be gone. Called as often as it fails,
  // later and later, and must do nothing when nothing is to be done.
  virtual Status Reconcile(const ObjectKey& key) = 0;
  // Whether that may go on for one object while it waits for a call to the cluster about another: it keeps
  // nothing in the meantime but copies, and what it then writes is right whatever the others write.
  virtual bool MayOverlap() const { return false; }

  const base::Clock& clock() const { return clock_; }
  View& view() { return view_; }
  const View& view() const { return view_; }
  WorkQueue& queue() { return queue_; }
  // Null: nobody watches.
  Observer* observer() const { return observer_; }

 private:
  void Bring(const ObjectKey& key, std::chrono::nanoseconds waited);
  std::size_t Begin();

  const base::Clock& clock_;
  WorkQueue queue_;
  View view_;
  std::size_t reconciled_ = 0;
  std::size_t most_writes_ = std::numeric_limits<std::size_t>::max();
  Launch launch_;  // null: one after the other
  std::size_t most_under_way_ = 0;
  absl::flat_hash_set<ObjectKey> under_way_;
  absl::flat_hash_set<ObjectKey> again_;  // came up once more while they were
  Observer* observer_ = nullptr;
};

}  // namespace dray::controllers
