// SPDX-License-Identifier: Apache-2.0
//
// What somebody wants to do, as policies see it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/authorization.h"
#include "api/document.h"
#include "api/kinds.h"

namespace dray::policy {

inline constexpr std::string_view kCreate = "CREATE";
inline constexpr std::string_view kUpdate = "UPDATE";
inline constexpr std::string_view kDelete = "DELETE";
inline constexpr std::string_view kConnect = "CONNECT";

// A group, a version and a name.
struct Name {
  std::string group;
  std::string version;
  std::string name;
};

// A resource and the kind of what is sent to it. Both are of the same group and version, but for
// subresources with a body of their own: Scale is autoscaling's.
struct Version {
  Name resource;
  Name kind;
  // How an object is written in it; null: what was sent is no object of the store.
  const api::KindInfo* info = nullptr;

  static Version Of(const api::KindInfo& kind) {
    const std::string group(kind.group);
    const std::string version(kind.version);
    return {.resource = {group, version, std::string(kind.plural)},
            .kind = {group, version, std::string(kind.kind)},
            .info = &kind};
  }
};

// Everything that it points to outlives it.
struct Request {
  std::string_view operation;
  // As it was asked for. Of a subresource with a body of its own, such as pods/binding, the kind is
  // the body's.
  Version version;
  std::string subresource = {};
  std::string name = {};        // empty: to be generated
  std::string namespace_ = {};  // of a Namespace its own name, as in Kubernetes
  const api::UserInfo* user = nullptr;
  bool dry_run = false;
  // Before and after; null: there is none.
  const api::Object* object = nullptr;
  const api::Object* old_object = nullptr;
  // What was sent if that is no object of the store; instead of `object` and `old_object`.
  const api::DocumentNode* document = nullptr;
  const api::DocumentNode* old_document = nullptr;
  // CreateOptions, UpdateOptions or DeleteOptions; null: they say nothing but what they are.
  const api::DocumentNode* options = nullptr;
  // In which the same object can be asked for, the version's own included.
  std::vector<const api::KindInfo*> equivalents = {};
};

// What no policy looks at: policies themselves, or nobody could take back one that refuses
// everything, and reviews, which are questions.
bool IsExempt(std::string_view group, std::string_view resource);

}  // namespace dray::policy
