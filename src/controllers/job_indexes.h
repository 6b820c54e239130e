// SPDX-License-Identifier: Apache-2.0
//
// Sets of completion indexes as jobs write them: "1,3-5,7".
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "api/pod.h"

namespace dray::controllers {

inline constexpr std::string_view kCompletionIndex = "batch.kubernetes.io/job-completion-index";

using JobIndexes = std::set<std::int32_t>;

// Those below `completions`; what is not well-formed is left out.
JobIndexes ParseIndexes(std::string_view text, std::int32_t completions);
std::string ToText(const JobIndexes& indexes);

// The pod's, if it has one below `completions`.
std::optional<std::int32_t> IndexOf(const api::Pod& pod, std::int32_t completions);
// Makes a pod the one for an index: name, host name, mark and environment.
void SetIndex(api::Pod& pod, std::string_view job, std::int32_t index);

}  // namespace dray::controllers
