// SPDX-License-Identifier: Apache-2.0
//
// The small languages within a request: where the next page begins, sets of fields, what a client
// accepts and sends, paths and queries. Properties: no crash; what was read is written so that it
// reads back as the same; sets of fields obey the algebra of sets.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "registry/negotiation.h"
#include "registry/route.h"
#include "rest/field_set.h"
#include "rest/paging.h"

namespace {

using namespace dray;  // NOLINT: a fuzz target knows the rooms that it is about

void CheckToken(std::string_view text) {
  if (const auto bytes = rest::DecodeBase64Url(text); bytes.ok()) {
    const auto again = rest::DecodeBase64Url(rest::Base64Url(*bytes));
    DRAY_CHECK(again.ok() && *again == *bytes, text);
  }
  const std::string encoded = rest::Base64Url(text);
  const auto decoded = rest::DecodeBase64Url(encoded);
  DRAY_CHECK(decoded.ok() && *decoded == text, encoded);
  // As a client would send it, and as it is inside, which no mutation of base64 finds.
  for (const std::string_view token : {text, std::string_view(encoded)}) {
    const auto read = rest::ContinueToken::Parse(token);
    if (!read.ok()) continue;
    const auto again = rest::ContinueToken::Parse(read->Encode());
    DRAY_CHECK(again.ok() && *again == *read, token);
  }
}

void CheckFields(std::string_view text) {
  const std::size_t half = text.find('\n');
  const auto a = rest::FieldSet::Parse(text.substr(0, half));
  if (!a.ok()) return;
  const auto again = rest::FieldSet::Parse(a->ToJson());
  DRAY_CHECK(again.ok() && *again == *a, a->ToJson());
  a->Paths();
  if (half == text.npos) return;
  const auto b = rest::FieldSet::Parse(text.substr(half + 1));
  if (!b.ok()) return;
  rest::FieldSet both = *a;
  both.Add(*b);
  rest::FieldSet other = *b;
  other.Add(*a);
  DRAY_CHECK(both == other, text);
  DRAY_CHECK(a->Intersect(*b) == b->Intersect(*a), text);
  DRAY_CHECK(both.Intersect(*a) == *a, text);
  rest::FieldSet left = *a;
  left.Subtract(*b);
  DRAY_CHECK(left.Intersect(*b).empty(), text);
  left.Add(a->Intersect(*b));
  DRAY_CHECK(left == *a, text);
}

void CheckWords(std::string_view text) {
  registry::ParseAccept(text).status().IgnoreError();
  registry::MediaType(text);
  registry::BodyFormatOf(text).status().IgnoreError();
  registry::PatchKindOf(text).status().IgnoreError();
  const registry::Query query(text);
  query.Get("limit");
  const auto route = registry::ParseRoute(text);
  DRAY_CHECK(!route || text.starts_with('/'), text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckToken(text);
  CheckFields(text);
  CheckWords(text);
  return 0;
}
