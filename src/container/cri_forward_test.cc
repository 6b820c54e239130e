// SPDX-License-Identifier: Apache-2.0
//
// Connections to ports of a CRI server's pods: one end of a pair of sockets is what whoever connects
// gets, and the other end of the talk is a server that the test plays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <future>
#include <thread>

#include "container/internal/cri_stream.h"
#include "container/streams_for_test.h"
#include "testing/status_matchers.h"

namespace dray::container::internal {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using spdy::FrameWriter;
using std::chrono::seconds;
using ::testing::HasSubstr;

// A connection to port 8080 of a pod of the server that does this.
class Forwarding {
 public:
  explicit Forwarding(const std::function<void(StreamPeer&)>& serve,
                      std::chrono::nanoseconds timeout = seconds(30))
      : server_(serve) {
    auto answered = std::make_shared<std::promise<StatusOr<PortConnection>>>();
    auto answer = answered->get_future();
    thread_ = std::thread([this, answered, timeout] {
      ForwardPort(
          {.url = server_.url(), .port = 8080, .timeout = timeout}, input_,
          [answered](StatusOr<PortConnection> got) { answered->set_value(std::move(got)); });
      ended_.set_value();
    });
    made = answer.get();
  }
  ~Forwarding() {
    input_.Abandon();
    thread_.join();
  }

  void Say(std::string_view bytes) {
    EXPECT_EQ(::send(made->socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void SayNoMore() { (void)::shutdown(made->socket.get(), SHUT_WR); }
  // All that comes until the end.
  std::string Hear() {
    std::string heard;
    char buffer[4096];
    for (;;) {
      pollfd polled{.fd = made->socket.get(), .events = POLLIN, .revents = 0};
      if (::poll(&polled, 1, 30'000) <= 0) return heard + " and no end";
      const ssize_t n = ::recv(made->socket.get(), buffer, sizeof(buffer), 0);
      if (n <= 0) return heard;
      heard.append(buffer, static_cast<std::size_t>(n));
    }
  }
  void Abandon() { input_.Abandon(); }
  bool Ends() { return ended_.get_future().wait_for(seconds(20)) == std::future_status::ready; }

  StatusOr<PortConnection> made = base::Internal("no answer");

 private:
  StreamServer server_;
  StreamInput input_;
  std::promise<void> ended_;
  std::thread thread_;
};

TEST(CriForward, BytesGoBothWaysUntilTheEnd) {
  spdy::Headers headers;
  Forwarding forwarding([&](StreamPeer& peer) {
    (void)peer.ReadHead();
    peer.Agree();
    auto streams = peer.TakeStreams(2);
    headers = peer.headers;
    std::string heard;
    while (const auto frame = peer.Next()) {
      if (frame->stream != streams["data"]) continue;
      heard += frame->data;
      if (frame->last) break;
    }
    peer.Write(FrameWriter::Data(streams["data"], "heard " + heard, true));
    peer.Write(FrameWriter::Data(streams["error"], "", true));
    (void)peer.Next();
  });
  ASSERT_THAT(forwarding.made, IsOk());
  forwarding.Say("hel");
  forwarding.Say("lo");
  forwarding.SayNoMore();
  EXPECT_EQ(forwarding.Hear(), "heard hello");
  EXPECT_EQ(forwarding.made->fault(), "");
  EXPECT_EQ(spdy::Find(headers, "port"), "8080");
  EXPECT_EQ(spdy::Find(headers, "requestid"), "0");
}

void TellAndListen(const std::string& first) {
  std::string heard;
  Forwarding forwarding([&](StreamPeer& peer) {
    (void)peer.ReadHead();
    peer.Agree();
    auto streams = peer.TakeStreams(2);
    peer.Write(FrameWriter::Data(streams["data"], first, true));
    while (const auto frame = peer.Next()) {
      if (frame->stream != streams["data"]) continue;
      heard += frame->data;
      if (frame->last) break;
    }
    peer.Write(FrameWriter::Data(streams["error"], "", true));
    (void)peer.Next();
  });
  ASSERT_THAT(forwarding.made, IsOk());
  EXPECT_EQ(forwarding.Hear(), first);
  forwarding.Say("second");
  forwarding.SayNoMore();
  EXPECT_TRUE(forwarding.Ends());
  EXPECT_EQ(heard, "second");
}

TEST(CriForward, APodThatSaysNoMoreStillListens) { TellAndListen("first"); }

TEST(CriForward, APodThatNeverSaysAnythingStillListens) { TellAndListen(""); }

TEST(CriForward, WhoeverIsToldThatNobodyListensIsToldWhenItEnds) {
  Forwarding forwarding([&](StreamPeer& peer) {
    (void)peer.ReadHead();
    peer.Agree();
    auto streams = peer.TakeStreams(2);
    peer.Write(FrameWriter::Data(streams["error"], "connection refused", true));
    peer.Write(FrameWriter::Data(streams["data"], "", true));
    (void)peer.Next();
  });
  ASSERT_THAT(forwarding.made, IsOk());
  EXPECT_EQ(forwarding.Hear(), "");
  EXPECT_EQ(forwarding.made->fault(), "connection refused");
}

// As containerd does.
TEST(CriForward, TheFaultMayComeAfterTheEndOfTheBytes) {
  Forwarding forwarding([&](StreamPeer& peer) {
    (void)peer.ReadHead();
    peer.Agree();
    auto streams = peer.TakeStreams(2);
    peer.Write(FrameWriter::Data(streams["data"], "", true));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    peer.Write(FrameWriter::Data(streams["error"], "connection refused", true));
    (void)peer.Next();
  });
  ASSERT_THAT(forwarding.made, IsOk());
  EXPECT_EQ(forwarding.Hear(), "");
  EXPECT_EQ(forwarding.made->fault(), "connection refused");
}

TEST(CriForward, MoreThanFitsAnywhereComesThrough) {
  constexpr std::size_t kMuch = 3u << 20;
  std::size_t heard = 0;
  Forwarding forwarding([&](StreamPeer& peer) {
    (void)peer.ReadHead();
    peer.Agree();
    auto streams = peer.TakeStreams(2);
    // Everything is said before anything is read.
    for (std::size_t sent = 0; sent < kMuch; sent += 4096) {
      peer.Write(FrameWriter::Data(streams["data"], std::string(4096, 'x')));
    }
    while (heard < kMuch) {
      const auto frame = peer.Next();
      if (!frame) break;
      if (frame->stream == streams["data"]) heard += frame->data.size();
    }
    peer.Write(FrameWriter::Data(streams["error"], "", true));
    peer.Write(FrameWriter::Data(streams["data"], "", true));
    (void)peer.Next();
  });
  ASSERT_THAT(forwarding.made, IsOk());
  auto all = std::async(std::launch::async, [&] { return forwarding.Hear().size(); });
  forwarding.Say(std::string(kMuch, 'y'));
  EXPECT_EQ(all.get(), kMuch);
  EXPECT_TRUE(forwarding.Ends());
  EXPECT_EQ(heard, kMuch);
}

TEST(CriForward, WhoeverLetsGoEndsIt) {
  for (const bool abandoned : {false, true}) {
    Forwarding forwarding([&](StreamPeer& peer) {
      (void)peer.ReadHead();
      peer.Agree();
      (void)peer.TakeStreams(2);
      while (peer.Next()) {
      }
    });
    ASSERT_THAT(forwarding.made, IsOk());
    if (abandoned) {
      forwarding.Abandon();
    } else {
      forwarding.made->socket.Reset();
    }
    EXPECT_TRUE(forwarding.Ends());
  }
}

TEST(CriForward, AServerThatDoesNotTakeItIsNamed) {
  Forwarding silent(
      [](StreamPeer& peer) {
        while (peer.Next()) {
        }
      },
      std::chrono::milliseconds(50));
  EXPECT_THAT(silent.made, StatusIs(StatusCode::kUnavailable, HasSubstr("ports does not answer")));
  Forwarding unwilling([](StreamPeer& peer) {
    (void)peer.ReadHead();
    peer.Agree();
    peer.Write(FrameWriter::Reset(1, spdy::ResetCode::kRefusedStream));
    (void)peer.Next();
  });
  EXPECT_THAT(unwilling.made, StatusIs(StatusCode::kUnavailable, HasSubstr("does not want")));
  Forwarding gone([](StreamPeer& peer) {
    (void)peer.ReadHead();
    peer.Agree();
  });
  EXPECT_THAT(gone.made, StatusIs(StatusCode::kUnavailable, HasSubstr("ended the connection")));
}

}  // namespace
}  // namespace dray::container::internal
