// SPDX-License-Identifier: Apache-2.0
//
// Where tests find recorded cases. They are not part of the project: a test that needs them says so
// and is skipped when the folder is missing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dray::testing {

// The folder below the shared one ($DRAY_SHARED, which CTest sets), or nothing when it is not
// there.
std::optional<std::filesystem::path> SharedFolder(const std::string& name);

// The *.json files of a folder, sorted.
std::vector<std::filesystem::path> JsonFilesIn(const std::filesystem::path& folder);

// The whole file; an empty text when it cannot be read.
std::string ReadFile(const std::filesystem::path& path);

}  // namespace dray::testing
