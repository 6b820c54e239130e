// SPDX-License-Identifier: Apache-2.0
#include "spdy/frames.h"

#include <algorithm>

#include "fmt/format.h"
#include "spdy/internal/header_block.h"

namespace dray::spdy {
namespace {

constexpr std::size_t kHead = 8;
constexpr std::uint16_t kVersion = 3;
constexpr std::uint8_t kLast = 1;
constexpr std::uint32_t kControl = 0x80000000;
constexpr std::size_t kLongestData = 32u
                                     << 10;  // of a frame that is sent; the wire has room for more

enum Type : std::uint16_t {
  kSynStream = 1,
  kSynReply = 2,
  kRstStream = 3,
  kSettings = 4,
  kPing = 6,
  kGoAway = 7,
  kHeaders = 8,
  kWindowUpdate = 9,
};

std::uint32_t NumberAt(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i)
    value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  return value;
}

void Append(std::uint32_t value, std::string& to) {
  for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(value >> shift & 0xff);
}

std::string ControlFrame(Type type, std::string_view body) {
  std::string frame;
  frame.reserve(kHead + body.size());
  Append(kControl | std::uint32_t{kVersion} << 16 | type, frame);
  Append(static_cast<std::uint32_t>(body.size()), frame);
  return frame.append(body);
}

std::string Numbers(std::initializer_list<std::uint32_t> numbers) {
  std::string text;
  for (const std::uint32_t number : numbers) Append(number, text);
  return text;
}

}  // namespace

std::string_view Find(const Headers& headers, std::string_view name) {
  const auto found = std::ranges::find(headers, name, &Headers::value_type::first);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

FrameReader::FrameReader() : headers_(std::make_unique<HeaderUnpacker>()) {}
FrameReader::~FrameReader() = default;
FrameReader::FrameReader(FrameReader&&) noexcept = default;
FrameReader& FrameReader::operator=(FrameReader&&) noexcept = default;

StatusOr<std::optional<Frame>> FrameReader::Next() {
  if (data_left_ == 0) {
    if (held_.size() < kHead) return std::nullopt;
    const std::uint32_t first = NumberAt(held_, 0);
    const std::uint32_t second = NumberAt(held_, 4);
    const auto flags = static_cast<std::uint8_t>(second >> 24);
    const std::size_t size = second & 0xffffff;
    if ((first & kControl) != 0) {
      const std::uint16_t version = first >> 16 & 0x7fff;
      if (version != kVersion) {
        return base::InvalidArgument(fmt::format("version {} of SPDY is not spoken here", version));
      }
      if (size > kLongestControl) {
        return base::MakeStatus(StatusCode::kOutOfRange,
                                fmt::format("a frame has at most {} bytes", kLongestControl));
      }
      if (held_.size() < kHead + size) return std::nullopt;
      auto frame = Control(static_cast<std::uint16_t>(first), flags,
                           std::string_view(held_).substr(kHead, size));
      if (!frame.ok()) return frame.status();
      held_.erase(0, kHead + size);
      return std::optional(*std::move(frame));
    }
    if (first == 0) return base::InvalidArgument("there is no stream 0");
    held_.erase(0, kHead);
    data_stream_ = first;
    data_last_ = (flags & kLast) != 0;
    data_left_ = size;
    if (size == 0) {
      return std::optional(
          Frame{.kind = Frame::Kind::kData, .stream = data_stream_, .last = data_last_});
    }
  }
  if (held_.empty()) return std::nullopt;
  Frame frame{.kind = Frame::Kind::kData, .stream = data_stream_};
  if (held_.size() <= data_left_) {
    frame.data = std::exchange(held_, {});
  } else {
    frame.data = held_.substr(0, data_left_);
    held_.erase(0, data_left_);
  }
  data_left_ -= frame.data.size();
  frame.last = data_left_ == 0 && data_last_;
  return std::optional(std::move(frame));
}

StatusOr<Frame> FrameReader::Control(std::uint16_t type, std::uint8_t flags,
                                     std::string_view body) {
  // What has a stream or a number has it first; then what is fixed, then headers.
  const auto [kind, fixed] = [&]() -> std::pair<Frame::Kind, std::size_t> {
    switch (type) {
      case kSynStream:
        return {Frame::Kind::kSynStream, 10};
      case kSynReply:
        return {Frame::Kind::kSynReply, 4};
      case kHeaders:
        return {Frame::Kind::kOther, 4};
      case kRstStream:
        return {Frame::Kind::kReset, 8};
      case kPing:
        return {Frame::Kind::kPing, 4};
      case kGoAway:
        return {Frame::Kind::kGoAway, 8};
      default:
        return {Frame::Kind::kOther, 0};
    }
  }();
  if (body.size() < fixed) return base::InvalidArgument("a frame is shorter than it can be");
  Frame frame{.kind = kind};
  if (fixed == 0) return frame;
  frame.stream = NumberAt(body, 0) & (type == kPing ? 0xffffffff : ~kControl);
  if (type == kRstStream || type == kGoAway) frame.code = NumberAt(body, 4);
  if (type == kSynStream || type == kSynReply || type == kHeaders) {
    if (frame.stream == 0) return base::InvalidArgument("there is no stream 0");
    frame.last = (flags & kLast) != 0;
    // What is packed has to be unpacked, wanted or not: it goes on from frame to frame.
    DRAY_ASSIGN_OR_RETURN(frame.headers, headers_->Unpack(body.substr(fixed)));
  }
  return frame;
}

FrameWriter::FrameWriter() : headers_(std::make_unique<HeaderPacker>()) {}
FrameWriter::~FrameWriter() = default;
FrameWriter::FrameWriter(FrameWriter&&) noexcept = default;
FrameWriter& FrameWriter::operator=(FrameWriter&&) noexcept = default;

std::string FrameWriter::SynStream(std::uint32_t stream, const Headers& headers) {
  // It belongs to no other stream, and is as urgent as any.
  std::string body = Numbers({stream, 0});
  body += std::string_view("\0\0", 2);
  return ControlFrame(Type::kSynStream, body += headers_->Pack(headers));
}

std::string FrameWriter::SynReply(std::uint32_t stream, const Headers& headers) {
  std::string body = Numbers({stream});
  return ControlFrame(Type::kSynReply, body += headers_->Pack(headers));
}

std::string FrameWriter::Data(std::uint32_t stream, std::string_view bytes, bool last) {
  std::string frames;
  while (!bytes.empty() || last) {
    const std::string_view part = bytes.substr(0, kLongestData);
    bytes.remove_prefix(part.size());
    const bool ends = last && bytes.empty();
    Append(stream, frames);
    Append(static_cast<std::uint32_t>(part.size()) | (ends ? std::uint32_t{kLast} << 24 : 0),
           frames);
    frames += part;
    if (ends) break;
  }
  return frames;
}

std::string FrameWriter::Reset(std::uint32_t stream, ResetCode code) {
  return ControlFrame(Type::kRstStream, Numbers({stream, static_cast<std::uint32_t>(code)}));
}

std::string FrameWriter::Ping(std::uint32_t number) {
  return ControlFrame(Type::kPing, Numbers({number}));
}

std::string FrameWriter::GoAway(std::uint32_t last_stream) {
  return ControlFrame(Type::kGoAway, Numbers({last_stream, 0}));
}

}  // namespace dray::spdy
