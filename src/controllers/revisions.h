// SPDX-License-Identifier: Apache-2.0
//
// ControllerRevisions: templates as they once were, so that a pod of an old one can be made again
// and `kubectl rollout undo` finds what to go back to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/daemon_set.h"
#include "api/kinds.h"
#include "api/pod.h"
#include "base/status.h"
#include "controllers/view.h"

namespace dray::controllers {

// The revision of the template, made or moved to the end if it is not the newest: its object.
// `known`: those of the owner.
StatusOr<api::Object> EnsureRevision(const api::Object& owner,
                                     const api::PodTemplateSpec& made_from, std::string_view hash,
                                     const std::vector<api::Object>& known, View& view);

// The template in a revision's data.
StatusOr<api::PodTemplateSpec> TemplateOf(const api::Object& revision);

// Deletes the oldest that are neither among `in_use` nor of the `keep` newest.
Status TrimRevisions(std::vector<api::Object> known, const std::vector<std::string>& in_use,
                     std::int32_t keep, View& view);

}  // namespace dray::controllers
