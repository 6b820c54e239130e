// SPDX-License-Identifier: Apache-2.0
#include "files/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "fmt/format.h"

namespace dray::files {
namespace {

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string NameOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// Two writers of one file in one process, or in two, do not meet in their temporary file.
std::string TemporaryBeside(const std::string& path) {
  static std::atomic<std::uint64_t> counter = 0;
  return fmt::format("{}/.{}.{}-{}.tmp", FolderOf(path), NameOf(path), ::getpid(), counter++);
}

std::atomic<std::uint64_t> syncs = 0;

int CountedSync(int fd) {
  ++syncs;
  return ::fsync(fd);
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// Removes a tree with one open folder at a time and no recursion: whoever makes a tree decides how
// deep it is, and could otherwise make one that nobody can remove.
class Removal {
 public:
  Removal(const std::string& path, dev_t device) : path_(path), device_(device) {}

  Status Run() {
    DRAY_RETURN_IF_ERROR(Enter(AT_FDCWD, path_));
    while (!levels_.empty()) {
      std::vector<std::string>& folders = levels_.back().folders;
      if (!folders.empty()) {
        const std::string child = std::move(folders.back());
        folders.pop_back();
        DRAY_RETURN_IF_ERROR(Enter(current_.get(), child));
      } else {
        DRAY_RETURN_IF_ERROR(Leave());
      }
    }
    return {};
  }

 private:
  struct Level {
    std::string name;  // in the folder above; of the first: the whole path
    ino_t inode = 0;
    std::vector<std::string> folders = {};  // still to be removed
  };

  Status Wrong(int error, std::string_view name = {}) const {
    std::string shown = path_;
    for (std::size_t i = 1; i < std::min<std::size_t>(levels_.size(), 20); ++i) {
      shown += "/" + levels_[i].name;
    }
    if (levels_.size() > 20) shown += "/...";
    if (!levels_.empty() && !name.empty()) shown += fmt::format("/{}", name);
    if (error == EXDEV) {
      return base::FailedPrecondition(
          fmt::format("cannot remove {}: something is mounted there", shown));
    }
    return Failed("remove", shown, error);
  }

  // Removes what is no folder, and everything but folders in one, which is where we are then.
  Status Enter(int parent, const std::string& name) {
    struct stat about {};
    if (::fstatat(parent, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) {
      return errno == ENOENT ? Status() : Wrong(errno, name);
    }
    if (!S_ISDIR(about.st_mode)) {
      return ::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT ? Status()
                                                                         : Wrong(errno, name);
    }
    if (about.st_dev != device_) return Wrong(EXDEV, name);
    Fd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid() || ::fstat(fd.get(), &about) != 0) return Wrong(errno, name);
    if (about.st_dev != device_) return Wrong(EXDEV, name);
    Fd copy(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
    if (!copy.valid()) return Wrong(errno, name);
    const std::unique_ptr<DIR, CloseFolder> folder(::fdopendir(copy.get()));
    if (folder == nullptr) return Wrong(errno, name);
    (void)copy.Release();
    levels_.push_back({.name = name, .inode = about.st_ino});
    current_ = std::move(fd);
    while (const dirent* entry = ::readdir(folder.get())) {
      const std::string_view below = entry->d_name;
      if (below == "." || below == "..") continue;
      if (entry->d_type != DT_DIR && ::unlinkat(current_.get(), entry->d_name, 0) == 0) continue;
      levels_.back().folders.emplace_back(below);
    }
    return {};
  }

  // It is empty: up, and there it goes.
  Status Leave() {
    const std::string name = std::move(levels_.back().name);
    levels_.pop_back();
    if (levels_.empty()) {
      current_.Reset();
      return ::rmdir(path_.c_str()) == 0 || errno == ENOENT ? Status() : Wrong(errno);
    }
    Fd up(::openat(current_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat about {};
    if (!up.valid() || ::fstat(up.get(), &about) != 0) return Wrong(errno, name);
    // Somebody has moved it to elsewhere.
    if (about.st_ino != levels_.back().inode || about.st_dev != device_) return Wrong(EBUSY, name);
    if (::unlinkat(up.get(), name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
      return Wrong(errno, name);
    }
    current_ = std::move(up);
    return {};
  }

  const std::string& path_;
  const dev_t device_;
  std::vector<Level> levels_;
  Fd current_;  // the folder of the last level
};

}  // namespace

int Fd::Release() { return std::exchange(fd_, -1); }

void Fd::Reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Status Failed(std::string_view verb, std::string_view path, int error) {
  const std::string text = fmt::format("cannot {} {}: {}", verb, path, std::strerror(error));
  return error == ENOENT ? base::NotFound(text) : base::Unavailable(text);
}

Status MakeFolder(const std::string& path, unsigned mode) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  if (error) return Failed("make folder", parent.string(), error.value());
  if (::mkdir(path.c_str(), mode) != 0) {
    if (errno != EEXIST) return Failed("make folder", path, errno);
    if (!std::filesystem::is_directory(path, error)) return Failed("make folder", path, ENOTDIR);
    return {};
  }
  // Whatever the process's mask is.
  if (::chmod(path.c_str(), mode) != 0) return Failed("make folder", path, errno);
  return {};
}

Status RemoveTree(const std::string& path) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) != 0) {
    return errno == ENOENT ? Status() : Failed("remove", path, errno);
  }
  struct stat parent {};
  if (::stat(FolderOf(path).c_str(), &parent) != 0) return Failed("remove", path, errno);
  return Removal(path, parent.st_dev).Run();
}

namespace {

StatusOr<std::string> ReadOpened(const Fd& file, const std::string& path, std::size_t limit) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return Failed("read", path, errno);
  if (!S_ISREG(about.st_mode)) {
    return base::FailedPrecondition(
        fmt::format("cannot read {}: it is not an ordinary file", path));
  }
  std::string contents;
  char buffer[16384];
  for (;;) {
    const ssize_t n = ::read(file.get(), buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed("read", path, errno);
    if (n == 0) return contents;
    if (contents.size() + static_cast<std::size_t>(n) > limit) {
      return base::FailedPrecondition(
          fmt::format("cannot read {}: it is longer than {} bytes", path, limit));
    }
    contents.append(buffer, static_cast<std::size_t>(n));
  }
}

}  // namespace

StatusOr<std::string> ReadWhole(const std::string& path, std::size_t limit) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid()) return Failed("read", path, errno);
  return ReadOpened(file, path, limit);
}

StatusOr<std::string> ReadWholeBelow(const std::string& root, const std::string& path,
                                     std::size_t limit) {
  const Fd top(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!top.valid()) return Failed("read", root, errno);
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const Fd file(
      static_cast<int>(::syscall(SYS_openat2, top.get(), path.c_str(), &how, sizeof(how))));
  if (!file.valid()) return Failed("read", path, errno);
  return ReadOpened(file, path, limit);
}

Status WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return base::Unavailable(std::strerror(errno));
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Status WriteWhole(const std::string& path, std::string_view contents, unsigned mode, Sync sync) {
  const std::string temporary = TemporaryBeside(path);
  Fd file(::open(temporary.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode));
  if (!file.valid()) return Failed("write", path, errno);
  const Status written = WriteAll(file.get(), contents);
  if (!written.ok() || ::fchmod(file.get(), mode) != 0 ||
      (sync == Sync::kYes && CountedSync(file.get()) != 0) ||
      ::rename(temporary.c_str(), path.c_str()) != 0) {
    const Status failed = written.ok()
                              ? Failed("write", path, errno)
                              : base::Annotate(written, fmt::format("cannot write {}", path));
    ::unlink(temporary.c_str());
    return failed;
  }
  if (sync == Sync::kNo) return {};
  const Fd folder(::open(FolderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid() || CountedSync(folder.get()) != 0)
    return Failed("sync", FolderOf(path), errno);
  return {};
}

Status SyncData(int fd, std::string_view path) {
  ++syncs;
  return ::fdatasync(fd) == 0 ? Status() : Failed("sync", path, errno);
}

std::uint64_t Syncs() { return syncs; }

Status SyncAll(const std::string& folder) {
  const Fd file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ++syncs;
  if (!file.valid() || ::syncfs(file.get()) != 0) return Failed("sync", folder, errno);
  return {};
}

Status RemoveFile(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return Failed("remove", path, errno);
  return {};
}

StatusOr<std::vector<std::string>> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, CloseFolder> open(::opendir(folder.c_str()));
  if (open == nullptr) {
    if (errno == ENOENT) return names;
    return Failed("list", folder, errno);
  }
  errno = 0;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return Failed("list", folder, errno);
  std::ranges::sort(names);
  return names;
}

}  // namespace dray::files
