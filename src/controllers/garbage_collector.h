// SPDX-License-Identifier: Apache-2.0
//
// Garbage collection along owner references: what all owners have left behind is deleted; what is
// being deleted "in the foreground" waits for its dependents, and with the finalizer "orphan" they
// are let go instead.
//
// Which of the three it is says the server that takes the request to delete, by the finalizer it
// sets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "api/cluster.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/status.h"
#include "controllers/reconciler.h"

namespace dray::controllers {

inline constexpr std::string_view kOrphanFinalizer = "orphan";
inline constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";

// One thread.
class GarbageCollector final : public Reconciler {
 public:
  // Both outlive it.
  GarbageCollector(const Source& source, const base::Clock& clock);

  std::string_view name() const override { return "garbage-collector-controller"; }

 private:
  enum class OwnerState : std::uint8_t { kThere, kGone, kWaiting };

  void OnChange(const api::Object* before, const api::Object* after) override;
  void QueueOwners(const api::Object& object);

  Status Reconcile(const ObjectKey& key) override;
  Status ReconcileDependent(const api::Object& object);
  Status DeleteInForeground(const api::Object& object);
  bool OwnsAnOwner(const api::Object& object) const;
  Status Orphan(const api::Object& owner);
  Status WaitForDependents(const api::Object& owner);
  // An error: it cannot be found out, and nothing may be deleted for it.
  StatusOr<OwnerState> StateOf(const api::OwnerReference& reference,
                               const api::Object& dependent) const;
  std::vector<api::Object> DependentsOf(std::string_view uid) const;
  bool SeesDependentsOf(const api::Object& owner);
  Status RemoveFinalizer(const api::Object& object, std::string_view finalizer);

  // Who names an owner, by its uid.
  absl::flat_hash_map<std::string, absl::btree_set<ObjectKey>> dependents_;
};

}  // namespace dray::controllers
