// SPDX-License-Identifier: Apache-2.0
//
// Who a client is by what it shows.
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "apiserver/handler_for_test.h"
#include "apiserver/internal/openssl.h"
#include "base/clock.h"

namespace dray::apiserver {
namespace {

using ::dray::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

const base::Time kNow = base::SystemClock().Now();
constexpr std::chrono::hours kYear{24 * 365};

KeyPair Sign(const KeyPair& authority, CertificateSpec spec, base::Time now = kNow) {
  auto pair = MakeCertificate(authority, spec, now);
  EXPECT_THAT(pair, testing::IsOk());
  return *pair;
}

// Its certificate changed and signed again, as those who do not use our code could.
KeyPair Changed(const KeyPair& pair, const KeyPair& signer,
                const std::function<void(X509*)>& change) {
  const auto certificate = internal::ParseCertificate(pair.certificate);
  const auto key = internal::ParseKey(signer.key);
  change(certificate->get());
  EXPECT_GT(X509_sign(certificate->get(), key->get(), EVP_sha256()), 0);
  const internal::BioPtr out(BIO_new(BIO_s_mem()));
  EXPECT_EQ(PEM_write_bio_X509(out.get(), certificate->get()), 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {.certificate = std::string(text, static_cast<std::size_t>(size)), .key = pair.key};
}

class TlsTest : public ServerTest {
 protected:
  void SetUp() override { StartWith(server_pair_, authority_.certificate); }
  void StartWith(const KeyPair& server, const std::string& client_authority) {
    authenticator_ = *Authenticator::Create("secret,tom,1,\"dev,ops\"");
    Start(
        [](const Request& request, const auto& responder) {
          std::string text = request.user.name;
          for (const std::string& group : request.user.groups) text += " " + group;
          responder->Send(TextResponse(text));
        },
        {.tls = TlsOptions{.server = server, .client_authority = client_authority},
         .handshake_timeout = std::chrono::milliseconds(1000),
         .resolution = std::chrono::milliseconds(20)});
  }
  ClientResponse Ask(const std::optional<KeyPair>& shown, std::string_view headers = "") {
    TestClient client(port(), ClientTls{.authority = authority_.certificate, .client = shown});
    EXPECT_TRUE(client.connected());
    return client.Get("/", headers);
  }

  const KeyPair authority_ = *MakeAuthority("test", kNow, kYear);
  const KeyPair server_pair_ = Sign(authority_, {.use = CertificateSpec::Use::kServer,
                                                 .common_name = "server",
                                                 .hosts = {"localhost", "127.0.0.1"}});
};

TEST_F(TlsTest, ACertificateNamesUserAndGroups) {
  const KeyPair ann =
      Sign(authority_, {.common_name = "ann", .organizations = {"system:masters", "dev"}});
  EXPECT_EQ(Ask(ann).body, "ann system:masters dev system:authenticated");
  EXPECT_THAT(server_->url(), HasSubstr("https://"));
}

TEST_F(TlsTest, ACertificateCanBeReplacedWhileItServes) {
  const KeyPair other = *MakeAuthority("other", kNow, kYear);
  const KeyPair ann = Sign(authority_, {.common_name = "ann"});
  const auto connects = [&](const KeyPair& authority) {
    return TestClient(port(), ClientTls{.authority = authority.certificate}).connected();
  };
  Start([](const Request& request,
           const auto& responder) { responder->Send(TextResponse(request.user.name)); },
        {.tls = TlsOptions{
             .server = server_pair_, .client_authority = authority_.certificate, .foreign = true}});
  TestClient before(port(), ClientTls{.authority = authority_.certificate, .client = ann});
  ASSERT_TRUE(before.connected());
  const KeyPair renewed = Sign(other, {.use = CertificateSpec::Use::kServer,
                                       .common_name = "server",
                                       .hosts = {"localhost", "127.0.0.1"}});
  EXPECT_FALSE(connects(other));
  EXPECT_THAT(server_->UseCertificate(renewed), testing::IsOk());
  EXPECT_TRUE(connects(other));
  EXPECT_FALSE(connects(authority_));
  KeyPair torn = renewed;
  torn.key = ann.key;
  EXPECT_THAT(server_->UseCertificate(torn),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("fit")));
  EXPECT_TRUE(connects(other));
  // Connections that were there go on, and clients are looked at as before.
  EXPECT_EQ(before.Get("/").body, "ann");
  TestClient after(port(), ClientTls{.authority = other.certificate, .client = ann});
  ASSERT_TRUE(after.connected());
  EXPECT_EQ(after.Get("/").body, "ann");
}

TEST_F(TlsTest, ACertificateFromElsewhereIsShownWithThoseAboveIt) {
  const KeyPair root = *MakeAuthority("root", kNow, kYear);
  const KeyPair middle =
      Sign(root, {.use = CertificateSpec::Use::kAuthority, .common_name = "middle"});
  KeyPair server = Sign(middle, {.use = CertificateSpec::Use::kServer,
                                 .common_name = "server",
                                 .hosts = {"localhost", "127.0.0.1"}});
  server.certificate += middle.certificate;
  const auto start = [&](const std::string& clients) {
    Start([](const Request& request,
             const auto& responder) { responder->Send(TextResponse(request.user.name)); },
          {.tls = TlsOptions{.server = server, .client_authority = clients, .foreign = true}});
  };
  const auto ask = [&](const std::optional<KeyPair>& shown) {
    TestClient client(port(), ClientTls{.authority = root.certificate, .client = shown});
    EXPECT_TRUE(client.connected());
    return client.Get("/").body;
  };
  const KeyPair other = *MakeAuthority("other", kNow, kYear);
  const KeyPair ann = Sign(other, {.common_name = "ann"});
  // Of several authorities each signs clients.
  start(authority_.certificate + other.certificate);
  EXPECT_EQ(ask(ann), "ann");
  EXPECT_EQ(ask(Sign(authority_, {.common_name = "bob"})), "bob");
  EXPECT_EQ(ask(std::nullopt), "system:anonymous");
  // Without one nobody is asked for a certificate.
  start("");
  EXPECT_EQ(ask(ann), "system:anonymous");
  server.key = other.key;
  EXPECT_THAT(Server::Start({.tls = TlsOptions{.server = server, .foreign = true}}, *handler_,
                            authenticator_),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not fit")));
}

// KEP-4193: the audit log, and policies, tell two certificates of one user apart.
TEST(Authenticator, AUserSaysWhichCertificateItWas) {
  constexpr std::string_view kCertificate = R"(-----BEGIN CERTIFICATE-----
MIIBkDCCATWgAwIBAgIUGK31WSd9um/E5gu1a58c4BlhPiAwCgYIKoZIzj0EAwIw
HDEMMAoGA1UEAwwDYW5uMQwwCgYDVQQKDANkZXYwIBcNMjYxMTE2MTcxNzIxWhgP
MjEwOTAxMDUxNzE3MjFaMBwxDDAKBgNVBAMMA2FubjEMMAoGA1UECgwDZGV2MFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEjzTYzlMTvFl9CYDdEt/F7IbCHIoL0T5P
XLDAMDEh+H5YuEVV/4+xAu/wupCJJS8EQJ6VrotLSbYjhs4K9jevEqNTMFEwHQYD
VR0OBBYEFK18PLzD7lWYrutL8wmpQys5Jc3wMB8GA1UdIwQYMBaAFK18PLzD7lWY
rutL8wmpQys5Jc3wMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIh
AJn4xeipeED7m6jN5tEPfPez2NeLVXg/BbhcAOF7pawbAiEAyznUqkxQR9sxwRyB
kmWyQBOlSXf1d1/+No8suCO700U=
-----END CERTIFICATE-----
)";
  const auto info = ReadCertificate(kCertificate);
  ASSERT_TRUE(info.ok()) << info.status();
  // openssl x509 -outform der | sha256sum
  constexpr std::string_view kFingerprint =
      "8a3e947cb4b1ee6a3976b316de217c12a15746acc88fde2b7f8becc26b427476";
  EXPECT_EQ(info->fingerprint, kFingerprint);
  const ShownCertificate shown{.info = *info, .trusted = true};
  const auto user = Authenticator().Authenticate({}, &shown);
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "ann");
  const std::map<std::string, std::vector<std::string>> extra = {
      {"authentication.kubernetes.io/credential-id", {"X509SHA256=" + std::string(kFingerprint)}}};
  EXPECT_EQ(user->extra, extra);
}

TEST(Authenticator, TokensCanBeLeftToTheHandler) {
  Headers headers;
  headers.Add("Authorization", "Bearer whatever");
  const auto user = Authenticator::LeavingTokens().Authenticate(headers, nullptr);
  ASSERT_TRUE(user);
  EXPECT_TRUE(user->anonymous());
  EXPECT_FALSE(Authenticator().Authenticate(headers, nullptr));
}

// Go's clients hang up on a protocol that they did not offer.
TEST_F(TlsTest, TheProtocolIsOneThatTheClientOffered) {
  const ClientTls tls{.authority = authority_.certificate};
  EXPECT_EQ(TestClient(port(), tls).Protocol(), "http/1.1");
  TestClient other(port(), tls, 0, "\x06spdy/1");
  ASSERT_TRUE(other.connected());
  EXPECT_EQ(other.Protocol(), "");
}

TEST_F(TlsTest, WithoutCredentialsAClientIsAnonymous) {
  EXPECT_EQ(Ask(std::nullopt).body, "system:anonymous system:unauthenticated");
}

TEST_F(TlsTest, ATokenNamesItsUser) {
  EXPECT_EQ(Ask(std::nullopt, "Authorization: Bearer secret\r\n").body,
            "tom dev ops system:authenticated");
  EXPECT_EQ(Ask(std::nullopt, "Authorization: Bearer secre\r\n").status, 401);
}

TEST_F(TlsTest, CertificatesOfOthersAreNotBelieved) {
  const KeyPair stranger = *MakeAuthority("test", kNow, kYear);
  EXPECT_EQ(Ask(Sign(stranger, {.common_name = "ann"})).status, 401);
  // One may be its own authority.
  EXPECT_EQ(Ask(stranger).status, 401);
  // A good token is good all the same.
  EXPECT_THAT(Ask(stranger, "Authorization: Bearer secret\r\n").body, HasSubstr("tom"));
}

TEST_F(TlsTest, CertificatesThatAreOverOrForServersAreNotBelieved) {
  EXPECT_EQ(Ask(Sign(authority_, {.common_name = "ann", .valid = kYear},
                     kNow - std::chrono::hours(24 * 400)))
                .status,
            401);
  EXPECT_EQ(Ask(Sign(authority_, {.common_name = "ann"}, kNow + kYear)).status, 401);
  EXPECT_EQ(Ask(server_pair_).status, 401);
}

// A certificate says who somebody is; it does not let them say who others are.
TEST_F(TlsTest, ACertificateThatAnotherOneHasSignedIsNotBelieved) {
  const KeyPair ann = Sign(authority_, {.common_name = "ann"});
  // Signed with ann's key, in her name.
  const KeyPair signer = {.certificate = MakeAuthority("ann", kNow, kYear)->certificate,
                          .key = ann.key};
  const KeyPair forged = Sign(signer, {.common_name = "root", .organizations = {"system:masters"}});
  for (const std::vector<std::string>& chain : std::vector<std::vector<std::string>>{
           {}, {ann.certificate}, {ann.certificate, authority_.certificate}}) {
    TestClient client(
        port(), ClientTls{.authority = authority_.certificate, .client = forged, .chain = chain});
    ASSERT_TRUE(client.connected());
    EXPECT_EQ(client.Get("/").status, 401);
  }
  // More of a chain than is needed does no harm.
  TestClient plain(port(), ClientTls{.authority = authority_.certificate,
                                     .client = ann,
                                     .chain = {authority_.certificate}});
  EXPECT_EQ(plain.Get("/").body, "ann system:authenticated");
}

// An authority may let another one sign for it, for as long as that one is valid.
TEST_F(TlsTest, ACertificateOfAnAuthorityBelowIsBelievedWithItsChain) {
  const auto ask = [&](const KeyPair& shown, std::vector<std::string> chain) {
    TestClient client(
        port(),
        ClientTls{.authority = authority_.certificate, .client = shown, .chain = std::move(chain)});
    EXPECT_TRUE(client.connected());
    return client.Get("/").status;
  };
  const CertificateSpec below = {.use = CertificateSpec::Use::kAuthority, .common_name = "below"};
  const KeyPair other = Sign(authority_, below);
  const KeyPair ann = Sign(other, {.common_name = "ann"});
  EXPECT_EQ(ask(ann, {other.certificate}), 200);
  EXPECT_EQ(ask(ann, {}), 401);
  EXPECT_EQ(ask(Sign(other, {.use = CertificateSpec::Use::kServer, .common_name = "ann"}),
                {other.certificate}),
            401);
  const KeyPair over = Sign(authority_, below, kNow - std::chrono::hours(24 * 400));
  EXPECT_EQ(ask(Sign(over, {.common_name = "ann"}), {over.certificate}), 401);
  const KeyPair stranger = *MakeAuthority("stranger", kNow, kYear);
  const KeyPair theirs = Sign(stranger, below);
  EXPECT_EQ(ask(Sign(theirs, {.common_name = "ann"}), {theirs.certificate, stranger.certificate}),
            401);
}

// The one that we trust may itself be below another one, which we need not know.
TEST_F(TlsTest, TheAuthorityNeedNotHaveSignedItself) {
  const KeyPair below =
      Sign(authority_, {.use = CertificateSpec::Use::kAuthority, .common_name = "below"});
  StartWith(Sign(below, {.use = CertificateSpec::Use::kServer,
                         .common_name = "server",
                         .hosts = {"localhost", "127.0.0.1"}}),
            below.certificate);
  const auto ask = [&](const KeyPair& shown) {
    TestClient client(port(), ClientTls{.authority = below.certificate, .client = shown});
    EXPECT_TRUE(client.connected());
    return client.Get("/").status;
  };
  EXPECT_EQ(ask(Sign(below, {.common_name = "ann"})), 200);
  // Nor does the other one speak for it.
  EXPECT_EQ(ask(Sign(authority_, {.common_name = "ann"})), 401);
}

// Whoever connects may show one: it is read before it is known to be nobody's.
TEST_F(TlsTest, AnAddressOfOddLengthIsNone) {
  const auto with = [&](const std::string& addresses) {
    return Changed(*MakeAuthority("stranger", kNow, kYear), authority_, [&](X509* certificate) {
      const std::unique_ptr<ASN1_OCTET_STRING, internal::Free<ASN1_OCTET_STRING_free>> value(
          ASN1_OCTET_STRING_new());
      ASN1_OCTET_STRING_set(value.get(), reinterpret_cast<const unsigned char*>(addresses.data()),
                            static_cast<int>(addresses.size()));
      X509_EXTENSION* made =
          X509_EXTENSION_create_by_NID(nullptr, NID_subject_alt_name, 0, value.get());
      EXPECT_EQ(X509_add_ext(certificate, made, -1), 1);
      X509_EXTENSION_free(made);
    });
  };
  // A list of names in DER, each of kind 7, an address.
  const std::string odd("\x30\x07\x87\x01\x7f\x87\x02\x0a\x0b", 9);
  const auto info = ReadCertificate(with(odd).certificate);
  ASSERT_THAT(info, testing::IsOk());
  EXPECT_THAT(info->hosts, ::testing::IsEmpty());
  EXPECT_EQ(Ask(with(odd)).status, 401);
  const std::string plain("\x30\x06\x87\x04\x0a\x00\x00\x01", 8);
  EXPECT_THAT(ReadCertificate(with(plain).certificate)->hosts, ::testing::ElementsAre("10.0.0.1"));
}

// Requests for certificates bring names of hosts from outside.
TEST_F(TlsTest, AHostIsOneNameWhateverStandsInIt) {
  const KeyPair pair =
      Sign(authority_, {.use = CertificateSpec::Use::kServer,
                        .common_name = "n1",
                        .hosts = {"DNS:n1", "*.n1.example.com", "10.0.0.5", "fd00::1"}});
  const auto info = ReadCertificate(pair.certificate);
  ASSERT_THAT(info, testing::IsOk());
  EXPECT_THAT(info->hosts,
              ::testing::UnorderedElementsAre("10.0.0.5", "fd00::1", "DNS:n1", "*.n1.example.com"));
  for (const std::string& host :
       {std::string("n1,email:root@example.com"), std::string("n1\0.example.com", 15),
        std::string("a b"), std::string(), std::string("caf\xc3\xa9")}) {
    EXPECT_THAT(MakeCertificate(authority_, {.common_name = "n1", .hosts = {host}}, kNow),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("cannot be a host")));
  }
}

TEST_F(TlsTest, ANameIsTheSameInEveryKindOfString) {
  const auto named = [&](int type, std::string_view name) {
    return Changed(Sign(authority_, {.common_name = "x"}), authority_, [&](X509* certificate) {
      X509_NAME* subject = X509_NAME_new();
      EXPECT_EQ(X509_NAME_add_entry_by_NID(subject, NID_commonName, type,
                                           reinterpret_cast<const unsigned char*>(name.data()),
                                           static_cast<int>(name.size()), -1, 0),
                1);
      EXPECT_EQ(X509_set_subject_name(certificate, subject), 1);
      X509_NAME_free(subject);
    });
  };
  constexpr std::string_view kWide("\0a\0n\0n", 6);
  EXPECT_EQ(Ask(named(V_ASN1_UTF8STRING, "ann")).body, "ann system:authenticated");
  EXPECT_EQ(Ask(named(V_ASN1_BMPSTRING, kWide)).body, "ann system:authenticated");
  EXPECT_EQ(Ask(named(V_ASN1_T61STRING, "ann\xe9")).body, "ann\xc3\xa9 system:authenticated");
}

TEST_F(TlsTest, NobodyIsAskedForAPassPhrase) {
  const auto key = internal::ParseKey(authority_.key);
  const internal::BioPtr out(BIO_new(BIO_s_mem()));
  ASSERT_EQ(PEM_write_bio_PKCS8PrivateKey(out.get(), key->get(), EVP_aes_128_cbc(), "secret", 6,
                                          nullptr, nullptr),
            1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  EXPECT_THAT(internal::ParseKey({text, static_cast<std::size_t>(size)}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("is encrypted")));
}

TEST_F(TlsTest, AClientThatTrustsSomeoneElseHangsUp) {
  const KeyPair stranger = *MakeAuthority("other", kNow, kYear);
  EXPECT_FALSE(TestClient(port(), ClientTls{.authority = stranger.certificate}).connected());
  EXPECT_EQ(Ask(std::nullopt).status, 200);
}

TEST_F(TlsTest, PlainHttpIsToldSo) {
  TestClient client(port());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadToEnd(), AllOf(HasSubstr("400 Bad Request"), HasSubstr("speaks HTTPS")));
}

TEST_F(TlsTest, AHandshakeThatDoesNotGoOnIsCutOff) {
  TestClient silent(port());
  TestClient noise(port());
  noise.Send("\x16\x03\x01\x02");
  EXPECT_TRUE(silent.Ended());
  EXPECT_TRUE(noise.Ended());
  EXPECT_EQ(server_->stats().timed_out, 2u);
  EXPECT_EQ(Ask(std::nullopt).status, 200);
}

TEST_F(TlsTest, LargeResponsesAndManyRequestsPass) {
  const std::string large(5u << 20, 'x');
  Start([&](const Request&, const auto& responder) { responder->Send(TextResponse(large)); },
        {.tls = TlsOptions{.server = server_pair_, .client_authority = authority_.certificate}});
  TestClient client(port(), ClientTls{.authority = authority_.certificate});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(client.Get("/").body == large);
}

TEST_F(TlsTest, AServerNeedsACertificateThatFits) {
  const KeyPair other = *MakeAuthority("other", kNow, kYear);
  const KeyPair mixed = {.certificate = server_pair_.certificate, .key = other.key};
  EXPECT_THAT(
      Server::Start({.tls = TlsOptions{mixed, authority_.certificate}}, *handler_, authenticator_),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr("serving certificate: the key does not fit")));
  EXPECT_THAT(Server::Start({.tls = TlsOptions{{"x", "y"}, authority_.certificate}}, *handler_,
                            authenticator_),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not a PEM certificate")));
}

}  // namespace
}  // namespace dray::apiserver
