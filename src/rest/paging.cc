// SPDX-License-Identifier: Apache-2.0
#include "rest/paging.h"

#include <charconv>
#include <utility>

#include "absl/strings/escaping.h"
#include "fmt/format.h"
#include "rest/api_error.h"
#include "rest/tree.h"

namespace dray::rest {
namespace {

constexpr std::string_view kVersion = "meta.k8s.io/v1";

Status BadToken(std::string_view why) {
  return BadRequest(fmt::format("invalid continue token: continue key is not valid: {}", why));
}

std::optional<std::int64_t> NumberIn(const DocumentNode& tree, std::string_view name) {
  const DocumentNode* node = FindIn(tree, name);
  const std::string_view digits = node == nullptr ? std::string_view() : node->text;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

std::string Base64Url(std::string_view bytes) {
  return absl::WebSafeBase64Escape(base::ToAbsl(bytes));
}

StatusOr<std::string> DecodeBase64Url(std::string_view text) {
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(base::ToAbsl(text), &bytes) &&
      !absl::Base64Unescape(base::ToAbsl(text), &bytes)) {
    return base::InvalidArgument("it is not base64");
  }
  return bytes;
}

std::string ContinueToken::Encode() const {
  DocumentNode token = MapNode();
  SetIn(token, "v", StringNode(kVersion));
  SetIn(token, "rv", NumberNode(revision));
  SetIn(token, "start", StringNode(start));
  if (left) SetIn(token, "left", NumberNode(*left));
  return Base64Url(ToJson(token));
}

StatusOr<ContinueToken> ContinueToken::Parse(std::string_view text) {
  const auto json = DecodeBase64Url(text);
  if (!json.ok()) return BadToken(base::Message(json.status()));
  const auto tree = ReadTree(*json);
  if (!tree.ok() || !IsMap(*tree)) return BadToken("it is not a token of this server");
  if (TextIn(*tree, "v") != kVersion) {
    return BadToken(fmt::format("its version is \"{}\", not \"{}\"", TextIn(*tree, "v"), kVersion));
  }
  ContinueToken token{.start = std::string(TextIn(*tree, "start"))};
  const auto revision = NumberIn(*tree, "rv");
  if (!revision || *revision == 0) return BadToken("it has no revision");
  token.revision = *revision;
  if (token.start.empty()) return BadToken("it has no start");
  token.left = NumberIn(*tree, "left");
  // Whatever a client makes of a token, nothing is less than none.
  if (token.left && *token.left < 0) token.left.reset();
  return token;
}

}  // namespace dray::rest
