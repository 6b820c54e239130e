// SPDX-License-Identifier: Apache-2.0
#include "websocket/channels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace dray::websocket {
namespace {

using Kind = ChannelEvent::Kind;
using namespace std::string_literals;

Message Of(std::string payload) { return {Opcode::kBinary, std::move(payload)}; }

TEST(Channels, WhatAClientSays) {
  const auto input = ReadChannel(Of("\0ls\n"s));
  ASSERT_THAT(input, testing::IsOk());
  EXPECT_EQ(input->kind, Kind::kInput);
  EXPECT_EQ(input->bytes, "ls\n");
  EXPECT_EQ(ReadChannel(Of("\xff\0"s))->kind, Kind::kEndOfInput);
  EXPECT_EQ(ReadChannel(Of("\xff\x01"s))->kind, Kind::kNothing);
  EXPECT_EQ(ReadChannel(Of(""))->kind, Kind::kNothing);
  const auto size = ReadChannel(Of("\x04{\"Width\":120,\"Height\": 40}"s));
  ASSERT_THAT(size, testing::IsOk());
  EXPECT_EQ(size->kind, Kind::kResize);
  EXPECT_EQ(size->columns, 120);
  EXPECT_EQ(size->rows, 40);
  EXPECT_FALSE(ReadChannel(Of("\x04{\"Width\":1}"s)).ok());
  // A name that stands in a text is no field.
  EXPECT_FALSE(ReadChannel(Of("\x04{\"a\":\"\\\"Width\\\":1\",\"Height\":1}"s)).ok());
  EXPECT_FALSE(ReadChannel(Of("\x04{\"Width\":999999,\"Height\":1}"s)).ok());
  EXPECT_FALSE(ReadChannel(Of("\x01out"s)).ok());
}

TEST(Channels, WhatIsSaidToIt) {
  EXPECT_EQ(ChannelFrame(Channel::kOut, "hi"), "\x82\x03\x01hi"s);
  EXPECT_EQ(ExitStatus(0), R"({"metadata":{},"status":"Success"})");
  EXPECT_EQ(
      ExitStatus(3),
      R"({"metadata":{},"status":"Failure","message":"command terminated with exit code 3",)"
      R"("reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}})");
  EXPECT_EQ(
      FailureStatus("a \"b\"\n"),
      R"({"metadata":{},"status":"Failure","message":"a \"b\"\n","reason":"InternalError","code":500})");
}

}  // namespace
}  // namespace dray::websocket
