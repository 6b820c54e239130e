// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <string>
#include <thread>

#include "apiserver/handler_for_test.h"
#include "base/mutex.h"

namespace dray::apiserver {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using State = StreamSource::State;

// What the test and the sources share.
struct Tap {
  base::Mutex mutex;
  std::string text ABSL_GUARDED_BY(mutex);  // to be sent
  bool end ABSL_GUARDED_BY(mutex) = false;
  std::function<void()> wake ABSL_GUARDED_BY(mutex);
  std::atomic<int> alive = 0;
  std::atomic<int> pulls = 0;

  void Say(std::string_view more, bool last = false) {
    const base::MutexLock lock(mutex);
    text += more;
    end = end || last;
    if (wake) wake();
  }
};

class TapSource final : public StreamSource {
 public:
  explicit TapSource(std::shared_ptr<Tap> tap) : tap_(std::move(tap)) { ++tap_->alive; }
  ~TapSource() override { --tap_->alive; }
  void Start(std::function<void()> wake) override {
    const base::MutexLock lock(tap_->mutex);
    tap_->wake = std::move(wake);
  }
  State Pull(std::vector<Bytes>& out) override {
    const base::MutexLock lock(tap_->mutex);
    ++tap_->pulls;
    if (!tap_->text.empty()) out.push_back(ToBytes(std::exchange(tap_->text, "")));
    return tap_->end ? State::kEnd : State::kWait;
  }

 private:
  const std::shared_ptr<Tap> tap_;
};

// Always has more: counts what was taken.
class EndlessSource final : public StreamSource {
 public:
  EndlessSource(std::shared_ptr<std::atomic<std::size_t>> taken, std::shared_ptr<Tap> tap)
      : taken_(std::move(taken)), tap_(std::move(tap)) {
    ++tap_->alive;
  }
  ~EndlessSource() override { --tap_->alive; }
  void Start(std::function<void()>) override {}
  State Pull(std::vector<Bytes>& out) override {
    static const Bytes piece = ToBytes(std::string(32u << 10, 'x'));
    out.push_back(piece);
    *taken_ += piece->size();
    return State::kMore;
  }

 private:
  const std::shared_ptr<std::atomic<std::size_t>> taken_;
  const std::shared_ptr<Tap> tap_;
};

constexpr int kPieces = 200;

// An answer that is only long.
class LongSource final : public StreamSource {
 public:
  void Start(std::function<void()>) override {}
  State Pull(std::vector<Bytes>& out) override {
    out.push_back(ToBytes(std::string(32u << 10, 'x')));
    return --left_ > 0 ? State::kMore : State::kEnd;
  }
  bool Finite() const override { return true; }

 private:
  int left_ = kPieces;
};

class StreamTest : public ServerTest {
 protected:
  void StartStreams(ServerOptions options = {}) {
    Start(
        [this](Request request, const std::shared_ptr<Responder>& responder) {
          if (request.path == "/echo") return Echo(std::move(request), responder);
          Response response;
          if (request.path == "/endless") {
            response.stream = std::make_unique<EndlessSource>(taken_, tap_);
          } else if (request.path == "/long") {
            response.stream = std::make_unique<LongSource>();
          } else {
            response.stream = std::make_unique<TapSource>(tap_);
          }
          if (request.path == "/tick") response.tick = std::chrono::milliseconds(20);
          responder->Send(std::move(response));
        },
        options);
  }
  void WaitFor(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!done() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(done());
  }
  static std::string Ask(std::string_view path, std::string_view version = "1.1") {
    return "GET " + std::string(path) + " HTTP/" + std::string(version) + "\r\nHost: x\r\n\r\n";
  }

  std::shared_ptr<Tap> tap_ = std::make_shared<Tap>();
  std::shared_ptr<std::atomic<std::size_t>> taken_ = std::make_shared<std::atomic<std::size_t>>(0);
};

TEST_F(StreamTest, SendsWhatThereIsWhenThereIsSome) {
  StartStreams();
  TestClient client(port());
  client.Send(Ask("/tap"));
  EXPECT_THAT(client.ReadUntil("\r\n\r\n"), HasSubstr("Transfer-Encoding: chunked\r\n"));
  tap_->Say("one");
  EXPECT_EQ(client.ReadChunk(), "one");
  tap_->Say("two");
  EXPECT_EQ(client.ReadChunk(), "two");
  tap_->Say("last", true);
  EXPECT_EQ(client.ReadChunk(), "last");
  EXPECT_EQ(client.ReadChunk(), "");
  WaitFor([&] { return tap_->alive == 0; });
  EXPECT_EQ(client.Get("/echo").status, 200);  // the connection goes on
}

TEST_F(StreamTest, ARequestSentAheadWaitsForTheEndOfTheStream) {
  StartStreams();
  TestClient client(port());
  client.Send(Ask("/tap") + Ask("/echo"));
  client.ReadUntil("\r\n\r\n");
  tap_->Say("x");
  EXPECT_EQ(client.ReadChunk(), "x");
  tap_->Say("", true);
  EXPECT_EQ(client.ReadChunk(), "");
  EXPECT_THAT(client.ReadResponse().body, HasSubstr("GET /echo"));
}

TEST_F(StreamTest, AnOldClientGetsAStreamThatEndsWithTheConnection) {
  StartStreams();
  TestClient client(port());
  tap_->Say("all", true);
  client.Send(Ask("/tap", "1.0"));
  EXPECT_THAT(client.ReadUntil("\r\n\r\n"), Not(HasSubstr("chunked")));
  EXPECT_EQ(client.ReadToEnd(), "all");
}

TEST_F(StreamTest, TicksPullWithoutAWakeUp) {
  StartStreams({.resolution = std::chrono::milliseconds(10)});
  TestClient client(port());
  client.Send(Ask("/tick"));
  WaitFor([&] { return tap_->pulls > 5; });
}

TEST_F(StreamTest, NoTickNoPull) {
  StartStreams({.resolution = std::chrono::milliseconds(5)});
  TestClient client(port());
  client.Send(Ask("/tap"));
  client.ReadUntil("\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LE(tap_->pulls, 2);
}

TEST_F(StreamTest, TheSourceGoesWhenTheClientDoes) {
  StartStreams();
  {
    TestClient client(port());
    client.Send(Ask("/tap"));
    client.ReadUntil("\r\n\r\n");
    EXPECT_EQ(tap_->alive, 1);
  }
  WaitFor([&] { return tap_->alive == 0; });
  tap_->Say("nobody listens");  // waking after the end is harmless
  EXPECT_EQ(server_->stats().timed_out, 0u);
}

// The kernel buffers a few megabytes for a client that does not read; the server itself must stop
// pulling.
TEST_F(StreamTest, ASlowClientMakesItsSourceWaitAndIsCutOff) {
  StartStreams({.write_timeout = std::chrono::milliseconds(300),
                .resolution = std::chrono::milliseconds(20)});
  TestClient slow(port(), std::nullopt, 4096);
  slow.Send(Ask("/endless"));
  TestClient other(port());
  EXPECT_EQ(other.Get("/echo").status, 200);
  WaitFor([&] { return server_->stats().timed_out == 1; });
  EXPECT_EQ(tap_->alive, 0);
  EXPECT_LT(*taken_, 16u << 20);
  EXPECT_EQ(other.Get("/echo").status, 200);
}

TEST_F(StreamTest, AStreamWithMuchToSayLeavesRoomForOthers) {
  StartStreams({.threads = 1});
  TestClient greedy(port());
  greedy.Send(Ask("/endless"));
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    while (!stop) greedy.ReadChunk();
  });
  TestClient other(port());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(other.Get("/echo").status, 200);
  stop = true;
  reader.join();
}

TEST_F(StreamTest, ManyStreamsHearTheSameAndNeedNoThreads) {
  base::Mutex mutex;
  std::vector<std::shared_ptr<Tap>> taps;
  Start([&](const Request&, const std::shared_ptr<Responder>& responder) {
    auto tap = std::make_shared<Tap>();
    Response response;
    response.stream = std::make_unique<TapSource>(tap);
    {
      const base::MutexLock lock(mutex);
      taps.push_back(std::move(tap));
    }
    responder->Send(std::move(response));
  });
  constexpr std::size_t kStreams = 300;
  std::vector<std::unique_ptr<TestClient>> clients;
  for (std::size_t i = 0; i < kStreams; ++i) {
    clients.push_back(std::make_unique<TestClient>(port()));
    clients.back()->Send(Ask("/"));
    clients.back()->ReadUntil("\r\n\r\n");
  }
  EXPECT_EQ(server_->stats().connections, kStreams);
  for (const auto& tap : taps) tap->Say("news");
  for (const auto& client : clients) EXPECT_EQ(client->ReadChunk(), "news");
}

TEST_F(StreamTest, DrainingEndsStreams) {
  StartStreams();
  TestClient client(port());
  client.Send(Ask("/tap"));
  client.ReadUntil("\r\n\r\n");
  std::thread reader([&] {
    EXPECT_EQ(client.ReadChunk(), "");
    EXPECT_TRUE(client.Ended());
  });
  server_->Drain(std::chrono::seconds(10));
  reader.join();
  EXPECT_EQ(tap_->alive, 0);
}

TEST_F(StreamTest, DrainingLetsALongAnswerComeToItsEnd) {
  StartStreams();
  TestClient client(port(), std::nullopt, 4096);
  client.Send(Ask("/long"));
  EXPECT_EQ(client.ReadUntil("\r\n").substr(9, 3), "200");
  std::thread draining([&] { server_->Drain(std::chrono::seconds(10)); });
  while (TestClient(port()).connected()) std::this_thread::yield();
  client.ReadUntil("\r\n\r\n");
  std::size_t size = 0;
  for (std::string chunk = client.ReadChunk(); !chunk.empty(); chunk = client.ReadChunk()) {
    size += chunk.size();
  }
  EXPECT_EQ(size, std::size_t{kPieces} * (32u << 10));
  EXPECT_TRUE(client.Ended());
  draining.join();
}

TEST_F(StreamTest, TheEndOfTheServerEndsStreams) {
  StartStreams();
  TestClient client(port());
  client.Send(Ask("/tap"));
  client.ReadUntil("\r\n\r\n");
  server_ = nullptr;
  EXPECT_EQ(tap_->alive, 0);
  tap_->Say("too late");
}

// Says back what it is told, at most eight bytes at a time.
class EchoSource final : public StreamSource {
 public:
  explicit EchoSource(std::shared_ptr<Tap> tap) : tap_(std::move(tap)) { ++tap_->alive; }
  ~EchoSource() override { --tap_->alive; }
  void Start(std::function<void()> wake) override { wake_ = std::move(wake); }
  State Pull(std::vector<Bytes>& out) override {
    if (!held_.empty()) out.push_back(ToBytes(std::exchange(held_, "")));
    return out.empty() || out[0]->find("bye") == std::string::npos ? State::kWait : State::kEnd;
  }
  std::size_t Receive(std::string_view bytes) override {
    const std::size_t taken = std::min<std::size_t>(bytes.size(), 8 - held_.size());
    held_ += bytes.substr(0, taken);
    if (taken > 0) wake_();
    return taken;
  }

 private:
  const std::shared_ptr<Tap> tap_;
  std::function<void()> wake_;
  std::string held_;
};

// Takes nothing, and says nothing.
class FullSource final : public StreamSource {
 public:
  explicit FullSource(std::shared_ptr<Tap> tap) : tap_(std::move(tap)) { ++tap_->alive; }
  ~FullSource() override { --tap_->alive; }
  void Start(std::function<void()>) override {}
  State Pull(std::vector<Bytes>&) override { return State::kWait; }
  std::size_t Receive(std::string_view) override { return 0; }

 private:
  const std::shared_ptr<Tap> tap_;
};

class UpgradeTest : public ServerTest {
 protected:
  void SetUp() override {
    Start([this](Request request, std::shared_ptr<Responder> responder) {
      Response response{.status = 101};
      response.headers.Add("Upgrade", std::string(request.headers.Find("Upgrade")));
      if (request.path == "/full") {
        response.stream = std::make_unique<FullSource>(tap_);
      } else {
        response.stream = std::make_unique<EchoSource>(tap_);
      }
      responder->Send(std::move(response));
    });
  }
  static constexpr std::string_view kAsk =
      "GET /echo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";
  std::shared_ptr<Tap> tap_ = std::make_shared<Tap>();
};

TEST_F(UpgradeTest, TheConnectionIsTheStreamsFromThenOn) {
  TestClient client(port());
  // What comes right behind the request is the stream's already.
  client.Send(std::string(kAsk) + "early ");
  const std::string head = client.ReadUntil("\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("HTTP/1.1 101 Switching Protocols\r\n"));
  EXPECT_THAT(head, HasSubstr("Connection: Upgrade\r\n"));
  EXPECT_THAT(head, HasSubstr("Upgrade: echo\r\n"));
  EXPECT_THAT(head, Not(HasSubstr("Transfer-Encoding")));
  EXPECT_EQ(client.ReadUntil("early "), "early ");
  client.Send("hello");
  EXPECT_EQ(client.ReadUntil("hello"), "hello");
  client.Send("bye");
  EXPECT_EQ(client.ReadToEnd(), "bye");
  EXPECT_EQ(tap_->alive, 0);
}

// More than it can hold: nothing is lost, nothing overtakes.
TEST_F(UpgradeTest, AStreamThatIsFullMakesTheClientWait) {
  TestClient client(port());
  std::string said;
  for (int i = 0; i < 2000; ++i) said += std::to_string(i) + ",";
  said += "end";
  client.Send(std::string(kAsk) + said);
  client.ReadUntil("\r\n\r\n");
  EXPECT_EQ(client.ReadUntil("end"), said);
}

TEST_F(UpgradeTest, AClientThatGoesTakesTheStreamAlong) {
  {
    TestClient client(port());
    client.Send(kAsk);
    client.ReadUntil("\r\n\r\n");
    EXPECT_EQ(tap_->alive, 1);
  }
  for (int i = 0; i < 1000 && tap_->alive > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(tap_->alive, 0);
}

// Its end stands behind what nobody takes, and is noticed all the same: whatever the stream holds on to
// would be held for ever.
TEST_F(UpgradeTest, AClientThatGoesTakesAFullStreamAlong) {
  {
    TestClient client(port());
    client.Send("GET /full HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n" +
                std::string(1000, 'x'));
    client.ReadUntil("\r\n\r\n");
    EXPECT_EQ(tap_->alive, 1);
  }
  for (int i = 0; i < 2000 && tap_->alive > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(tap_->alive, 0);
}

}  // namespace
}  // namespace dray::apiserver
