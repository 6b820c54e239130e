// SPDX-License-Identifier: Apache-2.0
//
// What a driver can send: whatever parses becomes plain values, and those become the same message
// again. The first byte says which message it is.
#include <proto/dra_v1.pb.h>
#include <proto/dra_v1beta1.pb.h>
#include <proto/health_v1.pb.h>

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "rpc/internal/convert.h"
#include "rpc/internal/grpc_status.h"

namespace {

namespace dra = ::k8s::io::kubelet::pkg::apis::dra;
using dray::rpc::internal::ToResponse;

template <class Message, class Read>
void Check(const std::uint8_t* data, std::size_t size, const Read& read) {
  Message message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return;
  const auto value = read(message);
  Message again;
  ToResponse(value, again);
  DRAY_CHECK(read(again) == value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dray::rpc::internal::SilenceLibraries();
  if (size == 0) return 0;
  const auto prepare = [](const auto& m) { return dray::rpc::internal::PrepareAnswerOf(m); };
  const auto unprepare = [](const auto& m) { return dray::rpc::internal::UnprepareAnswerOf(m); };
  const auto health = [](const auto& m) { return dray::rpc::internal::HealthOf(m); };
  switch (data[0] % 4) {
    case 0:
      Check<dra::v1::NodePrepareResourcesResponse>(data + 1, size - 1, prepare);
      break;
    case 1:
      Check<dra::v1beta1::NodePrepareResourcesResponse>(data + 1, size - 1, prepare);
      break;
    case 2:
      Check<dra::v1::NodeUnprepareResourcesResponse>(data + 1, size - 1, unprepare);
      break;
    default:
      Check<::v1::NodeWatchResourcesResponse>(data + 1, size - 1, health);
      break;
  }
  return 0;
}
