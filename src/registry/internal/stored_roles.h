// SPDX-License-Identifier: Apache-2.0
//
// The stored roles and bindings as a policy that is never older than an answered write, and what
// nodes may read because of their pods.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "rbac/node_authorizer.h"
#include "registry/roles.h"
#include "store/store.h"

namespace dray::registry {

// Refresh is called by its authorizer, which lets in one thread at a time; the rest is thread-safe.
class RoleAuthorizer::StoredRoles final : public RoleAuthorizer::Following,
                                          public rbac::NodeObjects {
 public:
  StoredRoles(RoleAuthorizer& authorizer, const Objects& objects, Source source);
  ~StoredRoles() override;
  StoredRoles(const StoredRoles&) = delete;
  StoredRoles& operator=(const StoredRoles&) = delete;

  // Puts another policy there if what is stored has changed.
  void Refresh(std::shared_ptr<const rbac::Policy>& policy);

  std::vector<api::Object> PodsOn(std::string_view node,
                                  std::string_view namespace_) const override;
  std::optional<api::Object> Find(std::string_view group, std::string_view resource,
                                  std::string_view namespace_,
                                  std::string_view name) const override;

 private:
  void Rearm();

  RoleAuthorizer& authorizer_;
  const Objects& objects_;
  const Source source_;
  // Set by the store's thread before the write is answered.
  std::atomic<bool> changed_ = true;
  std::unique_ptr<store::Watch> watch_;
};

}  // namespace dray::registry
