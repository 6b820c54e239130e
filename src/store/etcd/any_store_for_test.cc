// SPDX-License-Identifier: Apache-2.0
//
// One etcd for the program, a prefix for each store; without an etcd all tests are skipped.
#include "store/any_store_for_test.h"

#include "base/check.h"
#include "store/etcd/etcd_for_test.h"

namespace dray::store {
namespace {

class NeedsEtcd final : public ::testing::Environment {
 public:
  void SetUp() override { DRAY_NEEDS_ETCD(); }
};

// NOLINTNEXTLINE(cert-err58-cpp): GoogleTest owns it.
const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new NeedsEtcd);

}  // namespace

std::unique_ptr<Store> MakeAnyStore() {
  auto store = OpenEtcdStore(SharedOptions());
  DRAY_CHECK(store.ok(), store.status().ToString());
  return *std::move(store);
}

}  // namespace dray::store
