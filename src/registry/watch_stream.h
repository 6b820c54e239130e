// SPDX-License-Identifier: Apache-2.0
//
// A watch as a client sees it: one JSON object per line, {"type":"ADDED","object":...}.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/field_selector.h"
#include "api/kinds.h"
#include "api/label_selector.h"
#include "apiserver/http.h"
#include "base/clock.h"
#include "base/status.h"
#include "registry/negotiation.h"
#include "registry/objects.h"
#include "rest/table.h"

namespace dray::crd {
class ServedVersion;
}  // namespace dray::crd

namespace dray::registry {

// Which objects a list or a watch is about.
struct Selection {
  const api::KindInfo* kind = nullptr;  // in the version of the request
  std::string namespace_;               // empty: all
  api::LabelMatcher labels;
  api::FieldSelector fields;
  // Of a kind that somebody has defined.
  std::shared_ptr<const crd::ServedVersion> custom = nullptr;

  bool MatchesFields(const api::Object& object) const;  // of such a kind
  bool all() const { return labels.empty() && fields.empty(); }
  bool Matches(const api::Object& object) const {
    if (!labels.Matches(object.metadata().labels)) return false;
    return custom == nullptr ? fields.Matches(object) : MatchesFields(object);
  }
};

struct WatchOptions {
  Selection selection;
  // Events after this revision; none: first what is there, as added.
  std::optional<store::Revision> from;
  // Say when all that was there has been sent (sendInitialEvents).
  bool mark_initial_end = false;
  bool bookmarks = false;
  std::chrono::nanoseconds timeout = std::chrono::minutes(30);
  Shape shape = Shape::kObject;
  rest::IncludeObject include = rest::IncludeObject::kMetadata;
};

// Everything outlives it. A revision that has left the history is told in the stream, as an event
// of type ERROR with a Status of code 410.
std::unique_ptr<apiserver::StreamSource> MakeWatchStream(const Objects& objects,
                                                         const base::Clock& clock,
                                                         WatchOptions options);

}  // namespace dray::registry
