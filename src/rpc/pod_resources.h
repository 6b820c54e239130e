// SPDX-License-Identifier: Apache-2.0
//
// PodResources: which devices the containers of a node have, for monitoring agents that ask on a
// socket of the agent's. Plain values, the server, and a client.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "rpc/messages.h"

namespace dray::rpc {

struct ClaimResource {
  std::string driver;
  std::string pool;
  std::string device;
  std::vector<std::string> cdi_devices;
  std::optional<std::string> share_id;
  friend bool operator==(const ClaimResource&, const ClaimResource&) = default;
};

struct DynamicResource {
  std::string claim_name;
  std::string claim_namespace;
  std::vector<ClaimResource> resources;
  friend bool operator==(const DynamicResource&, const DynamicResource&) = default;
};

struct ContainerResources {
  std::string name;
  std::vector<DynamicResource> claims;
  friend bool operator==(const ContainerResources&, const ContainerResources&) = default;
};

struct PodResources {
  std::string name;
  std::string namespace_;
  std::vector<ContainerResources> containers;
  friend bool operator==(const PodResources&, const PodResources&) = default;
};

// Who knows. Called from several threads; answers may come from any, at any time.
class PodResourcesSource {
 public:
  virtual ~PodResourcesSource() = default;
  virtual void List(Done<std::vector<PodResources>> done) = 0;
  // Nothing: there is no such pod.
  virtual void Get(const std::string& namespace_, const std::string& name,
                   Done<std::optional<PodResources>> done) = 0;
};

enum class PodResourcesMethod : std::uint8_t { kList, kGet, kGetAllocatable };

struct PodResourcesOptions {
  std::string socket;
  const base::Clock* clock = nullptr;  // outlives the server
  // Told of each request that was not rejected, and whether it was answered. From several threads.
  std::function<void(PodResourcesMethod, bool ok)> answered = nullptr;
  double per_second = 100;
  double burst = 10;
};

// Serves until it is destroyed, which does not wait for the source: an answer that comes later goes
// nowhere.
class PodResourcesServer {
 public:
  virtual ~PodResourcesServer() = default;
};

// The source outlives it. Errors as ServePlugin's.
StatusOr<std::unique_ptr<PodResourcesServer>> ServePodResources(PodResourcesOptions options,
                                                                PodResourcesSource& source);

// Asks, and waits for the answer. Thread-safe.
class PodResourcesClient {
 public:
  virtual ~PodResourcesClient() = default;
  virtual StatusOr<std::vector<PodResources>> List() = 0;
  virtual StatusOr<PodResources> Get(const std::string& namespace_, const std::string& name) = 0;
  // There is nothing that it could say: devices of device plugins, CPUs and memory are not given to
  // containers by this agent.
  virtual Status GetAllocatable() = 0;
};

StatusOr<std::unique_ptr<PodResourcesClient>> ConnectPodResources(const std::string& socket);

}  // namespace dray::rpc
