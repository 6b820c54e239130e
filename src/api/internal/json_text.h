// SPDX-License-Identifier: Apache-2.0
//
// Writing JSON text.
#pragma once

#include <string>
#include <string_view>

namespace dray::api::internal {

// `text` as a JSON string with quotes. Bytes above 0x7f are copied; control characters are escaped.
void AppendJsonString(std::string_view text, std::string& out);

}  // namespace dray::api::internal
