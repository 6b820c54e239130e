// SPDX-License-Identifier: Apache-2.0
#include "websocket/handshake.h"

#include <openssl/sha.h>

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"

namespace dray::websocket {
namespace {

constexpr std::string_view kMagic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

std::string AcceptOf(std::string_view key) {
  const std::string text = std::string(key).append(kMagic);
  unsigned char digest[SHA_DIGEST_LENGTH];
  ::SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  return absl::Base64Escape(
      absl::string_view(reinterpret_cast<const char*>(digest), sizeof(digest)));
}

}  // namespace

StatusOr<Agreed> Agree(const Asked& asked, std::span<const std::string_view> spoken) {
  if (!absl::EqualsIgnoreCase(base::ToAbsl(asked.upgrade), "websocket")) {
    return base::InvalidArgument(fmt::format(
        "Upgrade: \"{}\" is not spoken here; expected websocket (kubectl 1.31 or newer)",
        asked.upgrade));
  }
  if (asked.version != "13") {
    return base::InvalidArgument(
        fmt::format("Sec-WebSocket-Version: \"{}\"; expected 13", asked.version));
  }
  std::string key;
  if (!absl::Base64Unescape(base::ToAbsl(asked.key), &key) || key.size() != 16) {
    return base::InvalidArgument("Sec-WebSocket-Key: expected 16 bytes in base64");
  }
  // Of those that both know the client's favourite.
  for (absl::string_view part : absl::StrSplit(base::ToAbsl(asked.protocols), ',')) {
    part = absl::StripAsciiWhitespace(part);
    const std::string_view protocol(part.data(), part.size());
    if (std::ranges::find(spoken, protocol) == spoken.end()) continue;
    return Agreed{.accept = AcceptOf(asked.key), .protocol = std::string(protocol)};
  }
  const std::vector<std::string> known(spoken.begin(), spoken.end());
  return base::InvalidArgument(fmt::format("Sec-WebSocket-Protocol: \"{}\"; expected one of {}",
                                           asked.protocols, absl::StrJoin(known, ", ")));
}

}  // namespace dray::websocket
