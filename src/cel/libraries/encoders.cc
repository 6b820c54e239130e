// SPDX-License-Identifier: Apache-2.0
//
// base64.*, which the language's conformance tests use and DRA has not.
#include <array>
#include <string>

#include "absl/strings/escaping.h"
#include "base/status.h"
#include "cel/functions.h"
#include "cel/library.h"
#include "cel/values.h"

namespace dray::cel {
namespace {

using Args = std::span<const Value>;

Value Encode(Arena& arena, Args args) {
  if (!args[0].is(Kind::kBytes)) return UnmatchedCall();
  return MakeString(arena, absl::Base64Escape(base::ToAbsl(args[0].as_text())));
}

Value Decode(Arena& arena, Args args) {
  static constexpr Error kIllegal{"illegal base64 data"};
  if (!args[0].is(Kind::kString)) return UnmatchedCall();
  std::string out;
  if (!absl::Base64Unescape(base::ToAbsl(args[0].as_text()), &out)) return StaticError(kIllegal);
  return MakeBytes(arena, out);
}

}  // namespace

Library library::Encoders() {
  using enum CostRule;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"base64.decode", "base64_decode_string (string) -> bytes", Decode, kOne, estimate::Unit},
      {"base64.encode", "base64_encode_bytes (bytes) -> string", Encode, kOne, estimate::Unit},
  });
  return kRows;
}

}  // namespace dray::cel
