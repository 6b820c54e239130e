// SPDX-License-Identifier: Apache-2.0
#include "apiserver/server.h"

#include <future>
#include <stdexcept>
#include <string>
#include <thread>

#include "apiserver/handler_for_test.h"
#include "testing/descriptors.h"

namespace dray::apiserver {
namespace {

using ::dray::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(ServerTest, AnswersARequest) {
  Start(Echo);
  TestClient client(port());
  client.Send("POST /a/b?c=d&e HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
  const ClientResponse response = client.ReadResponse();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "POST /a/b?c=d&e as system:anonymous: hello");
  EXPECT_THAT(response.head, HasSubstr("Content-Type: text/plain\r\n"));
  EXPECT_THAT(response.head, HasSubstr("\r\nDate: "));
  EXPECT_THAT(server_->url(), StartsWith("http://127.0.0.1:"));
}

TEST_F(ServerTest, AConnectionServesManyRequests) {
  Start(Echo);
  TestClient client(port());
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(client.Get("/" + std::to_string(i)).body,
              "GET /" + std::to_string(i) + "? as system:anonymous: ");
  }
  EXPECT_EQ(server_->stats().accepted, 1u);
  EXPECT_EQ(server_->stats().requests, 100u);
}

// A program that this process starts does not go on listening, nor talking to anybody.
TEST_F(ServerTest, ItsSocketsAreNoChilds) {
  const auto before = testing::DescriptorsForChildren();
  Start(Echo);
  TestClient client(port());
  EXPECT_EQ(client.Get("/").status, 200);
  EXPECT_THAT(testing::DescriptorsForChildren(), ::testing::IsSubsetOf(before));
}

TEST_F(ServerTest, RequestsSentAheadAreAnsweredInOrder) {
  Start(Echo);
  TestClient client(port());
  std::string requests;
  for (int i = 0; i < 50; ++i) {
    requests +=
        "POST /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
  }
  client.Send(requests);
  for (int i = 0; i < 50; ++i) {
    EXPECT_THAT(client.ReadResponse().body, StartsWith("POST /" + std::to_string(i) + "? "));
  }
}

TEST_F(ServerTest, ARequestMayComeByteByByteAndInChunks) {
  authenticator_ = *Authenticator::Create("secret,ann,1");
  Start(Echo);
  TestClient client(port());
  for (const char c :
       std::string_view("PUT /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                        "Authorization: Bearer secret\r\n\r\n"
                        "4\r\nabcd\r\n2\r\nef\r\n0\r\n\r\n")) {
    client.Send(std::string_view(&c, 1));
  }
  EXPECT_EQ(client.ReadResponse().body, "PUT /x? as ann: abcdef");
}

TEST_F(ServerTest, LargeBodiesGoBothWays) {
  authenticator_ = *Authenticator::Create("secret,ann,1");
  Start([](Request request, const auto& responder) {
    responder->Send(TextResponse(std::move(request.body)));
  });
  TestClient client(port());
  std::string body(3u << 20, 'x');
  body[1'000'000] = 'y';
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_TRUE(client.ReadResponse().body == body);
}

TEST_F(ServerTest, ACautiousClientIsToldToGoOn) {
  Start(Echo);
  TestClient client(port());
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("hi");
  EXPECT_THAT(client.ReadResponse().body, HasSubstr(": hi"));
}

TEST_F(ServerTest, TheClientMayAskForTheEnd) {
  Start(Echo);
  for (const std::string request :
       {"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"}) {
    TestClient client(port());
    client.Send(request);
    const ClientResponse response = client.ReadResponse();
    EXPECT_EQ(response.status, 200);
    EXPECT_THAT(response.head, HasSubstr("Connection: close\r\n"));
    EXPECT_TRUE(client.Ended());
  }
}

TEST_F(ServerTest, SomeResponsesHaveNoBody) {
  Start([](const Request& request, const auto& responder) {
    Response response = TextResponse("body");
    if (request.path == "/gone") response.status = 204;
    responder->Send(std::move(response));
  });
  TestClient client(port());
  client.Send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("\r\n\r\n"), HasSubstr("Content-Length: 4\r\n"));
  const ClientResponse response = client.Get("/gone");
  EXPECT_EQ(response.status, 204);
  EXPECT_THAT(response.head, Not(HasSubstr("Content-Length")));
  EXPECT_EQ(client.Get("/").body, "body");
}

TEST_F(ServerTest, AnAnswerMayComeLaterFromAnotherThread) {
  std::thread thread;
  Start([&](Request request, std::shared_ptr<Responder> responder) {
    if (request.path == "/now") return Echo(std::move(request), responder);
    thread = std::thread([responder = std::move(responder)] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      responder->Send(TextResponse("later"));
      responder->Send(TextResponse("twice"));  // does not count
    });
  });
  TestClient slow(port());
  slow.Send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  TestClient quick(port());
  EXPECT_EQ(quick.Get("/now").status, 200);
  EXPECT_EQ(slow.ReadResponse().body, "later");
  thread.join();
  EXPECT_EQ(slow.Get("/now").status, 200);
}

TEST_F(ServerTest, AHandlerThatFailsIsAnsweredFor) {
  Start([](const Request& request, std::shared_ptr<Responder>) {
    if (request.path == "/throw") throw std::runtime_error("secret details");
  });
  TestClient client(port());
  for (const char* path : {"/forget", "/throw"}) {
    const ClientResponse response = client.Get(path);
    EXPECT_EQ(response.status, 500) << path;
    EXPECT_THAT(response.body, HasSubstr("\"reason\":\"InternalError\"")) << path;
    EXPECT_THAT(response.body, Not(HasSubstr("secret"))) << path;
  }
}

TEST_F(ServerTest, AHeaderCannotSmuggleAnother) {
  Start([](const Request&, const auto& responder) {
    Response response = TextResponse("x");
    response.headers.Add("Warning", "a\r\nSet-Cookie: b");
    response.headers.Add("Content-Length", "1000");
    responder->Send(std::move(response));
  });
  TestClient client(port());
  const ClientResponse response = client.Get("/");
  EXPECT_THAT(response.head, Not(HasSubstr("Set-Cookie")));
  EXPECT_EQ(response.body, "x");
}

TEST_F(ServerTest, AnAddressThatCannotBeHadIsNamed) {
  Start(Echo);
  EXPECT_THAT(
      Server::Start({.port = port()}, *handler_, authenticator_),
      StatusIs(StatusCode::kUnavailable,
               HasSubstr("127.0.0.1 port " + std::to_string(port()) + ": Address already")));
  EXPECT_THAT(Server::Start({.address = "here"}, *handler_, authenticator_),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"here\"")));
}

TEST_F(ServerTest, DrainingLetsRequestsFinish) {
  std::promise<std::shared_ptr<Responder>> handed;
  Start([&](const Request&, std::shared_ptr<Responder> responder) {
    handed.set_value(std::move(responder));
  });
  TestClient idle(port());
  TestClient busy(port());
  busy.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::shared_ptr<Responder> waiting = handed.get_future().get();
  std::thread answer([&] {
    EXPECT_TRUE(idle.Ended());
    waiting->Send(TextResponse("done"));
    EXPECT_EQ(busy.ReadResponse().body, "done");
    EXPECT_TRUE(busy.Ended());
  });
  server_->Drain(std::chrono::seconds(10));
  answer.join();
  EXPECT_FALSE(TestClient(port()).connected());
}

TEST_F(ServerTest, AnswersAfterTheEndGoNowhere) {
  std::promise<std::shared_ptr<Responder>> handed;
  Start([&](const Request&, std::shared_ptr<Responder> responder) {
    handed.set_value(std::move(responder));
  });
  TestClient client(port());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::shared_ptr<Responder> waiting = handed.get_future().get();
  server_ = nullptr;
  EXPECT_TRUE(client.Ended());
  waiting->Send(TextResponse("too late"));
}

}  // namespace
}  // namespace dray::apiserver
