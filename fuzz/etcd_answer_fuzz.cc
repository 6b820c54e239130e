// SPDX-License-Identifier: Apache-2.0
//
// What etcd answers to a group of transactions. The first two bytes make the group, the rest is the
// answer. Properties: no crash; an answer to other operations is refused; every transaction of a group
// that was answered has its revision, and one that has a conflict names one of its own keys.
#include <proto/etcd.pb.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "rpc/internal/etcd_convert.h"
#include "rpc/internal/grpc_status.h"
#include "store/etcd/group.h"

namespace {

using namespace dray::store;  // NOLINT: a fuzz target knows the rooms that it is about

// One to four transactions of one to four operations each.
std::vector<internal::PendingPtr> MakeGroup(std::uint8_t shape, std::uint8_t kinds) {
  std::vector<internal::PendingPtr> group;
  for (int i = 0; i <= shape % 4; ++i) {
    auto write = std::make_shared<internal::PendingWrite>();
    for (int j = 0; j <= shape / 4 % 4; ++j) {
      const std::string key = "k" + std::to_string(4 * i + j);
      Operation operation{.key = key};
      switch ((kinds >> (2 * j)) % 4) {
        case 0:
          operation.kind = Operation::Kind::kPut;
          operation.value = std::make_shared<const std::string>("v");
          break;
        case 1:
          operation.kind = Operation::Kind::kDelete;
          break;
        case 2:
          operation.kind = Operation::Kind::kCheck;
          operation.expected = Revision{7};
          break;
        default:
          operation.kind = Operation::Kind::kPut;
          operation.value = std::make_shared<const std::string>("v");
          operation.expected = Revision{};
          break;
      }
      write->transaction.operations.push_back(std::move(operation));
      write->keys.push_back("/r/" + key);
    }
    group.push_back(std::move(write));
  }
  return group;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dray::rpc::internal::SilenceLibraries();
  if (size < 2) return 0;
  auto group = MakeGroup(data[0], data[1]);
  internal::Fence fence{
      .key = "/r/fence", .revision = 3, .mark = (data[1] & 0x80) != 0 ? "mark" : ""};
  const auto request = dray::rpc::internal::ToProto(internal::MakeRequest(group, fence));
  etcdserverpb::TxnResponse response;
  if (!response.ParseFromArray(data + 2, static_cast<int>(size - 2))) return 0;
  if (!dray::rpc::internal::Answers(request, response)) return 0;
  const std::int64_t revision = response.header().revision();
  if (!internal::ReadAnswer(dray::rpc::internal::FromProto(std::move(response)), fence, group)) {
    return 0;
  }
  for (const internal::PendingPtr& write : group) {
    DRAY_CHECK(write->revision == revision, std::to_string(write->revision));
    if (!write->conflict) continue;
    DRAY_CHECK(std::ranges::any_of(write->transaction.operations,
                                   [&](const Operation& operation) {
                                     return operation.key == write->conflict->key;
                                   }),
               write->conflict->key);
  }
  return 0;
}
