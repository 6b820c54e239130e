// SPDX-License-Identifier: Apache-2.0
//
// For tests: another client of etcd, which waits for its answers and repeats nothing.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rpc/etcd_client.h"

namespace dray::store {

class PlainEtcd {
 public:
  explicit PlainEtcd(const std::string& address)
      : member_(rpc::ConnectEtcd({.address = address}, {})) {}

  StatusOr<rpc::EtcdRangeAnswer> Range(rpc::EtcdRange range) {
    return Ask<rpc::EtcdRangeAnswer>(
        [&](auto done) { member_->Range(range, kPatience, std::move(done)); });
  }
  StatusOr<rpc::EtcdTransactionAnswer> Transact(const rpc::EtcdTransaction& transaction) {
    return Ask<rpc::EtcdTransactionAnswer>(
        [&](auto done) { member_->Transact(transaction, kPatience, std::move(done)); });
  }
  // The revision; 0: it did not work.
  std::int64_t Put(const std::string& key, const std::string& value) {
    rpc::EtcdTransaction transaction;
    transaction.success.push_back(
        {rpc::EtcdPut{.key = key, .value = std::make_shared<const std::string>(value)}});
    return RevisionOf(Transact(transaction));
  }
  std::int64_t Delete(const std::string& key) {
    rpc::EtcdTransaction transaction;
    transaction.success.push_back({rpc::EtcdDelete{.key = key}});
    return RevisionOf(Transact(transaction));
  }
  std::int64_t Revision() {
    const auto answer = Range({.key = "/", .count_only = true});
    return answer.ok() ? answer->header.revision : 0;
  }
  Status Compact(std::int64_t revision) {
    return Ask<rpc::EtcdHeader>(
               [&](auto done) { member_->Compact(revision, kPatience, std::move(done)); })
        .status();
  }
  rpc::EtcdMember& member() { return *member_; }

 private:
  static constexpr std::chrono::seconds kPatience{10};

  static std::int64_t RevisionOf(const StatusOr<rpc::EtcdTransactionAnswer>& answer) {
    return answer.ok() ? answer->header.revision : 0;
  }
  template <class T, class Call>
  StatusOr<T> Ask(const Call& call) {
    auto promise = std::make_shared<std::promise<StatusOr<T>>>();
    call([promise](StatusOr<T> answer) { promise->set_value(std::move(answer)); });
    return promise->get_future().get();
  }

  std::unique_ptr<rpc::EtcdMember> member_;
};

}  // namespace dray::store
