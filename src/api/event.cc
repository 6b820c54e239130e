// SPDX-License-Identifier: Apache-2.0
#include "api/event.h"

namespace dray::api {

const StructInfo& InfoOf(const ObjectReference*) {
  using T = ObjectReference;
  static const StructInfo info = Struct<T>("ObjectReference",
                                           {
                                               Field<&T::kind>("kind"),
                                               Field<&T::namespace_>("namespace"),
                                               Field<&T::name>("name"),
                                               Field<&T::uid>("uid"),
                                               Field<&T::api_version>("apiVersion"),
                                               Field<&T::resource_version>("resourceVersion"),
                                               Field<&T::field_path>("fieldPath"),
                                           },
                                           {.atomic = true});
  return info;
}

const StructInfo& InfoOf(const EventSource*) {
  using T = EventSource;
  static const StructInfo info = Struct<T>("EventSource", {
                                                              Field<&T::component>("component"),
                                                              Field<&T::host>("host"),
                                                          });
  return info;
}

const StructInfo& InfoOf(const EventSeries*) {
  using T = EventSeries;
  static const StructInfo info =
      Struct<T>("EventSeries", {
                                   Field<&T::count>("count"),
                                   Field<&T::last_observed_time>("lastObservedTime"),
                               });
  return info;
}

const StructInfo& InfoOf(const Event*) {
  using T = Event;
  static const StructInfo info = Struct<T>(
      "Event",
      {
          Field<&T::metadata>("metadata", {.presence = Presence::kAlways}),
          Field<&T::involved_object>("involvedObject", {.presence = Presence::kAlways}),
          Field<&T::reason>("reason"),
          Field<&T::message>("message"),
          Field<&T::source>("source"),
          Field<&T::first_timestamp>("firstTimestamp"),
          Field<&T::last_timestamp>("lastTimestamp"),
          Field<&T::count>("count"),
          Field<&T::type>("type"),
          Field<&T::event_time>("eventTime"),
          Field<&T::series>("series"),
          Field<&T::action>("action"),
          Field<&T::related>("related"),
          Field<&T::reporting_component>("reportingComponent", {.presence = Presence::kAlways}),
          Field<&T::reporting_instance>("reportingInstance", {.presence = Presence::kAlways}),
      });
  return info;
}

namespace {

const StructInfo& EventsGroupFields() {
  using T = Event;
  static const StructInfo info =
      Struct<T>("Event", {
                             Field<&T::metadata>("metadata"),
                             Field<&T::event_time>("eventTime", {.presence = Presence::kAlways}),
                             Field<&T::series>("series"),
                             Field<&T::reporting_component>("reportingController"),
                             Field<&T::reporting_instance>("reportingInstance"),
                             Field<&T::action>("action"),
                             Field<&T::reason>("reason"),
                             Field<&T::involved_object>("regarding"),
                             Field<&T::related>("related"),
                             Field<&T::message>("note"),
                             Field<&T::type>("type"),
                             Field<&T::source>("deprecatedSource"),
                             Field<&T::first_timestamp>("deprecatedFirstTimestamp"),
                             Field<&T::last_timestamp>("deprecatedLastTimestamp"),
                             Field<&T::count>("deprecatedCount"),
                         });
  return info;
}

}  // namespace

const TypeInfo& EventOfEventsGroup() {
  static const TypeInfo type = [] {
    TypeInfo event = TypeInfoOf<Event>();
    event.fields_of = &EventsGroupFields;
    return event;
  }();
  return type;
}

}  // namespace dray::api
