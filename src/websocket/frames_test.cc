// SPDX-License-Identifier: Apache-2.0
#include "websocket/frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "testing/scaling.h"
#include "testing/status_matchers.h"
#include "websocket/handshake.h"

namespace dray::websocket {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// As a client sends it.
std::string Masked(Opcode opcode, std::string_view payload, bool last = true,
                   std::string_view mask = "\x01\x02\x03\x04") {
  std::string text = FrameText(opcode, payload);
  if (!last) text[0] = static_cast<char>(text[0] & 0x7f);
  text[1] = static_cast<char>(text[1] | 0x80);
  const std::size_t head = text.size() - payload.size();
  for (std::size_t i = 0; i < payload.size(); ++i) {
    text[head + i] = static_cast<char>(text[head + i] ^ mask[i % 4]);
  }
  return text.insert(head, mask);
}

StatusOr<std::optional<Message>> Read(std::string_view bytes) {
  FrameReader reader;
  reader.Add(bytes);
  return reader.Next();
}

TEST(Frames, OfEverySize) {
  for (const std::size_t size : {0, 1, 125, 126, 127, 65535, 65536, 1 << 20}) {
    const std::string payload(size, 'x');
    const auto message = Read(Masked(Opcode::kBinary, payload));
    ASSERT_THAT(message, testing::IsOk()) << size;
    ASSERT_TRUE(message->has_value()) << size;
    EXPECT_EQ(**message, (Message{Opcode::kBinary, payload}));
  }
}

TEST(Frames, PartsAreJoinedAndControlsComeInBetween) {
  FrameReader reader;
  reader.Add(Masked(Opcode::kText, "one ", false) + Masked(Opcode::kPing, "hello") +
             Masked(Opcode::kContinuation, "two ", false) + Masked(Opcode::kContinuation, "three"));
  EXPECT_EQ(**reader.Next(), (Message{Opcode::kPing, "hello"}));
  EXPECT_EQ(**reader.Next(), (Message{Opcode::kText, "one two three"}));
  EXPECT_FALSE(reader.Next()->has_value());
}

// A message of the greatest length is on its way, and a ping comes before its end.
TEST(Frames, ControlsAreNoPartOfALongMessage) {
  FrameReader reader;
  reader.Add(Masked(Opcode::kBinary, std::string(kLongestMessage - 1, 'x'), false) +
             Masked(Opcode::kPing, "hello") + Masked(Opcode::kContinuation, "x"));
  EXPECT_EQ(**reader.Next(), (Message{Opcode::kPing, "hello"}));
  EXPECT_EQ((*reader.Next())->payload.size(), kLongestMessage);
}

TEST(Frames, HoweverBytesAreCut) {
  std::mt19937 random(std::random_device{}());
  std::vector<Message> said;
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    const std::string payload(random() % 400, static_cast<char>('a' + i % 26));
    said.push_back({i % 2 == 0 ? Opcode::kBinary : Opcode::kText, payload});
    const std::size_t half = payload.size() / 2;
    if (i % 3 == 0) {
      bytes += Masked(said.back().opcode, payload.substr(0, half), false) +
               Masked(Opcode::kContinuation, payload.substr(half));
    } else {
      bytes += Masked(said.back().opcode, payload);
    }
  }
  FrameReader reader;
  std::vector<Message> heard;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = 1 + random() % 50;
    reader.Add(std::string_view(bytes).substr(at, size));
    at += size;
    while (true) {
      const auto message = reader.Next();
      ASSERT_THAT(message, testing::IsOk());
      if (!message->has_value()) break;
      heard.push_back(**message);
    }
  }
  EXPECT_THAT(heard, ElementsAreArray(said));
}

TEST(Frames, WhatAClientMayNotDo) {
  EXPECT_FALSE(Read(FrameText(Opcode::kText, "no mask")).ok());
  EXPECT_FALSE(Read(Masked(Opcode::kContinuation, "of nothing")).ok());
  EXPECT_FALSE(Read(Masked(Opcode::kPing, "in parts", false)).ok());
  EXPECT_FALSE(Read(Masked(Opcode::kPing, std::string(126, 'x'))).ok());
  EXPECT_FALSE(Read(Masked(static_cast<Opcode>(3), "")).ok());
  std::string reserved = Masked(Opcode::kText, "");
  reserved[0] = static_cast<char>(reserved[0] | 0x40);
  EXPECT_FALSE(Read(reserved).ok());
  FrameReader reader;
  reader.Add(Masked(Opcode::kText, "one", false) + Masked(Opcode::kText, "within"));
  EXPECT_FALSE(reader.Next().ok());
}

TEST(Frames, WhatIsTooLongIsRefused) {
  // Before it is there: only its head is read.
  EXPECT_EQ(
      Read(Masked(Opcode::kBinary, std::string((1 << 20) + 1, 'x')).substr(0, 14)).status().code(),
      StatusCode::kOutOfRange);
  FrameReader reader;
  reader.Add(Masked(Opcode::kBinary, std::string(1 << 20, 'x'), false));
  EXPECT_FALSE(reader.Next()->has_value());
  reader.Add(Masked(Opcode::kContinuation, "y"));
  EXPECT_EQ(reader.Next().status().code(), StatusCode::kOutOfRange);
}

// Not the square of how many arrive at once.
TEST(Frames, ManySmallOnesCostWhatTheyAre) {
  const auto run = [](int frames) {
    std::string bytes;
    for (int i = 0; i < frames; ++i) bytes += Masked(Opcode::kBinary, "x");
    FrameReader reader;
    const double began = testing::ProcessorSeconds();
    reader.Add(bytes);
    int heard = 0;
    while (reader.Next()->has_value()) ++heard;
    EXPECT_EQ(heard, frames);
    return testing::ProcessorSeconds() - began;
  };
  EXPECT_LT(testing::CostOfFourTimes(20'000, run), testing::kMoreThanProportional);
}

// The key and the answer of RFC 6455, 1.3.
TEST(Handshake, IsAgreedToInTheClientsFavourite) {
  constexpr std::string_view kSpoken[] = {"a", "b"};
  const Asked asked{.upgrade = "WebSocket",
                    .version = "13",
                    .key = "dGhlIHNhbXBsZSBub25jZQ==",
                    .protocols = "x, b ,a"};
  const auto agreed = Agree(asked, kSpoken);
  ASSERT_THAT(agreed, testing::IsOk());
  EXPECT_EQ(agreed->accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(agreed->protocol, "b");
  Asked other = asked;
  other.upgrade = "SPDY/3.1";
  EXPECT_THAT(Agree(other, kSpoken).status().message(), HasSubstr("expected websocket"));
  other = asked;
  other.protocols = "x";
  EXPECT_THAT(Agree(other, kSpoken).status().message(), HasSubstr("expected one of a, b"));
  other = asked;
  other.key = "short";
  EXPECT_FALSE(Agree(other, kSpoken).ok());
  other = asked;
  other.version = "8";
  EXPECT_FALSE(Agree(other, kSpoken).ok());
}

}  // namespace
}  // namespace dray::websocket
