// SPDX-License-Identifier: Apache-2.0
//
// What a CRI server is, asked once: who applies CDI, and who makes control groups.
#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "base/mutex.h"
#include "base/status.h"
#include "container/cri_runtime.h"
#include "rpc/cri_client.h"

namespace dray::container::internal {

// Thread-safe. Nothing waits, as everywhere with a client.
class CriFacts {
 public:
  // Both outlive it. When `stopping`, nothing more is asked.
  CriFacts(rpc::CriClient& cri, const std::atomic<bool>& stopping)
      : cri_(cri), stopping_(stopping) {}

  // What was asked by others.
  void Learn(const rpc::CriVersion& version);
  // Whether names of CDI devices go to the runtime.
  void AppliesCdi(CdiMode mode, std::function<void(StatusOr<bool>)> then);
  void Cgroups(std::function<void(StatusOr<rpc::CgroupDriver>)> then);

 private:
  void LearnCgroups(const StatusOr<rpc::CgroupDriver>& driver,
                    const std::function<void(StatusOr<rpc::CgroupDriver>)>& then);

  rpc::CriClient& cri_;
  const std::atomic<bool>& stopping_;
  base::Mutex mutex_;
  std::optional<rpc::CriVersion> version_ ABSL_GUARDED_BY(mutex_);
  std::optional<rpc::CgroupDriver> cgroups_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::container::internal
