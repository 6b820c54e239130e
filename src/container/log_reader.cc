// SPDX-License-Identifier: Apache-2.0
#include "container/log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "fmt/format.h"

namespace dray::container {
namespace {

constexpr std::size_t kBlock = 64 * 1024;
constexpr std::size_t kLongestLine = 1 << 20;  // longer ones are not of ours

// Where the last `lines` lines of a file begin; `lines` is how many are still to be found before it.
StatusOr<std::int64_t> StartOfLast(int file, std::int64_t& lines) {
  struct stat about {};
  if (::fstat(file, &about) != 0) return base::Unavailable("a log cannot be looked at");
  std::vector<char> block(kBlock);
  std::int64_t end = about.st_size;
  bool at_end = true;
  while (end > 0) {
    const std::int64_t begin = std::max<std::int64_t>(end - static_cast<std::int64_t>(kBlock), 0);
    const ssize_t n = ::pread(file, block.data(), static_cast<std::size_t>(end - begin), begin);
    if (n != end - begin) return base::Unavailable("a log got shorter while it was read");
    for (std::int64_t i = n - 1; i >= 0; --i) {
      if (block[static_cast<std::size_t>(i)] != '\n') {
        // A line that is being written counts as one.
        if (at_end) --lines;
        at_end = false;
        continue;
      }
      at_end = false;
      if (lines <= 0) return begin + i + 1;
      --lines;
    }
    end = begin;
  }
  return 0;
}

}  // namespace

bool LogSelector::Add(const LogLine& line, std::string& out) {
  if (left_ && *left_ <= 0) return false;
  bool& in_line = in_line_[static_cast<std::size_t>(line.stream)];
  const bool begins = !in_line;
  in_line = line.partial;
  if (options_.stream && *options_.stream != line.stream) return true;
  if (options_.since && line.time < *options_.since) return true;
  std::string shown;
  if (options_.timestamps && begins) shown = fmt::format("{} ", line.written_time);
  shown.append(line.text);
  if (!line.partial) shown.push_back('\n');
  if (left_) {
    if (static_cast<std::int64_t>(shown.size()) > *left_) {
      shown.resize(static_cast<std::size_t>(*left_));
    }
    *left_ -= static_cast<std::int64_t>(shown.size());
  }
  out.append(shown);
  return !left_ || *left_ > 0;
}

std::vector<std::string> LogFilesOf(const std::string& path) {
  std::vector<std::string> found;
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const auto names = files::NamesIn(folder);
  if (!names.ok()) return found;
  bool current = false;
  for (const std::string& one : *names) {
    if (one == name) {
      current = true;
    } else if (one.starts_with(name + ".")) {
      found.push_back(fmt::format("{}/{}", folder, one));
    }
  }
  if (current) found.push_back(path);
  return found;
}

LogReader::LogReader(std::string path, const LogOptions& options)
    : path_(std::move(path)), options_(options), selector_(options) {}

Status LogReader::OpenFile(const std::string& path) {
  files::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid()) return files::Failed("read", path, errno);
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return files::Failed("read", path, errno);
  file_ = std::move(file);
  inode_ = about.st_ino;
  return {};
}

Status LogReader::Begin() {
  const std::vector<std::string> all = LogFilesOf(path_);
  if (all.empty()) return {};
  begun_ = true;
  if (!options_.tail_lines) return OpenFile(all.front());
  std::int64_t lines = std::max<std::int64_t>(*options_.tail_lines, 0);
  for (auto file = all.rbegin(); file != all.rend(); ++file) {
    DRAY_RETURN_IF_ERROR(OpenFile(*file));
    DRAY_ASSIGN_OR_RETURN(const std::int64_t at, StartOfLast(file_.get(), lines));
    if (at == 0 && lines > 0 && std::next(file) != all.rend()) continue;
    if (::lseek(file_.get(), at, SEEK_SET) < 0) return files::Failed("read", *file, errno);
    return {};
  }
  return {};
}

StatusOr<bool> LogReader::OpenNext() {
  const std::vector<std::string> all = LogFilesOf(path_);
  std::string next;
  // Ours may have been removed since: then all that are there are newer.
  if (!all.empty()) next = all.front();
  for (std::size_t i = 0; i < all.size(); ++i) {
    struct stat about {};
    if (::stat(all[i].c_str(), &about) != 0 || about.st_ino != inode_) continue;
    next = i + 1 < all.size() ? all[i + 1] : "";
    break;
  }
  if (next.empty()) return false;
  const Status opened = OpenFile(next);
  // It was put aside at this moment: next time.
  if (opened.code() == StatusCode::kNotFound) return false;
  if (!opened.ok()) return opened;
  pending_.clear();
  return true;
}

void LogReader::TakeLines(std::string& out) {
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = pending_.find('\n', begin);
    if (end == std::string::npos) break;
    const auto line = ParseLogLine(std::string_view(pending_).substr(begin, end - begin));
    begin = end + 1;
    // What is no line was torn when the machine stopped.
    if (line.ok() && !selector_.Add(*line, out)) {
      ended_ = true;
      return;
    }
  }
  pending_.erase(0, begin);
  if (pending_.size() > kLongestLine) pending_.clear();
}

StatusOr<bool> LogReader::Read(std::string& out, std::size_t most) {
  if (ended_ || (options_.limit_bytes && *options_.limit_bytes <= 0)) {
    ended_ = true;
    return false;
  }
  if (!begun_) DRAY_RETURN_IF_ERROR(Begin());
  if (!begun_) return false;
  const std::size_t before = out.size();
  char block[kBlock];
  bool last_look = false;
  while (out.size() - before < most) {
    const ssize_t n = ::read(file_.get(), block, sizeof(block));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return files::Failed("read", path_, errno);
    if (n > 0) {
      pending_.append(block, static_cast<std::size_t>(n));
      TakeLines(out);
      if (ended_) return false;
      last_look = false;
      continue;
    }
    // The end of this file. If it has been put aside, its writer may have added to it between our
    // last look and that: it is read once more before the next one.
    if (!last_look) {
      const std::vector<std::string> all = LogFilesOf(path_);
      struct stat about {};
      const bool newest = !all.empty() && all.back() == path_ &&
                          ::stat(path_.c_str(), &about) == 0 && about.st_ino == inode_;
      if (newest) return false;
      last_look = true;
      continue;
    }
    DRAY_ASSIGN_OR_RETURN(const bool next, OpenNext());
    if (!next) return false;
    last_look = false;
  }
  return true;
}

StatusOr<std::string> ReadLog(const std::string& path, const LogOptions& options) {
  LogReader reader(path, options);
  std::string out;
  for (;;) {
    DRAY_ASSIGN_OR_RETURN(const bool more, reader.Read(out, 1 << 20));
    if (!more) return out;
  }
}

}  // namespace dray::container
