// SPDX-License-Identifier: Apache-2.0
#include "node/termination_message.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/valid_utf8.h"
#include "container/log_reader.h"
#include "files/files.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

std::string LastBytes(const std::string& path, std::size_t most) {
  const files::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat about {};
  if (!fd.valid() || ::fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  std::string bytes(most, '\0');
  const off_t from = std::max<off_t>(0, about.st_size - static_cast<off_t>(most));
  const ssize_t got = ::pread(fd.get(), bytes.data(), most, from);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  return bytes;
}

}  // namespace

std::string MessageFile(const std::string& pod_folder, std::string_view container,
                        std::uint32_t attempt) {
  return fmt::format("{}/containers/{}/{}", pod_folder, container, attempt);
}

Status MakeMessageFile(const std::string& path) {
  DRAY_RETURN_IF_ERROR(files::MakeFolder(path.substr(0, path.rfind('/'))));
  const files::Fd fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  // Whoever the container runs as has to be able to write.
  if (!fd.valid() || ::fchmod(fd.get(), 0666) != 0) return files::Failed("make", path, errno);
  return {};
}

std::string LastText(std::string_view bytes, std::size_t most) {
  bytes = bytes.substr(bytes.size() - std::min(bytes.size(), most));
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string text;
  for (std::size_t i = 0; i < bytes.size();) {
    if (const std::size_t size = base::CharacterSize(bytes.substr(i)); size > 0) {
      text += bytes.substr(i, size);
      i += size;
    } else {
      // The rest of a character that begins before all of this is nobody's fault.
      if (!text.empty()) text += kReplacement;
      ++i;
    }
  }
  if (text.size() > most) return LastText(text, most);
  return text;
}

std::string ReadMessage(const std::string& file, const std::string& log) {
  if (!file.empty()) {
    std::string text = LastText(LastBytes(file, kLongestMessage), kLongestMessage);
    if (!text.empty()) return text;
  }
  if (log.empty()) return {};
  const auto lines = container::ReadLog(log, {.tail_lines = kLogMessageLines});
  return lines.ok() ? LastText(*lines, kLongestLogMessage) : std::string();
}

}  // namespace dray::node
