// SPDX-License-Identifier: Apache-2.0
//
// Formats of strings that Kubernetes checks in custom resources. Others are words for readers.
#pragma once

#include <string>
#include <string_view>

namespace dray::crd {

// The name as it is looked up: "date-time" and "datetime" are one. Empty: nobody checks it.
std::string CheckedFormat(std::string_view format);

// `format` is what CheckedFormat gave.
bool HasFormat(std::string_view format, std::string_view text);

}  // namespace dray::crd
