// SPDX-License-Identifier: Apache-2.0
//
// Two `dray apiserver` processes on one etcd, and clients of both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api/pod.h"
#include "fmt/format.h"
#include "process/requests.h"
#include "process/up_process.h"
#include "store/etcd/etcd_for_test.h"

namespace dray::etcd {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kSpace = "/api/v1/namespaces/default";

class EtcdProcesses : public ::testing::Test {
 protected:
  void SetUp() override {
    DRAY_NEEDS_ETCD();
    const std::vector<std::string> flags = {
        "--store", fmt::format("etcd://{}{}", store::SharedEtcd().client(0), store::FreshPrefix())};
    for (const char* name : {"a", "b"}) {
      if (!servers_.empty()) {
        std::filesystem::create_directories(folder_.File(name) + "/pki");
        for (const char* file : {"/pki/ca.crt", "/pki/ca.key", "/pki/sa.key"}) {
          std::filesystem::copy_file(folder_.File("a") + file, folder_.File(name) + file);
        }
      }
      servers_.push_back(
          std::make_unique<process::UpProcess>(folder_.File(name), flags, "apiserver"));
      ASSERT_EQ(servers_.back()->AwaitReady(std::chrono::seconds(60)), "");
    }
  }
  process::Requests Client(std::size_t server) {
    return {servers_[server]->port(), servers_[server]->Tls()};
  }

  process::Folder folder_;
  std::vector<std::unique_ptr<process::UpProcess>> servers_;
};

// 500 pods at once at two servers, of which 100 fit: not one more, not one fewer, and the quota says so.
TEST_F(EtcdProcesses, AQuotaIsNeverExceededAcrossServers) {
  constexpr int kPods = 500;
  constexpr int kFit = 100;
  constexpr int kClients = 10;
  process::Requests admin = Client(0);
  const auto post = [](process::Requests& client, std::string_view what, std::string body) {
    return client.Do(
        {.method = "POST", .path = fmt::format("{}/{}", kSpace, what), .body = std::move(body)});
  };
  ASSERT_EQ(post(admin, "serviceaccounts", R"({"metadata":{"name":"default"}})").status, 201);
  ASSERT_EQ(
      post(admin, "resourcequotas",
           fmt::format(R"({{"metadata":{{"name":"q"}},"spec":{{"hard":{{"pods":"{}"}}}}}})", kFit))
          .status,
      201);
  std::atomic<int> made = 0;
  std::atomic<int> refused = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < kClients; ++c) {
    clients.emplace_back([&, c] {
      process::Requests client = Client(static_cast<std::size_t>(c) % 2);
      for (int i = 0; i < kPods / kClients; ++i) {
        const auto answer =
            post(client, "pods",
                 fmt::format(R"({{"metadata":{{"name":"p{}-{}"}},"spec":{{"containers":[)"
                             R"({{"name":"c","image":"i"}}]}}}})",
                             c, i));
        if (answer.status == 201) {
          ++made;
        } else if (answer.status == 403) {
          EXPECT_THAT(answer.body, HasSubstr("exceeded quota: q"));
          ++refused;
        } else {
          ADD_FAILURE() << answer.status << " " << answer.body;
        }
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(made, kFit);
  EXPECT_EQ(refused, kPods - kFit);
  for (std::size_t server = 0; server < servers_.size(); ++server) {
    process::Requests client = Client(server);
    EXPECT_EQ(client.List(api::HubKind(api::TypeInfoOf<api::Pod>()))->objects.size(),
              static_cast<std::size_t>(kFit));
    EXPECT_THAT(client.Do({.path = fmt::format("{}/resourcequotas/q", kSpace)}).body,
                HasSubstr(fmt::format(R"("used":{{"pods":"{}"}})", kFit)));
  }
}

// One of them is killed: whoever was with it goes on at the other one, at the same version.
TEST_F(EtcdProcesses, OneIsKilledAndItsClientsGoOnAtTheOther) {
  process::Requests a = Client(0);
  process::Requests b = Client(1);
  const auto made = a.Do({.method = "POST",
                          .path = fmt::format("{}/configmaps", kSpace),
                          .body = R"({"metadata":{"name":"m"},"data":{"v":"1"}})"});
  ASSERT_EQ(made.status, 201) << made.body;
  ASSERT_TRUE(servers_[0]->Kill());
  const auto read = b.Do({.path = fmt::format("{}/configmaps/m", kSpace)});
  EXPECT_EQ(read.status, 200);
  EXPECT_EQ(read.body, made.body);
  EXPECT_EQ(b.Do({.method = "DELETE", .path = fmt::format("{}/configmaps/m", kSpace)}).status, 200);
}

}  // namespace
}  // namespace dray::etcd
