// SPDX-License-Identifier: Apache-2.0
#include "client/internal/text_file.h"

#include <cerrno>
#include <cstddef>
#include <fstream>
#include <system_error>

#include "fmt/format.h"

namespace dray::client::internal {
namespace {

constexpr std::size_t kMaxBytes = 4u << 20;

}  // namespace

StatusOr<std::string> ReadTextFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxBytes + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file && !file.eof()) {
    const int error = errno;
    const std::string message = fmt::format("{}: {}", path, std::generic_category().message(error));
    return error == ENOENT ? base::NotFound(message) : base::Unavailable(message);
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxBytes) {
    return base::InvalidArgument(fmt::format("{}: must have at most {} bytes", path, kMaxBytes));
  }
  return text;
}

}  // namespace dray::client::internal
