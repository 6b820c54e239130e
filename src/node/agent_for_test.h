// SPDX-License-Identifier: Apache-2.0
//
// A whole agent in memory: a cluster, drivers, a runtime that runs nothing, and time that moves when
// it is told to. Everything happens on the test's thread.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/forwarding_cluster.h"
#include "api/memory_cluster.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "container/none_runtime.h"
#include "files/temporary_folder.h"
#include "metrics/registry.h"
#include "node/agent.h"
#include "node/plugins_for_test.h"

namespace dray::node {

// A cluster that gives pods their grace, as a server does: a deletion by a user waits for the node's.
class GracefulCluster final : public api::ForwardingCluster {
 public:
  explicit GracefulCluster(api::MemoryCluster& inner) : ForwardingCluster(inner), memory_(inner) {}

  StatusOr<api::Object> UpdateStatus(api::Object object) override;
  // The node's: what it lets go of is gone.
  Status Delete(const api::KindInfo& kind, std::string_view namespace_, std::string_view name,
                std::string_view uid = {}) override;
  void Note(const api::EventNote& note) override;

  // Called when the node has written a pod's status.
  std::function<void(const api::Pod&)> on_status;
  std::vector<std::string> events;  // "Warning FailedMount: ..."
  std::vector<std::string> deleted;
  // What everything but Note answers; as if the server was away.
  Status away;

 private:
  api::MemoryCluster& memory_;
};

class InlineOffload final : public Offload {
 public:
  explicit InlineOffload(Loop& loop) : loop_(loop) {}
  void Do(std::function<void()> work) override {
    loop_.Post([this, life = life_, work = std::move(work)] {
      if (life == life_) work();
    });
  }
  // Whoever gave it work has died: what is not done yet never is.
  void Crash() { ++life_; }

 private:
  Loop& loop_;
  int life_ = 0;
};

class ProbeClientForTest final : public ProbeClient {
 public:
  StatusOr<HttpAnswer> http = HttpAnswer{.code = 200};
  Status tcp;
  Status grpc;
  std::vector<std::string> asked;
  void Http(const HttpProbe& probe, std::chrono::nanoseconds,
            std::function<void(StatusOr<HttpAnswer>)> done) override;
  void Tcp(const ProbeTarget& target, std::chrono::nanoseconds,
           std::function<void(Status)> done) override;
  void Grpc(const GrpcProbe& probe, std::chrono::nanoseconds,
            std::function<void(Status)> done) override;
};

class SourcesForTest final : public Sources {
 public:
  std::map<std::string, Kept> config_maps;  // by namespace/name
  std::map<std::string, Kept> secrets;
  std::vector<TokenWish> wishes;
  const base::Clock* clock = nullptr;
  std::vector<std::string> asked;
  Status away;

  StatusOr<std::optional<Kept>> ConfigMap(const std::string& namespace_,
                                          const std::string& name) override;
  StatusOr<std::optional<Kept>> Secret(const std::string& namespace_,
                                       const std::string& name) override;
  StatusOr<Token> MakeToken(const TokenWish& wish) override;
};

class AgentTest : public ::testing::Test {
 protected:
  AgentTest();
  ~AgentTest() override;

  // Starts the agent, with what an earlier one has left.
  void StartAgent();
  // kill -9: what is on its way to it arrives nowhere; containers and drivers stay.
  void KillAgent();
  void RestartAgent() {
    KillAgent();
    StartAgent();
  }

  // Time goes on, and everything that is due happens.
  void Run(std::chrono::nanoseconds time = std::chrono::seconds(3));

  // Objects. Pods are bound to the node "n1".
  void Apply(std::string_view yaml);
  void CreatePod(std::string_view yaml) { Apply(yaml); }
  void AddClaim(api::ResourceClaim claim);
  // A pod in "ns" whose container "c" uses claims by name, reserved for it and allocated by `drivers`.
  void CreatePodWith(std::string_view name, const std::vector<std::string>& claims);
  void ReserveFor(std::string_view claim, std::string_view pod);
  // With grace: the object gets a deletion time and stays until the node lets go.
  void DeletePod(std::string_view name);
  void ForceDelete(std::string_view name);
  void DeleteClaim(std::string_view name);

  std::optional<api::Pod> FindPod(std::string_view name) const;
  std::string PhaseOf(std::string_view name) const;  // "gone" when it is
  std::string UidOf(std::string_view name) const;
  api::ContainerStatus StatusOf(const api::Pod& pod, std::string_view container) const;
  bool HasEvent(std::string_view part) const;
  int EventsWith(std::string_view part) const;
  // How often the runtime was called like that: "RunSandbox ns/p".
  int RuntimeCalls(std::string_view prefix) const;
  std::vector<ClaimState> Checkpoint() const;
  std::vector<std::string> CdiOf(std::string_view pod, std::string_view container) const;

  base::ManualClock clock_{base::Time::FromUnix(1'794'000'000)};
  Loop loop_{clock_};
  base::SeededRandomSource random_{7};
  files::TemporaryFolder folder_;
  api::FeatureGates gates_;
  std::unique_ptr<api::MemoryCluster> memory_;
  std::unique_ptr<GracefulCluster> cluster_;
  PluginsForTest plugins_{loop_};
  container::NoneRuntime runtime_{clock_};
  ProbeClientForTest probes_;
  SourcesForTest sources_;
  InlineOffload offload_{loop_};
  AgentOptions options_;
  std::unique_ptr<metrics::Registry> metrics_;
  std::unique_ptr<Agent> agent_;
};

// The rows of docs/spec/node.md 20, by number.
class Acceptance : public AgentTest {
 protected:
  // A pod "p" that runs with its claim "a" of driver "d1".
  void StartWithPod();
};

}  // namespace dray::node
