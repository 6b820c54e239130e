// SPDX-License-Identifier: Apache-2.0
#include "audit/rotating_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace dray::audit {
namespace {

namespace fs = std::filesystem;

class RotatingFile final : public logs::Output {
 public:
  RotatingFile(RotatingFileOptions options, const base::Clock& clock)
      : options_(std::move(options)), clock_(clock) {
    const fs::path path(options_.path);
    folder_ = path.has_parent_path() ? path.parent_path().string() : ".";
    prefix_ = path.stem().string() + "-";
    suffix_ = path.extension().string();
  }
  ~RotatingFile() override { Close(); }

  Status Open() {
    Close();
    fd_ = ::open(options_.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd_ < 0) return Failed("it cannot be opened");
    struct stat found {};
    if (::fstat(fd_, &found) != 0) return Failed("it cannot be looked at");
    if (S_ISDIR(found.st_mode)) return base::Unavailable(options_.path + ": it is a folder");
    size_ = static_cast<std::uint64_t>(found.st_size);
    inode_ = found.st_ino;
    return {};
  }

  Status Write(std::string_view lines) override {
    struct stat found {};
    const bool there =
        fd_ >= 0 && ::stat(options_.path.c_str(), &found) == 0 && found.st_ino == inode_;
    if (!there) DRAY_RETURN_IF_ERROR(Open());
    while (!lines.empty()) {
      std::size_t size = Fitting(lines);
      if (size == 0) {
        // If that cannot be done, the file goes on to grow: better too long than gone.
        if (const Status rotated = Rotate(); rotated.ok()) {
          size = Fitting(lines);
        } else {
          size = lines.size();
          trouble_ = rotated;
        }
      }
      DRAY_RETURN_IF_ERROR(Append(lines.substr(0, size)));
      lines.remove_prefix(size);
    }
    return std::exchange(trouble_, Status());
  }

 private:
  Status Failed(std::string_view what) const {
    return base::Unavailable(fmt::format("{}: {}: {}", options_.path, what, std::strerror(errno)));
  }

  void Close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

  // How much of whole lines there is room for; a line that no file has room for is a file of its
  // own.
  std::size_t Fitting(std::string_view lines) const {
    if (options_.max_bytes == 0 || size_ + lines.size() <= options_.max_bytes) return lines.size();
    std::size_t fitting = 0;
    for (;;) {
      const std::size_t end = lines.find('\n', fitting);
      if (end == lines.npos) break;
      if (size_ + end + 1 > options_.max_bytes) break;
      fitting = end + 1;
    }
    if (fitting == 0 && size_ == 0) {
      const std::size_t end = lines.find('\n');
      return end == lines.npos ? lines.size() : end + 1;
    }
    return fitting;
  }

  Status Append(std::string_view text) {
    std::string_view left = text;
    while (!left.empty()) {
      const ssize_t written = ::write(fd_, left.data(), left.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {
        const Status failed = Failed("it cannot be written to");
        // No half line for whoever reads it later. A file that cannot be cut, such as a pipe, has
        // it.
        if (left.size() < text.size() && ::ftruncate(fd_, static_cast<off_t>(size_)) != 0) {
          size_ += text.size() - left.size();
        }
        return failed;
      }
      left.remove_prefix(static_cast<std::size_t>(written));
    }
    size_ += text.size();
    return {};
  }

  // 2026-11-16T03-12-45.123, as Kubernetes names them.
  std::string Stamp() const {
    std::string stamp = clock_.Now().ToRfc3339Micro();
    stamp.resize(23);
    std::ranges::replace(stamp, ':', '-');
    return stamp;
  }

  Status Rotate() {
    const std::string stamp = Stamp();
    std::string backup;
    std::error_code error;
    for (int i = 0; backup.empty() || fs::exists(backup, error); ++i) {
      backup = fmt::format("{}/{}{}{}{}", folder_, prefix_, stamp,
                           i == 0 ? std::string() : fmt::format("-{}", i), suffix_);
    }
    if (::rename(options_.path.c_str(), backup.c_str()) != 0) return Failed("it cannot be renamed");
    DRAY_RETURN_IF_ERROR(Open());
    RemoveOld();
    return {};
  }

  bool IsBackup(std::string_view name) const {
    if (!name.starts_with(prefix_) || !name.ends_with(suffix_)) return false;
    name.remove_prefix(prefix_.size());
    if (name.size() < suffix_.size() + 23) return false;
    constexpr std::string_view kForm = "0000-00-00T00-00-00.000";
    for (std::size_t i = 0; i < kForm.size(); ++i) {
      const bool digit = name[i] >= '0' && name[i] <= '9';
      if (kForm[i] == '0' ? !digit : name[i] != kForm[i]) return false;
    }
    return true;
  }

  void RemoveOld() const {
    if (options_.max_backups == 0) return;
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
      std::string name = it->path().filename().string();
      if (IsBackup(name)) names.push_back(std::move(name));
    }
    if (names.size() <= options_.max_backups) return;
    std::ranges::sort(names);
    names.resize(names.size() - options_.max_backups);
    for (const std::string& name : names) fs::remove(fs::path(folder_) / name, error);
  }

  const RotatingFileOptions options_;
  const base::Clock& clock_;
  std::string folder_;
  std::string prefix_;  // of backups
  std::string suffix_;
  int fd_ = -1;
  ino_t inode_ = 0;
  std::uint64_t size_ = 0;
  Status trouble_;  // it could not be put aside
};

}  // namespace

StatusOr<std::unique_ptr<logs::Output>> OpenRotatingFile(const RotatingFileOptions& options,
                                                         const base::Clock& clock) {
  auto file = std::make_unique<RotatingFile>(options, clock);
  DRAY_RETURN_IF_ERROR(file->Open());
  return std::unique_ptr<logs::Output>(std::move(file));
}

}  // namespace dray::audit
