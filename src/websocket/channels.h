// SPDX-License-Identifier: Apache-2.0
//
// Kubernetes's channels: several streams in one WebSocket. The first byte of a message says which.
//
// Spec: the subprotocols v4.channel.k8s.io and v5.channel.k8s.io of kubectl exec and attach; the
// latter can close one channel (255 and its number) and leave the others open.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "websocket/frames.h"

namespace dray::websocket {

inline constexpr std::array<std::string_view, 2> kChannelProtocols = {"v5.channel.k8s.io",
                                                                      "v4.channel.k8s.io"};

enum class Channel : std::uint8_t { kIn = 0, kOut = 1, kErr = 2, kError = 3, kResize = 4 };

// What a client says.
struct ChannelEvent {
  enum class Kind : std::uint8_t { kInput, kEndOfInput, kResize, kNothing };
  Kind kind = Kind::kNothing;
  std::string bytes;
  std::uint16_t columns = 0;
  std::uint16_t rows = 0;
};
// Of a message with data. InvalidArgument: there is no such channel, or nothing that it says.
StatusOr<ChannelEvent> ReadChannel(const Message& message);

// The frame that says something on a channel.
std::string ChannelFrame(Channel channel, std::string_view bytes);

// How it ended, as the error channel tells: a metav1.Status.
std::string ExitStatus(std::int32_t code);
std::string FailureStatus(std::string_view message);

}  // namespace dray::websocket
