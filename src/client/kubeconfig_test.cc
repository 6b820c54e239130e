// SPDX-License-Identifier: Apache-2.0
#include "client/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "client/internal/impersonation.h"
#include "testing/status_matchers.h"

namespace dray::client {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kTwoContexts = R"(
apiVersion: v1
kind: Config
current-context: one
clusters:
- name: near
  cluster: {server: "https://near:6443", certificate-authority-data: Y2E=}
- name: far
  cluster: {server: "https://far:443/k8s", insecure-skip-tls-verify: true, tls-server-name: door}
contexts:
- name: one
  context: {cluster: near, user: ann, namespace: team}
- name: two
  context: {cluster: far, user: bob}
users:
- name: ann
  user: {client-certificate-data: Y2VydA==, client-key-data: a2V5}
- name: bob
  user: {token: secret}
)";

using std::filesystem::perms;
constexpr perms kOwn = perms::owner_read | perms::owner_write;

class KubeconfigTest : public ::testing::Test {
 protected:
  KubeconfigTest() {
    std::string name = std::filesystem::temp_directory_path() / "dray-kubeconfig-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~KubeconfigTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, std::string_view text) {
    const std::filesystem::path path = std::filesystem::path(folder_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    std::filesystem::permissions(path, kOwn);
    return path;
  }
  StatusOr<ServerAccess> Load(std::string_view text) {
    return LoadAccess({.kubeconfig = Write("config", text)});
  }

  std::string folder_;
};

TEST_F(KubeconfigTest, SecretsThatOthersCanGetAtAreRefused) {
  const std::string file = Write("config", kTwoContexts);
  for (const perms others : {perms::others_read, perms::others_write, perms::group_write}) {
    std::filesystem::permissions(file, kOwn | others);
    for (const std::string context : {"one", "two"}) {
      EXPECT_THAT(LoadAccess({.kubeconfig = file, .context = context}),
                  StatusIs(StatusCode::kInvalidArgument,
                           AllOf(HasSubstr(context == "one" ? "client-key-data" : "user.token"),
                                 HasSubstr("chmod 600 " + file))));
    }
  }
  // As a secret's volume with fsGroup has it.
  std::filesystem::permissions(file, perms::owner_read | perms::group_read);
  EXPECT_THAT(LoadAccess({.kubeconfig = file}), IsOk());

  const std::string key = Write("key.pem", "key");
  Write("cert.pem", "cert");
  const std::string other = Write("files", R"({current-context: c, clusters: [{name: c, cluster: {
    server: "https://x"}}], contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u,
    user: {client-certificate: cert.pem, client-key: key.pem}}]})");
  std::filesystem::permissions(other, kOwn | perms::others_read);  // nothing secret is in it
  EXPECT_THAT(LoadAccess({.kubeconfig = other}), IsOk());
  std::filesystem::permissions(key, kOwn | perms::others_read);
  EXPECT_THAT(LoadAccess({.kubeconfig = other}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("chmod 600 " + key)));
}

TEST_F(KubeconfigTest, TheCurrentContextCounts) {
  const auto access = Load(kTwoContexts);
  ASSERT_THAT(access, IsOk());
  EXPECT_EQ(access->url, "https://near:6443");
  EXPECT_EQ(access->authority, "ca");
  EXPECT_EQ(access->certificate, "cert");
  EXPECT_EQ(access->key, "key");
  EXPECT_EQ(access->namespace_, "team");
  EXPECT_FALSE(access->insecure);
}

TEST_F(KubeconfigTest, AProgramCanBeAskedWhoWeAre) {
  const auto access = Load(R"({current-context: c,
    clusters: [{name: c, cluster: {server: "https://x:6443", certificate-authority-data: Y2E=,
      extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: 7}}]}}],
    contexts: [{name: c, context: {cluster: c, user: u}}],
    users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1,
      command: ./bin/login, args: [--for, x], env: [{name: A, value: b}], interactiveMode: Never,
      provideClusterInfo: true, installHint: get it}}}]})");
  ASSERT_THAT(access, IsOk());
  const ExecPlugin& plugin = access->exec;
  EXPECT_EQ(plugin.command, folder_ + "/./bin/login");
  EXPECT_THAT(plugin.args, ::testing::ElementsAre("--for", "x"));
  EXPECT_THAT(plugin.env, ::testing::ElementsAre(::testing::Pair("A", "b")));
  EXPECT_EQ(plugin.interactive, ExecPlugin::Interactive::kNever);
  EXPECT_EQ(plugin.install_hint, "get it");
  EXPECT_EQ(plugin.cluster, R"({"server":"https://x:6443","certificate-authority-data":"Y2E=",)"
                            R"("config":{"audience":7}})");
}

TEST_F(KubeconfigTest, AProxyIsTheClustersOrTheEnvironments) {
  const auto with = [&](const std::string& cluster,
                        std::map<std::string, std::string, std::less<>> variables) {
    const std::string file =
        Write("config", "{current-context: c, clusters: [{name: c, cluster: " + cluster +
                            "}], contexts: [{name: c, context: {cluster: c}}]}");
    const auto access = LoadAccess({.kubeconfig = file, .variables = std::move(variables)});
    EXPECT_THAT(access, IsOk());
    return access.ok() ? access->proxy : "?";
  };
  EXPECT_EQ(with("{server: \"https://h\"}", {}), "");
  EXPECT_EQ(with("{server: \"https://h\"}", {{"HTTPS_PROXY", "http://p:1"}}), "http://p:1");
  EXPECT_EQ(
      with("{server: \"https://h\", proxy-url: \"socks5://q\"}", {{"HTTPS_PROXY", "http://p:1"}}),
      "socks5://q");
  EXPECT_EQ(with("{server: \"https://h\"}", {{"https_proxy", "p:1"}, {"no_proxy", "x,h"}}), "");
}

TEST_F(KubeconfigTest, NameAndPasswordAreForThoseWhoAskForThem) {
  const auto access = Load(R"({current-context: c, clusters: [{name: c, cluster: {
    server: "https://x"}}], contexts: [{name: c, context: {cluster: c, user: u}}],
    users: [{name: u, user: {username: ann, password: secret}}]})");
  ASSERT_THAT(access, IsOk());
  EXPECT_EQ(access->username, "ann");
  EXPECT_EQ(access->password, "secret");
}

TEST_F(KubeconfigTest, AnotherContextCanBeChosen) {
  const std::string file = Write("config", kTwoContexts);
  const auto access = LoadAccess({.kubeconfig = file, .context = "two"});
  ASSERT_THAT(access, IsOk());
  EXPECT_EQ(access->url, "https://far:443/k8s");
  EXPECT_TRUE(access->insecure);
  EXPECT_EQ(access->tls_server_name, "door");
  EXPECT_EQ(access->token, "secret");
  EXPECT_THAT(
      LoadAccess({.kubeconfig = file, .context = "three"}),
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("\"three\""), HasSubstr("one, two"))));
}

TEST_F(KubeconfigTest, FilesAreRelativeToTheConfigThatNamesThem) {
  Write("sub/ca.pem", "the authority");
  Write("sub/me.pem", "me");
  Write("sub/me.key", "mine");
  const std::string file = Write("sub/config", R"(
current-context: c
clusters: [{name: c, cluster: {server: "https://h", certificate-authority: ca.pem}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {client-certificate: ./me.pem, client-key: me.key, tokenFile: token}}]
)");
  const auto access = LoadAccess({.kubeconfig = file});
  ASSERT_THAT(access, IsOk());
  EXPECT_EQ(access->authority, "the authority");
  EXPECT_EQ(access->certificate, "me");
  EXPECT_EQ(access->key, "mine");
  EXPECT_EQ(access->token_file, folder_ + "/sub/token");
}

TEST_F(KubeconfigTest, OfSeveralFilesTheFirstToSaySomethingCounts) {
  const std::string a = Write("a", R"(
clusters: [{name: c, cluster: {server: "https://first"}}]
users: [{name: u, user: {token: first}}]
)");
  const std::string b = Write("b", R"(
current-context: x
clusters: [{name: c, cluster: {server: "https://second"}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
)");
  const auto access =
      LoadAccess({.variables = {{"KUBECONFIG", folder_ + "/missing:" + a + "::" + b}}});
  ASSERT_THAT(access, IsOk());
  EXPECT_EQ(access->url, "https://first");
  EXPECT_EQ(access->token, "first");
}

TEST_F(KubeconfigTest, TheNamedFileGoesBeforeTheVariableAndThatBeforeHome) {
  const auto config = [](std::string_view host) {
    return "current-context: c\nclusters: [{name: c, cluster: {server: \"https://" +
           std::string(host) + "\"}}]\ncontexts: [{name: c, context: {cluster: c}}]\n";
  };
  const std::string named = Write("named", config("named"));
  AccessOptions options;
  options.variables["HOME"] = folder_;
  EXPECT_THAT(LoadAccess(options), StatusIs(StatusCode::kNotFound, HasSubstr(".kube/config")));
  Write(".kube/config", config("home"));
  EXPECT_EQ(LoadAccess(options)->url, "https://home");
  options.variables["KUBECONFIG"] = Write("variable", config("variable"));
  EXPECT_EQ(LoadAccess(options)->url, "https://variable");
  options.kubeconfig = named;
  EXPECT_EQ(LoadAccess(options)->url, "https://named");
  options.kubeconfig = folder_ + "/none";
  EXPECT_THAT(LoadAccess(options), StatusIs(StatusCode::kNotFound, HasSubstr("/none")));
}

TEST_F(KubeconfigTest, APodHasItsServiceAccount) {
  Write("token", "t\n");
  Write("ca.crt", "ca");
  Write("namespace", "where");
  AccessOptions options{.service_account = folder_};
  EXPECT_THAT(LoadAccess(options), StatusIs(StatusCode::kNotFound, HasSubstr("--kubeconfig")));
  options.variables = {{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"KUBERNETES_SERVICE_PORT", "6443"}};
  const auto access = LoadAccess(options);
  ASSERT_THAT(access, IsOk());
  EXPECT_EQ(access->url, "https://[fd00::1]:6443");
  EXPECT_EQ(access->token_file, folder_ + "/token");
  EXPECT_EQ(access->authority, "ca");
  EXPECT_EQ(access->namespace_, "where");
}

std::string WithUser(std::string_view user) {
  return "current-context: c\nclusters: [{name: c, cluster: {server: \"https://h\"}}]\n"
         "contexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: " +
         std::string(user) + "}]\n";
}

TEST_F(KubeconfigTest, AUserCanAskInTheNameOfAnother) {
  const auto access = Load(
      WithUser("{token: t, as: bob, as-uid: \"7\", as-groups: [devs, \"system:authenticated\"], "
               "as-user-extra: {\"example.com/scopes\": [view, edit]}}"));
  ASSERT_THAT(access, IsOk());
  EXPECT_EQ(internal::ImpersonationHeaders(access->as),
            "Impersonate-User: bob\r\nImpersonate-Uid: 7\r\nImpersonate-Group: devs\r\n"
            "Impersonate-Group: system:authenticated\r\n"
            "Impersonate-Extra-example.com%2Fscopes: view\r\n"
            "Impersonate-Extra-example.com%2Fscopes: edit\r\n");
  EXPECT_EQ(internal::ImpersonationHeaders(Load(WithUser("{token: t}"))->as), "");
}

struct BadConfig {
  std::string name;
  std::string text;
  std::vector<std::string> says;
  StatusCode code = StatusCode::kInvalidArgument;
  friend void PrintTo(const BadConfig& c, std::ostream* os) { *os << c.name; }
};
class BadKubeconfigTest : public KubeconfigTest, public ::testing::WithParamInterface<BadConfig> {};

TEST_P(BadKubeconfigTest, IsRefusedWithFieldAndReason) {
  const auto access = Load(GetParam().text);
  EXPECT_EQ(access.status().code(), GetParam().code) << access.status();
  for (const std::string& part : GetParam().says) {
    EXPECT_THAT(std::string(base::Message(access.status())), HasSubstr(part));
  }
}

std::string WithCluster(std::string_view cluster) {
  return "current-context: c\ncontexts: [{name: c, context: {cluster: c}}]\n"
         "clusters: [{name: c, cluster: " +
         std::string(cluster) + "}]\n";
}

INSTANTIATE_TEST_SUITE_P(
    All, BadKubeconfigTest,
    ::testing::ValuesIn(std::vector<BadConfig>{
        {"no_yaml", "a: [", {"config: 2:1: not valid YAML"}},
        {"no_config", "kind: Pod\n", {"kind must be Config, not Pod"}},
        {"no_current_context", "contexts: [{name: a, context: {}}]\n", {"current-context", "a"}},
        {"no_such_cluster",
         "current-context: a\ncontexts: [{name: a, context: {cluster: b}}]\n",
         {"no cluster \"b\"", "there are none"}},
        {"no_name", "clusters: [{cluster: {}}]\n", {"clusters: every entry must have a name"}},
        {"server_missing", WithCluster("{}"), {"clusters[\"c\"].cluster.server"}},
        {"number_for_text", WithCluster("{server: 5}"), {"cluster.server: must be a string"}},
        {"no_bool",
         WithCluster("{server: \"https://h\", insecure-skip-tls-verify: \"yes\"}"),
         {"insecure-skip-tls-verify: must be true or false"}},
        {"trust_and_insecure",
         WithCluster("{server: \"https://h\", insecure-skip-tls-verify: true, "
                     "certificate-authority-data: YQ==}"),
         {"must not both be set"}},
        {"no_base64",
         WithCluster("{server: \"https://h\", certificate-authority-data: \"%\"}"),
         {"certificate-authority-data: must be base64"}},
        {"file_missing",
         WithCluster("{server: \"https://h\", certificate-authority: gone.pem}"),
         {"certificate-authority", "gone.pem"}},
        {"key_missing", WithUser("{client-certificate-data: YQ==}"), {"must both be set"}},
        {"exec_of_no_version",
         WithUser("{exec: {command: aws}}"),
         {"users[\"u\"].user.exec.apiVersion: \"\" must be client.authentication.k8s.io/v1"}},
        {"exec_of_nothing",
         WithUser("{exec: {apiVersion: client.authentication.k8s.io/v1}}"),
         {"users[\"u\"].user.exec.command: must name a program"}},
        {"exec_that_does_not_say_whether_it_asks",
         WithUser("{exec: {apiVersion: client.authentication.k8s.io/v1, command: aws}}"),
         {"user.exec.interactiveMode: \"\" must be Never"}},
        {"exec_with_a_variable_of_no_name",
         WithUser("{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws, env: "
                  "[{value: x}]}}"),
         {"user.exec.env: every entry must have the name"}},
        {"auth_provider",
         WithUser("{auth-provider: {name: gcp}}"),
         {"users[\"u\"].user.auth-provider: not supported"},
         StatusCode::kUnimplemented},
        {"groups_of_nobody", WithUser("{as-groups: [admins]}"), {"users[\"u\"].user: as-uid"}},
        {"header_in_a_name",
         WithUser("{as: \"bob\\r\\nImpersonate-Group: system:masters\"}"),
         {"users[\"u\"].user.as: must be one line of text"}},
        {"header_in_a_group",
         WithUser("{as: bob, as-groups: [\"a\\nb\"]}"),
         {"user.as-groups: must be one line of text"}},
        {"groups_that_are_none",
         WithUser("{as: bob, as-groups: admins}"),
         {"user.as-groups: must be a list of strings"}},
        {"extra_that_is_none",
         WithUser("{as: bob, as-user-extra: {scope: view}}"),
         {"user.as-user-extra[\"scope\"]: must be a list of strings"}},
        {"proxy_that_is_none",
         WithCluster("{server: \"https://h\", proxy-url: \"http://p:x\"}"),
         {"cluster.proxy-url: proxy \"p:x\" must be a URL"}},
        {"proxy_of_another_kind",
         WithCluster("{server: \"https://h\", proxy-url: \"https://p\"}"),
         {"cluster.proxy-url: a proxy with https:// is not supported"},
         StatusCode::kUnimplemented},
    }),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace dray::client
