// SPDX-License-Identifier: Apache-2.0
#include "api/event_folder.h"

#include <string_view>
#include <utility>

namespace dray::api {
namespace {

std::string KeyOf(const EventNote& note) {
  const ObjectMeta& about = note.about.metadata();
  std::string key;
  for (const std::string_view part :
       {note.about.kind().kind, std::string_view(about.namespace_), std::string_view(about.name),
        std::string_view(about.uid), std::string_view(note.type), std::string_view(note.reason),
        std::string_view(note.component), std::string_view(note.message)}) {
    key.append(part).push_back('\0');
  }
  return key;
}

}  // namespace

Event EventFor(const EventNote& note, base::Time now) {
  const ObjectMeta& about = note.about.metadata();
  Event event;
  // Events about objects that are in no namespace are kept where Kubernetes keeps them.
  event.metadata.namespace_ = about.namespace_.empty() ? "default" : about.namespace_;
  event.involved_object = {.kind = std::string(note.about.kind().kind),
                           .namespace_ = about.namespace_,
                           .name = about.name,
                           .uid = about.uid,
                           .api_version = note.about.kind().ApiVersion(),
                           .resource_version = about.resource_version};
  event.type = note.type;
  event.reason = note.reason;
  event.message = note.message;
  event.action = note.action;
  event.source.component = note.component;
  event.reporting_component = note.component;
  event.first_timestamp = now.TruncateToSeconds();
  event.last_timestamp = event.first_timestamp;
  event.count = 1;
  return event;
}

const EventFolder::Place* EventFolder::Touch(const EventNote& note) {
  const auto found = by_key_.find(KeyOf(note));
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.end(), entries_, found->second);
  return &found->second->place;
}

std::optional<EventFolder::Place> EventFolder::Add(const EventNote& note, Place place) {
  std::string key = KeyOf(note);
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    // Its event was deleted by somebody else; this one takes its place.
    entries_.splice(entries_.end(), entries_, found->second);
    found->second->place = std::move(place);
    return std::nullopt;
  }
  entries_.push_back({key, std::move(place)});
  by_key_.emplace(std::move(key), std::prev(entries_.end()));
  if (entries_.size() <= limit_) return std::nullopt;
  Place oldest = std::move(entries_.front().place);
  by_key_.erase(entries_.front().key);
  entries_.pop_front();
  return oldest;
}

}  // namespace dray::api
