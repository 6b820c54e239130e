// SPDX-License-Identifier: Apache-2.0
//
// Ids: random where Kubernetes is: ids of shares, of claims that exist only in memory yet.
#pragma once

#include <string>

namespace dray::scheduler {

// Injected, so that a plan is the same every time.
class Ids {
 public:
  virtual ~Ids() = default;
  virtual std::string Uid() = 0;
};

}  // namespace dray::scheduler
