// SPDX-License-Identifier: Apache-2.0
#include "cel/library.h"

namespace dray::cel::library {

// What strings has since version 3; DRA has version 2.
const std::string_view kStringReverse = R"(
reverse
  string_reverse string.() -> string
)";

const std::string_view kEncoders = R"(
base64.decode
  base64_decode_string (string) -> bytes
base64.encode
  base64_encode_bytes (bytes) -> string
)";

// KEP-5491's name for includes.
const std::string_view kInclude = R"(
include
  list_include_dyn_dyn dyn.(dyn) -> bool
)";

}  // namespace dray::cel::library
