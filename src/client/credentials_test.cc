// SPDX-License-Identifier: Apache-2.0
//
// Programs that are asked who we are, and proxies on the way: with real ones.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/http_client.h"
#include "client/internal/exec_plugin.h"
#include "client/internal/proxy.h"
#include "client/server_for_test.h"
#include "testing/status_matchers.h"

namespace dray::client {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using internal::ParseProxy;
using internal::Proxy;
using internal::ProxyFromEnvironment;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";

class ExecTest : public ::testing::Test {
 protected:
  ExecTest() {
    std::string name = std::filesystem::temp_directory_path() / "dray-exec-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~ExecTest() override { std::filesystem::remove_all(folder_); }

  // A shell script; it counts how often it was called.
  ExecPlugin Program(const std::string& text) {
    const std::string path = folder_ + "/login";
    std::ofstream(path) << "#!/bin/sh\necho >>" << folder_ << "/calls\n" << text << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return {.command = path, .api_version = kV1, .interactive = ExecPlugin::Interactive::kNever};
  }
  std::size_t Calls() const {
    std::ifstream file(folder_ + "/calls");
    std::size_t lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
  }
  static std::string Says(const std::string& status) {
    return std::string("echo '{\"apiVersion\":\"") + kV1 +
           "\",\"kind\":\"ExecCredential\",\"status\":" + status + "}'";
  }
  static int Ask(HttpClient& http, const std::string& method = "GET") {
    const auto response = http.Send({.method = method, .target = "/api/v1/namespaces"});
    EXPECT_THAT(response, IsOk());
    return response.ok() ? response->status : 0;
  }
  std::unique_ptr<HttpClient> Connect(const ExecPlugin& plugin) {
    ServerAccess access = server_.Access();
    access.certificate.clear();
    access.key.clear();
    access.token.clear();
    access.exec = plugin;
    auto http = HttpClient::Create(access);
    EXPECT_THAT(http, IsOk());
    return *std::move(http);
  }

  std::string folder_;
  TestServer server_;
};

TEST_F(ExecTest, ATokenIsKeptUntilItRunsOut) {
  const auto http = Connect(Program(Says(R"({"token":"secret"})")));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Ask(*http), 200);
  EXPECT_EQ(Calls(), 1u);
  // One that is over when it is given is asked for each time.
  const auto short_lived =
      Connect(Program(Says(R"({"token":"secret","expirationTimestamp":"2001-01-01T00:00:00Z"})")));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Ask(*short_lived), 200);
  EXPECT_EQ(Calls(), 4u);
  const auto long_lived =
      Connect(Program(Says(R"({"token":"secret","expirationTimestamp":"2999-01-01T00:00:00Z"})")));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Ask(*long_lived), 200);
  EXPECT_EQ(Calls(), 5u);
}

TEST_F(ExecTest, WhoIsNotBelievedAsksOnceMore) {
  // The first token is of yesterday.
  const auto http = Connect(Program("if [ $(wc -l <" + folder_ + "/calls) = 1 ]; then " +
                                    Says(R"({"token":"old"})") + "; else " +
                                    Says(R"({"token":"secret"})") + "; fi"));
  EXPECT_EQ(Ask(*http), 200);
  EXPECT_EQ(Calls(), 2u);
  const auto never = Connect(Program(Says(R"({"token":"wrong"})")));
  EXPECT_EQ(Ask(*never), 401);
  EXPECT_EQ(Calls(), 4u);
}

TEST_F(ExecTest, ACertificateSaysWhoAsks) {
  const ServerAccess ann = server_.AccessAs("ann", {"system:masters"});
  std::ofstream(folder_ + "/cert") << ann.certificate;
  std::ofstream(folder_ + "/key") << ann.key;
  // JSON in shell: line ends become \n.
  const auto http =
      Connect(Program("text() { awk '{printf \"%s\\\\n\", $0}' \"$1\"; }\n"
                      "printf '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":"
                      "\"ExecCredential\",\"status\":{\"clientCertificateData\":\"%s\","
                      "\"clientKeyData\":\"%s\"}}' \"$(text " +
                      folder_ + "/cert)\" \"$(text " + folder_ + "/key)\""));
  EXPECT_EQ(Ask(*http), 200);
  EXPECT_EQ(Ask(*http), 200);
  EXPECT_EQ(Calls(), 1u);
}

TEST_F(ExecTest, TheProgramIsToldWhatItIsFor) {
  ExecPlugin plugin = Program("echo \"$KUBERNETES_EXEC_INFO $MINE $1\" >" + folder_ + "/told\n" +
                              Says(R"({"token":"secret"})"));
  plugin.args = {"hello"};
  plugin.env = {{"MINE", "too"}};
  plugin.cluster = R"({"server":"https://x"})";
  EXPECT_THAT(internal::AskPlugin(plugin), IsOk());
  std::ifstream file(folder_ + "/told");
  std::string told;
  std::getline(file, told);
  EXPECT_EQ(told,
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":)"
            R"({"cluster":{"server":"https://x"},"interactive":false}} too hello)");
}

TEST_F(ExecTest, WhatGoesWrongNamesTheProgram) {
  const auto fails = [&](const ExecPlugin& plugin, std::string_view what) {
    EXPECT_THAT(
        internal::AskPlugin(plugin),
        StatusIs(StatusCode::kUnauthenticated,
                 AllOf(HasSubstr("exec plugin " + plugin.command), HasSubstr(std::string(what)))));
  };
  fails(Program("exit 3"), "it failed with exit code 3");
  fails(Program("echo hello"), "not an ExecCredential in JSON");
  fails(Program(Says("{}")), "neither a token nor a certificate");
  fails(Program("echo '{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"kind\":"
                "\"ExecCredential\",\"status\":{\"token\":\"x\"}}'"),
        "it was asked for client.authentication.k8s.io/v1 and answers with");
  fails(Program(Says(R"({"token":"a\u0007b"})")), "control characters");
  fails(Program(Says(R"({"clientCertificateData":"x"})")), "must both be there");
  fails(Program(Says(R"({"token":"x","expirationTimestamp":"soon"})")), "is not a time");
  fails({.command = "/nowhere/login", .api_version = kV1, .install_hint = "apt install login"},
        "apt install login");
}

TEST(ProxyTest, IsChosenAsGoDoes) {
  const auto chosen = [](std::string_view url, std::string no_proxy) {
    return ProxyFromEnvironment(
        url, {{"HTTPS_PROXY", "http://p"}, {"HTTP_PROXY", "http://q"}, {"NO_PROXY", no_proxy}});
  };
  EXPECT_EQ(chosen("https://k8s.example.com:6443", ""), "http://p");
  EXPECT_EQ(chosen("http://k8s.example.com", ""), "http://q");
  for (const char* local : {"https://localhost:6443", "https://127.0.0.1:1", "https://[::1]:1"}) {
    EXPECT_EQ(chosen(local, ""), "") << local;
  }
  for (const char* none : {"*", "example.com", ".example.com", "*.example.com", "k8s.example.com",
                           "a, K8S.Example.com ", "k8s.example.com:6443"}) {
    EXPECT_EQ(chosen("https://k8s.example.com:6443", none), "") << none;
  }
  for (const char* other : {"ample.com", "k8s.example.com:443", "other.com", "10.0.0.0/8"}) {
    EXPECT_EQ(chosen("https://k8s.example.com:6443", other), "http://p") << other;
  }
  EXPECT_EQ(chosen("https://example.com", ".example.com"), "http://p");
  for (const char* none : {"10.1.2.3", "10.0.0.0/8", "10.1.2.3:6443", "10.1.2.2/31"}) {
    EXPECT_EQ(chosen("https://10.1.2.3:6443", none), "") << none;
  }
  for (const char* other : {"10.1.2.4", "10.1.2.4/31", "10.1.2.3:443", "10.1.2.3/99", "1.2.3"}) {
    EXPECT_EQ(chosen("https://10.1.2.3:6443", other), "http://p") << other;
  }
  EXPECT_EQ(chosen("https://[fd00::5]:6443", "fd00::/8"), "");
  EXPECT_EQ(chosen("https://[fd00::5]:6443", "[fd00::5]:6443"), "");
  EXPECT_EQ(chosen("https://[fd00::5]:6443", "fd00::6"), "http://p");
}

TEST(ProxyTest, IsReadFromItsUrl) {
  const auto proxy = ParseProxy("http://ann:p%40ss@proxy.example.com:3128");
  ASSERT_THAT(proxy, IsOk());
  EXPECT_EQ(proxy->host, "proxy.example.com");
  EXPECT_EQ(proxy->port, "3128");
  EXPECT_EQ(proxy->username, "ann");
  EXPECT_EQ(proxy->password, "p@ss");
  EXPECT_EQ(ParseProxy("proxy:8080")->port, "8080");
  EXPECT_EQ(ParseProxy("proxy")->port, "80");
  EXPECT_EQ(ParseProxy("socks5://proxy")->port, "1080");
  EXPECT_EQ(ParseProxy("socks5://proxy")->kind, Proxy::Kind::kSocks5);
  EXPECT_THAT(ParseProxy("ftp://proxy"), StatusIs(StatusCode::kUnimplemented, HasSubstr("ftp://")));
  EXPECT_THAT(ParseProxy("http://ann:secret@pro xy"),
              StatusIs(StatusCode::kInvalidArgument, ::testing::Not(HasSubstr("secret"))));
}

// A proxy: connects whoever asks, one at a time, and carries bytes.
class TestProxy {
 public:
  explicit TestProxy(bool socks) : socks_(socks) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    socklen_t size = sizeof(address);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~TestProxy() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::string url(const std::string& who = "") const {
    return (socks_ ? "socks5://" : "http://") + who + "127.0.0.1:" + std::to_string(port_);
  }
  std::atomic<int> connected = 0;
  std::string asked;  // the last request; once the answer was read
  std::atomic<bool> refuses = false;

 private:
  void Serve() {
    for (;;) {
      const int client = ::accept(listener_, nullptr, nullptr);
      if (client < 0) return;
      const int server = socks_ ? AcceptSocks(client) : AcceptHttp(client);
      if (server >= 0) {
        ++connected;
        Carry(client, server);
        ::close(server);
      }
      ::close(client);
    }
  }
  static std::string Read(int fd, std::size_t size) {
    std::string bytes(size, '\0');
    return ::recv(fd, bytes.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size) ? bytes : "";
  }
  static void Write(int fd, std::string_view bytes) {
    static_cast<void>(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  static int To(int port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<std::uint16_t>(port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return fd;
    ::close(fd);
    return -1;
  }
  int AcceptHttp(int client) {
    std::string header;
    while (!header.ends_with("\r\n\r\n")) {
      const std::string byte = Read(client, 1);
      if (byte.empty()) return -1;
      header += byte;
    }
    asked = header;
    if (refuses) {
      Write(client, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
      return -1;
    }
    const std::size_t colon = header.find(':');
    const int server = To(std::stoi(header.substr(colon + 1)));
    Write(client, "HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n");
    return server;
  }
  int AcceptSocks(int client) {
    const std::string hello = Read(client, 2);
    if (hello.empty()) return -1;
    const std::string methods = Read(client, static_cast<std::size_t>(hello[1]));
    if (methods.find('\x02') != std::string::npos) {
      Write(client, std::string_view("\x05\x02", 2));
      const std::string who = Read(client, 2);
      const std::string name = Read(client, static_cast<std::size_t>(who[1]));
      const std::string length = Read(client, 1);
      const std::string password = Read(client, static_cast<std::size_t>(length[0]));
      asked = name + " " + password;
      Write(client, std::string_view("\x01\x00", 2));
    } else {
      Write(client, std::string_view("\x05\x00", 2));
    }
    const std::string request = Read(client, 5);
    const std::string host = Read(client, static_cast<std::size_t>(request[4]));
    const std::string port = Read(client, 2);
    const int number =
        static_cast<unsigned char>(port[0]) * 256 + static_cast<unsigned char>(port[1]);
    const int server = refuses ? -1 : To(number);
    Write(client, std::string_view(refuses ? "\x05\x05\x00\x01" : "\x05\x00\x00\x01", 4));
    Write(client, std::string_view("\x00\x00\x00\x00\x00\x00", 6));
    return server;
  }
  static void Carry(int a, int b) {
    char chunk[4096];
    for (;;) {
      pollfd look[2] = {{.fd = a, .events = POLLIN}, {.fd = b, .events = POLLIN}};
      if (::poll(look, 2, 10'000) <= 0) return;
      for (int i = 0; i < 2; ++i) {
        if (look[i].revents == 0) continue;
        const ssize_t size = ::recv(i == 0 ? a : b, chunk, sizeof(chunk), 0);
        if (size <= 0) return;
        Write(i == 0 ? b : a, {chunk, static_cast<std::size_t>(size)});
      }
    }
  }

  const bool socks_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

class ThroughProxyTest : public ::testing::TestWithParam<bool> {
 protected:
  StatusOr<HttpResponse> Ask(const std::string& proxy) {
    ServerAccess access = server_.Access();
    access.proxy = proxy;
    auto http = HttpClient::Create(access);
    EXPECT_THAT(http, IsOk());
    return (*http)->Send({.target = "/version"});
  }
  TestServer server_;
};

TEST_P(ThroughProxyTest, TheServerIsReachedAndItsCertificateIsItsOwn) {
  TestProxy proxy(GetParam());
  const auto response = Ask(proxy.url());
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(proxy.connected, 1);
  ASSERT_THAT(Ask(proxy.url("ann:secret@")), IsOk());
  EXPECT_THAT(proxy.asked,
              HasSubstr(GetParam() ? "ann secret" : "Proxy-Authorization: Basic YW5uOnNlY3JldA=="));
}

TEST_P(ThroughProxyTest, AProxyThatDoesNotWantToIsNamed) {
  TestProxy proxy(GetParam());
  proxy.refuses = true;
  EXPECT_THAT(Ask(proxy.url()),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr("proxy 127.0.0.1 port"), HasSubstr("does not connect to"),
                             HasSubstr(GetParam() ? "SOCKS5 error 5" : "407"))));
  EXPECT_THAT(
      Ask(GetParam() ? "socks5://127.0.0.1:1" : "http://127.0.0.1:1"),
      StatusIs(StatusCode::kUnavailable, HasSubstr("cannot connect to proxy 127.0.0.1 port 1")));
}

INSTANTIATE_TEST_SUITE_P(Kinds, ThroughProxyTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "socks5" : "http"; });

}  // namespace
}  // namespace dray::client
