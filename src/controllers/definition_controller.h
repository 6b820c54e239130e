// SPDX-License-Identifier: Apache-2.0
//
// DefinitionController: definitions of kinds that go take their objects with them, and names that
// become free are given to who waits for them.
//
// Spec: Kubernetes's finalizer customresourcecleanup.apiextensions.k8s.io, and its naming controller.
#pragma once

#include <string>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "controllers/reconciler.h"

namespace dray::controllers {

// One thread.
class DefinitionController final : public Reconciler {
 public:
  DefinitionController(const Source& source, const base::Clock& clock);
  std::string_view name() const override { return "definitions"; }

 private:
  void OnChange(const api::Object* before, const api::Object* after) override;
  Status Reconcile(const ObjectKey& key) override;
  Status Empty(const api::Object& leaving);
  // What a definition's status is follows from it and the others, which the server sees to when it
  // is written.
  Status Touch(const api::Object& definition);

  absl::flat_hash_map<const api::TypeInfo*, absl::btree_set<ObjectKey>> objects_;
  // Those that wait for names, or are leaving: with the others there is nothing to do.
  absl::btree_set<ObjectKey> unsettled_;
};

}  // namespace dray::controllers
