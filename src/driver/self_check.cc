// SPDX-License-Identifier: Apache-2.0
#include "driver/self_check.h"

#include "driver/internal/conformance_run.h"

namespace dray::driver {

Status CheckSelf(rpc::PluginConnector& connector, const OwnSockets& sockets,
                 std::chrono::nanoseconds patience) {
  const Status none = base::MakeStatus(StatusCode::kDeadlineExceeded, "no answer");
  if (!sockets.registration.empty()) {
    DRAY_ASSIGN_OR_RETURN(const auto client, connector.Registration(sockets.registration));
    internal::Answer<StatusOr<rpc::PluginInfo>> answer;
    client->GetInfo(patience, answer.Taker());
    const auto info = answer.Await(patience + std::chrono::seconds(1));
    if (!info) return base::Annotate(none, "GetInfo");
    if (!info->ok()) return base::Annotate(info->status(), "GetInfo");
  }
  if (!sockets.dra.empty()) {
    internal::Ear ear;
    DRAY_ASSIGN_OR_RETURN(
        const auto channel,
        connector.Channel({.endpoint = sockets.dra,
                           .dra = sockets.v1 ? rpc::DraService::kV1 : rpc::DraService::kV1Beta1,
                           .health = rpc::HealthService::kNone},
                          ear));
    if (!ear.AwaitConnected(true, patience)) return base::Annotate(none, "connect");
    internal::Answer<StatusOr<rpc::PrepareAnswer>> answer;
    channel->Prepare({}, patience, answer.Taker());
    const auto prepared = answer.Await(patience + std::chrono::seconds(1));
    if (!prepared) return base::Annotate(none, "NodePrepareResources");
    if (!prepared->ok()) return base::Annotate(prepared->status(), "NodePrepareResources");
  }
  return {};
}

}  // namespace dray::driver
