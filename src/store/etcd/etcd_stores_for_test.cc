// SPDX-License-Identifier: Apache-2.0
//
// What every store does, of a store in a real etcd: one member for the program, a prefix per test.
#include "store/etcd/etcd_for_test.h"
#include "store/store_for_test.h"

namespace dray::store {

const std::vector<StoreMaker>& AllStores() {
  static const std::vector<StoreMaker> makers = [] {
    std::vector<StoreMaker> all;
    if (EtcdProgram().empty()) return all;
    all.push_back({.name = "Etcd",
                   .make =
                       [](const TempFolder&, HistoryOptions history) {
                         EtcdOptions options = SharedOptions();
                         options.history = history;
                         auto store = OpenEtcdStore(options);
                         EXPECT_THAT(store, testing::IsOk());
                         return store.ok() ? *std::move(store) : nullptr;
                       },
                   .consecutive = false});
    return all;
  }();
  return makers;
}

// Without one there is none to test.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WatchContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TopicContract);

TEST(Etcd, IsThere) { DRAY_NEEDS_ETCD(); }

}  // namespace dray::store
