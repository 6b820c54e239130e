// SPDX-License-Identifier: Apache-2.0
//
// How a client wants its answer, and what it has sent: Accept and Content-Type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "rest/decode.h"

namespace dray::registry {

// The shape that an answer has. Errors are always plain, but YAML for those who asked for it.
enum class Shape : std::uint8_t { kObject, kTable, kPartialMetadata, kDiscovery };

struct Format {
  Shape shape = Shape::kObject;
  bool yaml = false;
  bool list = false;  // kPartialMetadata: of a list, as PartialObjectMetadataList asks for it

  // What is written is JSON in either case, which is YAML, too.
  std::string_view content_type() const { return yaml ? "application/yaml" : "application/json"; }
};

// The first of the ranges in an Accept header that can be served; NotAcceptable when there is none.
// Protobuf is read but not written: clients that prefer it name JSON, too.
StatusOr<Format> ParseAccept(std::string_view accept);

// Whether the answer to this verb can have the shape: the metadata of a list and that of one object
// are asked for by different names. NotAcceptable otherwise; to be asked before anything is done.
Status CheckShape(const Format& format, std::string_view verb);

// The media type without parameters, lower case.
std::string MediaType(std::string_view content_type);

// Of a body that is an object: JSON unless said otherwise; UnsupportedMediaType for others.
StatusOr<rest::BodyFormat> BodyFormatOf(std::string_view content_type);

enum class PatchKind : std::uint8_t { kJson, kMerge, kStrategic, kApply };
StatusOr<PatchKind> PatchKindOf(std::string_view content_type);

}  // namespace dray::registry
