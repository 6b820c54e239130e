// SPDX-License-Identifier: Apache-2.0
//
// The JSON of a pod's explanation, by field tables as the API's objects have them. Names and codes
// are stable.
#include <cstdint>
#include <string>
#include <vector>

#include "allocator/explanation.h"
#include "api/box.h"
#include "api/field_table.h"
#include "api/json.h"
#include "scheduler/explanation.h"

namespace dray::scheduler {

using api::Field;
using api::Presence;
using api::Struct;
using api::StructInfo;

namespace {

constexpr api::FieldOptions kAlways{.presence = Presence::kAlways};

// The same values in types that field tables know.
struct JsonShortage {
  std::string what;
  std::string needed;
  std::string free;
};
struct JsonReason {
  std::string plugin;
  std::string code;
  std::string text;
  std::vector<JsonShortage> shortages;
  api::RawJson devices;
};
struct JsonGroup {
  std::int64_t nodes = 0;
  std::vector<std::string> examples;
  std::vector<JsonReason> reasons;
};
struct JsonClosest {
  std::string node;
  std::string lacks;
};
struct JsonExplanation {
  std::string pod;
  std::string message;
  std::int64_t nodes = 0;
  std::vector<JsonReason> before;
  std::vector<JsonGroup> groups;
  std::vector<JsonReason> after;
  api::Box<JsonClosest> closest;
  std::string error;
};

const StructInfo& InfoOf(const JsonShortage*) {
  using T = JsonShortage;
  static const StructInfo info = Struct<T>(
      "Shortage",
      {Field<&T::what>("what", kAlways), Field<&T::needed>("needed"), Field<&T::free>("free")});
  return info;
}
const StructInfo& InfoOf(const JsonReason*) {
  using T = JsonReason;
  static const StructInfo info =
      Struct<T>("Reason", {Field<&T::plugin>("plugin"), Field<&T::code>("code", kAlways),
                           Field<&T::text>("text", kAlways), Field<&T::shortages>("shortages"),
                           Field<&T::devices>("devices")});
  return info;
}
const StructInfo& InfoOf(const JsonGroup*) {
  using T = JsonGroup;
  static const StructInfo info =
      Struct<T>("NodeGroup", {Field<&T::nodes>("nodes", kAlways), Field<&T::examples>("examples"),
                              Field<&T::reasons>("reasons", kAlways)});
  return info;
}
const StructInfo& InfoOf(const JsonClosest*) {
  using T = JsonClosest;
  static const StructInfo info = Struct<T>(
      "ClosestMiss", {Field<&T::node>("node", kAlways), Field<&T::lacks>("lacks", kAlways)});
  return info;
}
const StructInfo& InfoOf(const JsonExplanation*) {
  using T = JsonExplanation;
  static const StructInfo info = Struct<T>(
      "PodExplanation",
      {Field<&T::pod>("pod", kAlways), Field<&T::message>("message", kAlways),
       Field<&T::nodes>("nodes", kAlways), Field<&T::before>("before"), Field<&T::groups>("groups"),
       Field<&T::after>("after"), Field<&T::closest>("closest"), Field<&T::error>("error")});
  return info;
}

std::vector<JsonReason> Convert(const std::vector<Reason>& reasons) {
  std::vector<JsonReason> list;
  for (const Reason& reason : reasons) {
    JsonReason& to = list.emplace_back();
    to.plugin = reason.plugin;
    to.code = reason.code;
    to.text = reason.text;
    for (const Reason::Shortage& shortage : reason.shortages) {
      to.shortages.push_back({shortage.what, shortage.needed, shortage.free});
    }
    if (reason.devices != nullptr) to.devices.text = allocator::ToJson(*reason.devices);
  }
  return list;
}

}  // namespace

std::string ToJson(const PodExplanation& explanation) {
  JsonExplanation json{.pod = explanation.pod,
                       .message = EventMessage(explanation),
                       .nodes = static_cast<std::int64_t>(explanation.nodes),
                       .before = Convert(explanation.before),
                       .after = Convert(explanation.after),
                       .error = explanation.error};
  for (const NodeGroup& group : explanation.groups) {
    json.groups.push_back(
        {static_cast<std::int64_t>(group.nodes), group.examples, Convert(group.reasons)});
  }
  if (explanation.closest) {
    json.closest = JsonClosest{explanation.closest->node, explanation.closest->lacks};
  }
  return api::EncodeJson(json);
}

}  // namespace dray::scheduler
