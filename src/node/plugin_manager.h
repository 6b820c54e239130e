// SPDX-License-Identifier: Apache-2.0
//
// PluginManager: everything between the sockets of drivers and Plugins, put together: watcher,
// registration, table, wiping of slices, and the state file of health.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "logs/log.h"
#include "metrics/registry.h"
#include "node/loop.h"
#include "node/offload.h"
#include "node/plugin_metrics.h"
#include "node/plugin_registrar.h"
#include "node/plugin_table.h"
#include "node/plugin_watcher.h"
#include "node/plugins.h"
#include "node/slice_wiper.h"
#include "rpc/plugin_client.h"

namespace dray::node {

struct PluginManagerOptions {
  std::string root = "/var/lib/kubelet";
  // Gate ResourceHealthStatus: without it nobody is asked for health.
  bool health = true;
};

// All outlive the manager. `metrics` may be null, and must not be asked for its text when the manager
// is gone.
struct PluginManagerParts {
  Loop& loop;
  Offload& offload;
  rpc::PluginConnector& connector;
  SliceWiper& wiper;
  logs::Logger log;
  metrics::Registry* metrics = nullptr;
  std::function<double()> random = nullptr;  // from 0 to 1; null: always 0.5
};

// On the loop's thread alone.
class PluginManager final : private PluginHandler {
 public:
  PluginManager(PluginManagerParts parts, PluginManagerOptions options);
  ~PluginManager() override;

  Plugins& plugins() { return table_; }
  PluginMetrics* metrics() { return metrics_.get(); }
  PluginRegistrar& registrar() { return registrar_; }

  // What an earlier life knew of health. Reads a file: before the loop runs.
  void ReadHealth();
  // Wipes the slices of the node: no driver has registered yet. From now on the listener is told.
  void Start(PluginsListener& listener);
  // Finds plugins by the sockets in <root>/plugins_registry. Tests tell the registrar themselves.
  Status WatchSockets();

 private:
  // PluginHandler
  Status AddPlugin(const Plugin& plugin) override;
  void RemovePlugin(const Plugin& plugin) override { table_.RemovePlugin(plugin); }
  void PluginReady(const Plugin& plugin) override { table_.PluginReady(plugin); }

  void WriteHealthSoon();
  void WriteHealth();

  const PluginManagerParts parts_;
  const PluginManagerOptions options_;
  const std::string health_file_;
  std::unique_ptr<PluginMetrics> metrics_;
  SliceWipes wipes_;
  PluginTable table_;
  PluginRegistrar registrar_;
  bool health_dirty_ = false;  // something was learned since the last write began
  bool health_writing_ = false;
  Loop::Timer health_timer_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
  std::unique_ptr<PluginWatcher> watcher_;  // ends first
};

}  // namespace dray::node
