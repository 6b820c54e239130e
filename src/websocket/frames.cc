// SPDX-License-Identifier: Apache-2.0
#include "websocket/frames.h"

#include <utility>

#include "fmt/format.h"

namespace dray::websocket {
namespace {

constexpr std::size_t kLongestControl = 125;
constexpr std::uint8_t kLast = 0x80;
constexpr std::uint8_t kReserved = 0x70;
constexpr std::uint8_t kMasked = 0x80;

bool IsControl(Opcode opcode) { return static_cast<std::uint8_t>(opcode) >= 8; }

bool IsKnown(std::uint8_t opcode) { return opcode <= 2 || (opcode >= 8 && opcode <= 10); }

std::uint64_t BigEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
  return value;
}

void AppendBigEndian(std::uint64_t value, int bytes, std::string& text) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    text += static_cast<char>(value >> shift & 0xff);
  }
}

}  // namespace

std::string FrameText(Opcode opcode, std::string_view payload) {
  std::string text;
  text.reserve(payload.size() + 10);
  text += static_cast<char>(kLast | static_cast<std::uint8_t>(opcode));
  if (payload.size() < 126) {
    text += static_cast<char>(payload.size());
  } else if (payload.size() <= 0xffff) {
    text += static_cast<char>(126);
    AppendBigEndian(payload.size(), 2, text);
  } else {
    text += static_cast<char>(127);
    AppendBigEndian(payload.size(), 8, text);
  }
  return text.append(payload);
}

std::string CloseFrame(CloseCode code, std::string_view reason) {
  std::string payload;
  AppendBigEndian(static_cast<std::uint16_t>(code), 2, payload);
  payload.append(reason.substr(0, kLongestControl - 2));
  return FrameText(Opcode::kClose, payload);
}

void FrameReader::Add(std::string_view bytes) {
  held_.erase(0, std::exchange(read_, 0));
  held_ += bytes;
}

StatusOr<std::optional<FrameReader::Frame>> FrameReader::NextFrame() {
  const std::string_view held = std::string_view(held_).substr(read_);
  if (held.size() < 2) return std::nullopt;
  const auto first = static_cast<std::uint8_t>(held[0]);
  const auto second = static_cast<std::uint8_t>(held[1]);
  if ((first & kReserved) != 0) return base::InvalidArgument("reserved bits are set");
  if (!IsKnown(first & 0x0f)) {
    return base::InvalidArgument(fmt::format("there is no opcode {}", first & 0x0f));
  }
  if ((second & kMasked) == 0) return base::InvalidArgument("a client's frames have a mask");
  Frame frame{
      .last = (first & kLast) != 0, .opcode = static_cast<Opcode>(first & 0x0f), .payload = {}};
  std::uint64_t size = second & 0x7f;
  if (IsControl(frame.opcode) && (!frame.last || size > kLongestControl)) {
    return base::InvalidArgument("a control frame is short and whole");
  }
  std::size_t at = 2;
  if (size >= 126) {
    const std::size_t width = size == 126 ? 2 : 8;
    if (held.size() < at + width) return std::nullopt;
    size = BigEndian(held.substr(at, width));
    at += width;
  }
  // A control frame may come within a message, and is none of it.
  const std::size_t before = parts_ && !IsControl(frame.opcode) ? parts_->payload.size() : 0;
  if (size > kLongestMessage || before + size > kLongestMessage) {
    return base::MakeStatus(StatusCode::kOutOfRange,
                            fmt::format("a message has at most {} bytes", kLongestMessage));
  }
  constexpr std::size_t kMaskBytes = 4;
  if (held.size() < at + kMaskBytes + size) return std::nullopt;
  const std::string_view mask = held.substr(at, kMaskBytes);
  at += kMaskBytes;
  frame.payload = held.substr(at, size);
  for (std::size_t i = 0; i < frame.payload.size(); ++i) {
    frame.payload[i] = static_cast<char>(frame.payload[i] ^ mask[i % kMaskBytes]);
  }
  read_ += at + size;
  return frame;
}

StatusOr<std::optional<Message>> FrameReader::Next() {
  while (true) {
    DRAY_ASSIGN_OR_RETURN(auto frame, NextFrame());
    if (!frame) return std::nullopt;
    if (IsControl(frame->opcode)) return Message{frame->opcode, std::move(frame->payload)};
    if (frame->opcode == Opcode::kContinuation) {
      if (!parts_) return base::InvalidArgument("a continuation of nothing");
      parts_->payload += frame->payload;
    } else {
      if (parts_) return base::InvalidArgument("a message begins within another one");
      parts_ = Message{frame->opcode, std::move(frame->payload)};
    }
    if (frame->last) return std::exchange(parts_, std::nullopt);
  }
}

}  // namespace dray::websocket
