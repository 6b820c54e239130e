// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/node_door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "apiserver/server.h"
#include "base/clock.h"
#include "testing/status_matchers.h"

namespace dray::plane::internal {
namespace {

using apiserver::CertificateSpec;
using apiserver::KeyPair;
using ::testing::HasSubstr;

// Says back what it is told.
class EchoSource final : public apiserver::StreamSource {
 public:
  void Start(std::function<void()> wake) override { wake_ = std::move(wake); }
  State Pull(std::vector<apiserver::Bytes>& out) override {
    if (!held_.empty()) {
      out.push_back(std::make_shared<const std::string>(std::exchange(held_, {})));
    }
    return !out.empty() && out[0]->ends_with("bye") ? State::kEnd : State::kWait;
  }
  std::size_t Receive(std::string_view bytes) override {
    held_ += bytes;
    wake_();
    return bytes.size();
  }

 private:
  std::function<void()> wake_;
  std::string held_;
};

// Says one line, and then nothing for ever.
class OneLineSource final : public apiserver::StreamSource {
 public:
  void Start(std::function<void()>) override {}
  State Pull(std::vector<apiserver::Bytes>& out) override {
    if (!std::exchange(said_, true)) out.push_back(std::make_shared<const std::string>("line\n"));
    return State::kWait;
  }

 private:
  bool said_ = false;
};

// A node that answers with what it was asked, and by whom.
class Node final : public apiserver::Handler {
 public:
  void Handle(apiserver::Request request,
              std::shared_ptr<apiserver::Responder> responder) override {
    apiserver::Response response;
    if (request.path == "/exec") {
      response.status = 101;
      response.headers.Add("Upgrade", "echo");
      response.stream = std::make_unique<EchoSource>();
    } else if (request.path == "/follow") {
      response.stream = std::make_unique<OneLineSource>();
    } else {
      response.status = request.path == "/missing" ? 404 : 200;
      response.headers.Add("Content-Type", "text/plain");
      response.body = std::make_shared<const std::string>(
          request.user.name + " " + request.path + "?" + request.query +
          std::string(request.path == "/long" ? 1u << 20 : 0, 'x'));
    }
    responder->Send(std::move(response));
  }
};

class NodeDoorTest : public ::testing::Test {
 protected:
  KeyPair Sign(CertificateSpec spec) { return *MakeCertificate(authority_, spec, clock_.Now()); }
  void Serve(const std::string& common_name) {
    const KeyPair shown = Sign({.use = CertificateSpec::Use::kClientAndServer,
                                .common_name = common_name,
                                .organizations = {"system:nodes"},
                                .hosts = {"n"}});
    auto server = apiserver::Server::Start(
        {.tls = apiserver::TlsOptions{shown, authority_.certificate}}, node_, authenticator_);
    ASSERT_THAT(server, testing::IsOk());
    server_ = *std::move(server);
    auto door = MakeNodeDoor(
        {authority_.certificate, Sign({.use = CertificateSpec::Use::kClient,
                                       .common_name = "kube-apiserver-kubelet-client"})});
    ASSERT_THAT(door, testing::IsOk());
    door_ = *std::move(door);
  }
  apiserver::Response Ask(const std::string& target, bool upgrade = false) {
    registry::NodeRequest request{.node = "n",
                                  .address = "127.0.0.1",
                                  .port = server_ ? server_->port() : std::uint16_t{1},
                                  .method = "GET",
                                  .target = target,
                                  .headers = {}};
    if (upgrade) request.headers.Add("Upgrade", "echo");
    auto answered = std::make_shared<std::promise<apiserver::Response>>();
    door_->Ask(std::move(request), [answered](apiserver::Response response) {
      answered->set_value(std::move(response));
    });
    return answered->get_future().get();
  }
  // Everything up to the end, or up to `size` bytes.
  static std::string Read(apiserver::StreamSource& stream, std::size_t size = 1u << 30) {
    std::string text;
    for (int i = 0; i < 4000 && text.size() < size; ++i) {
      std::vector<apiserver::Bytes> out;
      const auto state = stream.Pull(out);
      for (const auto& piece : out) text += *piece;
      if (state == apiserver::StreamSource::State::kEnd) break;
      if (out.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return text;
  }

  base::SystemClock clock_;
  const KeyPair authority_ = *apiserver::MakeAuthority("a", clock_.Now(), std::chrono::hours(1));
  apiserver::Authenticator authenticator_;
  Node node_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<registry::NodeDoor> door_;
};

TEST_F(NodeDoorTest, WhatTheNodeAnswersIsPassedOn) {
  Serve("system:node:n");
  apiserver::Response response = Ask("/containerLogs/a/b/c?follow=true");
  ASSERT_EQ(response.status, 200) << (response.body ? *response.body : "");
  EXPECT_EQ(response.headers.Find("Content-Type"), "text/plain");
  EXPECT_EQ(Read(*response.stream),
            "kube-apiserver-kubelet-client /containerLogs/a/b/c?follow=true");
  EXPECT_EQ(Ask("/missing").status, 404);
  response = Ask("/long");
  EXPECT_GT(Read(*response.stream).size(), 1u << 20);
}

// kubectl logs -f shows a line when it is written, not when many are.
TEST_F(NodeDoorTest, WhatHasComeIsPassedOnAtOnce) {
  Serve("system:node:n");
  apiserver::Response response = Ask("/follow");
  EXPECT_EQ(Read(*response.stream, 5), "line\n");
}

TEST_F(NodeDoorTest, BytesGoBothWaysAfterAnUpgrade) {
  Serve("system:node:n");
  apiserver::Response response = Ask("/exec", true);
  ASSERT_EQ(response.status, 101);
  EXPECT_EQ(response.headers.Find("Upgrade"), "echo");
  response.stream->Start([] {});
  EXPECT_EQ(response.stream->Receive("hello"), 5u);
  EXPECT_EQ(Read(*response.stream, 5), "hello");
  std::string said;
  for (int i = 0; i < 20'000; ++i) said += std::to_string(i) + " ";
  std::string heard;
  for (std::string_view rest = said; !rest.empty();) {
    rest.remove_prefix(response.stream->Receive(rest));
    heard += Read(*response.stream, 1);
  }
  heard += Read(*response.stream, said.size() - heard.size());
  EXPECT_EQ(heard, said);
  response.stream->Receive("bye");
  EXPECT_EQ(Read(*response.stream), "bye");
}

TEST_F(NodeDoorTest, WhoIsNotTheNodeIsToldNothing) {
  Serve("system:node:other");
  apiserver::Response response = Ask("/x");
  EXPECT_EQ(response.status, 502);
  EXPECT_THAT(*response.body, HasSubstr("certificate of \\\"system:node:other\\\", not of "
                                        "\\\"system:node:n\\\""));
  EXPECT_EQ(server_->stats().requests, 0u);
}

TEST_F(NodeDoorTest, ANodeThatIsNotThereIsAnAnswerToo) {
  Serve("system:node:n");
  const std::uint16_t port = server_->port();
  server_ = nullptr;
  registry::NodeRequest request{.node = "n",
                                .address = "127.0.0.1",
                                .port = port,
                                .method = "GET",
                                .target = "/x",
                                .headers = {}};
  std::promise<apiserver::Response> answered;
  door_->Ask(request,
             [&](apiserver::Response response) { answered.set_value(std::move(response)); });
  const apiserver::Response response = answered.get_future().get();
  EXPECT_EQ(response.status, 502);
  EXPECT_THAT(*response.body, HasSubstr("cannot be asked"));
}

TEST_F(NodeDoorTest, StreamsEndWithTheDoor) {
  Serve("system:node:n");
  apiserver::Response response = Ask("/exec", true);
  door_ = nullptr;
  EXPECT_EQ(Read(*response.stream), "");
}

}  // namespace
}  // namespace dray::plane::internal
