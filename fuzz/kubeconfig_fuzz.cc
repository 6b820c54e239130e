// SPDX-License-Identifier: Apache-2.0
//
// Properties: reading a kubeconfig never crashes; whoever can be reached has an address, a
// certificate comes with its key, and nothing that becomes a header has a line end in it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "client/kubeconfig.h"

namespace {

bool IsLine(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Files that it names are read, and from some of these nothing ever comes.
  for (const std::string_view endless : {"/dev", "/proc", "/sys"}) {
    if (text.find(endless) != text.npos) return 0;
  }
  const auto access = dray::client::ReadAccess(text, "/nonexistent/config", "");
  if (!access.ok()) return 0;
  DRAY_CHECK(!access->url.empty());
  DRAY_CHECK(access->certificate.empty() == access->key.empty());
  const dray::client::Impersonation& as = access->as;
  DRAY_CHECK(IsLine(as.user) && IsLine(as.uid) && std::ranges::all_of(as.groups, IsLine));
  for (const auto& [key, values] : as.extra) DRAY_CHECK(std::ranges::all_of(values, IsLine));
  DRAY_CHECK(!as.user.empty() || (as.uid.empty() && as.groups.empty() && as.extra.empty()));
  return 0;
}
