// SPDX-License-Identifier: Apache-2.0
//
// Small files with secrets.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dray::apiserver::internal {

// With its parents; mode 0700.
Status MakeFolder(const std::string& path);
// Nothing if there is no such file.
StatusOr<std::optional<std::string>> ReadFile(const std::string& path);
// The same of a file with a secret: kFailedPrecondition when its mode lets others than its owner
// read or write it.
StatusOr<std::optional<std::string>> ReadSecret(const std::string& path);
// Whole or not at all, also in a power cut; mode 0600.
Status WriteFile(const std::string& path, std::string_view contents);

}  // namespace dray::apiserver::internal
