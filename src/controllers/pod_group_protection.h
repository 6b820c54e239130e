// SPDX-License-Identifier: Apache-2.0
//
// A PodGroup that is deleted stays until none of its pods runs any more: what they share, and who
// reads their group, would lose it before its time.
#pragma once

#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "controllers/index.h"
#include "controllers/reconciler.h"

namespace dray::controllers {

// One thread.
class PodGroupProtection final : public Reconciler {
 public:
  // Source and clock outlive it.
  PodGroupProtection(const Source& source, const base::Clock& clock);

  std::string_view name() const override { return "podgroup-protection"; }

 private:
  void OnChange(const api::Object* before, const api::Object* after) override;
  Status Reconcile(const ObjectKey& key) override;

  Index pods_of_group_;  // names by "namespace/name" of the group; those that have not ended
};

}  // namespace dray::controllers
