// SPDX-License-Identifier: Apache-2.0
//
// The door of remote watches: a line that some server sent. Properties: no crash, an object that
// was read can be written and read again, and the short way to read it is as good as the long one.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "api/kinds.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "base/check.h"
#include "client/object_client.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dray;  // NOLINT: a fuzz target is about one door
  // Connects to nobody.
  static const std::unique_ptr<client::HttpClient> http =
      *client::HttpClient::Create({.url = "http://localhost"});
  static const client::ObjectClient objects(*http, "fuzz");
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  api::JsonDecoder decoder;
  for (const api::TypeInfo* hub :
       {&api::TypeInfoOf<api::Pod>(), &api::TypeInfoOf<api::ResourceClaim>()}) {
    const auto event = objects.ReadEvent(decoder, api::HubKind(*hub), line);
    // Whether it is taken apart by its looks or read as a whole makes no difference.
    const auto whole = objects.ReadEvent(decoder, api::HubKind(*hub), " " + std::string(line));
    DRAY_CHECK(event.ok() || !whole.ok(), line);
    if (!event.ok()) continue;
    // The whole is one level deeper, which may be one too many.
    DRAY_CHECK(
        !whole.ok() || (event->type == whole->type && SemanticEqual(event->object, whole->object)),
        line);
    const auto again = api::DecodeObject(decoder, event->object.ToJson());
    DRAY_CHECK(again.ok(), base::Message(again.status()));
    DRAY_CHECK(SemanticEqual(event->object, *again), line);
  }
  return 0;
}
