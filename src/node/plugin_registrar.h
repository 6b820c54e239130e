// SPDX-License-Identifier: Apache-2.0
//
// PluginRegistrar: the handshake with whoever puts a socket into the registry folder. It decides who
// becomes a plugin; what a plugin is then used for is its handler's business.
//
// Spec: docs/spec/node.md section 3.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "logs/log.h"
#include "node/loop.h"
#include "rpc/plugin_client.h"

namespace dray::node {

// The services of a DRA driver that are used.
struct PluginServices {
  rpc::DraService dra = rpc::DraService::kV1;
  rpc::HealthService health = rpc::HealthService::kNone;
  friend bool operator==(const PluginServices&, const PluginServices&) = default;
};

// The newest of each kind that both sides know. A kubelet takes the first of the driver's list
// instead, which is the same for every driver that lists the newest first.
StatusOr<PluginServices> ChooseServices(const std::vector<std::string>& supported_versions);

struct Plugin {
  std::string driver;
  std::string endpoint;  // absolute path
  PluginServices services;
  friend bool operator==(const Plugin&, const Plugin&) = default;
};

// What a plugin says of itself, as far as it can be used. The error is for its author.
StatusOr<Plugin> ReadPlugin(const rpc::PluginInfo& info, const std::string& socket);

// Whom plugins are registered with.
class PluginHandler {
 public:
  virtual ~PluginHandler() = default;
  // Not OK: it is refused, and told why.
  virtual Status AddPlugin(const Plugin& plugin) = 0;
  // Of one that was added.
  virtual void RemovePlugin(const Plugin& plugin) = 0;
  // The plugin was told that it is registered.
  virtual void PluginReady(const Plugin& plugin) = 0;
};

// How many sockets there are in either state; 1 or nothing for each.
struct PluginCounts {
  std::vector<std::string> desired;
  std::vector<std::string> actual;
};

// On the loop's thread alone.
class PluginRegistrar {
 public:
  static constexpr std::chrono::seconds kGetInfoDeadline{1};
  static constexpr std::chrono::seconds kNotifyDeadline{5};
  static constexpr std::chrono::milliseconds kFirstRetry{500};
  static constexpr std::chrono::seconds kLongestRetry{122};
  // Handshakes at a time; sockets that come then wait, those that were never tried before the others.
  static constexpr std::size_t kMostHandshakes = 16;

  // All outlive it. `changed` is told of the sockets whenever they change.
  PluginRegistrar(Loop& loop, rpc::PluginConnector& connector, PluginHandler& handler,
                  logs::Logger log, std::function<void(const PluginCounts&)> changed = nullptr);
  ~PluginRegistrar();

  // A socket has appeared, or has been made anew.
  void SocketFound(const std::string& path);
  void SocketGone(const std::string& path);

  // The driver registered by that socket, for tests and people.
  const Plugin* Registered(const std::string& path) const;

 private:
  struct Socket {
    std::uint64_t desired = 0;     // each appearance has its own number; 0: it is gone
    std::uint64_t registered = 0;  // the appearance that `plugin` belongs to; 0: none
    Plugin plugin;
    // The handshake that is under way, of appearance `trying`.
    std::unique_ptr<rpc::RegistrationClient> client;
    std::uint64_t trying = 0;
    std::chrono::nanoseconds retry = kFirstRetry;
    bool waiting = false;  // for others' handshakes to end
    Loop::Timer timer;
  };

  void Reconcile(const std::string& path);
  void Begin(const std::string& path, Socket& socket);
  // The handshake of the socket is over; whoever waits longest is next.
  void EndHandshake(Socket& socket);
  void GotInfo(const std::string& path, const StatusOr<rpc::PluginInfo>& info);
  void Refuse(const std::string& path, const Status& why);
  void Notified(const std::string& path, const Status& status);
  void Failed(const std::string& path, std::string_view step, const Status& why);
  void Deregister(const std::string& path, Socket& socket);
  void Tell();
  // `then` on the loop, with what comes. A handshake waits for one answer at a time, so it is its own.
  template <class T>
  std::function<void(T)> OnLoop(const std::string& path,
                                void (PluginRegistrar::*then)(const std::string&, const T&));

  Loop& loop_;
  rpc::PluginConnector& connector_;
  PluginHandler& handler_;
  const logs::Logger log_;
  const std::function<void(const PluginCounts&)> changed_;
  std::map<std::string, Socket> sockets_;  // by path
  std::uint64_t appearances_ = 0;
  std::size_t handshakes_ = 0;
  std::deque<std::string> fresh_;    // sockets that wait for their first handshake
  std::deque<std::string> retries_;  // for another one
  bool telling_ = false;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace dray::node
