// SPDX-License-Identifier: Apache-2.0
//
// PluginTable: the endpoints of every driver, which of them is called, and the health that they
// report.
//
// During an update a driver has two: the most recently registered one that is connected is called.
// The connection is how the agent knows that a driver lives, so each endpoint has exactly one,
// from the beginning.
//
// Spec: docs/spec/node.md sections 5 and 8.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "logs/log.h"
#include "node/loop.h"
#include "node/plugin_health.h"
#include "node/plugin_metrics.h"
#include "node/plugin_registrar.h"
#include "node/plugins.h"
#include "node/slice_wiper.h"
#include "rpc/plugin_client.h"

namespace dray::node {

struct PluginTableParts {
  Loop& loop;
  rpc::PluginConnector& connector;
  SliceWipes& wipes;
  logs::Logger log;
  PluginMetrics* metrics = nullptr;
  // Told when something is known that should be on the disk.
  std::function<void()> health_known = nullptr;
};

// On the loop's thread alone.
class PluginTable final : public Plugins, public PluginHandler {
 public:
  static constexpr std::chrono::seconds kCallDeadline{45};
  static constexpr std::chrono::seconds kHealthPause{5};
  // Between two messages of a health stream: what comes faster waits.
  static constexpr std::chrono::milliseconds kHealthInterval{50};
  // And for each device of the one before, so that no driver keeps the loop busy.
  static constexpr std::chrono::microseconds kHealthPerDevice{10};
  // Endpoints of all drivers: each is a connection.
  static constexpr std::size_t kMostPlugins = 256;

  // All parts outlive it.
  explicit PluginTable(PluginTableParts parts);
  ~PluginTable() override;

  // Nobody is told anything before. Outlives the table.
  void SetListener(PluginsListener* listener) { listener_ = listener; }

  // PluginHandler
  Status AddPlugin(const Plugin& plugin) override;
  void RemovePlugin(const Plugin& plugin) override;
  void PluginReady(const Plugin& plugin) override;

  // Plugins
  Status Registered(std::string_view driver) const override;
  void Prepare(std::string_view driver, std::vector<rpc::ClaimName> claims,
               rpc::Done<rpc::PrepareAnswer> done) override;
  void Unprepare(std::string_view driver, std::vector<rpc::ClaimName> claims,
                 rpc::Done<rpc::UnprepareAnswer> done) override;
  HealthOfDevice HealthOf(const DeviceName& device) const override;

  bool Usable(std::string_view driver) const;
  HealthBook& health() { return health_; }
  // After the book was changed by somebody else.
  void HealthRestored() { SetHealthTimer(); }

 private:
  class Endpoint;
  using Endpoints = std::list<std::unique_ptr<Endpoint>>;  // in order of registration

  // The one to call. Null with a status: there is none.
  StatusOr<Endpoint*> Pick(std::string_view driver) const;
  template <class Answer>
  rpc::Done<Answer> OnLoop(const Endpoint& endpoint, std::string_view method,
                           rpc::Done<Answer> done);

  // What endpoints hear, on the loop.
  Endpoint* Find(std::uint64_t id) const;
  void Connected(Endpoint& endpoint, bool connected);
  void OpenStream(Endpoint& endpoint);
  void Reported(Endpoint& endpoint, const std::vector<rpc::DeviceHealth>& devices);
  void StreamEnded(Endpoint& endpoint, const Status& why);
  void TellUsable(const std::string& driver);
  void TellHealth(HealthBook::Change change);
  void SetHealthTimer();

  const PluginTableParts parts_;
  PluginsListener* listener_ = nullptr;
  std::map<std::string, Endpoints, std::less<>> drivers_;
  std::map<std::uint64_t, Endpoint*> by_id_;
  std::uint64_t added_ = 0;
  HealthBook health_;
  Loop::Timer health_timer_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace dray::node
