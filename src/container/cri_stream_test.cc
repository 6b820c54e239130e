// SPDX-License-Identifier: Apache-2.0
#include "container/internal/cri_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "container/streams_for_test.h"
#include "testing/status_matchers.h"

namespace dray::container::internal {
namespace {

using ::dray::testing::IsOkAndHolds;
using ::dray::testing::StatusIs;
using spdy::Frame;
using spdy::FrameWriter;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kSuccess = R"({"metadata":{},"status":"Success"})";

// What the client got of the server that does this.
struct Outcome {
  StatusOr<std::int32_t> code = base::Internal("no answer");
  std::string out;
  std::string err;
};
Outcome Against(const std::function<void(StreamPeer&)>& serve, CriStreamCall call = {},
                const std::function<void(StreamInput&)>& before = {}) {
  StreamServer server(serve);
  call.url = server.url();
  StreamInput input;
  if (before) before(input);
  Outcome outcome;
  outcome.code = RunCriStream(
      call, input, [&](std::string bytes) { outcome.out += bytes; },
      [&](std::string bytes) { outcome.err += bytes; });
  return outcome;
}

TEST(CriStream, OutputsAndTheExitCode) {
  std::string head;
  const Outcome outcome = Against([&](StreamPeer& peer) {
    head = peer.ReadHead();
    peer.Agree();
    auto streams = peer.TakeStreams(3);
    peer.Write(FrameWriter::Data(streams["stdout"], "out"));
    peer.Write(FrameWriter::Data(streams["stderr"], "err"));
    peer.Write(FrameWriter::Data(streams["stdout"], "put"));
    peer.Write(FrameWriter::Data(
        streams["error"],
        R"({"metadata":{},"status":"Failure","message":"command terminated with non-zero exit )"
        R"(code: 3","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode",)"
        R"("message":"3"}]}})"));
    for (const auto& [type, stream] : streams) {
      peer.Write(FrameWriter::Reset(stream, spdy::ResetCode::kCancel));
    }
    peer.Write(FrameWriter::GoAway(5));
  });
  EXPECT_THAT(outcome.code, IsOkAndHolds(3));
  EXPECT_EQ(outcome.out, "output");
  EXPECT_EQ(outcome.err, "err");
  EXPECT_THAT(head, AllOf(StartsWith("POST /exec/token HTTP/1.1\r\nHost: 127.0.0.1:"),
                          HasSubstr("\r\nUpgrade: SPDY/3.1"),
                          HasSubstr("\r\nX-Stream-Protocol-Version: v4.channel.k8s.io")));
}

TEST(CriStream, InputAndItsEnd) {
  std::string heard;
  const Outcome outcome = Against(
      [&](StreamPeer& peer) {
        (void)peer.ReadHead();
        peer.Agree();
        auto streams = peer.TakeStreams(4);
        while (const auto frame = peer.Next()) {
          if (frame->stream != streams["stdin"]) continue;
          heard += frame->data;
          if (frame->last) break;
        }
        peer.Write(FrameWriter::Data(streams["stdout"], heard));
        peer.Write(FrameWriter::Data(streams["error"], kSuccess, true));
      },
      {.stdin_open = true},
      [](StreamInput& input) {
        // Before the streams are there: it is kept until they are.
        input.Write(std::string(100'000, 'x'));
        input.Close();
      });
  EXPECT_THAT(outcome.code, IsOkAndHolds(0));
  EXPECT_EQ(heard, std::string(100'000, 'x'));
  EXPECT_EQ(outcome.out, heard);
}

TEST(CriStream, ATerminalHasOneOutputAndASize) {
  std::string size;
  const Outcome outcome = Against(
      [&](StreamPeer& peer) {
        (void)peer.ReadHead();
        peer.Agree();
        auto streams = peer.TakeStreams(4);
        EXPECT_FALSE(streams.contains("stderr"));
        while (const auto frame = peer.Next()) {
          if (frame->stream != streams["resize"]) continue;
          size = frame->data;
          break;
        }
        peer.Write(FrameWriter::Data(streams["error"], kSuccess, true));
      },
      {.tty = true, .stdin_open = true}, [](StreamInput& input) { input.Resize(80, 24); });
  EXPECT_THAT(outcome.code, IsOkAndHolds(0));
  EXPECT_EQ(size, R"({"Width":80,"Height":24})");
}

TEST(CriStream, PingsAreAnswered) {
  std::uint32_t answered = 0;
  const Outcome outcome = Against([&](StreamPeer& peer) {
    (void)peer.ReadHead();
    peer.Agree();
    auto streams = peer.TakeStreams(3);
    peer.Write(FrameWriter::Ping(2));
    while (const auto frame = peer.Next()) {
      if (frame->kind != Frame::Kind::kPing) continue;
      answered = frame->stream;
      break;
    }
    peer.Write(FrameWriter::Data(streams["error"], kSuccess, true));
  });
  EXPECT_THAT(outcome.code, IsOkAndHolds(0));
  EXPECT_EQ(answered, 2u);
}

TEST(CriStream, WhoeverLetsGoLeaves) {
  bool left = false;
  StreamInput* listener = nullptr;
  const Outcome outcome = Against(
      [&](StreamPeer& peer) {
        (void)peer.ReadHead();
        listener->Abandon();
        left = !peer.Next().has_value();
      },
      {}, [&](StreamInput& input) { listener = &input; });
  EXPECT_THAT(outcome.code,
              StatusIs(StatusCode::kCancelled, HasSubstr("the client of the command has gone")));
  EXPECT_TRUE(left);
}

TEST(CriStream, BadServers) {
  const auto begun = [](const std::function<void(StreamPeer&, std::uint32_t)>& then) {
    return [then](StreamPeer& peer) {
      (void)peer.ReadHead();
      peer.Agree();
      auto streams = peer.TakeStreams(3);
      then(peer, streams["error"]);
    };
  };
  const std::pair<const char*, std::function<void(StreamPeer&)>> cases[] = {
      {"ended the connection", [](StreamPeer&) {}},
      {"refuses: 404 page not found",
       [](StreamPeer& peer) {
         (void)peer.ReadHead();
         peer.Write("HTTP/1.1 404 Not Found\r\nContent-Length: 19\r\n\r\n404 page not");
         peer.Write(" found\n");
       }},
      {"refuses: HTTP/1.1 500 Bad",
       [](StreamPeer& peer) {
         (void)peer.ReadHead();
         peer.Write("HTTP/1.1 500 Bad\r\n\r\n");
       }},
      {"answers without an end",
       [](StreamPeer& peer) {
         (void)peer.ReadHead();
         peer.Write(std::string(100'000, 'x'));
       }},
      {"speaks nonsense", begun([](StreamPeer& peer, std::uint32_t) {
         peer.Write("\xff\xff\xff\xff\xff\xff\xff\xff");
       })},
      {"does not want a stream",
       [](StreamPeer& peer) {
         (void)peer.ReadHead();
         peer.Agree();
         peer.Write(FrameWriter::Reset(1, spdy::ResetCode::kRefusedStream));
       }},
      {"has not said how", begun([](StreamPeer&, std::uint32_t) {})},
      {"has not said how", begun([](StreamPeer& peer, std::uint32_t error) {
         peer.Write(FrameWriter::Data(error, "{\"status", true));
       })},
      {"talks without an end", begun([](StreamPeer& peer, std::uint32_t error) {
         for (int i = 0; i < 100; ++i) peer.Write(FrameWriter::Data(error, std::string(1000, ' ')));
       })},
  };
  for (const auto& [what, serve] : cases) {
    EXPECT_THAT(Against(serve).code, StatusIs(StatusCode::kUnavailable, HasSubstr(what)));
  }
  StreamInput input;
  EXPECT_THAT(RunCriStream({.url = "http://127.0.0.1:1/x"}, input, {}, {}),
              StatusIs(StatusCode::kUnavailable, HasSubstr("cannot be reached")));
}

TEST(CriStream, HowACommandEnded) {
  EXPECT_THAT(ReadExit(kSuccess), IsOkAndHolds(0));
  EXPECT_THAT(ReadExit(R"({"status":"Failure","message":"no such container"})"),
              StatusIs(StatusCode::kFailedPrecondition, "no such container"));
  EXPECT_THAT(ReadExit(R"({"status":"Failure","message":"m","details":{"causes":[)"
                       R"({"reason":"ExitCode","message":"x"}]}})"),
              StatusIs(StatusCode::kFailedPrecondition, "m"));
}

TEST(CriStream, Addresses) {
  EXPECT_THAT(ParseStreamUrl("http://127.0.0.1:41449/exec/abc"),
              IsOkAndHolds(StreamUrl{.host = "127.0.0.1", .port = "41449", .target = "/exec/abc"}));
  EXPECT_THAT(ParseStreamUrl("http://[::1]:8/exec/a?b=c"),
              IsOkAndHolds(StreamUrl{.host = "::1", .port = "8", .target = "/exec/a?b=c"}));
  EXPECT_THAT(ParseStreamUrl("http://localhost"),
              IsOkAndHolds(StreamUrl{.host = "localhost", .port = "80", .target = "/"}));
  EXPECT_THAT(ParseStreamUrl("https://127.0.0.1:1/x"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("enable_tls_streaming")));
  for (const char* bad : {"", "127.0.0.1:1/x", "http://", "http://:1/x", "http://a:b/x",
                          "http://a:/x", "http://a:1/x\r\nX: y", "ftp://a/b"}) {
    EXPECT_THAT(ParseStreamUrl(bad), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("none")))
        << bad;
  }
}

}  // namespace
}  // namespace dray::container::internal
