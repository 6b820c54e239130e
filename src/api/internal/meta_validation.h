// SPDX-License-Identifier: Apache-2.0
//
// Object metadata: the rules that every kind shares, and conditions.
//
// Spec: k8s.io/apimachinery/pkg/api/validation. A server generates names, uids and timestamps
// before it validates.
#pragma once

#include <cstddef>
#include <vector>

#include "api/internal/path.h"
#include "api/internal/report.h"
#include "api/kinds.h"
#include "api/meta.h"

namespace dray::api::internal {

void ValidateMetaCreate(Report& report, const KindInfo& kind, const ObjectMeta& meta);
void ValidateMetaUpdate(Report& report, const KindInfo& kind, const ObjectMeta& meta,
                        const ObjectMeta& old);
// Of the status subresource: a name is not looked at again.
void ValidateMetaStatusUpdate(Report& report, const KindInfo& kind, const ObjectMeta& meta,
                              const ObjectMeta& old);

// The metadata inside of a template, of which only labels and annotations are taken over.
void ValidateTemplateMeta(Report& report, const Path& at, const ObjectMeta& meta);

void ValidateConditions(Report& report, const Path& at, const std::vector<Condition>& conditions,
                        std::size_t max);

}  // namespace dray::api::internal
