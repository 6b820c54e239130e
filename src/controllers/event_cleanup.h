// SPDX-License-Identifier: Apache-2.0
//
// Events that are old: what happened is told for a while, not kept for ever. Some stores delete them by
// themselves after an hour (store::Operation::ttl); what is there two minutes later is deleted here.
#pragma once

#include <chrono>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "controllers/reconciler.h"

namespace dray::controllers {

struct EventCleanupOptions {
  // After it was last told. As long as Kubernetes's --event-ttl, and what a store may take.
  std::chrono::seconds kept{std::chrono::minutes(62)};
};

// One thread.
class EventCleanup final : public Reconciler {
 public:
  // Source and clock outlive it.
  EventCleanup(const Source& source, const base::Clock& clock, EventCleanupOptions options = {});

  std::string_view name() const override { return "event-cleanup"; }

 private:
  void OnChange(const api::Object* before, const api::Object* after) override;
  Status Reconcile(const ObjectKey& key) override;

  const EventCleanupOptions options_;
};

}  // namespace dray::controllers
