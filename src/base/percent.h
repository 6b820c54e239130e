// SPDX-License-Identifier: Apache-2.0
//
// Percent-encoding, as in URLs (RFC 3986, 2.1).
#pragma once

#include <string>
#include <string_view>

namespace dray::base {

// Every byte as %XX that is neither a letter, a digit nor one of `plain`.
std::string PercentEncoded(std::string_view text, std::string_view plain = "-._~");

// Bad escapes stay as they are.
std::string PercentDecoded(std::string_view text, bool plus_is_space = false);

}  // namespace dray::base
