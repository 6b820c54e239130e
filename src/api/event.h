// SPDX-License-Identifier: Apache-2.0
//
// core/v1 Event. events.k8s.io/v1 has the same objects under other field names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/box.h"
#include "api/field_table.h"
#include "api/meta.h"
#include "api/values.h"
#include "base/time.h"

namespace dray::api {

inline constexpr std::string_view kEventNormal = "Normal";
inline constexpr std::string_view kEventWarning = "Warning";

struct ObjectReference {
  std::string kind;
  std::string namespace_;
  std::string name;
  std::string uid;
  std::string api_version;
  std::string resource_version;
  std::string field_path;
  UnknownFields unknown;
  friend bool operator==(const ObjectReference&, const ObjectReference&) = default;
};
const StructInfo& InfoOf(const ObjectReference*);

struct EventSource {
  std::string component;
  std::string host;
  UnknownFields unknown;
  friend bool operator==(const EventSource&, const EventSource&) = default;
};
const StructInfo& InfoOf(const EventSource*);

struct EventSeries {
  std::int32_t count = 0;
  std::optional<MicroTime> last_observed_time;
  UnknownFields unknown;
  friend bool operator==(const EventSeries&, const EventSeries&) = default;
};
const StructInfo& InfoOf(const EventSeries*);

// What happened to an object, told to people. The newest fields are the ones of events.k8s.io;
// count and the two timestamps are how older writers repeat themselves.
struct Event {
  ObjectMeta metadata;
  ObjectReference involved_object;
  std::string reason;
  std::string message;
  EventSource source;
  std::optional<base::Time> first_timestamp;
  std::optional<base::Time> last_timestamp;
  std::int32_t count = 0;
  std::string type;  // Normal, Warning
  std::optional<MicroTime> event_time;
  Box<EventSeries> series;
  std::string action;
  Box<ObjectReference> related;
  std::string reporting_component;
  std::string reporting_instance;
  UnknownFields unknown;
  friend bool operator==(const Event&, const Event&) = default;
};
const StructInfo& InfoOf(const Event*);

// The field table of events.k8s.io/v1.
const TypeInfo& EventOfEventsGroup();

}  // namespace dray::api
