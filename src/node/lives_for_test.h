// SPDX-License-Identifier: Apache-2.0
//
// What goes wrong around an agent, and how containers live there: a runtime, a server and drivers that
// fail, answer late, or do what they were asked and say that they did not.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "api/forwarding_cluster.h"
#include "container/none_runtime.h"
#include "node/loop.h"
#include "node/plugins.h"

namespace dray::node {

// One for all of a life: the same number is the same life. One thread.
class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  int Pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  // One in so many, while there is trouble.
  bool Trouble(int n) { return troubled && Pick(n) == 0; }
  bool troubled = true;

 private:
  std::mt19937 random_;
};

// How a container lives, from start to start.
struct ContainerLife {
  bool forever = false;
  bool unhealthy = false;  // its liveness probe fails, so that it is ended by the agent
  int seconds = 0;
  int code = 0;
};

// Runs nothing, like the one that it is made of, but containers end by themselves as they should.
class TroubledRuntime final : public container::Runtime {
 public:
  TroubledRuntime(container::NoneRuntime& inner, Loop& loop, Dice& dice)
      : inner_(inner), loop_(loop), dice_(dice) {}

  // By pod's UID and container's name: one for each start; the last one is for all that follow.
  std::map<std::pair<std::string, std::string>, std::vector<ContainerLife>> lives;
  // Called before anything is done; whatever they find wrong they say themselves.
  std::function<void(const container::SandboxConfig&)> on_sandbox;
  std::function<void(const container::SandboxConfig&, const container::ContainerConfig&)> on_create;

  container::Inventory Now() const {
    container::Inventory now;
    inner_.List([&](StatusOr<container::Inventory> all) { now = *std::move(all); });
    return now;
  }
  const ContainerLife* LifeOf(const std::string& uid, const std::string& name,
                              std::uint32_t attempt) const {
    const auto it = lives.find({uid, name});
    if (it == lives.end() || it->second.empty()) return nullptr;
    return &it->second[std::min<std::size_t>(attempt, it->second.size() - 1)];
  }

  void Probe(container::Done<container::RuntimeInfo> done) override { inner_.Probe(done); }
  void List(container::Done<container::Inventory> done) override {
    if (dice_.Trouble(20)) return Later(done, StatusOr<container::Inventory>(Away()));
    inner_.List([this, done](StatusOr<container::Inventory> all) { Answer(done, std::move(all)); });
  }
  void OnChange(std::function<void()> on_change) override { inner_.OnChange(on_change); }
  void RunSandbox(const container::SandboxConfig& config,
                  container::Done<container::SandboxInfo> done) override {
    on_sandbox(config);
    Do<container::SandboxInfo>(done, [&](auto then) { inner_.RunSandbox(config, then); });
  }
  void StopSandbox(const std::string& id, container::DoneStatus done) override {
    DoStatus(done, [&](auto then) { inner_.StopSandbox(id, then); });
  }
  void RemoveSandbox(const std::string& id, container::DoneStatus done) override {
    DoStatus(done, [&](auto then) { inner_.RemoveSandbox(id, then); });
  }
  void FindImage(const std::string& reference,
                 container::Done<container::ImageInfo> done) override {
    Do<container::ImageInfo>(done, [&](auto then) { inner_.FindImage(reference, then); });
  }
  void Create(const std::string& sandbox_id, const container::SandboxConfig& sandbox,
              const container::ContainerConfig& config,
              container::Done<std::string> done) override {
    on_create(sandbox, config);
    Do<std::string>(done, [&](auto then) { inner_.Create(sandbox_id, sandbox, config, then); });
  }
  void Start(const std::string& id, container::DoneStatus done) override {
    DoStatus(done, [&](auto then) {
      inner_.Start(id, [&](Status status) {
        if (status.ok()) Begin(id);
        then(std::move(status));
      });
    });
  }
  void Stop(const std::string& id, std::chrono::seconds grace,
            container::DoneStatus done) override {
    DoStatus(done, [&](auto then) { inner_.Stop(id, grace, then); });
  }
  void Remove(const std::string& id, container::DoneStatus done) override {
    DoStatus(done, [&](auto then) { inner_.Remove(id, then); });
  }
  void ExecSync(const std::string& id, std::vector<std::string> command,
                std::chrono::seconds timeout,
                container::Done<container::ExecResult> done) override {
    inner_.ExecSync(id, std::move(command), timeout, done);
  }
  std::shared_ptr<container::ExecSession> Exec(const container::ExecConfig& config,
                                               container::ExecEvents events) override {
    return inner_.Exec(config, std::move(events));
  }

 private:
  static Status Away() { return base::Unavailable("there is trouble"); }

  template <typename T>
  void Do(container::Done<T> done, const std::function<void(container::Done<T>)>& work) {
    if (dice_.Trouble(12)) return Later(done, StatusOr<T>(Away()));
    const bool lost = dice_.Trouble(12);
    work([this, done, lost](StatusOr<T> result) {
      Answer(done, lost ? StatusOr<T>(Away()) : std::move(result));
    });
  }
  void DoStatus(const container::DoneStatus& done,
                const std::function<void(container::DoneStatus)>& work) {
    const container::Done<bool> told = [done](const StatusOr<bool>& said) { done(said.status()); };
    Do<bool>(told, [&](const container::Done<bool>& then) {
      work([then](const Status& status) {
        then(status.ok() ? StatusOr<bool>(true) : StatusOr<bool>(status));
      });
    });
  }
  template <typename T>
  void Answer(const container::Done<T>& done, StatusOr<T> result) {
    if (dice_.Trouble(4)) return Later(done, std::move(result));
    done(std::move(result));
  }
  template <typename T>
  void Later(const container::Done<T>& done, StatusOr<T> result) {
    auto kept = std::make_shared<StatusOr<T>>(std::move(result));
    timers_.push_back(loop_.After(std::chrono::milliseconds(dice_.Pick(8000)),
                                  [done, kept] { done(std::move(*kept)); }));
  }
  void Begin(const std::string& id) {
    for (const container::ContainerInfo& info : Now().containers) {
      if (info.id != id || ends_.contains(id)) continue;
      const ContainerLife* life = LifeOf(info.pod.uid, info.name, info.attempt);
      if (life == nullptr || life->forever || life->unhealthy) return;
      ends_[id] = loop_.After(std::chrono::seconds(life->seconds), [this, info, life] {
        for (const container::ContainerInfo& now : Now().containers) {
          if (now.id == info.id && now.state == container::ContainerState::kRunning) {
            inner_.End(info.pod.uid, info.name, life->code);
          }
        }
      });
    }
  }

  container::NoneRuntime& inner_;
  Loop& loop_;
  Dice& dice_;
  std::vector<Loop::Timer> timers_;
  std::map<std::string, Loop::Timer> ends_;
};

// A server that is away now and then, and of whose writes nobody knows sometimes.
class TroubledCluster final : public api::ForwardingCluster {
 public:
  TroubledCluster(api::Cluster& inner, Dice& dice) : ForwardingCluster(inner), dice_(dice) {}

  StatusOr<std::optional<api::Object>> Find(const api::KindInfo& kind, std::string_view namespace_,
                                            std::string_view name) const override {
    if (dice_.Trouble(10)) return base::Unavailable("the server is away");
    return inner().Find(kind, namespace_, name);
  }
  StatusOr<api::Object> UpdateStatus(api::Object object) override {
    if (dice_.Trouble(8)) return base::Unavailable("the server is away");
    auto written = inner().UpdateStatus(std::move(object));
    if (dice_.Trouble(8)) return api::OutcomeUnknown("the answer was lost");
    return written;
  }
  Status Delete(const api::KindInfo& kind, std::string_view namespace_, std::string_view name,
                std::string_view uid = {}) override {
    if (dice_.Trouble(8)) return base::Unavailable("the server is away");
    const Status deleted = inner().Delete(kind, namespace_, name, uid);
    if (dice_.Trouble(8)) return api::OutcomeUnknown("the answer was lost");
    return deleted;
  }

 private:
  Dice& dice_;
};

// Drivers, with somebody who looks at what they are told.
class WatchedPlugins final : public Plugins {
 public:
  explicit WatchedPlugins(Plugins& inner) : inner_(inner) {}
  std::function<void(const rpc::ClaimName&)> on_unprepare;

  Status Registered(std::string_view driver) const override { return inner_.Registered(driver); }
  void Prepare(std::string_view driver, std::vector<rpc::ClaimName> claims,
               rpc::Done<rpc::PrepareAnswer> done) override {
    inner_.Prepare(driver, std::move(claims), std::move(done));
  }
  void Unprepare(std::string_view driver, std::vector<rpc::ClaimName> claims,
                 rpc::Done<rpc::UnprepareAnswer> done) override {
    for (const rpc::ClaimName& claim : claims) on_unprepare(claim);
    inner_.Unprepare(driver, std::move(claims), std::move(done));
  }
  HealthOfDevice HealthOf(const DeviceName& device) const override {
    return inner_.HealthOf(device);
  }

 private:
  Plugins& inner_;
};

}  // namespace dray::node
