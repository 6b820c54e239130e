// SPDX-License-Identifier: Apache-2.0
//
// Where tests find recorded cases. They are not part of the project: a test that needs them says so
// and is skipped when the folder is missing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace dray::testing {

// The folder below the shared one ($DRAY_SHARED, which CTest sets), or nothing when it is not
// there.
std::optional<std::filesystem::path> SharedFolder(const std::string& name);

// The whole file; an empty text when it cannot be read.
std::string ReadFile(const std::filesystem::path& path);

}  // namespace dray::testing
