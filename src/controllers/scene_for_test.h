// SPDX-License-Identifier: Apache-2.0
//
// A cluster in memory for tests of controllers, with objects in a line each.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/cluster.h"
#include "api/event.h"
#include "api/memory_cluster.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "controllers/controller.h"
#include "controllers/object_key.h"

namespace dray::controllers {

// One thread. Everything is in the namespace "ns" unless it says otherwise.
class Scene {
 public:
  explicit Scene(std::uint64_t seed = 1, const api::FeatureGates& gates = {})
      : random_(seed), cluster_(clock_, random_, {.gates = gates}) {}

  api::MemoryCluster& cluster() { return cluster_; }
  base::ManualClock& clock() { return clock_; }

  // What is stored of a new object; with its status, if it has one.
  template <typename T>
  T Add(T object) {
    auto stored = cluster_.Create(api::Object::Of(object));
    EXPECT_TRUE(stored.ok()) << stored.status();
    if constexpr (requires { object.status; }) {
      T full = *stored->template As<T>();
      if (object.status == decltype(T::status)()) return full;
      full.status = object.status;
      stored = cluster_.UpdateStatus(api::Object::Of(std::move(full)));
      EXPECT_TRUE(stored.ok()) << stored.status();
    }
    return *stored->template As<T>();
  }
  template <typename T>
  void Put(T object) {
    const auto stored = cluster_.Update(api::Object::Of(std::move(object)));
    EXPECT_TRUE(stored.ok()) << stored.status();
  }
  template <typename T>
  void PutStatus(T object) {
    const auto stored = cluster_.UpdateStatus(api::Object::Of(std::move(object)));
    EXPECT_TRUE(stored.ok()) << stored.status();
  }
  template <typename T>
  void Delete(std::string_view name, std::string_view namespace_ = "ns") {
    const Status status = cluster_.Delete(KindOf<T>(), namespace_, name);
    EXPECT_TRUE(status.ok()) << status;
  }
  template <typename T>
  bool Has(std::string_view name, std::string_view namespace_ = "ns") {
    return cluster_.Stored(KindOf<T>(), namespace_, name).has_value();
  }
  // It must be there.
  template <typename T>
  T Get(std::string_view name, std::string_view namespace_ = "ns") {
    const auto found = cluster_.Stored(KindOf<T>(), namespace_, name);
    EXPECT_TRUE(found.has_value()) << name;
    return found.has_value() ? *found->template As<T>() : T();
  }
  template <typename T>
  std::vector<T> All() {
    std::vector<T> all;
    for (const api::Object& object : cluster_.All(KindOf<T>())) all.push_back(*object.As<T>());
    return all;
  }
  // "reason: message" of each.
  std::vector<std::string> Events() {
    std::vector<std::string> texts;
    for (const auto& event : All<api::Event>())
      texts.push_back(event.reason + ": " + event.message);
    return texts;
  }
  void SetPhase(std::string_view pod, std::string_view phase) {
    auto changed = Get<api::Pod>(pod);
    changed.status.phase = phase;
    PutStatus(std::move(changed));
  }

  // All in turns until none has anything to do now. The number of writes.
  template <typename... Controllers>
  std::size_t Settle(Controllers&... controllers) {
    std::size_t writes = 0;
    for (;;) {
      const std::size_t round = (controllers.Sync() + ... + 0);
      if (round == 0) return writes;
      writes += round;
    }
  }

 private:
  base::ManualClock clock_{base::Time::FromUnix(1'700'000'000)};
  base::SeededRandomSource random_;
  api::MemoryCluster cluster_;
};

inline api::Pod PodNamed(std::string_view name) {
  api::Pod pod;
  pod.metadata.namespace_ = "ns";
  pod.metadata.name = name;
  pod.spec.containers.push_back({.name = "c", .image = "i"});
  return pod;
}
// With one entry that names a template.
inline api::Pod PodFrom(std::string_view name, std::string_view made_from,
                        std::string_view entry = "gpu") {
  api::Pod pod = PodNamed(name);
  pod.spec.resource_claims.push_back(
      {.name = std::string(entry), .resource_claim_template_name = std::string(made_from)});
  return pod;
}
// With one entry that names a claim.
inline api::Pod PodWith(std::string_view name, std::string_view claim) {
  api::Pod pod = PodNamed(name);
  pod.spec.resource_claims.push_back({.name = "gpu", .resource_claim_name = std::string(claim)});
  return pod;
}

inline api::ResourceClaimSpec OneDevice() {
  api::ResourceClaimSpec spec;
  api::DeviceRequest& request = spec.devices.requests.emplace_back();
  request.name = "gpu";
  request.exactly.emplace().device_class_name = "gpu.example.com";
  return spec;
}
inline api::ResourceClaimTemplate TemplateNamed(std::string_view name) {
  api::ResourceClaimTemplate made;
  made.metadata.namespace_ = "ns";
  made.metadata.name = name;
  made.spec.spec = OneDevice();
  return made;
}
inline api::ResourceClaim ClaimNamed(std::string_view name) {
  api::ResourceClaim claim;
  claim.metadata.namespace_ = "ns";
  claim.metadata.name = name;
  claim.spec = OneDevice();
  return claim;
}
inline api::AllocationResult OneResult() {
  api::AllocationResult allocation;
  allocation.devices.results.push_back(
      {.request = "gpu", .driver = "gpu.example.com", .pool = "node-1", .device = "gpu-0"});
  return allocation;
}

}  // namespace dray::controllers
