// SPDX-License-Identifier: Apache-2.0
#include "container/internal/log_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "container/log_format.h"
#include "container/log_reader.h"
#include "fmt/format.h"

namespace dray::container::internal {

StatusOr<std::string> PutAside(const std::string& path, base::Time now) {
  // The stamp of the last one is the greatest, and so sorts last; the clock may have been set back.
  std::string stamp = LogTime(now);
  const std::vector<std::string> old = LogFilesOf(path);
  if (old.size() >= 2) {
    const std::string newest = old[old.size() - 2].substr(path.size() + 1);
    if (stamp <= newest) stamp = newest + "0";
  }
  std::string aside = fmt::format("{}.{}", path, stamp);
  if (::rename(path.c_str(), aside.c_str()) != 0) return files::Failed("rename", path, errno);
  return aside;
}

void RemoveOldLogs(const std::string& path, std::int64_t max_files) {
  const std::vector<std::string> files = LogFilesOf(path);
  const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(max_files, 1));
  for (std::size_t i = 0; i + kept < files.size(); ++i) (void)files::RemoveFile(files[i]);
}

Status LogWriter::Open() {
  const std::size_t slash = options_.path.rfind('/');
  if (slash != std::string::npos && slash > 0) {
    DRAY_RETURN_IF_ERROR(files::MakeFolder(options_.path.substr(0, slash)));
  }
  file_ = files::Fd(
      ::open(options_.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640));
  if (!file_.valid()) return files::Failed("write", options_.path, errno);
  struct stat about {};
  if (::fstat(file_.get(), &about) != 0) return files::Failed("write", options_.path, errno);
  size_ = about.st_size;
  return {};
}

void LogWriter::Rotate() {
  const auto aside = PutAside(options_.path, clock_.Now());
  if (!aside.ok()) return;
  if (!Open().ok()) {
    // Better too long than gone.
    (void)::rename(aside->c_str(), options_.path.c_str());
    return;
  }
  RemoveOldLogs(options_.path, options_.max_files);
}

void LogWriter::Write(std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::size_t n = end == lines.npos ? lines.size() : end + 1;
    const std::string_view line = lines.substr(0, n);
    lines.remove_prefix(n);
    if (options_.max_bytes > 0 && size_ > 0 &&
        size_ + static_cast<std::int64_t>(n) > options_.max_bytes) {
      Rotate();
    }
    if (files::WriteAll(file_.get(), line).ok()) {
      size_ += static_cast<std::int64_t>(n);
      continue;
    }
    // No half line for whoever reads it later.
    ++lost_;
    if (::ftruncate(file_.get(), size_) != 0) ++size_;
  }
}

}  // namespace dray::container::internal
