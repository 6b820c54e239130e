// SPDX-License-Identifier: Apache-2.0
//
// For tests: a store in an etcd that does as it is told.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "rpc/fake_etcd_for_test.h"
#include "store/etcd/etcd_for_test.h"
#include "store/etcd/etcd_store.h"
#include "testing/status_matchers.h"

namespace dray::store {

inline EtcdOptions FakeOptions(const rpc::FakeEtcd& etcd) {
  EtcdOptions options{.address = {.endpoints = {{.address = etcd.address()}}}};
  options.alive = std::chrono::hours(1);
  options.compaction_interval = {};
  // Answers are missing when a test says so, and never because the machine is busy.
  options.answer_patience = std::chrono::seconds(60);
  options.write_patience = std::chrono::seconds(60);
  return options;
}

class EtcdAcceptance : public ::testing::Test {
 protected:
  using When = rpc::FakeEtcd::When;

  Store& Open() { return Open(FakeOptions(etcd_)); }
  Store& Open(EtcdOptions options) {
    options.counts = &counts_;
    auto store = OpenEtcdStore(options);
    EXPECT_THAT(store, testing::IsOk());
    if (!store.ok()) std::abort();
    store_ = *std::move(store);
    return *store_;
  }
  // A fault that uses what a test has on its stack ends before that does.
  class [[nodiscard]] Faulty {
   public:
    Faulty(rpc::FakeEtcd& etcd, rpc::FakeEtcd::Fault fault) : etcd_(etcd) {
      etcd_.SetFault(std::move(fault));
    }
    ~Faulty() {
      etcd_.SetFault(nullptr);
      Eventually([this] { return etcd_.in_faults() == 0; });
    }
    Faulty(const Faulty&) = delete;
    Faulty& operator=(const Faulty&) = delete;

   private:
    rpc::FakeEtcd& etcd_;
  };
  // The next call of a method, before or after it happened, ends with that.
  void FailOnce(const std::string& method, When when, Status status) {
    auto left = std::make_shared<std::atomic<int>>(1);
    etcd_.SetFault([=](const std::string& called, When at) {
      return called == method && at == when && left->fetch_sub(1) > 0 ? status : Status();
    });
  }
  std::future<StatusOr<Outcome>> Commit(Transaction transaction) {
    auto promise = std::make_shared<std::promise<StatusOr<Outcome>>>();
    store_->Commit(std::move(transaction), [promise](StatusOr<Outcome> outcome) {
      promise->set_value(std::move(outcome));
    });
    return promise->get_future();
  }
  Status Current() {
    std::promise<Status> ready;
    store_->Current([&](Status status) { ready.set_value(std::move(status)); });
    return ready.get_future().get();
  }

  rpc::FakeEtcd etcd_;
  EtcdCounts counts_;
  std::unique_ptr<Store> store_;
};

}  // namespace dray::store
