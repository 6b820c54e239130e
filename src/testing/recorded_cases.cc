// SPDX-License-Identifier: Apache-2.0
#include "testing/recorded_cases.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace dray::testing {

std::optional<std::filesystem::path> SharedFolder(const std::string& name) {
  const char* shared = std::getenv("DRAY_SHARED");
  if (shared == nullptr) return std::nullopt;
  std::filesystem::path folder = std::filesystem::path(shared) / name;
  if (!std::filesystem::is_directory(folder)) return std::nullopt;
  return folder;
}

std::vector<std::filesystem::path> JsonFilesIn(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace dray::testing
