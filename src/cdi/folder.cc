// SPDX-License-Identifier: Apache-2.0
#include "cdi/folder.h"

#include <sys/stat.h>

#include "fmt/format.h"

namespace dray::cdi {
namespace {

Status CheckFileName(const std::string& name) {
  if (IsSpecFileName(name) && name.find('/') == std::string::npos) return {};
  return base::InvalidArgument(
      fmt::format("\"{}\" must be a file name that ends in .json or .yaml", name));
}

}  // namespace

std::vector<std::string> DefaultFolders() {
  return {std::string(kStaticFolder), std::string(kDynamicFolder)};
}

bool IsSpecFileName(std::string_view name) {
  return name.ends_with(".json") || name.ends_with(".yaml");
}

std::vector<SpecFile> ReadFolders(std::span<const std::string> folders) {
  std::vector<SpecFile> specs;
  int priority = 0;
  for (const std::string& folder : folders) {
    ++priority;
    const auto names = files::NamesIn(folder);
    if (!names.ok()) {
      specs.push_back({.priority = priority, .path = folder, .content = names.status()});
      continue;
    }
    for (const std::string& name : *names) {
      if (!IsSpecFileName(name)) continue;
      const std::string path = fmt::format("{}/{}", folder, name);
      struct stat about {};
      if (::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) continue;
      auto content = files::ReadWhole(path, kLongestSpec);
      // It was removed since: as if it had not been there.
      if (content.status().code() == StatusCode::kNotFound) continue;
      specs.push_back({.priority = priority, .path = path, .content = std::move(content)});
    }
  }
  return specs;
}

Registry Load(std::span<const std::string> folders) { return Registry(ReadFolders(folders)); }

Status SaveSpec(const std::string& folder, const std::string& name, const Spec& spec,
                files::Sync sync) {
  DRAY_RETURN_IF_ERROR(CheckFileName(name));
  DRAY_ASSIGN_OR_RETURN(const std::string text, WriteSpec(spec));
  DRAY_RETURN_IF_ERROR(files::MakeFolder(folder, 0755));
  return files::WriteWhole(fmt::format("{}/{}", folder, name), text, 0644, sync);
}

Status RemoveSpec(const std::string& folder, const std::string& name) {
  DRAY_RETURN_IF_ERROR(CheckFileName(name));
  return files::RemoveFile(fmt::format("{}/{}", folder, name));
}

}  // namespace dray::cdi
