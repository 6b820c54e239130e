// SPDX-License-Identifier: Apache-2.0
//
// From the body of a request to an object: which kind it must be, what is done with fields that
// nobody knows, and what clients are told when it cannot be read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.h"
#include "api/kinds.h"
#include "base/status.h"
#include "rest/tree.h"

namespace dray::rest {

// What happens to fields that are unknown or come twice. In any case unknown ones are dropped.
enum class FieldValidation : std::uint8_t {
  kWarn,    // said in Warning headers
  kStrict,  // the request is refused
  kIgnore,
};

enum class BodyFormat : std::uint8_t { kJson, kYaml, kProtobuf };

struct DecodedBody {
  api::Object object;
  std::vector<std::string> warnings = {};
};

// The body of a create or update, which must be an object of `kind`; a body that leaves out
// apiVersion and kind is taken to be one. Every failure is a BadRequest.
StatusOr<DecodedBody> DecodeBody(api::JsonDecoder& decoder, std::string_view body,
                                 BodyFormat format, const api::KindInfo& kind,
                                 FieldValidation validation);

// The same for a tree: what a patch has made.
StatusOr<DecodedBody> DecodeTree(const DocumentNode& tree, const api::KindInfo& kind,
                                 FieldValidation validation);

// How strict decoding tells of a key that comes twice.
std::string DuplicateField(std::string_view path);

// The apiVersion and kind that a tree says it is, if it says so, are those of `kind`.
Status CheckType(const DocumentNode& tree, const api::KindInfo& kind);

}  // namespace dray::rest
