// SPDX-License-Identifier: Apache-2.0
//
// For tests: a driver that does what it is told, and somebody who listens to one.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "rpc/plugin_client.h"
#include "rpc/plugin_server.h"

namespace dray::rpc {

// Waits until it is true; false after 30 s.
inline bool Eventually(const std::function<bool()>& what) {
  for (int i = 0; i < 3000; ++i) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

class TestHandler final : public PluginHandler {
 public:
  StatusOr<PrepareAnswer> Prepare(const std::vector<ClaimName>& claims) override {
    return prepare(claims);
  }
  StatusOr<UnprepareAnswer> Unprepare(const std::vector<ClaimName>& claims) override {
    return unprepare(claims);
  }
  Status WatchHealth(std::shared_ptr<HealthReports> reports) override {
    return watch_health(std::move(reports));
  }
  StatusOr<PluginInfo> Info() override { return info(); }
  Status Registered(bool registered, const std::string& error) override {
    return registered_(registered, error);
  }

  // Everybody's claim is prepared with one device, unless a test says otherwise.
  std::function<StatusOr<PrepareAnswer>(const std::vector<ClaimName>&)> prepare =
      [](const std::vector<ClaimName>& claims) {
        PrepareAnswer answer;
        for (const ClaimName& claim : claims) {
          answer[claim.uid].devices.push_back({.requests = {"gpu"},
                                               .pool = "p",
                                               .device = "d",
                                               .cdi_ids = {"example.com/gpu=" + claim.uid},
                                               .share_id = "share"});
        }
        return answer;
      };
  std::function<StatusOr<UnprepareAnswer>(const std::vector<ClaimName>&)> unprepare =
      [](const std::vector<ClaimName>& claims) {
        UnprepareAnswer answer;
        for (const ClaimName& claim : claims) answer[claim.uid] = "";
        return answer;
      };
  std::function<Status(std::shared_ptr<HealthReports>)> watch_health =
      [](const std::shared_ptr<HealthReports>&) {
        return base::MakeStatus(StatusCode::kUnimplemented, "no health here");
      };
  std::function<StatusOr<PluginInfo>()> info = [] {
    return PluginInfo{
        .type = "DRAPlugin", .name = "gpu.example.com", .supported_versions = {"v1.DRAPlugin"}};
  };
  std::function<Status(bool, const std::string&)> registered_ = [](bool, const std::string&) {
    return Status();
  };
};

class TestListener final : public PluginListener {
 public:
  void OnConnected(bool connected) override {
    const base::MutexLock lock(mutex_);
    changes_.push_back(connected);
  }
  void OnHealth(std::vector<DeviceHealth> devices) override {
    const base::MutexLock lock(mutex_);
    messages_.push_back(std::move(devices));
  }
  void OnHealthEnd(Status why) override {
    const base::MutexLock lock(mutex_);
    ends_.push_back(std::move(why));
  }

  std::vector<bool> changes() {
    const base::MutexLock lock(mutex_);
    return changes_;
  }
  bool connected() {
    const base::MutexLock lock(mutex_);
    return !changes_.empty() && changes_.back();
  }
  std::vector<std::vector<DeviceHealth>> messages() {
    const base::MutexLock lock(mutex_);
    return messages_;
  }
  std::vector<Status> ends() {
    const base::MutexLock lock(mutex_);
    return ends_;
  }

 private:
  base::Mutex mutex_;
  std::vector<bool> changes_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::vector<DeviceHealth>> messages_ ABSL_GUARDED_BY(mutex_);
  std::vector<Status> ends_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::rpc
