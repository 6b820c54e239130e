// SPDX-License-Identifier: Apache-2.0
#include "node/pod_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace dray::node {
namespace {

using ::dray::testing::IsOkAndHolds;
using ::dray::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

UsedDevice Device(const std::string& name, std::optional<std::string> share = {}) {
  return {.driver = "x",
          .device = {.pool = "p",
                     .device = name,
                     .share_id = share,
                     .cdi_ids = {"x/dev=" + name + share.value_or("")}}};
}
rpc::ClaimResource Resource(const std::string& name, std::optional<std::string> share = {}) {
  return {.driver = "x",
          .pool = "p",
          .device = name,
          .cdi_devices = {"x/dev=" + name + share.value_or("")},
          .share_id = share};
}

// Row 51: shares of one device are listed, each with its names.
TEST(PodResourcesOf, ListsWhatContainersHave) {
  api::Pod pod;
  pod.metadata.name = "pod";
  pod.metadata.namespace_ = "ns";
  pod.spec.init_containers.resize(2);
  pod.spec.init_containers[0].name = "once";
  pod.spec.init_containers[1].name = "sidecar";
  pod.spec.init_containers[1].restart_policy = "Always";
  pod.spec.containers.resize(3);
  pod.spec.containers[0].name = "two-requests";
  pod.spec.containers[1].name = "shares";
  pod.spec.containers[2].name = "not-yet";
  const auto claims = [](const api::Pod&,
                         const api::Container& container) -> StatusOr<std::vector<ContainerClaim>> {
    if (container.name == "sidecar") return std::vector<ContainerClaim>();
    if (container.name == "two-requests") {
      return std::vector<ContainerClaim>{
          {.claim = "c", .namespace_ = "ns", .devices = {Device("a"), Device("b")}},
          {.claim = "c", .namespace_ = "ns", .devices = {Device("b")}},
          {.claim = "e", .namespace_ = "ns", .devices = {}}};
    }
    if (container.name == "shares") {
      return std::vector<ContainerClaim>{
          {.claim = "c", .namespace_ = "ns", .devices = {Device("a", "1"), Device("a", "2")}}};
    }
    return base::NotFound("not prepared");
  };
  const rpc::PodResources out = PodResourcesOf(pod, claims);
  EXPECT_EQ(out.name, "pod");
  EXPECT_EQ(out.namespace_, "ns");
  EXPECT_THAT(
      out.containers,
      ElementsAre(rpc::ContainerResources{.name = "sidecar"},
                  rpc::ContainerResources{.name = "two-requests",
                                          .claims = {{.claim_name = "c",
                                                      .claim_namespace = "ns",
                                                      .resources = {Resource("a"), Resource("b")}},
                                                     {.claim_name = "e", .claim_namespace = "ns"}}},
                  rpc::ContainerResources{
                      .name = "shares",
                      .claims = {{.claim_name = "c",
                                  .claim_namespace = "ns",
                                  .resources = {Resource("a", "1"), Resource("a", "2")}}}},
                  rpc::ContainerResources{.name = "not-yet"}));
}

TEST(PodResourcesOnLoop, AsksTheLoop) {
  base::ManualClock clock;
  Loop loop(clock);
  auto source = std::make_unique<PodResourcesOnLoop>(
      loop, [] { return std::vector<rpc::PodResources>{{.name = "p", .namespace_ = "n"}}; });
  StatusOr<std::optional<rpc::PodResources>> found = base::Internal("no answer");
  const auto take = [&](StatusOr<std::optional<rpc::PodResources>> pod) { found = pod; };
  source->Get("n", "p", take);
  EXPECT_THAT(found, StatusIs(StatusCode::kInternal, _));
  loop.RunDue();
  EXPECT_THAT(found, IsOkAndHolds(rpc::PodResources{.name = "p", .namespace_ = "n"}));
  source->Get("other", "p", take);
  loop.RunDue();
  EXPECT_THAT(found, IsOkAndHolds(std::nullopt));
  source->Get("n", "p", take);
  source = nullptr;
  loop.RunDue();
  EXPECT_THAT(found, StatusIs(StatusCode::kUnavailable, _));
}

}  // namespace
}  // namespace dray::node
