// SPDX-License-Identifier: Apache-2.0
#include "websocket/channels.h"

#include <charconv>

#include "fmt/format.h"

namespace dray::websocket {
namespace {

constexpr std::uint8_t kCloseChannel = 255;

// The number behind a name in {"Width":80,"Height":24}; sizes are all that is ever said there.
std::optional<std::uint16_t> NumberAfter(std::string_view json, std::string_view name) {
  const std::string quoted = fmt::format("\"{}\"", name);
  std::size_t at = json.find(quoted);
  if (at == json.npos) return std::nullopt;
  at = json.find_first_not_of(": \t\n", at + quoted.size());
  if (at == json.npos) return std::nullopt;
  std::uint16_t value = 0;
  const auto read = std::from_chars(json.data() + at, json.data() + json.size(), value);
  return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace

StatusOr<ChannelEvent> ReadChannel(const Message& message) {
  const std::string_view text = message.payload;
  if (text.empty()) return ChannelEvent{};
  const auto channel = static_cast<std::uint8_t>(text[0]);
  const std::string_view rest = text.substr(1);
  if (channel == kCloseChannel) {
    const bool input = rest.size() == 1 && rest[0] == 0;
    return ChannelEvent{
        .kind = input ? ChannelEvent::Kind::kEndOfInput : ChannelEvent::Kind::kNothing,
        .bytes = {}};
  }
  if (channel == static_cast<std::uint8_t>(Channel::kIn)) {
    return ChannelEvent{.kind = ChannelEvent::Kind::kInput, .bytes = std::string(rest)};
  }
  if (channel == static_cast<std::uint8_t>(Channel::kResize)) {
    const auto width = NumberAfter(rest, "Width");
    const auto height = NumberAfter(rest, "Height");
    if (!width || !height) {
      return base::InvalidArgument("the size of a terminal is {\"Width\":80,\"Height\":24}");
    }
    return ChannelEvent{
        .kind = ChannelEvent::Kind::kResize, .bytes = {}, .columns = *width, .rows = *height};
  }
  return base::InvalidArgument(fmt::format("a client says nothing on channel {}", channel));
}

std::string ChannelFrame(Channel channel, std::string_view bytes) {
  std::string payload(1, static_cast<char>(channel));
  return FrameText(Opcode::kBinary, payload.append(bytes));
}

std::string ExitStatus(std::int32_t code) {
  if (code == 0) return R"({"metadata":{},"status":"Success"})";
  return fmt::format(
      R"({{"metadata":{{}},"status":"Failure","message":"command terminated with exit code {0}",)"
      R"("reason":"NonZeroExitCode","details":{{"causes":[{{"reason":"ExitCode","message":"{0}"}}]}}}})",
      code);
}

std::string FailureStatus(std::string_view message) {
  return fmt::format(
      R"({{"metadata":{{}},"status":"Failure","message":{},"reason":"InternalError","code":500}})",
      Quoted(message));
}

}  // namespace dray::websocket
