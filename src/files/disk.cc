// SPDX-License-Identifier: Apache-2.0
#include "files/disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "files/files.h"

namespace dray::files {
namespace {

class RealFile final : public OpenFile {
 public:
  RealFile(std::string path, Fd file) : path_(std::move(path)), file_(std::move(file)) {}

  Status WriteAt(std::uint64_t offset, std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t n =
          ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return Failed("write", path_, errno);
      bytes.remove_prefix(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
    return {};
  }
  Status Sync() override { return SyncData(file_.get(), path_); }

 private:
  const std::string path_;
  const Fd file_;
};

class RealDisk final : public Disk {
 public:
  StatusOr<std::string> Read(const std::string& path, std::size_t limit) override {
    return ReadWhole(path, limit);
  }
  Status WriteWhole(const std::string& path, std::string_view contents, unsigned mode) override {
    return files::WriteWhole(path, contents, mode);
  }
  StatusOr<std::unique_ptr<OpenFile>> Open(const std::string& path) override {
    Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!file.valid()) return Failed("open", path, errno);
    return std::unique_ptr<OpenFile>(std::make_unique<RealFile>(path, std::move(file)));
  }
};

}  // namespace

Disk& TheDisk() {
  static RealDisk disk;
  return disk;
}

}  // namespace dray::files
