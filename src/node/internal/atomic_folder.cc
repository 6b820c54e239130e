// SPDX-License-Identifier: Apache-2.0
#include "node/internal/atomic_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/str_split.h"
#include "files/files.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kData = "..data";

Status CheckPath(const std::string& path) {
  if (path.empty() || path.starts_with('/') || path.starts_with("..")) {
    return base::InvalidArgument(
        fmt::format("\"{}\": a path in a volume is relative and does not begin with ..", path));
  }
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part == ".." || part.empty() || part == ".") {
      return base::InvalidArgument(fmt::format("\"{}\" is not a path below a volume", path));
    }
  }
  return {};
}

std::string LinkAt(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::read_symlink(path, error);
  return error ? std::string() : target.string();
}

// Whether that folder has exactly these files.
bool HasAll(const std::string& folder, const FilesToWrite& files) {
  std::error_code error;
  std::size_t there = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    if (entry.is_regular_file(error)) ++there;
  }
  if (error || there != files.size()) return false;
  for (const auto& [path, file] : files) {
    const std::string full = fmt::format("{}/{}", folder, path);
    struct stat about {};
    if (::lstat(full.c_str(), &about) != 0 || (about.st_mode & 07777) != file.mode) return false;
    const auto bytes = files::ReadWhole(full);
    if (!bytes.ok() || *bytes != file.bytes) return false;
  }
  return true;
}

Status WriteInto(const std::string& folder, const FilesToWrite& files,
                 std::optional<std::int64_t> group) {
  DRAY_RETURN_IF_ERROR(files::MakeFolder(folder));
  const auto give = [&](const std::string& path) {
    if (group) (void)::lchown(path.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(*group));
  };
  give(folder);
  for (const auto& [path, file] : files) {
    const std::string full = fmt::format("{}/{}", folder, path);
    DRAY_RETURN_IF_ERROR(files::MakeFolder(full.substr(0, full.rfind('/'))));
    const files::Fd fd(
        ::open(full.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid()) return files::Failed("write", full, errno);
    DRAY_RETURN_IF_ERROR(files::WriteAll(fd.get(), file.bytes));
    give(full);
    if (::fchmod(fd.get(), file.mode) != 0) return files::Failed("write", full, errno);
  }
  return {};
}

// Replaces what is there, in one step.
Status Point(const std::string& folder, const std::string& name, const std::string& target) {
  const std::string temporary = fmt::format("{}/..{}_tmp", folder, name);
  (void)::unlink(temporary.c_str());
  const std::string place = fmt::format("{}/{}", folder, name);
  if (::symlink(target.c_str(), temporary.c_str()) != 0 ||
      ::rename(temporary.c_str(), place.c_str()) != 0) {
    return files::Failed("link", place, errno);
  }
  return {};
}

}  // namespace

StatusOr<bool> WriteFolder(const std::string& folder, const FilesToWrite& files, base::Time now,
                           std::optional<std::int64_t> group) {
  std::set<std::string> shown;
  for (const auto& [path, file] : files) {
    DRAY_RETURN_IF_ERROR(CheckPath(path));
    shown.insert(path.substr(0, path.find('/')));
  }
  const std::string before = LinkAt(fmt::format("{}/{}", folder, kData));
  const bool same = !before.empty() && HasAll(fmt::format("{}/{}", folder, before), files);
  std::string current = before;
  if (!same) {
    for (int i = 0;; ++i) {
      current = fmt::format("..{}.{}", now.UnixNanos(), i);
      std::error_code error;
      if (!fs::exists(fmt::format("{}/{}", folder, current), error)) break;
    }
    DRAY_RETURN_IF_ERROR(WriteInto(fmt::format("{}/{}", folder, current), files, group));
    DRAY_RETURN_IF_ERROR(Point(folder, std::string(kData), current));
  }
  DRAY_ASSIGN_OR_RETURN(const auto names, files::NamesIn(folder));
  for (const std::string& name : shown) {
    const std::string target = fmt::format("{}/{}", kData, name);
    if (LinkAt(fmt::format("{}/{}", folder, name)) != target) {
      DRAY_RETURN_IF_ERROR(Point(folder, name, target));
    }
  }
  // What is not shown any more, and folders that nobody reads, also those of writers that died.
  for (const std::string& name : names) {
    if (name == kData || name == current || shown.contains(name)) continue;
    DRAY_RETURN_IF_ERROR(files::RemoveTree(fmt::format("{}/{}", folder, name)));
  }
  return !same;
}

}  // namespace dray::node
