// SPDX-License-Identifier: Apache-2.0
//
// The agent's end of the sockets of plugins. Nothing here waits: answers come to the functions that
// are handed in, from threads of the room's own.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rpc/messages.h"

namespace dray::rpc {

// A registration socket, open for one handshake. Thread-safe; calls that are on their way when it is
// destroyed are cancelled, and their functions called before the destructor returns.
class RegistrationClient {
 public:
  virtual ~RegistrationClient() = default;
  virtual void GetInfo(std::chrono::nanoseconds deadline, Done<PluginInfo> done) = 0;
  // `error` empty: it is registered.
  virtual void Notify(const std::string& error, std::chrono::nanoseconds deadline,
                      DoneStatus done) = 0;
};

// What is heard of a driver's DRA socket. Called from any thread, one call at a time; must not
// destroy the channel.
class PluginListener {
 public:
  virtual ~PluginListener() = default;
  // Told of changes; not connected until told otherwise.
  virtual void OnConnected(bool connected) = 0;
  // Nothing more is read of the stream until NextHealth is called, so that a driver which talks
  // without end waits, instead of filling memory.
  virtual void OnHealth(std::vector<DeviceHealth> devices) = 0;
  // The stream has ended. kUnimplemented: the driver has no such service.
  virtual void OnHealthEnd(Status why) = 0;
};

// One connection to a driver's DRA socket: made at once, made again whenever it breaks, used for
// every call and for the health stream. Calls of a driver that cannot be reached fail at once with
// kUnavailable. Thread-safe; its destructor cancels the calls that are on their way and returns when
// their functions have been called; the listener is told nothing any more.
class PluginChannel {
 public:
  virtual ~PluginChannel() = default;
  virtual void Prepare(std::vector<ClaimName> claims, std::chrono::nanoseconds deadline,
                       Done<PrepareAnswer> done) = 0;
  virtual void Unprepare(std::vector<ClaimName> claims, std::chrono::nanoseconds deadline,
                         Done<UnprepareAnswer> done) = 0;
  // Opens the health stream; its end is told to the listener. Not again before that.
  virtual void WatchHealth() = 0;
  // After OnHealth: the next message, please.
  virtual void NextHealth() = 0;
};

struct ChannelOptions {
  std::string endpoint;  // absolute path of the socket
  DraService dra = DraService::kV1;
  HealthService health = HealthService::kNone;
};

// Where plugins are reached: sockets of the machine, or those of a test. Thread-safe.
class PluginConnector {
 public:
  virtual ~PluginConnector() = default;
  // Not OK: the path is one that nobody could ever reach.
  virtual StatusOr<std::unique_ptr<RegistrationClient>> Registration(const std::string& socket) = 0;
  // The listener outlives the channel.
  virtual StatusOr<std::unique_ptr<PluginChannel>> Channel(const ChannelOptions& options,
                                                           PluginListener& listener) = 0;
};

// Answers and messages longer than this are errors of the call, not memory of ours.
inline constexpr int kLongestMessage = 16 * 1024 * 1024;

std::unique_ptr<PluginConnector> SocketConnector();

}  // namespace dray::rpc
