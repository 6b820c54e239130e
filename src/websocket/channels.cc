// SPDX-License-Identifier: Apache-2.0
#include "websocket/channels.h"

#include <optional>
#include <vector>

#include "api/json.h"
#include "fmt/format.h"

namespace dray::websocket {
namespace {

constexpr std::uint8_t kCloseChannel = 255;

struct TerminalSize {
  std::optional<std::int64_t> width;
  std::optional<std::int64_t> height;
};
const api::StructInfo& InfoOf(const TerminalSize*) {
  using T = TerminalSize;
  static const api::StructInfo info = api::Struct<T>(
      "TerminalSize", {api::Field<&T::width>("Width"), api::Field<&T::height>("Height")});
  return info;
}

// As much of a metav1.Status as is said here.
struct Metadata {};
const api::StructInfo& InfoOf(const Metadata*) {
  static const api::StructInfo info = api::Struct<Metadata>("ListMeta", {});
  return info;
}
struct Cause {
  std::string reason;
  std::string message;
};
const api::StructInfo& InfoOf(const Cause*) {
  using T = Cause;
  static const api::StructInfo info = api::Struct<T>(
      "StatusCause", {api::Field<&T::reason>("reason"), api::Field<&T::message>("message")});
  return info;
}
struct Details {
  std::vector<Cause> causes;
};
const api::StructInfo& InfoOf(const Details*) {
  using T = Details;
  static const api::StructInfo info =
      api::Struct<T>("StatusDetails", {api::Field<&T::causes>("causes")});
  return info;
}
struct Ended {
  Metadata metadata;
  std::string status;
  std::string message;
  std::string reason;
  std::optional<Details> details;
  std::optional<std::int32_t> code;
};
const api::StructInfo& InfoOf(const Ended*) {
  using T = Ended;
  static const api::StructInfo info = api::Struct<T>(
      "Status", {
                    api::Field<&T::metadata>("metadata", {.presence = api::Presence::kAlways}),
                    api::Field<&T::status>("status"),
                    api::Field<&T::message>("message"),
                    api::Field<&T::reason>("reason"),
                    api::Field<&T::details>("details"),
                    api::Field<&T::code>("code"),
                });
  return info;
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
    api::JsonDecoder decoder;
    const auto size = decoder.Decode<TerminalSize>(rest);
    const auto fits = [](std::optional<std::int64_t> cells) {
      return cells && *cells >= 0 && *cells <= 0xffff;
    };
    if (!size.ok() || !fits(size->width) || !fits(size->height)) {
      return base::InvalidArgument("the size of a terminal is {\"Width\":80,\"Height\":24}");
    }
    return ChannelEvent{.kind = ChannelEvent::Kind::kResize,
                        .bytes = {},
                        .columns = static_cast<std::uint16_t>(*size->width),
                        .rows = static_cast<std::uint16_t>(*size->height)};
  }
  return base::InvalidArgument(fmt::format("a client says nothing on channel {}", channel));
}

std::string ChannelFrame(Channel channel, std::string_view bytes) {
  std::string payload(1, static_cast<char>(channel));
  return FrameText(Opcode::kBinary, payload.append(bytes));
}

std::string ExitStatus(std::int32_t code) {
  Ended ended{
      .metadata = {}, .status = "Success", .message = {}, .reason = {}, .details = {}, .code = {}};
  if (code != 0) {
    ended.status = "Failure";
    ended.message = fmt::format("command terminated with exit code {}", code);
    ended.reason = "NonZeroExitCode";
    ended.details = Details{{{.reason = "ExitCode", .message = std::to_string(code)}}};
  }
  return api::EncodeJson(ended);
}

std::string FailureStatus(std::string_view message) {
  return api::EncodeJson(Ended{.metadata = {},
                               .status = "Failure",
                               .message = std::string(message),
                               .reason = "InternalError",
                               .details = {},
                               .code = 500});
}

}  // namespace dray::websocket
