// SPDX-License-Identifier: Apache-2.0
//
// What is said on a shim's socket by those who attach or start the container: a byte for the kind, four for the length (the
// highest first), the payload.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace dray::container::internal {

enum class Frame : std::uint8_t {
  kInput = 0,       // to the container
  kOut = 1,         // from it
  kErr = 2,         // from it
  kExit = 3,        // the code as a decimal number; the last one
  kCloseInput = 4,  // to the container
  kResize = 5,      // "<columns> <rows>"
  kStart = 6,       // to the shim: the container may begin
  kStarted = 7,     // it has begun; a text: it has not, and why
};

inline constexpr std::size_t kFrameHead = 5;
inline constexpr std::size_t kLongestFrame = 1 << 20;
inline constexpr char kShimSocket[] = "shim.sock";

inline std::string EncodeFrame(Frame kind, std::string_view payload) {
  std::string frame;
  frame.reserve(kFrameHead + payload.size());
  frame.push_back(static_cast<char>(kind));
  const auto size = static_cast<std::uint32_t>(payload.size());
  for (int shift = 24; shift >= 0; shift -= 8) {
    frame.push_back(static_cast<char>(size >> shift & 0xff));
  }
  frame.append(payload);
  return frame;
}

// Takes the first whole frame off the buffer. `broken` is set when it can be none.
inline std::optional<std::pair<Frame, std::string>> TakeFrame(std::string& buffer, bool& broken) {
  if (buffer.size() < kFrameHead) return std::nullopt;
  std::uint32_t size = 0;
  for (std::size_t i = 1; i < kFrameHead; ++i) {
    size = size << 8 | static_cast<unsigned char>(buffer[i]);
  }
  if (size > kLongestFrame || static_cast<unsigned char>(buffer[0]) > 7) {
    broken = true;
    return std::nullopt;
  }
  if (buffer.size() < kFrameHead + size) return std::nullopt;
  std::pair<Frame, std::string> frame(static_cast<Frame>(buffer[0]),
                                      buffer.substr(kFrameHead, size));
  buffer.erase(0, kFrameHead + size);
  return frame;
}

}  // namespace dray::container::internal
