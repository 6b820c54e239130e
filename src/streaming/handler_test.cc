// SPDX-License-Identifier: Apache-2.0
#include "streaming/handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "base/mutex.h"
#include "files/temporary_folder.h"
#include "streaming/internal/process_stream.h"
#include "websocket/frames.h"

namespace dray::streaming {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using State = apiserver::StreamSource::State;
using namespace std::string_literals;

constexpr std::string_view kServer = "kube-apiserver-kubelet-client";

class FakeContainers final : public Containers {
 public:
  void Find(std::string namespace_, std::string pod, std::string container,
            std::function<void(StatusOr<ContainerPlace>)> done) override {
    const base::MutexLock lock(mutex);
    if (namespace_ + "/" + pod + "/" + container != "ns/p/c") {
      return done(base::NotFound("pod \"" + pod + "\" not found"));
    }
    done(place);
  }
  void FindSandbox(std::string namespace_, std::string pod,
                   std::function<void(StatusOr<std::string>)> done) override {
    if (namespace_ + "/" + pod != "ns/p") return done(base::NotFound("no such pod"));
    done("sandbox1");
  }
  base::Mutex mutex;
  ContainerPlace place;
};

// Runs what the test says.
class FakeRuntime final : public container::Runtime {
 public:
  class Session final : public container::ExecSession {
   public:
    explicit Session(FakeRuntime& runtime) : runtime_(runtime) {}
    ~Session() override { runtime_.abandoned = true; }
    void Write(std::string bytes) override { runtime_.input += bytes; }
    bool Full() const override { return runtime_.input.size() >= runtime_.most_input; }
    void CloseInput() override { runtime_.input += "<end>"; }
    void Resize(std::uint16_t columns, std::uint16_t rows) override {
      runtime_.input += "<" + std::to_string(columns) + "x" + std::to_string(rows) + ">";
    }

   private:
    FakeRuntime& runtime_;
  };

  std::shared_ptr<container::ExecSession> Exec(const container::ExecConfig& config,
                                               container::ExecEvents heard) override {
    exec = config;
    events = std::move(heard);
    return std::make_shared<Session>(*this);
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

  container::ExecConfig exec;
  container::ExecEvents events;
  std::string input;
  std::size_t most_input = container::kMostInput;
  std::atomic<bool> abandoned = false;
};

class Waiting final : public apiserver::Responder {
 public:
  void Send(apiserver::Response response) override { answer.set_value(std::move(response)); }
  std::promise<apiserver::Response> answer;
};

class StreamingTest : public ::testing::Test {
 protected:
  StreamingTest() {
    containers_.place = {.id = "id1",
                         .running = true,
                         .log_path = folder_.path() + "/c/0.log",
                         .previous_log_path = {}};
    std::filesystem::create_directories(folder_.path() + "/c");
    Log("one");
    Log("two");
  }
  void Log(const std::string& line) {
    std::ofstream(folder_.path() + "/c/0.log", std::ios::app)
        << "2026-11-16T07:00:00.000000001Z stdout F " << line << "\n";
  }
  apiserver::Response Ask(std::string path, std::string query = {}, bool upgrade = false,
                          apiserver::User user = {std::string(kServer), {}}) {
    apiserver::Request request{.method = "GET", .path = std::move(path), .query = std::move(query)};
    request.user = std::move(user);
    if (upgrade) {
      request.headers.Add("Upgrade", "websocket");
      request.headers.Add("Sec-WebSocket-Version", "13");
      request.headers.Add("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
      request.headers.Add("Sec-WebSocket-Protocol", protocol_);
    }
    auto waiting = std::make_shared<Waiting>();
    auto answer = waiting->answer.get_future();
    handler_.Handle(std::move(request), waiting);
    return answer.get();
  }
  static State Pull(apiserver::StreamSource& stream, std::string& text) {
    std::vector<apiserver::Bytes> out;
    const State state = stream.Pull(out);
    for (const auto& piece : out) text += *piece;
    return state;
  }
  static std::string ReadAll(apiserver::StreamSource& stream) {
    std::string text;
    while (Pull(stream, text) == State::kMore) {
    }
    return text;
  }
  static std::string Said(const std::string& payload,
                          websocket::Opcode opcode = websocket::Opcode::kBinary) {
    std::string frame = websocket::FrameText(opcode, payload);
    frame[1] = static_cast<char>(frame[1] | 0x80);
    return frame.insert(frame.size() - payload.size(), 4, '\0');  // a mask that changes nothing
  }

  files::TemporaryFolder folder_;
  std::string protocol_ = "v5.channel.k8s.io, v4.channel.k8s.io";
  FakeContainers containers_;
  FakeRuntime runtime_;
  base::ManualClock clock_{base::Time::FromUnix(1'800'000'000)};
  Handler handler_{containers_, runtime_, clock_};
};

TEST_F(StreamingTest, OnlyTheApiServerIsLetIn) {
  EXPECT_EQ(Ask("/containerLogs/ns/p/c", "", false, {}).status, 401);
  EXPECT_EQ(Ask("/containerLogs/ns/p/c", "", false, {"system:node:n", {"system:nodes"}}).status,
            403);
  EXPECT_EQ(Ask("/exec/ns/p/c", "command=sh", true, {"ann", {}}).status, 403);
  EXPECT_EQ(Ask("/containerLogs/ns/p/c", "", false, {"root", {"system:masters"}}).status, 200);
  EXPECT_EQ(Ask("/healthz", "", false, {}).status, 200);
}

TEST_F(StreamingTest, ALogIsWhatTheContainerWrote) {
  EXPECT_EQ(ReadAll(*Ask("/containerLogs/ns/p/c").stream), "one\ntwo\n");
  EXPECT_EQ(ReadAll(*Ask("/containerLogs/ns/p/c", "tailLines=1").stream), "two\n");
  EXPECT_EQ(ReadAll(*Ask("/containerLogs/ns/p/c", "tailLines=1&timestamps=true").stream),
            "2026-11-16T07:00:00.000000001Z two\n");
  EXPECT_EQ(ReadAll(*Ask("/containerLogs/ns/p/c", "limitBytes=5").stream), "one\nt");
  EXPECT_EQ(ReadAll(*Ask("/containerLogs/ns/p/c", "sinceTime=2026-11-17T00:00:00Z").stream), "");
  EXPECT_EQ(ReadAll(*Ask("/containerLogs/ns/p/c", "sinceSeconds=9223372036854775807").stream),
            "one\ntwo\n");
  EXPECT_EQ(Ask("/containerLogs/ns/p/c", "tailLines=x").status, 400);
  EXPECT_EQ(Ask("/containerLogs/ns/p/c", "sinceTime=x").status, 400);
  EXPECT_EQ(Ask("/containerLogs/ns/p/other").status, 404);
  EXPECT_EQ(Ask("/containerLogs/ns/p").status, 404);
  const auto previous = Ask("/containerLogs/ns/p/c", "previous=true");
  EXPECT_EQ(previous.status, 400);
  EXPECT_THAT(*previous.body,
              HasSubstr("previous terminated container \"c\" in pod \"p\" not found"));
}

TEST_F(StreamingTest, ALogIsFollowedUntilTheContainerEnds) {
  const auto response = Ask("/containerLogs/ns/p/c", "follow=true");
  ASSERT_NE(response.stream, nullptr);
  EXPECT_TRUE(response.tick.has_value());
  response.stream->Start([] {});
  std::string text;
  EXPECT_EQ(Pull(*response.stream, text), State::kWait);
  EXPECT_EQ(text, "one\ntwo\n");
  Log("three");
  EXPECT_EQ(Pull(*response.stream, text), State::kWait);
  EXPECT_EQ(text, "one\ntwo\nthree\n");
  {
    const base::MutexLock lock(containers_.mutex);
    containers_.place.running = false;
  }
  Log("last");
  while (Pull(*response.stream, text) != State::kEnd) {
  }
  EXPECT_EQ(text, "one\ntwo\nthree\nlast\n");
}

TEST_F(StreamingTest, WhatHasNotStartedHasNoLogAndNoProcess) {
  {
    const base::MutexLock lock(containers_.mutex);
    containers_.place = {};
  }
  EXPECT_THAT(*Ask("/containerLogs/ns/p/c").body, HasSubstr("is waiting to start"));
  EXPECT_THAT(*Ask("/exec/ns/p/c", "command=sh", true).body, HasSubstr("is not running"));
}

TEST_F(StreamingTest, AProcessIsSpokenToOverChannels) {
  auto response =
      Ask("/exec/ns/p/c", "command=sh&command=-c&command=a%20b&input=1&output=1&error=1", true);
  ASSERT_EQ(response.status, 101);
  EXPECT_EQ(response.headers.Find("Sec-WebSocket-Accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(response.headers.Find("Sec-WebSocket-Protocol"), "v5.channel.k8s.io");
  response.stream->Start([] {});
  EXPECT_EQ(runtime_.exec.container_id, "id1");
  EXPECT_THAT(runtime_.exec.command, ::testing::ElementsAre("sh", "-c", "a b"));
  EXPECT_TRUE(runtime_.exec.stdin);
  response.stream->Receive(Said("\0ls\n"s) + Said("\xff\0"s) +
                           Said("\x04{\"Width\":1,\"Height\":2}"s));
  EXPECT_EQ(runtime_.input, "ls\n<end>");  // no terminal, no size
  runtime_.events.out("file\n");
  runtime_.events.err("oh\n");
  std::string text;
  EXPECT_EQ(Pull(*response.stream, text), State::kWait);
  EXPECT_EQ(text, "\x82\x01\x01"s +
                      "\x82\x06\x01"
                      "file\n"s +
                      "\x82\x04\x02"
                      "oh\n"s);
}

TEST_F(StreamingTest, TheExitCodeComesLast) {
  auto response = Ask("/exec/ns/p/c", "command=false&output=1", true);
  response.stream->Start([] {});
  runtime_.events.out("x");
  runtime_.events.done(3);
  std::string text;
  EXPECT_EQ(Pull(*response.stream, text), State::kEnd);
  EXPECT_THAT(text, HasSubstr(R"("reason":"ExitCode","message":"3")"));
  EXPECT_THAT(text, EndsWith("\x88\x02\x03\xe8"s));
  response = Ask("/exec/ns/p/c", "command=x&output=1", true);
  response.stream->Start([] {});
  runtime_.events.done(base::NotFound("no such file"));
  text.clear();
  EXPECT_EQ(Pull(*response.stream, text), State::kEnd);
  EXPECT_THAT(text, HasSubstr(R"("message":"no such file")"));
}

TEST_F(StreamingTest, ASlowReaderMakesTheProcessWait) {
  auto response = Ask("/exec/ns/p/c", "command=yes&output=1", true);
  response.stream->Start([] {});
  std::atomic<std::size_t> said = 0;
  std::thread process([&] {
    for (int i = 0; i < 400; ++i) {
      runtime_.events.out(std::string(16 << 10, 'y'));
      said += 16 << 10;
    }
    runtime_.events.done(0);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(said, internal::kMostHeld + (64u << 10));
  std::string text;
  while (Pull(*response.stream, text) != State::kEnd) std::this_thread::yield();
  process.join();
  EXPECT_GT(text.size(), 400u * (16 << 10));
}

TEST_F(StreamingTest, AProcessThatDoesNotReadMakesTheClientWait) {
  auto response = Ask("/exec/ns/p/c", "command=sleep&input=1&output=1", true);
  std::atomic<int> woken = 0;
  response.stream->Start([&] { ++woken; });
  std::string said;
  for (int i = 0; i < 4000; ++i) said += Said("\0"s + std::string(4096, 'x'));
  std::string_view left = said;
  const auto send = [&] {
    while (!left.empty()) {
      const std::size_t taken = response.stream->Receive(left.substr(0, 64u << 10));
      if (taken == 0) return;
      left.remove_prefix(taken);
    }
  };
  send();
  // What the process has, what the reader of frames has, and the last piece.
  EXPECT_LE(runtime_.input.size(), container::kMostInput + 4096);
  EXPECT_LE(said.size() - left.size(), container::kMostInput + (128u << 10));
  std::string all;
  for (int turns = 0; all.size() < 4000u * 4096; ++turns) {
    ASSERT_LT(turns, 100);
    all += std::exchange(runtime_.input, {});
    const int before = woken;
    runtime_.events.room();
    EXPECT_GT(woken, before);
    std::string text;
    EXPECT_EQ(Pull(*response.stream, text), State::kWait);
    send();
  }
  EXPECT_TRUE(left.empty());
  EXPECT_EQ(all, std::string(4000u * 4096, 'x'));
}

// The rest of what came at once must not need more to come.
TEST_F(StreamingTest, WhatWasHeldBackIsReadWhenThereIsRoom) {
  auto response = Ask("/exec/ns/p/c", "command=sleep&input=1&output=1", true);
  response.stream->Start([] {});
  runtime_.most_input = 3;
  const std::string said = Said("\0one"s) + Said("\0two"s) + Said("\xff\0"s);
  EXPECT_EQ(response.stream->Receive(said), said.size());
  EXPECT_EQ(runtime_.input, "one");
  runtime_.input.clear();
  std::string text;
  Pull(*response.stream, text);
  EXPECT_EQ(runtime_.input, "two");
  runtime_.input.clear();
  Pull(*response.stream, text);
  EXPECT_EQ(runtime_.input, "<end>");
}

TEST_F(StreamingTest, AClientThatGoesAbandonsItsProcess) {
  auto response = Ask("/exec/ns/p/c", "command=yes&output=1", true);
  response.stream->Start([] {});
  std::thread process([out = runtime_.events.out] {
    for (int i = 0; i < 400; ++i) out(std::string(16 << 10, 'y'));
  });
  response.stream = nullptr;
  process.join();  // it does not wait for ever
  EXPECT_TRUE(runtime_.abandoned);
}

TEST_F(StreamingTest, ClosingAndNonsenseEndIt) {
  auto response = Ask("/attach/ns/p/c", "input=1&output=1&tty=1", true);
  response.stream->Start([] {});
  EXPECT_TRUE(runtime_.exec.command.empty());
  response.stream->Receive(Said("\x04{\"Width\":80,\"Height\":24}"s));
  EXPECT_EQ(runtime_.input, "<80x24>");
  response.stream->Receive(Said("\x03\xe8"s, websocket::Opcode::kClose));
  std::string text;
  EXPECT_EQ(Pull(*response.stream, text), State::kEnd);
  EXPECT_THAT(text, EndsWith("\x88\x02\x03\xe8"s));
  EXPECT_TRUE(runtime_.abandoned);
  response = Ask("/exec/ns/p/c", "command=x&output=1", true);
  response.stream->Start([] {});
  response.stream->Receive("nonsense without a mask");
  text.clear();
  EXPECT_EQ(Pull(*response.stream, text), State::kEnd);
  EXPECT_THAT(text, HasSubstr("\x03\xea"s));
}

TEST_F(StreamingTest, OnlyWebSocketIsSpoken) {
  EXPECT_EQ(Ask("/exec/ns/p/c", "command=sh&output=1").status, 400);
  protocol_ = "v1.channel.k8s.io";
  EXPECT_THAT(*Ask("/exec/ns/p/c", "command=sh&output=1", true).body,
              HasSubstr("expected one of v5.channel.k8s.io, v4.channel.k8s.io"));
}

}  // namespace
}  // namespace dray::streaming
