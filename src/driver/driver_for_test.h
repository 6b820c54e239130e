// SPDX-License-Identifier: Apache-2.0
//
// Whole drivers for tests: an agent and a cluster in the same process.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "driver/conformance.h"
#include "driver/driver_program.h"
#include "driver/kit_for_test.h"
#include "driver/loopback_for_test.h"
#include "threads/system_host.h"

namespace dray::driver {

inline constexpr std::string_view kDevices = R"(
driver: gpu.example.com
pools:
- devices:
  - name: gpu-0
    attributes: {model: {string: a}}
    cdi: {env: ["GPU=${device}"]}
  - name: gpu-1
  - name: gpu-2
    health: {status: Unhealthy, message: hot}
- name: shared
  devices:
  - name: link
    allowMultipleAllocations: true
    cdi: {env: ["SHARE=${share}"]}
)";

// MemoryCluster belongs to one thread, and a driver publishes on one of its own.
class OneAtATime final : public api::Cluster {
 public:
  explicit OneAtATime(api::Cluster& inner) : inner_(inner) {}
  StatusOr<std::vector<api::Object>> List(const api::KindInfo& kind) const override {
    const base::MutexLock lock(mutex_);
    return inner_.List(kind);
  }
  StatusOr<std::optional<api::Object>> Find(const api::KindInfo& kind, std::string_view space,
                                            std::string_view name) const override {
    const base::MutexLock lock(mutex_);
    return inner_.Find(kind, space, name);
  }
  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection) override {
    const base::MutexLock lock(mutex_);
    return std::make_unique<Guarded>(mutex_, inner_.Watch(kinds, selection));
  }
  StatusOr<api::Object> Create(api::Object object) override {
    const base::MutexLock lock(mutex_);
    return inner_.Create(std::move(object));
  }
  StatusOr<api::Object> Update(api::Object object) override {
    const base::MutexLock lock(mutex_);
    return inner_.Update(std::move(object));
  }
  StatusOr<api::Object> UpdateStatus(api::Object object) override {
    const base::MutexLock lock(mutex_);
    return inner_.UpdateStatus(std::move(object));
  }
  Status Delete(const api::KindInfo& kind, std::string_view space, std::string_view name,
                std::string_view uid) override {
    const base::MutexLock lock(mutex_);
    return inner_.Delete(kind, space, name, uid);
  }
  Status Bind(std::string_view space, std::string_view pod, std::string_view uid,
              std::string_view node) override {
    const base::MutexLock lock(mutex_);
    return inner_.Bind(space, pod, uid, node);
  }
  void Note(const api::EventNote& note) override {
    const base::MutexLock lock(mutex_);
    inner_.Note(note);
  }

 private:
  class Guarded final : public api::ObjectWatch {
   public:
    Guarded(base::Mutex& mutex, std::unique_ptr<api::ObjectWatch> watch)
        : mutex_(mutex), watch_(std::move(watch)) {}
    ~Guarded() override {
      const base::MutexLock lock(mutex_);
      watch_.reset();
    }
    std::optional<api::Change> Next() override {
      const base::MutexLock lock(mutex_);
      return watch_->Next();
    }

   private:
    base::Mutex& mutex_;
    std::unique_ptr<api::ObjectWatch> watch_;
  };
  mutable base::Mutex mutex_;
  api::Cluster& inner_;
};

class DriverTest : public ::testing::Test {
 protected:
  DriverTest() { EXPECT_TRUE(files::WriteWhole(shop_.folder / "devices.yaml", kDevices).ok()); }
  ProgramOptions Options() {
    ProgramOptions options;
    options.driver.node = "n1";
    options.driver.root = shop_.folder.path();
    options.driver.cdi_folder = shop_.folder / "cdi";
    options.driver.serve = loopback_.Serve();
    options.driver.problem = [this](const Status& status) {
      const base::MutexLock lock(mutex_);
      problems_.emplace_back(base::Message(status));
    };
    options.description = FileReader(shop_.folder / "devices.yaml");
    return options;
  }
  std::unique_ptr<DriverProgram> Start(ProgramOptions options) {
    auto program =
        DriverProgram::Start(std::move(options), cluster_, shop_.clock, threads::TheSystemHost());
    EXPECT_TRUE(program.ok()) << program.status();
    if (!program.ok()) return nullptr;
    Settle(**program);
    return *std::move(program);
  }
  static void Settle(DriverProgram& program) {
    while (!program.driver().idle()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ConformanceOptions Conformance(DriverProgram& program) {
    return {.socket = program.driver().sockets().registration,
            .cdi_folders = {shop_.folder / "cdi"},
            .cluster = &cluster_,
            .namespace_ = "ns",
            .connect_patience = std::chrono::milliseconds(100),
            .health_patience = std::chrono::milliseconds(100)};
  }
  static std::vector<std::string> Failed(const std::vector<CheckResult>& results) {
    std::vector<std::string> failed;
    for (const CheckResult& result : results) {
      if (result.outcome == Outcome::kFail) failed.push_back(result.name + ": " + result.detail);
    }
    return failed;
  }
  static std::set<std::string> Names(const std::vector<CheckResult>& results, Outcome outcome) {
    std::set<std::string> names;
    for (const CheckResult& result : results) {
      if (result.outcome == outcome) names.insert(result.name);
    }
    return names;
  }
  std::vector<std::string> DevicesPublished() const {
    std::vector<std::string> names;
    const auto slices = cluster_.List(api::HubKind(api::TypeInfoOf<api::ResourceSlice>()));
    for (const api::Object& object : *slices) {
      for (const api::Device& device : *object.As<api::ResourceSlice>()->spec.devices) {
        names.push_back(device.name);
      }
    }
    return names;
  }

  Workshop shop_;
  OneAtATime cluster_{shop_.cluster};
  Loopback loopback_;
  base::Mutex mutex_;
  std::vector<std::string> problems_;
};

}  // namespace dray::driver
