// SPDX-License-Identifier: Apache-2.0
//
// What requests are called: the Audit-Id of every answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>

#include "apiserver/handler_for_test.h"
#include "base/uuid.h"

namespace dray::apiserver {
namespace {

using ::testing::HasSubstr;

std::string IdIn(const std::string& head) {
  const std::string name = "\r\nAudit-Id: ";
  const std::size_t at = head.find(name);
  if (at == std::string::npos) return "";
  return head.substr(at + name.size(), head.find('\r', at + 2) - at - name.size());
}

TEST(ValidAuditId, IsOneThatCanBeWrittenAnywhere) {
  EXPECT_EQ(ValidAuditId("0193-aB.c_d:e"), "0193-aB.c_d:e");
  EXPECT_EQ(ValidAuditId(std::string(64, 'x')).size(), 64u);
  EXPECT_EQ(ValidAuditId(std::string(65, 'x')), "");
  EXPECT_EQ(ValidAuditId("a b"), "");
  EXPECT_EQ(ValidAuditId("a\"b"), "");
  EXPECT_EQ(ValidAuditId(""), "");
}

using AuditIdTest = ServerTest;

TEST_F(AuditIdTest, EveryRequestHasOneOfItsOwnWhichTheHandlerKnows) {
  std::string seen;
  Start([&](Request request, const std::shared_ptr<Responder>& responder) {
    seen = request.audit_id;
    EXPECT_GE(request.receiving.count(), 0);
    responder->Send(TextResponse("x"));
  });
  TestClient client(port());
  const std::string first = IdIn(client.Get("/").head);
  EXPECT_TRUE(base::IsCanonicalUuid(first)) << first;
  EXPECT_EQ(seen, first);
  const std::string second = IdIn(client.Get("/").head);
  EXPECT_TRUE(base::IsCanonicalUuid(second));
  EXPECT_NE(first, second);
}

TEST_F(AuditIdTest, AClientMayChooseIt) {
  Start(Echo);
  TestClient client(port());
  EXPECT_EQ(IdIn(client.Get("/", "Audit-ID: my-1\r\n").head), "my-1");
  // But not one that would be misread where it is written.
  EXPECT_TRUE(base::IsCanonicalUuid(IdIn(client.Get("/", "Audit-ID: my \"1\r\n").head)));
  // Nor does it stay with the connection.
  EXPECT_TRUE(base::IsCanonicalUuid(IdIn(client.Get("/").head)));
}

TEST_F(AuditIdTest, WhatNoHandlerSawHasOneTooAndIsTold) {
  std::promise<std::string> told;
  ServerOptions options;
  options.on_refused = [&](const Refusal& refusal) {
    told.set_value(std::string(refusal.audit_id) + " " + std::string(refusal.method) + " " +
                   std::string(refusal.target) + " " + std::to_string(refusal.code) + " " +
                   std::string(refusal.message));
  };
  Start(Echo, options);
  TestClient client(port());
  const ClientResponse response = client.Get("/a/../b", "Audit-ID: odd\r\n");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(IdIn(response.head), "odd");
  EXPECT_THAT(told.get_future().get(), HasSubstr("odd GET /a/../b 400 the path has an empty part"));
}

TEST_F(AuditIdTest, WhoWasNotLetInIsToldWithTheRequest) {
  std::promise<std::string> told;
  ServerOptions options;
  options.on_refused = [&](const Refusal& refusal) {
    const Request* request = refusal.request;
    told.set_value(request == nullptr ? "nothing"
                                      : request->method + " " + request->path + " ? " +
                                            request->query + " by '" + request->user.name +
                                            "' with " + std::string(request->headers.Find("X-A")));
  };
  Start(Echo, options);
  TestClient client(port());
  const ClientResponse response =
      client.Get("/api/v1/pods?limit=1", "Authorization: Bearer wrong\r\nX-A: b\r\n");
  EXPECT_EQ(response.status, 401);
  EXPECT_EQ(told.get_future().get(), "GET /api/v1/pods ? limit=1 by '' with b");
}

// Whoever sends too much is known by then, whether the length is said first or shows by and by.
TEST_F(AuditIdTest, WhoeverSendsTooMuchIsToldWithTheRequest) {
  authenticator_ = *Authenticator::Create("secret,ann,1");
  for (const std::string& body :
       {std::string("Content-Length: 1001\r\n\r\n"),
        "Transfer-Encoding: chunked\r\n\r\n3e9\r\n" + std::string(1001, 'x') + "\r\n"}) {
    for (const std::string& who :
         {std::string(), std::string("Authorization: Bearer secret\r\n")}) {
      if (who.empty() && body.starts_with("Transfer")) continue;  // that is not waited for
      std::promise<std::string> told;
      ServerOptions options;
      options.max_body_bytes = 1000;
      options.on_refused = [&](const Refusal& refusal) {
        const Request* request = refusal.request;
        told.set_value(std::to_string(refusal.code) + " " +
                       (request == nullptr ? "nothing"
                                           : request->method + " " + request->path + " by " +
                                                 request->user.name + " " + request->audit_id));
      };
      Start(Echo, options);
      TestClient client(port());
      client.Send("POST /api/v1/pods HTTP/1.1\r\nHost: x\r\nAudit-ID: big\r\n" + who + body);
      EXPECT_EQ(client.ReadResponse().status, 413);
      EXPECT_EQ(told.get_future().get(), std::string("413 POST /api/v1/pods by ") +
                                             (who.empty() ? "system:anonymous" : "ann") + " big");
    }
  }
}

TEST_F(AuditIdTest, WhatWasNotLookedAtIsNoRequest) {
  std::promise<bool> told;
  ServerOptions options;
  options.on_refused = [&](const Refusal& refusal) { told.set_value(refusal.request == nullptr); };
  Start(Echo, options);
  TestClient client(port());
  // The request before it was one.
  EXPECT_EQ(client.Get("/x").status, 200);
  EXPECT_EQ(client.Get("/a/../b").status, 400);
  EXPECT_TRUE(told.get_future().get());
}

TEST_F(AuditIdTest, BytesThatAreNoRequestHaveOne) {
  Start(Echo);
  TestClient client(port());
  client.Send("\x01\x02 nonsense\r\n\r\n");
  const ClientResponse response = client.ReadResponse();
  EXPECT_EQ(response.status, 400);
  EXPECT_TRUE(base::IsCanonicalUuid(IdIn(response.head)));
}

}  // namespace
}  // namespace dray::apiserver
