// SPDX-License-Identifier: Apache-2.0
#include "spdy/frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

#include "spdy/internal/header_block.h"
#include "testing/status_matchers.h"

namespace dray::spdy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::StatusIs;

using Kind = Frame::Kind;

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

// All that can be read; parts of data are joined if they follow each other.
StatusOr<std::vector<Frame>> ReadAll(FrameReader& reader, std::vector<Frame> frames = {}) {
  while (true) {
    auto frame = reader.Next();
    if (!frame.ok()) return frame.status();
    if (!frame->has_value()) return frames;
    const bool goes_on = !frames.empty() && (*frame)->kind == Kind::kData &&
                         frames.back().kind == Kind::kData && !frames.back().last &&
                         frames.back().stream == (*frame)->stream;
    if (goes_on) {
      frames.back().data += (*frame)->data;
      frames.back().last = (*frame)->last;
    } else {
      frames.push_back(**std::move(frame));
    }
  }
}

StatusOr<std::vector<Frame>> ReadAll(std::string_view bytes) {
  FrameReader reader;
  reader.Add(bytes);
  return ReadAll(reader);
}

TEST(SpdyFrames, TheWordsThatBothSidesKnow) {
  const std::string& words = HeaderDictionary();
  EXPECT_EQ(words.size(), 1423u);
  // The number by which packed headers name these words.
  const auto sum =
      ::adler32(1, reinterpret_cast<const Bytef*>(words.data()), static_cast<uInt>(words.size()));
  EXPECT_EQ(sum, 0xe3c6a7c2u);
}

// Recorded: `echo hello | kubectl exec -i p -- cat`, kubectl 1.32 without WebSockets.
TEST(SpdyFrames, WhatKubectlSends) {
  const auto frames = ReadAll(FromHex(
      "80030001000000290000000100000000000078f9e3c6a7c26260606004a7b392a2d4c45c6851c29a0a0a68000000"
      "00"
      "ffff800300010000001700000003000000000000c22e555c92929907000000ffff80030001000000190000000500"
      "00"
      "00000000c22ac5565c92925f5a02000000ffff800300010000001500000007000000000000c229975a540400000"
      "0ffff000000030000000668656c6c6f0a0000000301000000800300060000000400000001"));
  ASSERT_THAT(frames, testing::IsOk());
  const auto begins = [](std::uint32_t stream, const char* type) {
    return Frame{.kind = Kind::kSynStream, .stream = stream, .headers = {{"streamtype", type}}};
  };
  EXPECT_THAT(
      *frames,
      ElementsAre(begins(1, "error"), begins(3, "stdin"), begins(5, "stdout"), begins(7, "stderr"),
                  Frame{.kind = Kind::kData, .stream = 3, .last = true, .data = "hello\n"},
                  Frame{.kind = Kind::kPing, .stream = 1}));
}

TEST(SpdyFrames, WhatIsSentOnTheWire) {
  EXPECT_EQ(FrameWriter::Data(3, "hi"), FromHex("00000003000000026869"));
  EXPECT_EQ(FrameWriter::Data(3, "hi", true), FromHex("00000003010000026869"));
  EXPECT_EQ(FrameWriter::Data(3, "", true), FromHex("0000000301000000"));
  EXPECT_EQ(FrameWriter::Data(3, ""), "");
  EXPECT_EQ(FrameWriter::Reset(5, ResetCode::kCancel), FromHex("80030003000000080000000500000005"));
  EXPECT_EQ(FrameWriter::Ping(2), FromHex("800300060000000400000002"));
  EXPECT_EQ(FrameWriter::GoAway(7), FromHex("80030007000000080000000700000000"));
  FrameWriter writer;
  const std::string begins = writer.SynStream(1, {{"streamtype", "error"}});
  EXPECT_EQ(begins.substr(0, 7), FromHex("80030001000000"));
  EXPECT_EQ(static_cast<std::size_t>(begins[7]), begins.size() - 8);
  EXPECT_EQ(begins.substr(8, 10), FromHex("00000001000000000000"));
  // A zlib stream that names the words which both sides know.
  EXPECT_EQ(begins[18] & 0x0f, 8);
  EXPECT_EQ(begins.substr(20, 4), FromHex("e3c6a7c2"));
}

std::vector<Frame> SomeFrames(std::mt19937& random, FrameWriter& writer, std::string& bytes) {
  std::vector<Frame> said;
  for (int i = 0; i < 200; ++i) {
    const auto stream = static_cast<std::uint32_t>(random() % 50 + 1);
    switch (random() % 6) {
      case 0:
        said.push_back({.kind = Kind::kSynStream,
                        .stream = stream,
                        .headers = {{"port", std::to_string(random() % 70000)},
                                    {"x", std::string(random() % 3000, 'y')}}});
        bytes += writer.SynStream(stream, said.back().headers);
        break;
      case 1:
        said.push_back({.kind = Kind::kSynReply, .stream = stream});
        bytes += writer.SynReply(stream);
        break;
      case 2:
        said.push_back({.kind = Kind::kReset, .stream = stream, .code = 3});
        bytes += FrameWriter::Reset(stream, ResetCode::kRefusedStream);
        break;
      case 3:
        said.push_back({.kind = Kind::kPing, .stream = stream});
        bytes += FrameWriter::Ping(stream);
        break;
      default: {
        // The end, so that what follows is a frame of its own when it is read.
        said.push_back({.kind = Kind::kData,
                        .stream = stream,
                        .last = true,
                        .data = std::string(random() % 3 == 0 ? random() % 100'000 : random() % 9,
                                            static_cast<char>('a' + i % 26))});
        bytes += FrameWriter::Data(stream, said.back().data, true);
      }
    }
  }
  return said;
}

TEST(SpdyFrames, HoweverBytesAreCut) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  FrameWriter writer;
  std::string bytes;
  const std::vector<Frame> said = SomeFrames(random, writer, bytes);
  FrameReader reader;
  std::vector<Frame> heard;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t part = random() % 4 == 0 ? random() % 20'000 : random() % 12;
    reader.Add(std::string_view(bytes).substr(at, part));
    at += part;
    auto frames = ReadAll(reader, std::move(heard));
    ASSERT_THAT(frames, testing::IsOk());
    heard = *std::move(frames);
  }
  ASSERT_THAT(heard, SizeIs(said.size()));
  for (std::size_t i = 0; i < said.size(); ++i) EXPECT_EQ(heard[i], said[i]) << i;
}

TEST(SpdyFrames, DataIsToldAsItComes) {
  FrameReader reader;
  reader.Add(FromHex("0000000301fffff0"));  // 16 MiB
  reader.Add("abc");
  auto frame = reader.Next();
  ASSERT_THAT(frame, testing::IsOk());
  EXPECT_EQ(**frame, (Frame{.kind = Kind::kData, .stream = 3, .data = "abc"}));
  EXPECT_FALSE(reader.Next()->has_value());
}

TEST(SpdyFrames, WhatIsTooLongIsRefused) {
  EXPECT_THAT(ReadAll(FromHex("8003000100010001")),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("65536")));
  // Little that unpacks to much.
  FrameWriter writer;
  const Headers much = {{"a", std::string(kLongestHeaders, 'x')}};
  EXPECT_THAT(ReadAll(writer.SynStream(1, much)),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("headers")));
  FrameWriter other;
  EXPECT_THAT(ReadAll(other.SynStream(1, Headers(kMostHeaders + 1, {"a", "b"}))),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("at most 100")));
}

TEST(SpdyFrames, WhatNobodyMaySay) {
  const std::pair<const char*, const char*> cases[] = {
      {"version 2", "8002000600000004ffffffff"},
      {"no stream 0", "000000000000000161"},
      {"shorter than it can be", "800300030000000400000001"},
      {"shorter than it can be", "8003000600000000"},
      {"cannot be unpacked", "800300010000000e00000001000000000000deadbeef"},
      {"are broken", "800300010000000a00000001000000000000"},
  };
  for (const auto& [what, bytes] : cases) {
    EXPECT_THAT(ReadAll(FromHex(bytes)), StatusIs(StatusCode::kInvalidArgument, HasSubstr(what)))
        << bytes;
  }
  const Headers broken[] = {{{"Upper", "case"}}, {{"", "nameless"}}};
  for (const Headers& headers : broken) {
    FrameWriter writer;
    EXPECT_THAT(ReadAll(writer.SynStream(1, headers)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("broken")));
  }
  FrameWriter writer;
  EXPECT_THAT(ReadAll(writer.SynReply(0)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no stream 0")));
}

TEST(SpdyFrames, WhatMeansNothingIsPassedOver) {
  // Settings, a window, and a kind that nobody knows.
  const auto frames =
      ReadAll(FromHex("80030004000000040000000080030009000000080000000100000001"
                      "800300630000000161"));
  ASSERT_THAT(frames, testing::IsOk());
  ASSERT_THAT(*frames, SizeIs(3));
  for (const Frame& frame : *frames) EXPECT_EQ(frame.kind, Kind::kOther);
}

TEST(SpdyFrames, HeadersAreFoundByName) {
  const Headers headers = {{"streamtype", "data"}, {"port", "80"}};
  EXPECT_EQ(Find(headers, "port"), "80");
  EXPECT_THAT(Find(headers, "requestid"), IsEmpty());
}

}  // namespace
}  // namespace dray::spdy
