// SPDX-License-Identifier: Apache-2.0
//
// Onlooker: another cluster, to be looked at only. Every write is refused, so that a scheduler on
// it decides and changes nothing.
#pragma once

#include <string>

#include "api/cluster.h"
#include "api/forwarding_cluster.h"
#include "scheduler/ids.h"

namespace dray::soak {

// One thread.
class Onlooker final : public api::ForwardingCluster, public scheduler::Ids {
 public:
  // It outlives this.
  explicit Onlooker(api::Cluster& cluster) : ForwardingCluster(cluster) {}

  StatusOr<api::Object> Create(api::Object) override { return Refused(); }
  StatusOr<api::Object> Update(api::Object) override { return Refused(); }
  StatusOr<api::Object> UpdateStatus(api::Object) override { return Refused(); }
  Status Delete(const api::KindInfo&, std::string_view, std::string_view,
                std::string_view) override {
    return Refused();
  }
  Status Bind(std::string_view, std::string_view, std::string_view, std::string_view) override {
    return Refused();
  }
  void Note(const api::EventNote&) override {}

  std::string Uid() override { return "00000000-0000-4000-8000-" + std::to_string(next_++); }

 private:
  static Status Refused() { return base::FailedPrecondition("this is for looking only"); }

  std::uint64_t next_ = 100'000'000'000;
};

}  // namespace dray::soak
