// SPDX-License-Identifier: Apache-2.0
//
// Frames of SPDY/3.1 as bytes and back: several streams of bytes, both ways, on one connection.
//
// Spec: SPDY protocol draft 3.1, 2.2 and 2.6. Kubernetes's clients and container runtimes use it for
// commands in containers and forwarded ports. They send no windows and heed none; who reads slowly
// does not read from the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace dray::spdy {

// Names in lower case. Several values of a name are joined by a zero byte on the wire and here.
using Headers = std::vector<std::pair<std::string, std::string>>;

// Empty if absent.
std::string_view Find(const Headers& headers, std::string_view name);

// Of which side a stream is shows in its number: a client's are odd.
struct Frame {
  enum class Kind : std::uint8_t {
    kData,       // bytes of a stream
    kSynStream,  // a stream begins
    kSynReply,   // and is agreed to
    kReset,      // a stream is over, both ways
    kPing,       // to be sent back by who did not begin it; that shows in its number as well
    kGoAway,     // no more streams
    kOther,      // nothing that has to be answered
  };
  Kind kind = Kind::kOther;
  std::uint32_t stream = 0;  // of kGoAway: the last that was looked at; of kPing: its number
  bool last = false;         // the sender's half of the stream ends with it
  std::string data;
  Headers headers;
  std::uint32_t code = 0;  // why, of kReset and kGoAway
  friend bool operator==(const Frame&, const Frame&) = default;
};

enum class ResetCode : std::uint32_t {
  kProtocolError = 1,
  kInvalidStream = 2,
  kRefusedStream = 3,
  kCancel = 5,
  kInternalError = 6,
};

inline constexpr std::size_t kLongestControl = 64u << 10;  // of a frame that is not data
inline constexpr std::size_t kLongestHeaders = 64u << 10;  // when they are unpacked
inline constexpr std::size_t kMostHeaders = 100;

class HeaderUnpacker;
class HeaderPacker;

// What the other side sends. Bytes of a stream are told as they come, a frame of them perhaps in
// several parts, so that no more is held than was added. One thread.
class FrameReader {
 public:
  FrameReader();
  ~FrameReader();
  FrameReader(FrameReader&&) noexcept;
  FrameReader& operator=(FrameReader&&) noexcept;

  void Add(std::string_view bytes) { held_ += bytes; }
  // Nothing: more bytes are needed. InvalidArgument: nobody may say that; OutOfRange: it is too
  // long. Nothing more can be read then.
  StatusOr<std::optional<Frame>> Next();

 private:
  StatusOr<Frame> Control(std::uint16_t type, std::uint8_t flags, std::string_view body);

  std::string held_;
  std::size_t data_left_ = 0;  // of a frame of bytes that has begun
  std::uint32_t data_stream_ = 0;
  bool data_last_ = false;
  std::unique_ptr<HeaderUnpacker> headers_;
};

// What is sent, in the order in which it is made here: headers are packed with what went before. One
// thread.
class FrameWriter {
 public:
  FrameWriter();
  ~FrameWriter();
  FrameWriter(FrameWriter&&) noexcept;
  FrameWriter& operator=(FrameWriter&&) noexcept;

  std::string SynStream(std::uint32_t stream, const Headers& headers);
  std::string SynReply(std::uint32_t stream, const Headers& headers = {});
  // As many frames as it takes; none for no bytes that are not the last.
  static std::string Data(std::uint32_t stream, std::string_view bytes, bool last = false);
  static std::string Reset(std::uint32_t stream, ResetCode code);
  static std::string Ping(std::uint32_t number);
  static std::string GoAway(std::uint32_t last_stream);

 private:
  std::unique_ptr<HeaderPacker> headers_;
};

}  // namespace dray::spdy
