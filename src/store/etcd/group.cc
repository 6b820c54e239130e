// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/group.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "fmt/format.h"

namespace dray::store::internal {
namespace {

using Kind = Operation::Kind;
using What = rpc::EtcdCompare::What;

// Tags, lengths and numbers around the keys of an operation: its compare, its write, its range.
constexpr std::size_t kAround = 96;
constexpr std::size_t kAroundGroup = 256;

std::optional<rpc::EtcdCompare> CompareOf(const Operation& operation, const std::string& key) {
  if (operation.expected) return rpc::EtcdCompare{.key = key, .number = operation.expected->value};
  if (operation.kind != Kind::kDelete) return std::nullopt;
  return rpc::EtcdCompare{.key = key, .what = What::kCreated, .greater = true, .number = 0};
}

void AddTo(rpc::EtcdTransaction& request, const PendingWrite& write) {
  const auto& operations = write.transaction.operations;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const std::string& key = write.keys[i];
    if (auto compare = CompareOf(operations[i], key)) {
      request.compares.push_back(*std::move(compare));
    }
    if (operations[i].kind == Kind::kPut) {
      request.success.push_back({rpc::EtcdPut{.key = key, .value = operations[i].value}});
    } else if (operations[i].kind == Kind::kDelete) {
      request.success.push_back({rpc::EtcdDelete{.key = key}});
    }
    request.failure.push_back({rpc::EtcdRange{.key = key}});
  }
}

// `answers` are the ranges of all its keys.
void ReadConflict(rpc::EtcdOperationAnswer* answers, PendingWrite& write) {
  const auto& operations = write.transaction.operations;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    auto& kvs = answers[i].kvs;
    const Revision actual{kvs.empty() ? 0 : kvs[0].modified};
    const bool deletes_nothing = operations[i].kind == Kind::kDelete && kvs.empty();
    if (!deletes_nothing && (!operations[i].expected || *operations[i].expected == actual)) {
      continue;
    }
    write.conflict = Conflict{.key = operations[i].key, .actual = actual};
    if (!kvs.empty()) {
      write.conflict->entry = std::make_shared<const Entry>(
          Entry{.key = operations[i].key,
                .value = std::make_shared<const std::string>(std::move(kvs[0].value)),
                .created = {kvs[0].created},
                .modified = actual});
    }
    return;
  }
}

}  // namespace

std::size_t BytesOf(const PendingWrite& write) {
  std::size_t bytes = kAroundGroup;
  for (std::size_t i = 0; i < write.keys.size(); ++i) {
    const auto& value = write.transaction.operations[i].value;
    bytes += 3 * write.keys[i].size() + (value ? value->size() : 0) + kAround;
  }
  return bytes;
}

Status CheckSize(const PendingWrite& write, const RequestLimits& limits) {
  const auto& operations = write.transaction.operations;
  // One compare is the fence's.
  if (operations.size() > limits.operations - 1) {
    return base::InvalidArgument(
        fmt::format("the transaction has {} operations, at most {} fit: etcd takes {} in a request "
                    "(--max-txn-ops)",
                    operations.size(), limits.operations - 1, limits.operations));
  }
  if (write.bytes <= limits.bytes) return {};
  const auto largest = std::ranges::max_element(operations, {}, [](const Operation& operation) {
    return operation.value ? operation.value->size() : 0;
  });
  return base::InvalidArgument(fmt::format(
      "the transaction has {} bytes (key \"{}\": {}), etcd takes {} in a request "
      "(--max-request-bytes)",
      write.bytes, largest->key, largest->value ? largest->value->size() : 0, limits.bytes));
}

std::vector<PendingPtr> TakeGroup(std::deque<PendingPtr>& queue, const RequestLimits& limits,
                                  bool one) {
  std::vector<PendingPtr> group;
  absl::flat_hash_set<std::string_view> written;
  absl::flat_hash_set<std::string_view> compared;
  std::size_t bytes = 0;
  std::size_t largest = 0;
  while (!queue.empty()) {
    const PendingWrite& write = *queue.front();
    const auto& operations = write.transaction.operations;
    if (!group.empty()) {
      if (one || bytes + write.bytes > limits.group_bytes) break;
      // Nested transactions have the operations that the outer one leaves.
      if (group.size() + 1 + std::max(largest, operations.size()) > limits.operations) break;
      bool apart = false;
      for (std::size_t i = 0; i < operations.size() && !apart; ++i) {
        const std::string_view key = write.keys[i];
        apart =
            written.contains(key) || (operations[i].kind != Kind::kCheck && compared.contains(key));
      }
      if (apart) break;
    }
    for (std::size_t i = 0; i < operations.size(); ++i) {
      (operations[i].kind == Kind::kCheck ? compared : written).insert(write.keys[i]);
      if (operations[i].expected) compared.insert(write.keys[i]);
    }
    bytes += write.bytes;
    largest = std::max(largest, operations.size());
    group.push_back(std::move(queue.front()));
    queue.pop_front();
    // It would not fit as one of several.
    if (1 + largest > limits.operations - 1) break;
  }
  return group;
}

rpc::EtcdTransaction MakeRequest(const std::vector<PendingPtr>& group, const std::string& fence,
                                 std::int64_t fence_revision) {
  rpc::EtcdTransaction request;
  request.compares.push_back({.key = fence, .number = fence_revision});
  request.failure.push_back({rpc::EtcdRange{.key = fence}});
  if (group.size() == 1) {
    AddTo(request, *group[0]);
    return request;
  }
  for (const PendingPtr& write : group) {
    rpc::EtcdTransaction nested;
    AddTo(nested, *write);
    request.success.push_back({std::move(nested)});
  }
  return request;
}

bool ReadAnswer(rpc::EtcdTransactionAnswer answer, std::int64_t& fence_revision,
                std::vector<PendingPtr>& group) {
  const std::int64_t revision = answer.header.revision;
  for (const PendingPtr& write : group) write->revision = revision;
  if (group.size() == 1) {
    if (answer.succeeded) return true;
    const auto& fence = answer.answers[0].kvs;
    const std::int64_t there = fence.empty() ? 0 : fence[0].modified;
    if (there != std::exchange(fence_revision, there)) return false;
    ReadConflict(answer.answers.data() + 1, *group[0]);
    return true;
  }
  if (!answer.succeeded) {
    const auto& fence = answer.answers[0].kvs;
    fence_revision = fence.empty() ? 0 : fence[0].modified;
    return false;
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    rpc::EtcdTransactionAnswer& nested = answer.answers[i].transaction;
    if (!nested.succeeded) ReadConflict(nested.answers.data(), *group[i]);
  }
  return true;
}

std::optional<std::int64_t> WrittenAt(const PendingWrite& write, std::int64_t fence_revision) {
  std::optional<std::int64_t> at;
  for (std::size_t i = 0; i < write.keys.size(); ++i) {
    if (write.transaction.operations[i].kind == Kind::kCheck) continue;
    const EntryPtr& seen = write.seen[i];
    if (seen == nullptr || seen->modified.value > fence_revision) return std::nullopt;
    if (at && *at != seen->modified.value) return std::nullopt;
    at = seen->modified.value;
  }
  return at;
}

}  // namespace dray::store::internal
