// SPDX-License-Identifier: Apache-2.0
//
// Bodies in protobuf, as typed clients send them. The first byte chooses the kind; the rest is the
// object, in an envelope that is made for it unless it brings one. Properties: no crash; what was
// read is JSON that reads back as the same, and an object or a reason why not.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.h"
#include "api/kinds.h"
#include "base/check.h"
#include "rest/protobuf.h"
#include "rest/tree.h"

namespace {

constexpr std::string_view kMagic("k8s\0", 4);

std::string Varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string Field(int number, std::string_view bytes) {
  return Varint(static_cast<std::uint64_t>(number) << 3 | 2) + Varint(bytes.size()) +
         std::string(bytes);
}
std::string Enveloped(const dray::api::KindInfo& kind, std::string_view raw) {
  return std::string(kMagic) + Field(1, Field(1, kind.ApiVersion()) + Field(2, kind.kind)) +
         Field(2, raw);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dray;  // NOLINT: a fuzz target is about one door
  if (size == 0) return 0;
  const auto kinds = api::Kinds();
  const api::KindInfo& kind = kinds[data[0] % kinds.size()];
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string body = rest.starts_with(kMagic) ? std::string(rest) : Enveloped(kind, rest);
  const auto tree = rest::ReadProtobuf(body, *kind.type, kind.group, kind.version);
  if (!tree.ok()) {
    DRAY_CHECK(!base::Message(tree.status()).empty(), "a refusal says why");
    return 0;
  }
  const std::string json = api::ToJson(*tree);
  const auto again = rest::ReadTree(json);
  DRAY_CHECK(again.ok(), json);
  DRAY_CHECK(api::ToJson(*again) == json, json);
  api::JsonDecoder decoder;
  api::Object object = api::Object::New(kind);
  if (decoder.Decode(json, *kind.type, object.MutableData()).ok()) object.ToJson();
  return 0;
}
