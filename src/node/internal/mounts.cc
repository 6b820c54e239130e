// SPDX-License-Identifier: Apache-2.0
#include "node/internal/mounts.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_split.h"
#include "files/mount_table.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

int OpenAt2(int folder, const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  // Somebody renames around us: the kernel could not be sure, and asks to be asked again.
  for (int tries = 0; tries < 64; ++tries) {
    const auto fd =
        static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof(how)));
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) return fd;
  }
  return -1;
}

Status LeadsOut(const std::string& path, int error) {
  if (error == EXDEV || error == ELOOP) {
    return base::FailedPrecondition(fmt::format("\"{}\" leads out of its volume", path));
  }
  return files::Failed("open", path, error);
}

// In the order in which they were mounted.
StatusOr<std::vector<std::string>> MountsBelow(const std::string& folder) {
  const files::Fd file(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return files::Failed("read", "/proc/self/mountinfo", errno);
  std::string text;
  char buffer[16 * 1024];
  for (ssize_t got = 0; (got = ::read(file.get(), buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  char resolved[PATH_MAX];
  if (::realpath(folder.c_str(), resolved) == nullptr) return std::vector<std::string>();
  const std::string begin = std::string(resolved) + "/";
  std::vector<std::string> found;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words.size() < 5) continue;
    std::string place = files::UnescapedMount({words[4].data(), words[4].size()});
    if (place.starts_with(begin)) found.push_back(std::move(place));
  }
  return found;
}

bool IsMount(const std::string& folder) {
  struct stat here {};
  struct stat above {};
  return ::lstat(folder.c_str(), &here) == 0 && ::stat((folder + "/..").c_str(), &above) == 0 &&
         here.st_dev != above.st_dev;
}

}  // namespace

bool CanMount() { return ::geteuid() == 0; }

Status MountMemory(const std::string& folder, std::optional<std::int64_t> bytes) {
  if (IsMount(folder)) return {};
  struct stat about {};
  if (::stat(folder.c_str(), &about) != 0) return files::Failed("mount", folder, errno);
  std::string options = fmt::format("mode={:o}", about.st_mode & 07777);
  if (bytes) options += fmt::format(",size={}", *bytes);
  if (::mount("tmpfs", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    return files::Failed("mount memory on", folder, errno);
  }
  return {};
}

StatusOr<files::Fd> OpenBelow(const std::string& folder, const std::string& path) {
  const files::Fd root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return files::Failed("open", folder, errno);
  files::Fd whole(OpenAt2(root.get(), path, O_PATH));
  if (whole.valid()) return whole;
  if (errno != ENOENT) return LeadsOut(path, errno);
  struct stat about {};
  if (::fstat(root.get(), &about) != 0) return files::Failed("open", folder, errno);
  files::Fd above(::fcntl(root.get(), F_DUPFD_CLOEXEC, 0));
  std::string so_far;
  for (const absl::string_view name : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (!so_far.empty()) so_far += '/';
    so_far.append(name.data(), name.size());
    files::Fd next(OpenAt2(root.get(), so_far, O_PATH | O_DIRECTORY));
    if (!next.valid() && errno == ENOENT) {
      const std::string last(name);
      if (::mkdirat(above.get(), last.c_str(), 0755) != 0 && errno != EEXIST) {
        return files::Failed("make folder", path, errno);
      }
      next = files::Fd(OpenAt2(root.get(), so_far, O_PATH | O_DIRECTORY));
      // As open as the volume itself is; to whom it belongs decides nothing here.
      if (next.valid()) {
        const std::string self = fmt::format("/proc/self/fd/{}", next.get());
        (void)::chmod(self.c_str(), about.st_mode & 0777);
      }
    }
    if (!next.valid()) return LeadsOut(path, errno);
    above = std::move(next);
  }
  return above;
}

Status Hold(const files::Fd& opened, const std::string& place) {
  struct stat about {};
  if (::fstat(opened.get(), &about) != 0) return files::Failed("look at", place, errno);
  // Of an attempt before this one.
  while (::umount2(place.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {
  }
  if (S_ISDIR(about.st_mode)) {
    DRAY_RETURN_IF_ERROR(files::MakeFolder(place, 0750));
  } else {
    DRAY_RETURN_IF_ERROR(files::MakeFolder(place.substr(0, place.rfind('/')), 0750));
    const files::Fd made(::open(place.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640));
    if (!made.valid()) return files::Failed("make", place, errno);
  }
  const std::string self = fmt::format("/proc/self/fd/{}", opened.get());
  if (::mount(self.c_str(), place.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
    return files::Failed("mount", place, errno);
  }
  return {};
}

Status UnmountBelow(const std::string& folder) {
  DRAY_ASSIGN_OR_RETURN(std::vector<std::string> mounts, MountsBelow(folder));
  std::ranges::reverse(mounts);
  for (const std::string& place : mounts) {
    (void)::umount2(place.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
  }
  // Whoever removes the folder next would remove what is still mounted there, too.
  DRAY_ASSIGN_OR_RETURN(mounts, MountsBelow(folder));
  if (mounts.empty()) return {};
  return base::Unavailable(fmt::format("{} is still mounted", mounts.front()));
}

}  // namespace dray::node
