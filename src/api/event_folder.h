// SPDX-License-Identifier: Apache-2.0
//
// Which event a note belongs to: notes that say the same about the same object are one event.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <string>

#include "api/cluster.h"
#include "api/event.h"
#include "base/string_map.h"
#include "base/time.h"

namespace dray::api {

// A new event for a note: count 1, without a name.
Event EventFor(const EventNote& note, base::Time now);

// Remembers at most `limit` events by name, those told last. One thread.
class EventFolder {
 public:
  explicit EventFolder(std::size_t limit) : limit_(limit) {}

  struct Place {
    std::string namespace_;
    std::string name;
  };
  // Where the event is that says the same, now the latest; null when there is none.
  const Place* Touch(const EventNote& note);
  // The event of this note is there. Returns the one that must go for it, if any.
  std::optional<Place> Add(const EventNote& note, Place place);

 private:
  struct Entry {
    std::string key;
    Place place;
  };
  std::size_t limit_;
  std::list<Entry> entries_;  // the latest last
  base::StringMap<std::list<Entry>::iterator> by_key_;
};

}  // namespace dray::api
