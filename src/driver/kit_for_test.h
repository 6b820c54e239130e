// SPDX-License-Identifier: Apache-2.0
//
// Claims, handlers and folders for tests of drivers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/memory_cluster.h"
#include "api/node.h"
#include "api/resource_claim.h"
#include "base/check.h"
#include "base/uuid.h"
#include "driver/plugin_service.h"
#include "files/temporary_folder.h"
#include "testing/slice_builder.h"

namespace dray::driver {

struct GivenDevice {
  std::string device;
  std::string request = "r";
  std::string pool = "n1";
  std::string driver = std::string(dray::testing::kDriver);
  std::optional<std::string> share_id = std::nullopt;
  bool admin_access = false;
  std::vector<std::pair<std::string, std::string>> consumed = {};
};

// A cluster with a node n1, and folders that go away.
class Workshop {
 public:
  Workshop() : cluster(clock, random, {.validate = false}) {
    api::Node node;
    node.metadata.name = "n1";
    DRAY_CHECK(cluster.Create(api::Object::Of(node)).ok());
  }

  // An allocated claim in namespace ns.
  rpc::ClaimName Claim(std::string_view name, const std::vector<GivenDevice>& devices,
                       std::vector<api::DeviceAllocationConfiguration> config = {},
                       std::string_view pod_claim = "") {
    api::ResourceClaim claim;
    claim.metadata.namespace_ = "ns";
    claim.metadata.name = name;
    claim.metadata.uid = "uid-" + std::string(name) + "-" + std::to_string(++claims_);
    if (!pod_claim.empty()) {
      claim.metadata.annotations[api::kPodClaimNameAnnotation] = std::string(pod_claim);
    }
    if (!devices.empty()) claim.status.allocation.emplace().devices.config = std::move(config);
    for (const GivenDevice& given : devices) {
      api::DeviceRequestAllocationResult result{.request = given.request,
                                                .driver = given.driver,
                                                .pool = given.pool,
                                                .device = given.device,
                                                .share_id = given.share_id};
      if (given.admin_access) result.admin_access = true;
      for (const auto& [capacity, amount] : given.consumed) {
        result.consumed_capacity[capacity] = dray::testing::ToQuantity(amount);
      }
      claim.status.allocation->devices.results.push_back(std::move(result));
    }
    const rpc::ClaimName shown{
        .namespace_ = "ns", .uid = claim.metadata.uid, .name = claim.metadata.name};
    DRAY_CHECK(cluster.Load({api::Object::Of(std::move(claim))}).ok());
    return shown;
  }
  void Forget(const rpc::ClaimName& claim) {
    DRAY_CHECK(cluster
                   .Delete(api::HubKind(api::TypeInfoOf<api::ResourceClaim>()), claim.namespace_,
                           claim.name)
                   .ok());
  }

  base::ManualClock clock{base::Time::FromUnix(1'700'000'000)};
  base::SeededRandomSource random{3};
  api::MemoryCluster cluster;
  files::TemporaryFolder folder;

 private:
  int claims_ = 0;
};

inline api::DeviceAllocationConfiguration ConfigOf(
    std::string_view source, std::string_view parameters, std::vector<std::string> requests = {},
    std::string_view driver = dray::testing::kDriver) {
  api::DeviceAllocationConfiguration config{.source = std::string(source),
                                            .requests = std::move(requests)};
  config.opaque.emplace();
  config.opaque->driver = std::string(driver);
  config.opaque->parameters.text = parameters;
  return config;
}

// Says what it was called with, and fails when it is told to.
class RecordingHandler final : public DeviceHandler {
 public:
  StatusOr<std::vector<DeviceSetup>> Prepare(const ClaimView& claim) override {
    calls.push_back("prepare " + claim.name.name);
    if (!next.ok()) return std::exchange(next, Status());
    if (on_prepare) on_prepare();
    std::vector<DeviceSetup> setups;
    for (const AllocatedDevice& device : claim.devices) {
      DeviceSetup& setup = setups.emplace_back();
      if (edits) setup.edits.env = {"DEVICE=" + device.device};
    }
    return setups;
  }
  Status Unprepare(const rpc::ClaimName& claim,
                   const std::vector<PreparedDeviceRecord>& devices) override {
    std::string text = "unprepare " + claim.name;
    for (const PreparedDeviceRecord& device : devices) text += " " + device.device;
    calls.push_back(text);
    return std::exchange(next, Status());
  }

  std::vector<std::string> calls;
  Status next;
  bool edits = true;
  std::function<void()> on_prepare;
};

}  // namespace dray::driver
