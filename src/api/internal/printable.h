// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace dray::api::internal {

// Whether a text is UTF-8 without control, format, private or space characters other than ' '.
// Close to Go's unicode.IsPrint: characters that Unicode has not assigned are let through.
bool IsPrintable(std::string_view utf8);

}  // namespace dray::api::internal
