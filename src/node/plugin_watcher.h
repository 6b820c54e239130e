// SPDX-License-Identifier: Apache-2.0
//
// PluginWatcher: sees sockets come and go in the registry folder and every folder below it.
//
// Whoever is there already when it starts is told of as if it had just come. Names that begin with a
// dot and what is no socket are nobody's business. Unlike a kubelet's, it notices sockets that are
// renamed, and a registry folder that is removed: that is made again.
//
// Spec: docs/spec/node.md 3.1.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "logs/log.h"

namespace dray::node {

struct PluginSocketEvents {
  // Called from the watcher's thread, in order. A socket that was made anew is found again without
  // being gone in between where that went unseen.
  std::function<void(const std::string& path)> found;
  std::function<void(const std::string& path)> gone;
};

// Watches until it is destroyed.
class PluginWatcher {
 public:
  virtual ~PluginWatcher() = default;
};

// Makes the folder if it is missing. An error: it cannot be made. Where the machine has no watches to
// give (or `inotify` is false), it is looked once a second, and the log says so.
StatusOr<std::unique_ptr<PluginWatcher>> WatchPlugins(const std::string& folder,
                                                      PluginSocketEvents events, logs::Logger log,
                                                      bool inotify = true);

}  // namespace dray::node
