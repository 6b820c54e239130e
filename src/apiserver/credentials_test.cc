// SPDX-License-Identifier: Apache-2.0
#include "apiserver/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "apiserver/authentication.h"
#include "testing/status_matchers.h"

namespace dray::apiserver {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const base::Time kNow = base::Time::FromUnix(1'700'000'000);
constexpr std::chrono::hours kDay{24};

class CredentialsTest : public ::testing::Test {
 protected:
  CredentialsTest() {
    std::string name = std::filesystem::temp_directory_path() / "dray-credentials-XXXXXX";
    root_ = ::mkdtemp(name.data());
    options_.folder = root_ / "data";
    options_.clients = {
        {.name = "admin", .user = "kubernetes-admin", .groups = {"system:masters"}}};
  }
  ~CredentialsTest() override { std::filesystem::remove_all(root_); }
  Credentials Ensure(base::Time now = kNow) {
    auto credentials = EnsureCredentials(options_, now);
    EXPECT_THAT(credentials, IsOk());
    return credentials.ok() ? *credentials : Credentials();
  }
  std::string Read(const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(options_.folder + "/" + name).rdbuf();
    return text.str();
  }

  std::filesystem::path root_;
  CredentialsOptions options_;
};

TEST_F(CredentialsTest, OneMoreClientIsSignedByTheSameAuthority) {
  const ClientIdentity node{"node-n1", "system:node:n1", {"system:nodes"}};
  EXPECT_THAT(IssueKubeconfig(options_.folder, node, kNow),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("once first")));
  const Credentials made = Ensure();
  const std::string server = Read("pki/apiserver.crt");
  ASSERT_THAT(WriteKubeconfigs(options_, "https://127.0.0.1:6443"), IsOk());
  const auto path = IssueKubeconfig(options_.folder, node, kNow);
  ASSERT_THAT(path, IsOk());
  EXPECT_EQ(*path, options_.folder + "/node-n1.kubeconfig");
  EXPECT_THAT(Read("node-n1.kubeconfig"), HasSubstr("server: https://127.0.0.1:6443\n"));
  const KeyPair pair{Read("pki/node-n1.crt"), Read("pki/node-n1.key")};
  EXPECT_THAT(CheckKeyPair(pair, made.authority), IsOk());
  const auto info = ReadCertificate(pair.certificate);
  ASSERT_THAT(info, IsOk());
  EXPECT_EQ(info->common_name, "system:node:n1");
  EXPECT_THAT(info->organizations, ElementsAre("system:nodes"));
  // What the server shows is not touched: it may be running.
  EXPECT_EQ(Read("pki/apiserver.crt"), server);
}

TEST_F(CredentialsTest, AreMadeOnceAndKept) {
  const Credentials first = Ensure();
  const std::string admin = Read("pki/admin.crt");
  EXPECT_EQ(Ensure(kNow + kDay).server.certificate, first.server.certificate);
  EXPECT_EQ(Read("pki/admin.crt"), admin);
  EXPECT_THAT(CheckKeyPair(first.server, first.authority), IsOk());
  const auto info = ReadCertificate(admin);
  ASSERT_THAT(info, IsOk());
  EXPECT_EQ(info->common_name, "kubernetes-admin");
  EXPECT_THAT(info->organizations, ElementsAre("system:masters"));
  EXPECT_EQ(info->not_after, kNow + 365 * kDay);
}

TEST_F(CredentialsTest, TheServerIsKnownByItsHosts) {
  options_.hosts = {"dray.example.com", "10.1.2.3"};
  const auto info = ReadCertificate(Ensure().server.certificate);
  for (const char* host : {"localhost", "127.0.0.1", "::1", "dray.example.com", "10.1.2.3"}) {
    EXPECT_THAT(info->hosts, Contains(host));
  }
}

TEST_F(CredentialsTest, AreMadeAnewWhenTheyNoLongerDo) {
  const Credentials first = Ensure();
  // Soon over.
  const Credentials later = Ensure(kNow + 340 * kDay);
  EXPECT_NE(later.server.certificate, first.server.certificate);
  EXPECT_EQ(later.authority, first.authority);
  // Another host.
  options_.hosts = {"new.example.com"};
  const Credentials moved = Ensure(kNow + 340 * kDay);
  EXPECT_NE(moved.server.certificate, later.server.certificate);
  // Half of a pair, as a crash may leave it.
  std::filesystem::remove(options_.folder + "/pki/apiserver.key");
  EXPECT_THAT(CheckKeyPair(Ensure(kNow + 340 * kDay).server, first.authority), IsOk());
  // Other groups.
  const std::string admin = Read("pki/admin.crt");
  options_.clients[0].groups = {"dev"};
  Ensure(kNow + 340 * kDay);
  EXPECT_NE(Read("pki/admin.crt"), admin);
}

TEST_F(CredentialsTest, AreNotForOthers) {
  Ensure();
  ASSERT_THAT(WriteKubeconfigs(options_, "https://127.0.0.1:1"), IsOk());
  using std::filesystem::perms;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(options_.folder)) {
    const perms mode = entry.status().permissions();
    EXPECT_EQ(mode,
              entry.is_directory() ? perms::owner_all : perms::owner_read | perms::owner_write)
        << entry.path();
  }
}

TEST_F(CredentialsTest, AnAuthorityThatIsBrokenIsNotReplaced) {
  Ensure();
  std::ofstream(options_.folder + "/pki/ca.crt") << "nonsense";
  EXPECT_THAT(EnsureCredentials(options_, kNow),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("pki/ca.crt"), HasSubstr("not a PEM certificate"))));
  EXPECT_EQ(Read("pki/ca.crt"), "nonsense");
}

TEST_F(CredentialsTest, WhatIsWrongWithAnAuthorityIsSaid) {
  const Credentials made = Ensure();
  std::ofstream(options_.folder + "/pki/ca.key") << "";
  EXPECT_THAT(
      EnsureCredentials(options_, kNow),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr("pki/ca.key"), HasSubstr("the key: not a PEM private key"))));
  // A certificate of somebody else can be put there, but it signs nobody.
  std::ofstream(options_.folder + "/pki/ca.crt") << made.server.certificate;
  std::ofstream(options_.folder + "/pki/ca.key") << made.server.key;
  EXPECT_THAT(EnsureCredentials(options_, kNow),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("is not a CA certificate and cannot sign others")));
}

// As that of a company, which is below its root.
TEST_F(CredentialsTest, AnAuthorityThatAnotherOneHasSignedIsUsed) {
  const auto root = MakeAuthority("root", kNow, 400 * kDay);
  ASSERT_THAT(root, IsOk());
  const auto below = MakeCertificate(
      *root, {.use = CertificateSpec::Use::kAuthority, .common_name = "below"}, kNow);
  ASSERT_THAT(below, IsOk());
  std::filesystem::create_directories(options_.folder + "/pki");
  std::ofstream(options_.folder + "/pki/ca.crt") << below->certificate;
  std::ofstream(options_.folder + "/pki/ca.key") << below->key;
  using std::filesystem::perms;
  for (const char* path : {"", "/pki"}) {
    std::filesystem::permissions(options_.folder + path, perms::owner_all);
  }
  std::filesystem::permissions(options_.folder + "/pki/ca.key",
                               perms::owner_read | perms::owner_write);
  const Credentials made = Ensure();
  EXPECT_EQ(made.authority, below->certificate);
  EXPECT_THAT(CheckKeyPair(made.server, made.authority), IsOk());
}

TEST_F(CredentialsTest, AnAuthorityWhoseKeyIsElsewhereIsNotReplaced) {
  Ensure();
  ASSERT_THAT(WriteKubeconfigs(options_, "https://127.0.0.1:1"), IsOk());
  const std::string authority = Read("pki/ca.crt");
  const std::string key = Read("pki/ca.key");
  std::filesystem::remove(options_.folder + "/pki/ca.key");
  const auto says = AllOf(HasSubstr("pki/ca.key is missing beside"), HasSubstr("Put"),
                          HasSubstr("ca.key back"), HasSubstr("every kubeconfig again"));
  EXPECT_THAT(EnsureCredentials(options_, kNow), StatusIs(StatusCode::kFailedPrecondition, says));
  EXPECT_THAT(IssueKubeconfig(options_.folder, {"n", "n", {}}, kNow),
              StatusIs(StatusCode::kFailedPrecondition, says));
  EXPECT_EQ(Read("pki/ca.crt"), authority);
  EXPECT_FALSE(std::filesystem::exists(options_.folder + "/pki/ca.key"));
  // And when it is back, everything is as it was.
  std::ofstream(options_.folder + "/pki/ca.key") << key;
  std::filesystem::permissions(options_.folder + "/pki/ca.key", std::filesystem::perms::owner_read);
  EXPECT_EQ(Ensure().authority, authority);
}

TEST_F(CredentialsTest, AnAuthorityWhoseCertificateIsLostIsNotReplaced) {
  Ensure();
  std::filesystem::remove(options_.folder + "/pki/ca.crt");
  EXPECT_THAT(EnsureCredentials(options_, kNow),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("pki/ca.crt is missing beside")));
  EXPECT_FALSE(std::filesystem::exists(options_.folder + "/pki/ca.crt"));
}

// The key is written first. Nobody trusts an authority that has signed nothing.
// Nor is one of which nothing is left but what it has signed.
TEST_F(CredentialsTest, AnAuthorityThatIsLostIsNotReplaced) {
  Ensure();
  const std::string path = options_.folder + "/pki/ca";
  std::filesystem::remove(path + ".crt");
  std::filesystem::remove(path + ".key");
  EXPECT_THAT(EnsureCredentials(options_, kNow),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("ca.key are missing beside certificates that they have signed")));
  EXPECT_FALSE(std::filesystem::exists(path + ".crt"));
  EXPECT_FALSE(std::filesystem::exists(path + ".key"));
}

TEST_F(CredentialsTest, AFirstStartThatWasStoppedInBetweenBeginsAgain) {
  std::filesystem::create_directories(options_.folder + "/pki");
  std::ofstream(options_.folder + "/pki/ca.key") << "a key";
  std::filesystem::permissions(options_.folder + "/pki/ca.key", std::filesystem::perms::owner_read);
  const Credentials made = Ensure();
  EXPECT_THAT(CheckKeyPair(made.server, made.authority), IsOk());
}

TEST_F(CredentialsTest, AKeyThatOthersCanGetAtIsRefused) {
  using std::filesystem::perms;
  const perms fine = perms::owner_read | perms::owner_write;
  Ensure();
  ASSERT_THAT(WriteKubeconfigs(options_, "https://127.0.0.1:1"), IsOk());
  for (const std::string name : {"pki/ca.key", "pki/apiserver.key", "pki/admin.key"}) {
    const std::string path = options_.folder + "/" + name;
    for (const perms others : {perms::group_read, perms::others_read, perms::others_write}) {
      std::filesystem::permissions(path, fine | others);
      EXPECT_THAT(EnsureCredentials(options_, kNow),
                  StatusIs(StatusCode::kFailedPrecondition, HasSubstr("chmod 600 " + path)));
    }
    std::filesystem::permissions(path, fine);
  }
  const std::string kubeconfig = options_.folder + "/admin.kubeconfig";
  std::filesystem::permissions(kubeconfig, fine | perms::others_read);
  EXPECT_THAT(IssueKubeconfig(options_.folder, {"n", "n", {}}, kNow),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("chmod 600 " + kubeconfig)));
}

TEST_F(CredentialsTest, AFolderThatCannotBeMadeIsNamed) {
  std::ofstream(root_ / "file") << "x";
  options_.folder = root_ / "file";
  EXPECT_THAT(EnsureCredentials(options_, kNow),
              StatusIs(StatusCode::kUnavailable, HasSubstr("file: Not a directory")));
}

TEST_F(CredentialsTest, ANameThatNoCertificateCanHoldIsRefused) {
  options_.clients[0].user = std::string(65, 'x');
  EXPECT_THAT(EnsureCredentials(options_, kNow),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("1 to 64 bytes")));
  options_.clients = {{.name = "admin", .user = "dray-authority"}};
  EXPECT_THAT(EnsureCredentials(options_, kNow),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("the authority itself")));
}

TEST_F(CredentialsTest, AKubeconfigHasAllThatAClientNeeds) {
  Ensure();
  const auto paths = WriteKubeconfigs(options_, "https://127.0.0.1:6443");
  ASSERT_THAT(paths, IsOk());
  EXPECT_THAT(*paths, ElementsAre(options_.folder + "/admin.kubeconfig"));
  EXPECT_THAT(Read("admin.kubeconfig"),
              AllOf(HasSubstr("server: https://127.0.0.1:6443\n"),
                    HasSubstr("certificate-authority-data: LS0t"),
                    HasSubstr("client-certificate-data: LS0t"), HasSubstr("client-key-data: LS0t"),
                    HasSubstr("user: kubernetes-admin\n")));
}

TEST(Authentication, TokensAreReadAsKubernetesReadsThem) {
  const auto authenticator = Authenticator::Create(
      "# who may come\n\nt1,ann,u1\r\n  t2,bob,u2,\"dev,ops\"\nt3,\"eve, the\",u3,dev\n");
  ASSERT_THAT(authenticator, IsOk());
  const auto who = [&](const std::string& authorization) {
    Headers headers;
    headers.Add("authorization", authorization);
    return authenticator->Authenticate(headers, nullptr);
  };
  EXPECT_EQ(who("Bearer t1"), (User{"ann", {"system:authenticated"}, "u1"}));
  EXPECT_EQ(who("bearer  t2"), (User{"bob", {"dev", "ops", "system:authenticated"}, "u2"}));
  EXPECT_EQ(who("Bearer t3"), (User{"eve, the", {"dev", "system:authenticated"}, "u3"}));
  for (const char* wrong : {"Bearer t4", "Bearer ", "Bearer", "t1", "Basic t1", "Bearer t1 t2"}) {
    EXPECT_EQ(who(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(authenticator->Authenticate({}, nullptr), User());
}

TEST(Authentication, AWrongLineIsNamedAndItsSecretIsNot) {
  for (const char* text :
       {"t,a,1\nhush,bob\n", "t,a,1\nhush\n", "t,a,1\nhush,,2\n", "t,a,1\n,bob,2,hush\n",
        "t,a,1\nhush,b,c,d,e\n", "t,a,1\nhush,b,c,\"d\n"}) {
    EXPECT_THAT(Authenticator::Create(text),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("line 2"), ::testing::Not(HasSubstr("hush")))))
        << text;
  }
  EXPECT_THAT(Authenticator::Create("t,a,1\nt,b,2"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("the same token")));
}

}  // namespace
}  // namespace dray::apiserver
