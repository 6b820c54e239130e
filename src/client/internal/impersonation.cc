// SPDX-License-Identifier: Apache-2.0
#include "client/internal/impersonation.h"

#include <string_view>

#include "base/percent.h"
#include "fmt/format.h"

namespace dray::client::internal {
namespace {

// Bytes that a header's name cannot have are written as in URLs.
std::string EscapedKey(std::string_view key) { return base::PercentEncoded(key, "!#$&'*+-.^_`|~"); }

}  // namespace

std::string ImpersonationHeaders(const Impersonation& as) {
  if (as.user.empty()) return "";
  std::string text = fmt::format("Impersonate-User: {}\r\n", as.user);
  if (!as.uid.empty()) text += fmt::format("Impersonate-Uid: {}\r\n", as.uid);
  for (const std::string& group : as.groups) {
    text += fmt::format("Impersonate-Group: {}\r\n", group);
  }
  for (const auto& [key, values] : as.extra) {
    for (const std::string& value : values) {
      text += fmt::format("Impersonate-Extra-{}: {}\r\n", EscapedKey(key), value);
    }
  }
  return text;
}

}  // namespace dray::client::internal
