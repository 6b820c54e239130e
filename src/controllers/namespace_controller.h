// SPDX-License-Identifier: Apache-2.0
//
// Namespaces: active ones carry the finalizer "kubernetes" in their spec, so that one that is
// deleted stays until everything in it is gone. That is deleted here.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "absl/container/btree_set.h"
#include "api/cluster.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/string_map.h"
#include "controllers/reconciler.h"

namespace dray::controllers {

// One thread.
class NamespaceController final : public Reconciler {
 public:
  // Both outlive it.
  NamespaceController(const Source& source, const base::Clock& clock);

  std::string_view name() const override { return "namespace-controller"; }

 private:
  void OnChange(const api::Object* before, const api::Object* after) override;
  Status Reconcile(const ObjectKey& key) override;
  Status Protect(const api::Object& active);
  Status Empty(const api::Object& leaving);
  Status SetPhase(const api::Object& object, std::string_view phase);
  // Says in the namespace's status why it does not go.
  Status TellWhyItStays(const api::Object& leaving, const Status& why);
  // Says there what is left in it, and which finalizers that waits for. Not of one that is empty in a
  // moment, and now and then while it becomes less.
  Status TellWhatRemains(const api::Object& leaving, const absl::btree_set<ObjectKey>& contents);

  base::StringMap<absl::btree_set<ObjectKey>> contents_;  // by namespace
  // When it is told next what is left, by the uid of the namespace.
  base::StringMap<std::chrono::nanoseconds> tell_at_;
};

}  // namespace dray::controllers
