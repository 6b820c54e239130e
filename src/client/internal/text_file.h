// SPDX-License-Identifier: Apache-2.0
//
// Small text files: kubeconfigs, certificates, tokens.
#pragma once

#include <string>

#include "base/status.h"

namespace dray::client::internal {

// kNotFound: there is no such file. Errors name it.
StatusOr<std::string> ReadTextFile(const std::string& path);

}  // namespace dray::client::internal
