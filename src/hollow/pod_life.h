// SPDX-License-Identifier: Apache-2.0
//
// The life of a pod whose containers do not exist: what its status says once it runs, when that is
// over, and how it ended. Pure: from the pod and the time, so that a restart changes nothing.
//
// A pod may say how it lives in annotations:
//   dray/runs-for: 90s     its containers end after that time (a Go duration)
//   dray/exit-code: "1"    with this code
// Without them a pod that is to run always does, and any other ends well after a moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "api/pod.h"
#include "base/time.h"

namespace dray::hollow {

inline constexpr std::string_view kRunsForAnnotation = "dray/runs-for";
inline constexpr std::string_view kExitCodeAnnotation = "dray/exit-code";

// What pods that end do without saying how long they take.
inline constexpr std::chrono::seconds kDefaultRunTime{1};

// How long its containers run; nothing: until somebody ends them. An annotation that cannot be read
// counts as absent.
std::optional<std::chrono::nanoseconds> RunTimeOf(const api::Pod& pod);
std::int32_t ExitCodeOf(const api::Pod& pod);

bool IsRunning(const api::Pod& pod);
// When its containers will have ended by themselves. Of a pod that runs.
std::optional<base::Time> EndOf(const api::Pod& pod);

// All containers run and are ready.
void Start(api::Pod& pod, base::Time now);
// All containers have ended with `exit_code`; the pod has, too.
void End(api::Pod& pod, std::int32_t exit_code, base::Time now);
// What becomes of containers that have ended by themselves: the restart policy says whether they
// start again.
void EndOrRestart(api::Pod& pod, base::Time now);

}  // namespace dray::hollow
