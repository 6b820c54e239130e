// SPDX-License-Identifier: Apache-2.0
//
// Clients that are not who they say, or say nothing sensible at all.
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "abuse/up_for_test.h"
#include "apiserver/certificates.h"
#include "base/clock.h"
#include "fmt/format.h"

namespace dray::abuse {
namespace {

using apiserver::CertificateSpec;
using apiserver::KeyPair;
using apiserver::TestClient;
using std::chrono::hours;
using ::testing::HasSubstr;

constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";

class StrangersTest : public UpTest {
 protected:
  // With a certificate that says what an administrator's says.
  int AskWith(const KeyPair& authority, CertificateSpec spec, base::Time made) {
    spec.common_name = "kubernetes-admin";
    spec.organizations = {"system:masters"};
    apiserver::ClientTls tls = server().Tls();
    tls.client = *apiserver::MakeCertificate(authority, spec, made);
    TestClient client(server().port(), tls);
    return client.Get(kPods).status;
  }
  KeyPair OwnAuthority() {
    const std::string pki = World::Get().data() + "/pki/ca.";
    return {.certificate = process::ReadFile(pki + "crt"), .key = process::ReadFile(pki + "key")};
  }
  base::SystemClock clock_;
};

TEST_F(StrangersTest, OnlyCertificatesOfOurAuthorityCount) {
  const KeyPair foreign =
      *apiserver::MakeAuthority("dray", clock_.Now(), std::chrono::seconds(hours(24)));
  EXPECT_EQ(AskWith(OwnAuthority(), {}, clock_.Now()), 200);
  EXPECT_EQ(AskWith(foreign, {}, clock_.Now()), 401);
  EXPECT_EQ(AskWith(OwnAuthority(), {.valid = hours(1)}, clock_.Now() - hours(48)), 401);
  EXPECT_EQ(AskWith(OwnAuthority(), {}, clock_.Now() + hours(48)), 401);
  EXPECT_EQ(AskWith(OwnAuthority(), {.use = CertificateSpec::Use::kServer}, clock_.Now()), 401);
}

TEST_F(StrangersTest, NobodyGetsNothingButHealth) {
  apiserver::ClientTls tls = server().Tls();
  tls.client.reset();
  TestClient client(server().port(), tls);
  EXPECT_EQ(client.Get("/healthz").status, 200);
  for (const char* path : {"/api", "/apis", "/openapi/v2", "/metrics", "/api/v1/pods"}) {
    const apiserver::ClientResponse response = client.Get(path);
    EXPECT_EQ(response.status, 403) << path;
    EXPECT_THAT(response.body, HasSubstr("system:anonymous")) << path;
  }
  EXPECT_EQ(client.Get("/api", "Authorization: Bearer guessed\r\n").status, 401);
}

TEST_F(StrangersTest, AViewerOnlyViews) {
  process::Requests viewer(server().port(), server().Tls("viewer"));
  EXPECT_EQ(viewer.Do({.path = std::string(kPods)}).status, 200);
  EXPECT_EQ(viewer.Do({.method = "DELETE", .path = std::string(kPods)}).status, 403);
  EXPECT_EQ(
      viewer.Do({.method = "POST", .path = std::string(kTemplates), .body = TemplateBody("viewed")})
          .status,
      403);
}

TEST_F(StrangersTest, PlainTextIsTold) {
  TestClient client(server().port());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadToEnd(), HasSubstr("this port speaks HTTPS"));
}

// Before a handshake, in the middle of it, and inside of it.
TEST_F(StrangersTest, NoiseHurtsNobody) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  const auto noise = [&](std::size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
  };
  for (int i = 0; i < 100; ++i) {
    TestClient plain(server().port());
    if (i % 2 == 0) plain.Send(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11));
    plain.Send(noise(random() % 3'000));
  }
  for (int i = 0; i < 20; ++i) {
    TestClient inside = Connect();
    ASSERT_TRUE(inside.connected());
    inside.Send(noise(1 + random() % 3'000) + "\r\n\r\n");
    const int status = inside.ReadResponse().status;
    EXPECT_TRUE(status == 400 || status == 431) << status;
  }
}

// One request must not be able to hide another from whatever stands before the server: none of these
// is taken for two, and nothing that follows is answered.
TEST_F(StrangersTest, ARequestHidesNoOther) {
  const std::string hidden = fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", kPods);
  for (const char* headers :
       {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding : chunked\r\n",
        "X: a\r\n Transfer-Encoding: chunked\r\n", "X: a\nTransfer-Encoding: chunked\r\n"}) {
    TestClient client = Connect();
    client.Send(fmt::format("POST {} HTTP/1.1\r\nHost: x\r\n{}\r\n0\r\n\r\n{}", kTemplates, headers,
                            hidden));
    const int status = client.ReadResponse().status;
    EXPECT_TRUE(status == 400 || status == 501) << headers << status;
    EXPECT_TRUE(client.Ended()) << headers;
  }
}

// An administrator's request in somebody else's name has their rights, on every path.
TEST_F(StrangersTest, InTheNameOfOthersOneMayWhatTheyMay) {
  TestClient client = Connect();
  for (const char* path : {"/metrics", "/snapshot", "/api/v1/pods"}) {
    EXPECT_EQ(client.Get(path, "Impersonate-User: bob\r\n").status, 403) << path;
  }
  EXPECT_EQ(client.Get("/version", "Impersonate-User: bob\r\n").status, 200);
  EXPECT_EQ(client.Get("/version", "Impersonate-Group: system:masters\r\n").status, 400);
  TestClient eve(server().port(), server().Tls("viewer"));
  EXPECT_EQ(eve.Get("/api/v1/pods",
                    "Impersonate-User: kubernetes-admin\r\n"
                    "Impersonate-Group: system:masters\r\n")
                .status,
            403);
}

}  // namespace
}  // namespace dray::abuse
