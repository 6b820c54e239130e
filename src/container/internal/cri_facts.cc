// SPDX-License-Identifier: Apache-2.0
#include "container/internal/cri_facts.h"

#include <utility>

#include "container/internal/cri_info.h"

namespace dray::container::internal {

void CriFacts::Learn(const rpc::CriVersion& version) {
  const base::MutexLock lock(mutex_);
  version_ = version;
}

void CriFacts::AppliesCdi(CdiMode mode, std::function<void(StatusOr<bool>)> then) {
  if (mode != CdiMode::kAuto) return then(mode == CdiMode::kRuntime);
  std::optional<rpc::CriVersion> known;
  {
    const base::MutexLock lock(mutex_);
    known = version_;
  }
  if (known) return then(container::AppliesCdi(known->runtime_name, known->runtime_version));
  cri_.Version([this, then = std::move(then)](const StatusOr<rpc::CriVersion>& version) {
    if (!version.ok()) return then(version.status());
    Learn(*version);
    then(container::AppliesCdi(version->runtime_name, version->runtime_version));
  });
}

void CriFacts::Cgroups(std::function<void(StatusOr<rpc::CgroupDriver>)> then) {
  std::optional<rpc::CgroupDriver> known;
  {
    const base::MutexLock lock(mutex_);
    known = cgroups_;
  }
  if (known) return then(*known);
  cri_.Cgroups([this, then = std::move(then)](const StatusOr<rpc::CgroupDriver>& driver) {
    if (driver.ok() || driver.status().code() != StatusCode::kUnimplemented) {
      return LearnCgroups(driver, then);
    }
    if (stopping_) return then(base::MakeStatus(StatusCode::kCancelled, "the agent ends"));
    // Older ones have no such call, and tell it among other things.
    cri_.Status([this, then](const StatusOr<rpc::CriStatus>& status) {
      if (!status.ok()) return then(status.status());
      LearnCgroups(DriverOf(status->info), then);
    });
  });
}

void CriFacts::LearnCgroups(const StatusOr<rpc::CgroupDriver>& driver,
                            const std::function<void(StatusOr<rpc::CgroupDriver>)>& then) {
  if (driver.ok()) {
    const base::MutexLock lock(mutex_);
    cgroups_ = *driver;
  }
  then(driver);
}

}  // namespace dray::container::internal
