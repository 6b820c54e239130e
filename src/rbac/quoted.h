// SPDX-License-Identifier: Apache-2.0
//
// Texts in quotes, as Go's %q writes them: Kubernetes's refusals have them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dray::rbac {

// "a \"b\""
std::string Quoted(std::string_view text);
// ["a" "b"]
std::string Quoted(const std::vector<std::string>& texts);

}  // namespace dray::rbac
