// SPDX-License-Identifier: Apache-2.0
#include "node/plugin_manager.h"

#include <utility>

#include "files/files.h"

namespace dray::node {
namespace {

// Health changes often and is of no use to anybody but an agent that starts within half a minute.
constexpr std::chrono::seconds kBetweenWrites{1};

}  // namespace

PluginManager::PluginManager(PluginManagerParts parts, PluginManagerOptions options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      health_file_(options_.root + "/" + std::string(kHealthFileName)),
      metrics_(parts_.metrics != nullptr ? std::make_unique<PluginMetrics>(*parts_.metrics)
                                         : nullptr),
      wipes_(
          parts_.loop, parts_.wiper, parts_.log,
          parts_.random ? parts_.random : [] { return 0.5; }),
      table_({.loop = parts_.loop,
              .connector = parts_.connector,
              .wipes = wipes_,
              .log = parts_.log,
              .metrics = metrics_.get(),
              .health_known = [this] { WriteHealthSoon(); }}),
      registrar_(parts_.loop, parts_.connector, *this, parts_.log,
                 [this](const PluginCounts& counts) {
                   if (metrics_ != nullptr) metrics_->SetSockets(counts);
                 }) {}

PluginManager::~PluginManager() = default;

void PluginManager::ReadHealth() {
  const StatusOr<std::string> text = files::ReadWhole(health_file_);
  if (text.status().code() == StatusCode::kNotFound) return;
  StatusOr<HealthBook::Drivers> drivers =
      text.ok() ? DecodeHealth(*text) : StatusOr<HealthBook::Drivers>(text.status());
  if (!drivers.ok()) {
    parts_.log.Warning("The health of devices that was known before is lost",
                       {{"file", health_file_}, {"error", drivers.status()}});
    return;
  }
  table_.health().Restore(*std::move(drivers), Moment::Of(parts_.loop.clock()));
  table_.HealthRestored();
}

void PluginManager::Start(PluginsListener& listener) {
  table_.SetListener(&listener);
  wipes_.WipeAll();
}

Status PluginManager::WatchSockets() {
  const auto posted = [this](void (PluginRegistrar::*what)(const std::string&)) {
    return
        [this, alive = std::weak_ptr(alive_), &loop = parts_.loop, what](const std::string& path) {
          loop.Post([this, alive, what, path] {
            if (alive.lock() != nullptr) (registrar_.*what)(path);
          });
        };
  };
  DRAY_ASSIGN_OR_RETURN(watcher_, WatchPlugins(options_.root + "/plugins_registry",
                                               {.found = posted(&PluginRegistrar::SocketFound),
                                                .gone = posted(&PluginRegistrar::SocketGone)},
                                               parts_.log));
  return {};
}

Status PluginManager::AddPlugin(const Plugin& plugin) {
  Plugin wanted = plugin;
  if (!options_.health) wanted.services.health = rpc::HealthService::kNone;
  return table_.AddPlugin(wanted);
}

void PluginManager::WriteHealthSoon() {
  health_dirty_ = true;
  if (health_writing_ || health_timer_.pending()) return;
  health_timer_ = parts_.loop.After(kBetweenWrites, [this] { WriteHealth(); });
}

void PluginManager::WriteHealth() {
  health_dirty_ = false;
  health_writing_ = true;
  Away(
      parts_.offload, parts_.loop,
      [path = health_file_, text = EncodeHealth(table_.health().drivers())] {
        return files::WriteWhole(path, text, 0600);
      },
      [this, alive = std::weak_ptr(alive_)](const Status& status) {
        if (alive.lock() == nullptr) return;
        health_writing_ = false;
        if (!status.ok()) {
          parts_.log.Warning("The health of devices cannot be remembered", {{"error", status}});
        }
        if (health_dirty_) WriteHealthSoon();
      });
}

}  // namespace dray::node
