// SPDX-License-Identifier: Apache-2.0
//
// Bodies in Kubernetes's protobuf: what kubectl and other typed clients send when they write. They
// are read into a tree as JSON would be; answers are JSON, which the same clients accept.
//
// JSON that is carried inside of objects (a driver's parameters, a device's data) has its bytes here
// as they are stored, which an API server's JSON does not show: it leaves blanks out and escapes
// `<`, `>` and `&`. Who has to repeat such bytes exactly reads and writes protobuf.
//
// Spec: k8s.io/apimachinery's runtime.Unknown around the object; field numbers in
// internal/proto_numbers.cc.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "api/field_table.h"
#include "api/kinds.h"
#include "base/status.h"
#include "base/string_map.h"
#include "rest/tree.h"

namespace dray::rest {

inline constexpr std::string_view kProtobufMediaType = "application/vnd.kubernetes.protobuf";

// The object inside, with apiVersion and kind as the envelope says. `type` is what it is read as;
// `group` and `version` choose between structs that differ. InvalidArgument says what is wrong;
// fields that dray keeps as raw JSON cannot come this way and are named. `raws` gets the bytes of
// the JSON inside, as they are.
using RawBytes = base::StringMap<std::string>;  // by path: spec.devices.config[0].opaque.parameters
StatusOr<DocumentNode> ReadProtobuf(std::string_view body, const api::TypeInfo& type,
                                    std::string_view group, std::string_view version,
                                    RawBytes* raws = nullptr);

struct WrittenProtobuf {
  std::string body;
  std::size_t verbatim = 0;  // values of which `stored` had other bytes
};
// The object in a version of its kind, in an envelope. A value of which `stored` has other bytes
// that say the same is written in those bytes. InvalidArgument for what only JSON can carry: fields
// of newer versions, messages that dray keeps as JSON. Fields that Kubernetes does not have are
// left out.
StatusOr<WrittenProtobuf> WriteProtobuf(const api::KindInfo& version, const api::Object& object,
                                        const RawBytes* stored = nullptr);

}  // namespace dray::rest
