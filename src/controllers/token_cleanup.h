// SPDX-License-Identifier: Apache-2.0
//
// Bootstrap tokens whose time is over: their Secrets are deleted, as Kubernetes's tokencleaner does
// (one whose time cannot be read stays here: decisions.md, 884). They let nobody in from that moment on, whoever deletes them and when.
#pragma once

#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "controllers/reconciler.h"

namespace dray::controllers {

// One thread.
class TokenCleanup final : public Reconciler {
 public:
  // Source and clock outlive it.
  TokenCleanup(const Source& source, const base::Clock& clock);

  std::string_view name() const override { return "token-cleaner"; }

 private:
  void OnChange(const api::Object* before, const api::Object* after) override;
  Status Reconcile(const ObjectKey& key) override;
};

}  // namespace dray::controllers
