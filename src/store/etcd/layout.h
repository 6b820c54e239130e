// SPDX-License-Identifier: Apache-2.0
//
// How a store's keys are called in etcd, so that `etcdctl get --prefix /dray/registry/pods` shows what
// one expects, and what else a store keeps beside them:
//
//   /dray/registry/pods/default/a   the key /registry/pods/default/a
//   /dray/~a                        the key a, which does not begin with a slash
//   /dray/_fence/<id>               written by the server <id> alone (writer.h)
//   /dray/_server/<id>              who is alive; goes with its lease (keeper.h)
//   /dray/_compaction               up to where it was compacted, and by whom last (keeper.h)
//   /dray/_unfinished               while a copy into this store is under way (copy.h)
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dray::store::internal {

// What a server is called that nobody else may be beside, unless it has another name.
inline constexpr std::string_view kAlone = "alone";

class Layout {
 public:
  // `prefix` begins with a slash and does not end with one, as in /dray.
  explicit Layout(std::string_view prefix) : root_(std::string(prefix) + "/") {}

  // Everything of this store: what begins with it.
  const std::string& root() const { return root_; }

  std::string Key(std::string_view key) const {
    // What would be taken for one of the others is written out like what has no slash.
    const bool plain = key.starts_with('/') && !key.starts_with("/~") && !key.starts_with("/_");
    return root_ + (plain ? "" : "~") + std::string(plain ? key.substr(1) : key);
  }
  // Nothing: it is not a key of the store's user.
  std::optional<std::string> Decode(std::string_view etcd_key) const {
    if (!etcd_key.starts_with(root_)) return std::nullopt;
    const std::string_view rest = etcd_key.substr(root_.size());
    if (rest.starts_with('_')) return std::nullopt;
    if (rest.starts_with('~')) return std::string(rest.substr(1));
    return "/" + std::string(rest);
  }

  std::string Fences() const { return root_ + "_fence/"; }
  std::string Fence(std::string_view server) const { return Fences() + std::string(server); }
  std::string Servers() const { return root_ + "_server/"; }
  std::string Server(std::string_view server) const { return Servers() + std::string(server); }
  std::string Compaction() const { return root_ + "_compaction"; }
  std::string Unfinished() const { return root_ + "_unfinished"; }

 private:
  std::string root_;
};

}  // namespace dray::store::internal
