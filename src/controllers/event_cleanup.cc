// SPDX-License-Identifier: Apache-2.0
#include "controllers/event_cleanup.h"

#include <algorithm>
#include <array>

#include "api/event.h"

namespace dray::controllers {
namespace {

std::array<const api::KindInfo*, 1> Kinds() { return {&KindOf<api::Event>()}; }

// Writers repeat themselves in one of several fields.
base::Time LastTold(const api::Event& event) {
  base::Time last = event.metadata.creation_timestamp.value_or(base::Time());
  if (event.last_timestamp) last = std::max(last, *event.last_timestamp);
  if (event.event_time) last = std::max(last, event.event_time->time);
  if (event.series && event.series->last_observed_time) {
    last = std::max(last, event.series->last_observed_time->time);
  }
  return last;
}

}  // namespace

EventCleanup::EventCleanup(const Source& source, const base::Clock& clock,
                           EventCleanupOptions options)
    : Reconciler(source, clock, Kinds()), options_(options) {}

// One that is told again keeps its first appointment, and is given another one then.
void EventCleanup::OnChange(const api::Object* before, const api::Object* after) {
  if (before != nullptr || after == nullptr) return;
  const auto left = LastTold(*after->As<api::Event>()) + options_.kept - clock().Now();
  queue().AddAfter(ObjectKey::Of(*after), left);
}

Status EventCleanup::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr) return {};
  const auto left = LastTold(*found->As<api::Event>()) + options_.kept - clock().Now();
  if (left > std::chrono::nanoseconds(0)) {
    queue().AddAfter(key, left);
    return {};
  }
  return view().Delete(api::Object(*found));
}

}  // namespace dray::controllers
