// SPDX-License-Identifier: Apache-2.0
#include "image/unpack.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <string_view>
#include <vector>

#include "files/files.h"
#include "fmt/format.h"
#include "image/internal/layer_stream.h"

namespace dray::image {
namespace {

using internal::Entry;
using internal::LayerStream;

constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr std::string_view kAufs = ".wh..wh.";
constexpr std::size_t kLongestPath = 4096;

Status Refused(const Entry& entry, std::string_view why) {
  return base::InvalidArgument(
      fmt::format("entry \"{}\" is refused: {}", entry.path.substr(0, 200), why));
}

// Without "./", "//" and a slash in front; false if it leads upwards or is too long.
bool Clean(std::string_view path, std::string& clean) {
  clean.clear();
  if (path.size() > kLongestPath) return false;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == ".." || part.size() > 255) return false;
    if (!clean.empty()) clean += '/';
    clean += part;
  }
  return true;
}

std::string ParentOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// One layer on its way into the folder.
class Unpacking {
 public:
  Unpacking(files::Fd root, Budget& budget) : root_(std::move(root)), budget_(budget) {}

  Status Take(LayerStream& stream, const Entry& entry) {
    if (--budget_.entries < 0) return Refused(entry, "the image has too many entries");
    std::string path;
    if (!Clean(entry.path, path)) return Refused(entry, "its name leads out of the image");
    if (path.empty()) return {};  // the root itself
    const std::string name = NameOf(path);
    DRAY_ASSIGN_OR_RETURN(const files::Fd parent, Folder(ParentOf(path), entry));
    if (name == kOpaque) return Empty(parent.get(), ParentOf(path));
    if (name.starts_with(kAufs)) return {};
    if (name.starts_with(kWhiteout)) return WhiteOut(parent.get(), path, name, entry);
    for (std::string up = path; !up.empty() && added_.insert(up).second;) up = ParentOf(up);
    DRAY_RETURN_IF_ERROR(Make(stream, entry, parent.get(), name));
    return Dress(entry, parent.get(), name);
  }

 private:
  // The folder at a clean path, with links resolved inside the root; made if it is not there.
  StatusOr<files::Fd> Folder(const std::string& path, const Entry& entry) {
    open_how how{};
    how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    const char* name = path.empty() ? "." : path.c_str();
    for (const bool made : {false, true}) {
      files::Fd folder(
          static_cast<int>(::syscall(SYS_openat2, root_.get(), name, &how, sizeof(how))));
      if (folder.valid()) return folder;
      if (errno != ENOENT || made) return Refused(entry, std::strerror(errno));
      // Folders that no entry speaks of cost the disk as much.
      if (--budget_.entries < 0) return Refused(entry, "the image has too many entries");
      DRAY_ASSIGN_OR_RETURN(const files::Fd parent, Folder(ParentOf(path), entry));
      if (::mkdirat(parent.get(), NameOf(path).c_str(), 0755) != 0 && errno != EEXIST) {
        return Refused(entry, std::strerror(errno));
      }
    }
    return Refused(entry, "its folder cannot be made");
  }

  static Status RemoveIn(int parent, const std::string& name) {
    return files::RemoveTree(fmt::format("/proc/self/fd/{}/{}", parent, name));
  }

  Status WhiteOut(int parent, const std::string& path, const std::string& name,
                  const Entry& entry) {
    const std::string hidden = name.substr(kWhiteout.size());
    if (hidden.empty() || hidden == "." || hidden == "..") {
      return Refused(entry, "it hides no file");
    }
    const std::string above = ParentOf(path);
    if (added_.contains(above.empty() ? hidden : above + "/" + hidden)) return {};
    return RemoveIn(parent, hidden);
  }

  // Takes away what the layers below have in the folder.
  Status Empty(int folder, const std::string& path) {
    DRAY_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          files::NamesIn(fmt::format("/proc/self/fd/{}", folder)));
    for (const std::string& name : names) {
      const std::string below = path.empty() ? name : path + "/" + name;
      if (!added_.contains(below)) {
        DRAY_RETURN_IF_ERROR(RemoveIn(folder, name));
        continue;
      }
      const files::Fd child(
          ::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (child.valid()) {
        DRAY_RETURN_IF_ERROR(Empty(child.get(), below));
      } else if (errno != ENOTDIR && errno != ELOOP) {
        return files::Failed("empty", below, errno);
      }
    }
    return {};
  }

  Status Make(LayerStream& stream, const Entry& entry, int parent, const std::string& name) {
    struct stat there {};
    const bool exists = ::fstatat(parent, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
    if (entry.kind == Entry::Kind::kFolder) {
      if (exists && S_ISDIR(there.st_mode)) return {};
    } else if (entry.kind == Entry::Kind::kDevice) {
      return Refused(entry, "images must not bring devices");
    } else if (entry.kind == Entry::Kind::kOther) {
      return Refused(entry, "it is neither a file, a folder, a link nor a fifo");
    }
    // Looked at before the old one goes: a link to itself would be the end of both.
    files::Fd target_folder;
    std::string target_name;
    if (entry.kind == Entry::Kind::kHardLink) {
      std::string target;
      if (!Clean(entry.target, target) || target.empty()) {
        return Refused(entry, "its target leads out of the image");
      }
      DRAY_ASSIGN_OR_RETURN(target_folder, Folder(ParentOf(target), entry));
      target_name = NameOf(target);
      struct stat linked {};
      if (::fstatat(target_folder.get(), target_name.c_str(), &linked, AT_SYMLINK_NOFOLLOW) != 0 ||
          S_ISDIR(linked.st_mode)) {
        return Refused(entry, "the file that it is a link to is not there");
      }
      if (exists && linked.st_ino == there.st_ino && linked.st_dev == there.st_dev) return {};
    }
    if (exists) DRAY_RETURN_IF_ERROR(RemoveIn(parent, name));
    int made = 0;
    switch (entry.kind) {
      case Entry::Kind::kFile:
        return WriteFile(stream, entry, parent, name);
      case Entry::Kind::kFolder:
        made = ::mkdirat(parent, name.c_str(), 0755);
        break;
      case Entry::Kind::kSymlink:
        made = ::symlinkat(entry.target.c_str(), parent, name.c_str());
        break;
      case Entry::Kind::kHardLink:
        made = ::linkat(target_folder.get(), target_name.c_str(), parent, name.c_str(), 0);
        break;
      default:
        made = ::mkfifoat(parent, name.c_str(), 0600);
    }
    return made == 0 ? Status() : Refused(entry, std::strerror(errno));
  }

  Status WriteFile(LayerStream& stream, const Entry& entry, int parent, const std::string& name) {
    const files::Fd file(
        ::openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.valid()) return Refused(entry, std::strerror(errno));
    for (;;) {
      DRAY_ASSIGN_OR_RETURN(const std::size_t n, stream.Read(buffer_.data(), buffer_.size()));
      if (n == 0) return {};
      budget_.bytes -= static_cast<std::int64_t>(n);
      if (budget_.bytes < 0) return Refused(entry, "the image is too large");
      if (const Status written = files::WriteAll(file.get(), {buffer_.data(), n}); !written.ok()) {
        return base::Annotate(written, fmt::format("cannot write {}", entry.path));
      }
    }
  }

  // Owner, mode and time. A link's mode is its file's.
  static Status Dress(const Entry& entry, int parent, const std::string& name) {
    if (entry.kind == Entry::Kind::kHardLink) return {};
    if (::geteuid() == 0 && ::fchownat(parent, name.c_str(), static_cast<uid_t>(entry.uid),
                                       static_cast<gid_t>(entry.gid), AT_SYMLINK_NOFOLLOW) != 0) {
      return Refused(entry, std::strerror(errno));
    }
    // After the owner: to change that takes set-user-id away.
    if (entry.kind != Entry::Kind::kSymlink &&
        ::fchmodat(parent, name.c_str(), entry.mode & 07777, 0) != 0) {
      return Refused(entry, std::strerror(errno));
    }
    const timespec times[2] = {{.tv_sec = entry.mtime, .tv_nsec = 0},
                               {.tv_sec = entry.mtime, .tv_nsec = 0}};
    if (entry.kind != Entry::Kind::kFolder) {
      // A time that the file system does not have is not worth an error.
      (void)::utimensat(parent, name.c_str(), times, AT_SYMLINK_NOFOLLOW);
    }
    return {};
  }

  files::Fd root_;
  Budget& budget_;
  std::set<std::string, std::less<>> added_;  // by this layer, with the folders around it
  std::vector<char> buffer_ = std::vector<char>(128 * 1024);
};

}  // namespace

Status UnpackLayer(const LayerFile& layer, const std::string& folder, Budget& budget) {
  DRAY_ASSIGN_OR_RETURN(const auto stream, LayerStream::Open(layer.path, budget.TarBytes()));
  files::Fd root(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return files::Failed("open", folder, errno);
  Unpacking unpacking(std::move(root), budget);
  Entry entry;
  for (;;) {
    DRAY_ASSIGN_OR_RETURN(const bool more, stream->Next(entry));
    if (!more) break;
    DRAY_RETURN_IF_ERROR(unpacking.Take(*stream, entry));
  }
  DRAY_ASSIGN_OR_RETURN(const LayerStream::Digests digests, stream->Finish());
  if (!layer.digest.empty() && digests.blob != layer.digest) {
    return base::InvalidArgument(fmt::format("{} has the digest {}, and should have {}", layer.path,
                                             digests.blob, layer.digest));
  }
  if (!layer.diff_id.empty() && digests.tar != layer.diff_id) {
    return base::InvalidArgument(
        fmt::format("the layer in {} has the digest {} when it is unpacked, and should have {}",
                    layer.path, digests.tar, layer.diff_id));
  }
  return {};
}

}  // namespace dray::image
