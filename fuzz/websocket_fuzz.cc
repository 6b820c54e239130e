// SPDX-License-Identifier: Apache-2.0
//
// What a client sends on a WebSocket: the messages do not depend on how the bytes are cut, what was read can be written
// so that it reads the same, and a channel says what its message holds. The first byte says how long pieces are.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "websocket/channels.h"
#include "websocket/frames.h"
#include "websocket/handshake.h"

namespace {

using namespace dray::websocket;  // NOLINT(google-build-using-namespace)

struct Heard {
  std::vector<Message> messages;
  dray::Status status;
};

Heard Hear(std::string_view bytes, std::size_t piece) {
  Heard heard;
  FrameReader reader;
  while (!bytes.empty()) {
    const std::string_view next = bytes.substr(0, piece);
    bytes.remove_prefix(next.size());
    reader.Add(next);
    for (;;) {
      auto message = reader.Next();
      if (!message.ok()) {
        heard.status = message.status();
        return heard;
      }
      if (!*message) break;
      DRAY_CHECK((*message)->payload.size() <= kLongestMessage);
      heard.messages.push_back(**std::move(message));
    }
  }
  return heard;
}

// As a client would send it, with a mask.
std::string Masked(const Message& message) {
  std::string frame = FrameText(message.opcode, message.payload);
  const std::size_t head = frame.size() - message.payload.size();
  frame[1] = static_cast<char>(frame[1] | static_cast<char>(0x80));
  const std::string mask = "\x11\xa2\x33\xc4";
  for (std::size_t i = 0; i < message.payload.size(); ++i) {
    frame[head + i] = static_cast<char>(frame[head + i] ^ mask[i % 4]);
  }
  return frame.insert(head, mask);
}

void CheckChannel(const Message& message) {
  const auto event = ReadChannel(message);
  if (!event.ok()) {
    DRAY_CHECK(!event.status().message().empty());
    return;
  }
  if (event->kind == ChannelEvent::Kind::kInput) {
    DRAY_CHECK(message.payload == std::string(1, '\0') + event->bytes);
  } else {
    DRAY_CHECK(event->bytes.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Heard whole = Hear(bytes, bytes.size() + 1);
  const Heard cut = Hear(bytes, std::max<std::size_t>(data[0], 1));
  DRAY_CHECK(whole.messages == cut.messages);
  DRAY_CHECK(whole.status.code() == cut.status.code());
  for (const Message& message : whole.messages) {
    const Heard again = Hear(Masked(message), 3);
    DRAY_CHECK(again.status.ok() && again.messages == std::vector<Message>{message});
    CheckChannel(message);
  }
  // Headers come from the same people.
  const std::string_view key = bytes.substr(0, 24);
  const std::string_view protocols = bytes.substr(key.size());
  const auto agreed =
      Agree({.upgrade = "websocket", .version = "13", .key = key, .protocols = protocols},
            kChannelProtocols);
  if (agreed.ok()) {
    DRAY_CHECK(std::ranges::find(kChannelProtocols, agreed->protocol) != kChannelProtocols.end());
    DRAY_CHECK(protocols.find(agreed->protocol) != protocols.npos);
  }
  return 0;
}
