// SPDX-License-Identifier: Apache-2.0
//
// SystemHost: the machine with its threads and its time, for those who are handed a base::Host.
#pragma once

#include <functional>
#include <memory>

#include "base/host.h"

namespace dray::threads {

// Thread-safe.
class SystemHost final : public base::Host {
 public:
  std::unique_ptr<base::Alarm> MakeAlarm() override;
  // On a thread of its own.
  std::unique_ptr<base::Running> Start(std::function<void()> run) override;
};

// There is one machine.
base::Host& TheSystemHost();

}  // namespace dray::threads
