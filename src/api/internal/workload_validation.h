// SPDX-License-Identifier: Apache-2.0
//
// What the rules of all workloads share (workload_validation.cc, workload_set_validation.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "api/internal/path.h"
#include "api/internal/report.h"
#include "api/job.h"
#include "api/meta.h"
#include "api/pod.h"
#include "api/values.h"

namespace dray::api::internal {

inline constexpr std::string_view kFieldIsImmutable = "field is immutable";

void CheckTemplate(Report& report, const Path& at, const PodTemplateSpec& made_from);
// A selector that selects the pods of the template.
void CheckSelector(Report& report, const Path& at, const Box<LabelSelector>& selector,
                   const Path& labels_at, const Map<std::string>& labels);
// A number of pods, or a share of them: how much it is, of 100. Nothing when it is neither.
std::optional<std::int32_t> CheckAmount(Report& report, const Path& at, const IntOrString& amount);
void CheckJob(Report& report, const Path& at, const JobSpec& spec);

}  // namespace dray::api::internal
