// SPDX-License-Identifier: Apache-2.0
//
// Ports of pods through SPDY: what kubectl does, and what it never would.
#include "streaming/internal/port_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "container/none_runtime.h"
#include "fmt/format.h"
#include "spdy/frames.h"
#include "websocket/frames.h"

namespace dray::streaming {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using State = apiserver::StreamSource::State;
using Kind = spdy::Frame::Kind;

// Its pods are pairs of sockets: the test has the other ends.
class PairRuntime final : public container::Runtime {
 public:
  void Connect(const std::string& sandbox_id, std::uint16_t port, std::chrono::nanoseconds,
               container::Done<container::PortConnection> done) override {
    EXPECT_EQ(sandbox_id, "sandbox1");
    if (port == 81) return done(base::Unavailable("dial tcp 127.0.0.1:81: connection refused"));
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    {
      const base::MutexLock lock(mutex_);
      ends_.emplace_back(pair[1]);
    }
    container::PortConnection made{.socket = files::Fd(pair[0])};
    if (port == 82) made.fault = [] { return std::string("connection refused"); };
    done(std::move(made));
  }
  int End(std::size_t which) {
    const base::MutexLock lock(mutex_);
    return which < ends_.size() ? ends_[which].get() : -1;
  }
  void Close(std::size_t which) {
    const base::MutexLock lock(mutex_);
    ends_[which].Reset();
  }

  void Probe(container::Done<container::RuntimeInfo>) override {}
  void List(container::Done<container::Inventory>) override {}
  void OnChange(std::function<void()>) override {}
  void RunSandbox(const container::SandboxConfig&,
                  container::Done<container::SandboxInfo>) override {}
  void StopSandbox(const std::string&, container::DoneStatus) override {}
  void RemoveSandbox(const std::string&, container::DoneStatus) override {}
  void FindImage(const std::string&, container::Done<container::ImageInfo>) override {}
  void Create(const std::string&, const container::SandboxConfig&,
              const container::ContainerConfig&, container::Done<std::string>) override {}
  void Start(const std::string&, container::DoneStatus) override {}
  void Stop(const std::string&, std::chrono::seconds, container::DoneStatus) override {}
  void Remove(const std::string&, container::DoneStatus) override {}
  void ExecSync(const std::string&, std::vector<std::string>, std::chrono::seconds,
                container::Done<container::ExecResult>) override {}
  std::shared_ptr<container::ExecSession> Exec(const container::ExecConfig&,
                                               container::ExecEvents) override {
    return nullptr;
  }

 private:
  base::Mutex mutex_;
  std::vector<files::Fd> ends_;
};

// A client, as kubectl is one.
class PortStreamTest : public ::testing::TestWithParam<bool> {
 protected:
  PortStreamTest() { Open(GetParam()); }

  void Open(bool websocket) {
    websocket_ = websocket;
    stream_ = internal::MakePortStream(
        runtime_, {.sandbox_id = "sandbox1", .pod = "ns/p", .websocket = websocket});
    stream_->Start([this] { ++woken_; });
  }
  void Send(std::string_view frames) {
    const std::string bytes = websocket_ ? Masked(frames) : std::string(frames);
    std::string_view rest = bytes;
    for (int i = 0; i < 500 && !rest.empty(); ++i) {
      rest.remove_prefix(stream_->Receive(rest));
      if (!rest.empty()) std::this_thread::sleep_for(milliseconds(5));
    }
    EXPECT_TRUE(rest.empty()) << "nobody took it";
  }
  // A binary message, as a client sends it.
  static std::string Masked(std::string_view payload) {
    std::string text = "\x82";
    if (payload.size() < 126) {
      text += static_cast<char>(0x80 | payload.size());
    } else {
      text += '\xff';
      for (int shift = 56; shift >= 0; shift -= 8) {
        text += static_cast<char>(payload.size() >> shift & 0xff);
      }
    }
    return text + std::string(4, '\0') + std::string(payload);
  }
  // Takes what there is.
  void Pull() {
    std::vector<apiserver::Bytes> out;
    ended_ = stream_->Pull(out) == State::kEnd;
    for (const apiserver::Bytes& bytes : out) {
      raw_ += *bytes;
      heard_ += bytes->size();
    }
    if (websocket_) {
      Unwrap();
    } else {
      frames_.Add(raw_);
      raw_.clear();
    }
    for (;;) {
      auto frame = frames_.Next();
      ASSERT_TRUE(frame.ok()) << frame.status();
      if (!frame->has_value()) return;
      Hear(**frame);
    }
  }
  // A server's messages are not masked.
  void Unwrap() {
    while (raw_.size() >= 2) {
      std::size_t size = static_cast<unsigned char>(raw_[1]);
      std::size_t head = 2;
      if (size == 126 || size == 127) {
        const std::size_t more = size == 126 ? 2 : 8;
        if (raw_.size() < 2 + more) return;
        size = 0;
        for (std::size_t i = 0; i < more; ++i) {
          size = size << 8 | static_cast<unsigned char>(raw_[2 + i]);
        }
        head += more;
      }
      if (raw_.size() < head + size) return;
      const int opcode = raw_[0] & 0x0f;
      if (opcode == 2) frames_.Add(std::string_view(raw_).substr(head, size));
      if (opcode == 8) closed_ = true;
      raw_.erase(0, head + size);
    }
  }
  void Hear(const spdy::Frame& frame) {
    if (frame.kind == Kind::kData) {
      said_[frame.stream] += frame.data;
      if (frame.last) over_.insert(frame.stream);
    }
    if (frame.kind == Kind::kSynReply) agreed_.insert(frame.stream);
    if (frame.kind == Kind::kReset) reset_.insert(frame.stream);
    if (frame.kind == Kind::kPing) pings_.push_back(frame.stream);
  }
  template <typename Condition>
  bool Until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + seconds(10);
    while (std::chrono::steady_clock::now() < end) {
      Pull();
      if (condition()) return true;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return false;
  }
  // As kubectl: the stream for errors, whose own half it ends at once, then the one for bytes.
  std::pair<std::uint32_t, std::uint32_t> Forward(int port, const std::string& request) {
    const std::uint32_t error = next_;
    const std::uint32_t data = next_ + 2;
    next_ += 4;
    Send(writer_.SynStream(
        error, {{"streamtype", "error"}, {"port", std::to_string(port)}, {"requestid", request}}));
    Send(spdy::FrameWriter::Data(error, "", true));
    Send(writer_.SynStream(
        data, {{"streamtype", "data"}, {"port", std::to_string(port)}, {"requestid", request}}));
    return {error, data};
  }
  std::string ReadEnd(std::size_t which, std::size_t size) {
    std::string text;
    while (text.size() < size) {
      pollfd polled{.fd = runtime_.End(which), .events = POLLIN, .revents = 0};
      if (::poll(&polled, 1, 5000) <= 0) break;
      char buffer[4096];
      const ssize_t got = ::read(polled.fd, buffer, sizeof(buffer));
      if (got <= 0) break;
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
  }

  PairRuntime runtime_;
  std::unique_ptr<apiserver::StreamSource> stream_;
  bool websocket_ = false;
  spdy::FrameWriter writer_;
  spdy::FrameReader frames_;
  std::uint32_t next_ = 1;
  std::string raw_;
  std::size_t heard_ = 0;
  std::map<std::uint32_t, std::string> said_;
  std::set<std::uint32_t> over_;
  std::set<std::uint32_t> agreed_;
  std::set<std::uint32_t> reset_;
  std::vector<std::uint32_t> pings_;
  bool ended_ = false;
  bool closed_ = false;
  std::atomic<int> woken_ = 0;
};

TEST_P(PortStreamTest, BytesGoBothWays) {
  const auto [error, data] = Forward(80, "0");
  ASSERT_TRUE(Until([&, d = data] { return agreed_.contains(d) && runtime_.End(0) >= 0; }));
  Send(spdy::FrameWriter::Data(data, "hello"));
  EXPECT_EQ(ReadEnd(0, 5), "hello");
  ASSERT_EQ(::write(runtime_.End(0), "world", 5), 5);
  ASSERT_TRUE(Until([&, d = data] { return said_[d] == "world"; }));
  EXPECT_GT(woken_, 0);
  // The client is done: the pod hears of the end, and may still answer.
  Send(spdy::FrameWriter::Data(data, "", true));
  char byte = 0;
  pollfd polled{.fd = runtime_.End(0), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&polled, 1, 5000), 1);
  EXPECT_EQ(::read(runtime_.End(0), &byte, 1), 0);
  ASSERT_EQ(::write(runtime_.End(0), "!", 1), 1);
  runtime_.Close(0);
  ASSERT_TRUE(Until([&, d = data, e = error] { return over_.contains(d) && over_.contains(e); }));
  EXPECT_EQ(said_[data], "world!");
  EXPECT_EQ(said_[error], "");
}

// As kubectl ends a connection that the pod has ended: it waits for the end of the errors.
TEST_P(PortStreamTest, WhoResetsTheBytesHearsTheEndOfTheErrors) {
  const auto [error, data] = Forward(80, "0");
  ASSERT_TRUE(Until([&] { return runtime_.End(0) >= 0; }));
  runtime_.Close(0);
  ASSERT_TRUE(Until([&, d = data] { return over_.contains(d); }));
  Send(spdy::FrameWriter::Reset(data, spdy::ResetCode::kCancel));
  EXPECT_TRUE(Until([&, e = error] { return over_.contains(e); }));
}

TEST_P(PortStreamTest, APortOnWhichNobodyListensIsToldSo) {
  const auto [error, data] = Forward(81, "0");
  ASSERT_TRUE(Until([&, d = data, e = error] { return over_.contains(e) && over_.contains(d); }));
  EXPECT_EQ(said_[error],
            "error forwarding port 81 to pod ns/p: dial tcp 127.0.0.1:81: connection refused");
  // Others are not disturbed.
  const auto second = Forward(80, "1");
  EXPECT_TRUE(Until([&] { return agreed_.contains(second.second) && runtime_.End(0) >= 0; }));
}

// A runtime may know only afterwards; who says nothing himself hears of it all the same.
TEST_P(PortStreamTest, WhatWasWrongIsToldWhenItIsKnown) {
  const auto [error, data] = Forward(82, "0");
  ASSERT_TRUE(Until([&] { return runtime_.End(0) >= 0; }));
  runtime_.Close(0);
  ASSERT_TRUE(Until([&, d = data, e = error] { return over_.contains(e) && over_.contains(d); }));
  EXPECT_EQ(said_[error], "error forwarding port 82 to pod ns/p: connection refused");
}

TEST_P(PortStreamTest, ManyConnectionsAtOnce) {
  std::vector<std::uint32_t> streams;
  for (int i = 0; i < 20; ++i) streams.push_back(Forward(80, std::to_string(i)).second);
  ASSERT_TRUE(Until([&] { return runtime_.End(19) >= 0; }));
  for (int i = 0; i < 20; ++i) {
    Send(spdy::FrameWriter::Data(streams[static_cast<std::size_t>(i)], fmt::format("{:02}", i)));
  }
  for (std::size_t i = 0; i < 20; ++i) {
    const std::string got = ReadEnd(i, 2);
    ASSERT_EQ(::write(runtime_.End(i), got.data(), got.size()), 2);
  }
  EXPECT_TRUE(Until([&] {
    return std::ranges::all_of(streams, [&](std::uint32_t s) { return said_[s].size() == 2; });
  }));
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(said_[streams[i]], fmt::format("{:02}", i));
}

// A client that does not read makes the pod wait, and a pod that does not read the client.
TEST_P(PortStreamTest, WhoIsSlowMakesTheOtherWait) {
  const std::uint32_t data = Forward(80, "0").second;
  ASSERT_TRUE(Until([&] { return runtime_.End(0) >= 0; }));
  std::thread pod([&] {
    const std::string much(8u << 20, 'x');
    std::string_view rest = much;
    while (!rest.empty()) {
      const ssize_t sent = ::send(runtime_.End(0), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
  });
  std::this_thread::sleep_for(milliseconds(100));
  Pull();
  EXPECT_LE(heard_, internal::kMostForwardedBytes + (256u << 10));
  ASSERT_TRUE(Until([&] { return said_[data].size() == 8u << 20; }));
  pod.join();
  // The other way.
  const std::string piece = websocket_
                                ? Masked(spdy::FrameWriter::Data(data, std::string(32'000, 'y')))
                                : spdy::FrameWriter::Data(data, std::string(32'000, 'y'));
  int pieces = 0;
  for (; pieces < 1000; ++pieces) {
    const std::size_t took = stream_->Receive(piece);
    if (took == 0) break;
    ASSERT_EQ(took, piece.size());
  }
  EXPECT_LT(pieces, 1000);
  const int before = woken_;
  EXPECT_EQ(ReadEnd(0, static_cast<std::size_t>(pieces) * 32'000).size(),
            static_cast<std::size_t>(pieces) * 32'000);
  EXPECT_TRUE(Until([&] { return woken_ > before; }));
}

TEST_P(PortStreamTest, PingsAreAnswered) {
  Send(spdy::FrameWriter::Ping(7));
  Send(spdy::FrameWriter::Ping(8));  // a server's own: nobody here has asked
  EXPECT_TRUE(Until([&] { return !pings_.empty(); }));
  EXPECT_THAT(pings_, ::testing::ElementsAre(7));
}

TEST_P(PortStreamTest, StreamsThatMeanNothingAreRefused) {
  const auto open = [&](spdy::Headers headers) {
    const std::uint32_t stream = std::exchange(next_, next_ + 2);
    Send(writer_.SynStream(stream, headers));
    return stream;
  };
  for (const spdy::Headers& headers :
       std::vector<spdy::Headers>{{},
                                  {{"streamtype", "data"}},
                                  {{"streamtype", "data"}, {"port", "0"}, {"requestid", "1"}},
                                  {{"streamtype", "data"}, {"port", "70000"}, {"requestid", "1"}},
                                  {{"streamtype", "data"}, {"port", "8o"}, {"requestid", "1"}},
                                  {{"streamtype", "video"}, {"port", "80"}, {"requestid", "1"}}}) {
    const std::uint32_t stream = open(headers);
    EXPECT_TRUE(Until([&] { return reset_.contains(stream); }));
  }
  // A second one of the same kind, or of another port.
  open({{"streamtype", "error"}, {"port", "80"}, {"requestid", "9"}});
  const std::uint32_t again = open({{"streamtype", "error"}, {"port", "80"}, {"requestid", "9"}});
  const std::uint32_t other = open({{"streamtype", "data"}, {"port", "82"}, {"requestid", "9"}});
  EXPECT_TRUE(Until([&] { return reset_.contains(again) && reset_.contains(other); }));
  EXPECT_FALSE(ended_);
}

TEST_P(PortStreamTest, NoMoreThanSoManyAtATime) {
  for (std::size_t i = 0; i < internal::kMostForwarded; ++i) {
    Send(writer_.SynStream(
        std::exchange(next_, next_ + 2),
        {{"streamtype", "error"}, {"port", "80"}, {"requestid", std::to_string(i)}}));
    Pull();
  }
  const std::uint32_t one_more = Forward(80, "more").first;
  EXPECT_TRUE(Until([&] { return reset_.contains(one_more); }));
}

TEST_P(PortStreamTest, NumbersThatCannotBeEndTheConnection) {
  Send(writer_.SynStream(2, {{"streamtype", "error"}, {"port", "80"}, {"requestid", "0"}}));
  EXPECT_TRUE(Until([&] { return ended_; }));
}

// Whatever comes, it ends well: cut off, turned around, made up.
TEST_P(PortStreamTest, NoiseIsSurvived) {
  std::mt19937 random(7);
  spdy::FrameWriter writer;
  std::string good =
      writer.SynStream(1, {{"streamtype", "error"}, {"port", "80"}, {"requestid", "0"}});
  good += writer.SynStream(3, {{"streamtype", "data"}, {"port", "80"}, {"requestid", "0"}});
  good += spdy::FrameWriter::Data(3, "hello") + spdy::FrameWriter::Ping(1);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = good;
    for (int i = static_cast<int>(random() % 6); i >= 0; --i) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    Open(websocket_);
    const std::string sent = websocket_ && random() % 2 == 0 ? Masked(bytes) : bytes;
    std::string_view rest = sent;
    while (!rest.empty()) {
      const std::size_t size = std::min<std::size_t>(rest.size(), 1 + random() % 40);
      (void)stream_->Receive(rest.substr(0, size));
      rest.remove_prefix(size);
    }
    std::vector<apiserver::Bytes> out;
    (void)stream_->Pull(out);
  }
}

TEST_P(PortStreamTest, AClientThatGoesEndsWhatItForwarded) {
  (void)Forward(80, "0");
  ASSERT_TRUE(Until([&] { return runtime_.End(0) >= 0; }));
  stream_.reset();
  EXPECT_EQ(ReadEnd(0, 1), "");
}

INSTANTIATE_TEST_SUITE_P(Ways, PortStreamTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "websocket" : "spdy"; });

}  // namespace
}  // namespace dray::streaming
