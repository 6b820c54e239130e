// SPDX-License-Identifier: Apache-2.0
//
// Rights: what somebody may read, kind by kind; and changes of objects as that person sees them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/authorization.h"
#include "api/cluster.h"
#include "base/string_map.h"

namespace dray::console {

// A value. Kinds that it does not name may not be read.
class Rights {
 public:
  static Rights All();
  // Asks whether the user may list each kind, everywhere or in which of the namespaces.
  static Rights Of(const api::UserInfo& user, const api::Authorizer& authorizer,
                   std::span<const api::KindInfo* const> kinds,
                   const std::vector<std::string>& namespaces);

  bool all() const { return all_; }
  bool Everywhere(const api::KindInfo& kind) const;
  bool May(const api::KindInfo& kind, std::string_view namespace_) const;
  // Nothing of the kind, anywhere.
  bool None(const api::KindInfo& kind) const;
  // Equal for equal rights.
  std::string Signature() const;

 private:
  struct Kind {
    bool everywhere = false;
    std::set<std::string, std::less<>> namespaces;
  };
  bool all_ = false;
  std::map<std::string, Kind, std::less<>> kinds_;  // by plural and group
};

// What a person sees of objects: those that they may read; and of claims that they may not, that
// devices are in use (fleet::kHidden), if they may see the devices. One thread at a time.
class Sight {
 public:
  explicit Sight(Rights rights) : rights_(std::move(rights)) {}
  const Rights& rights() const { return rights_; }
  // Nothing: they do not see it.
  std::optional<api::Change> Of(const api::Change& change);

 private:
  const Rights rights_;
  // What hidden claims are called instead: nothing about them can be read off that.
  base::StringMap<std::string> names_;
  std::uint64_t next_ = 1;
};

}  // namespace dray::console
