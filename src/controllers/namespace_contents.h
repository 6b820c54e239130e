// SPDX-License-Identifier: Apache-2.0
//
// What every namespace has: the ServiceAccount "default" for pods that name none, and the ConfigMap
// kube-root-ca.crt by which they know the API server.
#pragma once

#include <string>
#include <string_view>

#include "controllers/reconciler.h"

namespace dray::controllers {

// One thread.
class NamespaceContents final : public Reconciler {
 public:
  // Source and clock outlive it. `authority`: the certificate that signs the server's, PEM; empty:
  // nobody knows it, and there is no such ConfigMap.
  NamespaceContents(const Source& source, const base::Clock& clock, std::string authority);

  std::string_view name() const override { return "namespace-contents"; }

 private:
  void OnChange(const api::Object* before, const api::Object* after) override;
  Status Reconcile(const ObjectKey& key) override;
  Status EnsureAccount(const std::string& space);
  Status EnsureAuthority(const std::string& space);

  const std::string authority_;
};

}  // namespace dray::controllers
