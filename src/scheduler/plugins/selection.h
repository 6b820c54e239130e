// SPDX-License-Identifier: Apache-2.0
//
// Selectors of pods and nodes, matched as they stand in the objects: they are asked of few labels
// at a time, so that compiling them first would cost more than it saves.
//
// A requirement that is not well-formed makes its selector, or its term, match nothing, as in
// Kubernetes, which refuses such objects before.
#pragma once

#include <string>
#include <vector>

#include "api/affinity.h"
#include "api/map.h"
#include "api/meta.h"
#include "api/node.h"
#include "api/node_selector.h"
#include "api/pod.h"

namespace dray::scheduler {

// An empty selector matches everything. (An absent one matches nothing, which is the caller's to
// see.)
bool Matches(const api::LabelSelector& selector, const api::Map<std::string>& labels);

// A term without requirements matches no node.
bool Matches(const api::NodeSelectorTerm& term, const api::Node& node);

// Both the nodeSelector and the required node affinity.
bool MatchesRequiredAffinity(const api::Pod& pod, const api::Node& node);
bool HasRequiredAffinity(const api::Pod& pod);

// For the labels of `owner` under `match_keys`: those that `other` must have, too. Keys that the
// owner does not have ask nothing.
bool MatchesKeys(const api::Pod& owner, const std::vector<std::string>& match_keys,
                 const api::Map<std::string>& other);
// The opposite: values that `other` must not have.
bool MismatchesKeys(const api::Pod& owner, const std::vector<std::string>& mismatch_keys,
                    const api::Map<std::string>& other);

// The term as `owner` has it: whether `other` is meant by it. `namespace_labels` are those of the
// other's namespace; null: it has none.
bool Matches(const api::Pod& owner, const api::PodAffinityTerm& term, const api::Pod& other,
             const api::Map<std::string>* namespace_labels);

}  // namespace dray::scheduler
