// SPDX-License-Identifier: Apache-2.0
//
// Messages as bytes and back.
//
// Spec: RFC 6455, 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dray::websocket {

enum class Opcode : std::uint8_t {
  kContinuation = 0,
  kText = 1,
  kBinary = 2,
  kClose = 8,
  kPing = 9,
  kPong = 10,
};

struct Message {
  Opcode opcode = Opcode::kBinary;  // of the first frame
  std::string payload;
  friend bool operator==(const Message&, const Message&) = default;
};

// Why a connection is closed.
enum class CloseCode : std::uint16_t {
  kNormal = 1000,
  kGoingAway = 1001,
  kProtocolError = 1002,
  kTooLong = 1009,
  kInternalError = 1011,
};

inline constexpr std::size_t kLongestMessage = 1u << 20;

// As a server sends it: whole and without a mask.
std::string FrameText(Opcode opcode, std::string_view payload);
std::string CloseFrame(CloseCode code, std::string_view reason);

// What a client sends. One thread.
class FrameReader {
 public:
  void Add(std::string_view bytes);
  // Nothing: more bytes are needed. InvalidArgument: the client may not do that, and
  // OutOfRange: it is too long; nothing more can be read then.
  StatusOr<std::optional<Message>> Next();

 private:
  struct Frame {
    bool last = true;
    Opcode opcode = Opcode::kBinary;
    std::string payload;
  };
  StatusOr<std::optional<Frame>> NextFrame();

  std::string held_;
  std::size_t read_ = 0;  // of held_; dropped when more comes, not with each of many small frames
  std::optional<Message> parts_;  // of a message that goes on
};

}  // namespace dray::websocket
