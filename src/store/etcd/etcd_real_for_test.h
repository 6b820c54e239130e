// SPDX-License-Identifier: Apache-2.0
//
// For tests: a store in the real etcd that a program's tests share, and another client beside it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "store/etcd/etcd_for_test.h"
#include "store/etcd/plain_etcd_for_test.h"
#include "testing/status_matchers.h"

namespace dray::store {

class EtcdAcceptanceReal : public ::testing::Test {
 protected:
  void SetUp() override {
    DRAY_NEEDS_ETCD();
    options_ = SharedOptions();
    // Nothing is written but what a test writes.
    options_.alive = std::chrono::hours(1);
    options_.compaction_interval = {};
    // An answer that is late on a busy machine is no answer that was lost.
    options_.answer_patience = std::chrono::seconds(60);
    options_.write_patience = std::chrono::seconds(60);
    options_.counts = &counts_;
    plain_.emplace(SharedEtcd().client(0));
  }
  std::unique_ptr<Store> OpenOne(const EtcdOptions& options) {
    auto store = OpenEtcdStore(options);
    EXPECT_THAT(store, testing::IsOk());
    return store.ok() ? *std::move(store) : nullptr;
  }
  Store& store() {
    if (store_ == nullptr) store_ = OpenOne(options_);
    return *store_;
  }
  Outcome Commit(Transaction transaction) { return Commit(store(), std::move(transaction)); }
  static Outcome Commit(Store& store, Transaction transaction) {
    auto outcome = store.CommitAndWait(std::move(transaction));
    EXPECT_THAT(outcome, testing::IsOk());
    return outcome.ok() ? *std::move(outcome) : Outcome{};
  }
  static Status Current(Store& store) {
    std::promise<Status> ready;
    store.Current([&](Status status) { ready.set_value(std::move(status)); });
    return ready.get_future().get();
  }
  std::string Key(const std::string& key) const { return options_.address.prefix + "/~" + key; }

  EtcdOptions options_;
  EtcdCounts counts_;
  std::optional<PlainEtcd> plain_;
  std::unique_ptr<Store> store_;
};

}  // namespace dray::store
