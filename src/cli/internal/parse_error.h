// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with a command line, in the words of Kubernetes's commands instead of the parser's.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace dray::cli::internal {

// `text` is what the parser says of flags and arguments of `app`; what is not known is left as it is.
std::string PlainParseError(const CLI::App& app, std::string_view text);

}  // namespace dray::cli::internal
