// SPDX-License-Identifier: Apache-2.0
#include "apiserver/internal/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fmt/format.h"

namespace dray::apiserver::internal {
namespace {

Status Failed(std::string_view verb, const std::string& path, int error) {
  return base::Unavailable("cannot " + std::string(verb) + " " + path + ": " +
                           std::strerror(error));
}

bool WriteAll(int file, std::string_view contents) {
  while (!contents.empty()) {
    const ssize_t n = ::write(file, contents.data(), contents.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    contents.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

Status MakeFolder(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  if (error) return Failed("make folder", parent, error.value());
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return Failed("make folder", path, errno);
  if (!std::filesystem::is_directory(path)) return Failed("make folder", path, ENOTDIR);
  return {};
}

StatusOr<std::optional<std::string>> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (errno == ENOENT) return std::optional<std::string>();
    return Failed("read", path, errno);
  }
  std::ostringstream contents;
  contents << file.rdbuf();
  if (!file) return Failed("read", path, EIO);
  return std::optional(std::move(contents).str());
}

StatusOr<std::optional<std::string>> ReadSecret(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) == 0 && (about.st_mode & 077) != 0) {
    return base::FailedPrecondition(
        fmt::format("{0} holds a secret and its mode is {1:04o}, so that others than its owner can "
                    "get at it. If it has not been read by others: chmod 600 {0}",
                    path, about.st_mode & 07777));
  }
  return ReadFile(path);
}

Status WriteFile(const std::string& path, std::string_view contents) {
  const std::string temporary = path + ".new";
  const int file = ::open(temporary.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return Failed("write", temporary, errno);
  const bool written = WriteAll(file, contents) && ::fchmod(file, 0600) == 0 && ::fsync(file) == 0;
  const int error = errno;
  ::close(file);
  if (!written) return Failed("write", temporary, error);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return Failed("write", path, errno);
  return {};
}

}  // namespace dray::apiserver::internal
