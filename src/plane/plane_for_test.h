// SPDX-License-Identifier: Apache-2.0
//
// A control plane with two nodes of four devices each in a folder that goes away. Its objects are in
// the etcd that $DRAY_TEST_STORE names, if it does (etcd://127.0.0.1:2379), under a prefix of their own.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/device_class.h"
#include "api/event.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/clock.h"
#include "plane/control_plane.h"

namespace dray::plane {

inline api::Pod PodFromTemplate(std::string_view name) {
  api::Pod pod;
  pod.metadata.name = name;
  pod.metadata.namespace_ = "default";
  pod.spec.containers.push_back({.name = "c", .image = "i"});
  pod.spec.resource_claims.push_back({.name = "gpu", .resource_claim_template_name = "one-device"});
  return pod;
}

inline std::vector<api::Object> SmallCluster() {
  std::vector<api::Object> objects;
  for (const std::string name : {"node-a", "node-b"}) {
    api::Node node;
    node.metadata.name = name;
    objects.push_back(api::Object::Of(node));
    api::ResourceSlice slice;
    slice.metadata.name = name + "-gpus";
    slice.spec.driver = "gpu.example.com";
    slice.spec.node_name = name;
    slice.spec.pool = {.name = name, .generation = 1, .resource_slice_count = 1};
    slice.spec.devices.emplace();
    for (int i = 0; i < 4; ++i) {
      slice.spec.devices->emplace_back().name = "gpu-" + std::to_string(i);
    }
    objects.push_back(api::Object::Of(slice));
  }
  api::DeviceClass gpus;
  gpus.metadata.name = "gpu.example.com";
  objects.push_back(api::Object::Of(gpus));
  api::ResourceClaimTemplate one;
  one.metadata.name = "one-device";
  one.metadata.namespace_ = "default";
  api::DeviceRequest& request = one.spec.spec.devices.requests.emplace_back();
  request.name = "gpu";
  request.exactly.emplace().device_class_name = "gpu.example.com";
  objects.push_back(api::Object::Of(one));
  return objects;
}

// One thread.
class TestPlane {
 public:
  TestPlane() {
    std::string name = std::filesystem::temp_directory_path() / "dray-plane-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~TestPlane() {
    plane_ = nullptr;
    std::filesystem::remove_all(folder_);
  }
  TestPlane(const TestPlane&) = delete;
  TestPlane& operator=(const TestPlane&) = delete;

  const std::string& folder() const { return folder_; }
  ControlPlane& plane() { return *plane_; }

  // With the folder's data.
  PlaneOptions Placed(PlaneOptions options = {}) const {
    options.data = folder_;
    const char* etcd = ::getenv("DRAY_TEST_STORE");
    if (etcd == nullptr || options.open_store || options.store != StoreAddress()) return options;
    const std::string name = std::filesystem::path(folder_).filename();
    options.store = *StoreAddress::Parse(std::string(etcd) + "/" + name);
    options.etcd.alone = true;
    return options;
  }
  // Again: ends the one that runs first.
  void Start(std::vector<api::Object> objects = SmallCluster()) {
    StartWith({.objects = std::move(objects)});
  }
  void StartWith(PlaneOptions options) {
    plane_ = nullptr;
    auto started = ControlPlane::Start(Placed(std::move(options)), clock_);
    ASSERT_TRUE(started.ok()) << started.status();
    plane_ = *std::move(started);
  }
  void Stop() { plane_ = nullptr; }
  template <typename T>
  void Create(T object) {
    const auto stored = plane_->cluster().Create(api::Object::Of(std::move(object)));
    EXPECT_TRUE(stored.ok()) << stored.status();
  }
  template <typename T>
  void Delete(std::string_view name) {
    const Status status =
        plane_->cluster().Delete(api::HubKind(api::TypeInfoOf<T>()), "default", name);
    EXPECT_TRUE(status.ok()) << status;
  }
  template <typename T>
  std::vector<T> All() {
    std::vector<T> all;
    const auto listed = plane_->cluster().List(api::HubKind(api::TypeInfoOf<T>()));
    EXPECT_TRUE(listed.ok()) << listed.status();
    if (!listed.ok()) return all;
    for (const api::Object& object : *listed) all.push_back(*object.template As<T>());
    return all;
  }
  // Threads of the plane do the work, so there is nothing but to look again.
  bool Until(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }
  bool Await(std::string_view pod, std::string_view phase) {
    return Until([&] {
      const auto& kind = api::HubKind(api::TypeInfoOf<api::Pod>());
      const auto found = plane_->cluster().Find(kind, "default", pod);
      return found.ok() && *found && (*found)->As<api::Pod>()->status.phase == phase;
    });
  }
  bool AwaitEvent(std::string_view about, std::string_view reason) {
    return Until([&] {
      for (const api::Event& event : All<api::Event>()) {
        if (event.involved_object.name == about && event.reason == reason) return true;
      }
      return false;
    });
  }

 private:
  std::string folder_;
  const base::SystemClock clock_{};
  std::unique_ptr<ControlPlane> plane_;
};

}  // namespace dray::plane
