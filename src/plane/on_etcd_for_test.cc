// SPDX-License-Identifier: Apache-2.0
//
// The tests that this is linked with keep their objects in a real etcd (plane_for_test.h).
#include <stdlib.h>

#include <string>

#include "store/etcd/etcd_for_test.h"

namespace dray::plane {
namespace {

class OnEtcd final : public ::testing::Environment {
 public:
  void SetUp() override {
    DRAY_NEEDS_ETCD();
    ::setenv("DRAY_TEST_STORE", ("etcd://" + store::SharedEtcd().client(0)).c_str(), 1);
  }
};

// NOLINTNEXTLINE(cert-err58-cpp): GoogleTest owns it.
const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new OnEtcd);

}  // namespace
}  // namespace dray::plane
