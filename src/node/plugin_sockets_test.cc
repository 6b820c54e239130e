// SPDX-License-Identifier: Apache-2.0
//
// Plugins with real sockets, real files and the machine's clock: what no fake can show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "files/temporary_folder.h"
#include "node/plugin_acceptance_for_test.h"
#include "node/plugin_manager.h"
#include "rpc/plugin_server.h"
#include "testing/status_matchers.h"

namespace dray::node {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::dray::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

bool Eventually(const std::function<bool()>& what) {
  for (int i = 0; i < 3000; ++i) {
    if (what()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

// A socket's file, for those who only look at it.
void MakeSocket(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << path;
  close(fd);
}

class Seen {
 public:
  PluginSocketEvents events() {
    return {.found = [this](const std::string& path) { Add("+" + path); },
            .gone = [this](const std::string& path) { Add("-" + path); }};
  }
  // What was seen since the last time, once it is as much as that.
  std::vector<std::string> Take(std::size_t count) {
    EXPECT_TRUE(Eventually([&] {
      const base::MutexLock lock(mutex_);
      return seen_.size() >= count;
    }));
    const base::MutexLock lock(mutex_);
    return std::exchange(seen_, {});
  }

 private:
  void Add(std::string what) {
    const base::MutexLock lock(mutex_);
    seen_.push_back(std::move(what));
  }
  base::Mutex mutex_;
  std::vector<std::string> seen_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(PluginAcceptance, Row9SocketsInFoldersHiddenOnesAndOrdinaryFiles) {
  const files::TemporaryFolder folder;
  const std::string registry = folder / "plugins_registry";
  std::filesystem::create_directories(registry + "/old/.hidden");
  MakeSocket(registry + "/old/a.sock");
  MakeSocket(registry + "/old/.hidden/no.sock");
  MakeSocket(registry + "/.no.sock");
  std::ofstream(registry + "/file.sock") << "ordinary";
  Seen seen;
  const auto watcher = WatchPlugins(registry, seen.events(), {});
  ASSERT_THAT(watcher, IsOk());
  EXPECT_THAT(seen.Take(1), ElementsAre("+" + registry + "/old/a.sock"));

  std::filesystem::create_directories(registry + "/new/deeper");
  MakeSocket(registry + "/new/deeper/b.sock");
  EXPECT_THAT(seen.Take(1), ElementsAre("+" + registry + "/new/deeper/b.sock"));
  MakeSocket(registry + "/.still-no.sock");
  std::ofstream(registry + "/another") << "ordinary";
  MakeSocket(registry + "/c.sock");
  EXPECT_THAT(seen.Take(1), ElementsAre("+" + registry + "/c.sock"));

  // Made anew under the same name.
  unlink((registry + "/c.sock").c_str());
  MakeSocket(registry + "/c.sock");
  EXPECT_THAT(seen.Take(2), ElementsAre("-" + registry + "/c.sock", "+" + registry + "/c.sock"));
  std::filesystem::rename(registry + "/c.sock", registry + "/d.sock");
  EXPECT_THAT(seen.Take(2), ElementsAre("-" + registry + "/c.sock", "+" + registry + "/d.sock"));
  std::filesystem::rename(registry + "/new", folder / "elsewhere");
  EXPECT_THAT(seen.Take(1), ElementsAre("-" + registry + "/new/deeper/b.sock"));
  MakeSocket(folder / "elsewhere/deeper/unseen.sock");

  // Even without the registry: it is made again.
  std::filesystem::remove_all(registry);
  EXPECT_THAT(seen.Take(2),
              UnorderedElementsAre("-" + registry + "/d.sock", "-" + registry + "/old/a.sock"));
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(registry); }));
  MakeSocket(registry + "/e.sock");
  EXPECT_THAT(seen.Take(1), ElementsAre("+" + registry + "/e.sock"));
}

// Other programs may have taken all inotify instances of the machine.
TEST(PluginSockets, WithoutInotifyItIsLookedOnceASecond) {
  const files::TemporaryFolder folder;
  const std::string registry = folder / "plugins_registry";
  std::filesystem::create_directories(registry + "/old/.hidden");
  MakeSocket(registry + "/old/a.sock");
  MakeSocket(registry + "/old/.hidden/no.sock");
  std::ofstream(registry + "/file.sock") << "ordinary";
  Seen seen;
  const auto watcher = WatchPlugins(registry, seen.events(), {}, /*inotify=*/false);
  ASSERT_THAT(watcher, IsOk());
  EXPECT_THAT(seen.Take(1), ElementsAre("+" + registry + "/old/a.sock"));
  std::filesystem::create_directories(registry + "/new/deeper");
  MakeSocket(registry + "/new/deeper/b.sock");
  EXPECT_THAT(seen.Take(1), ElementsAre("+" + registry + "/new/deeper/b.sock"));
  std::filesystem::remove_all(registry);
  EXPECT_THAT(seen.Take(2), UnorderedElementsAre("-" + registry + "/new/deeper/b.sock",
                                                 "-" + registry + "/old/a.sock"));
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(registry); }));
  MakeSocket(registry + "/e.sock");
  EXPECT_THAT(seen.Take(1), ElementsAre("+" + registry + "/e.sock"));
}

class Driver final : public rpc::PluginHandler {
 public:
  explicit Driver(std::string endpoint) : endpoint_(std::move(endpoint)) {}
  StatusOr<rpc::PrepareAnswer> Prepare(const std::vector<rpc::ClaimName>& claims) override {
    rpc::PrepareAnswer answer;
    for (const auto& claim : claims) answer[claim.uid].devices.push_back({.device = "d"});
    return answer;
  }
  StatusOr<rpc::UnprepareAnswer> Unprepare(const std::vector<rpc::ClaimName>& claims) override {
    rpc::UnprepareAnswer answer;
    for (const auto& claim : claims) answer[claim.uid];
    return answer;
  }
  Status WatchHealth(std::shared_ptr<rpc::HealthReports> reports) override {
    reports->Send({{.pool = "p", .device = "d", .health = rpc::Health::kUnhealthy}});
    const base::MutexLock lock(mutex_);
    kept_.push_back(std::move(reports));
    return {};
  }
  StatusOr<rpc::PluginInfo> Info() override {
    return rpc::PluginInfo{.type = "DRAPlugin",
                           .name = "x",
                           .endpoint = endpoint_,
                           .supported_versions = {"v1.DRAPlugin", "v1.DRAResourceHealth"}};
  }
  Status Registered(bool, const std::string&) override { return {}; }

 private:
  const std::string endpoint_;
  base::Mutex mutex_;
  std::vector<std::shared_ptr<rpc::HealthReports>> kept_ ABSL_GUARDED_BY(mutex_);
};

class NoSlices final : public SliceWiper {
 public:
  explicit NoSlices(Loop& loop) : loop_(loop) {}
  void Wipe(const std::string&, std::function<void(Status)> done) override {
    loop_.Post([done = std::move(done)] { done(Status()); });
  }

 private:
  Loop& loop_;
};

class OffloadHere final : public Offload {
 public:
  void Do(std::function<void()> work) override { work(); }
};

class Deaf final : public PluginsListener {
 public:
  void OnDriverReady(const std::string&) override {}
  void OnHealthChanged(const std::vector<DeviceName>&) override {}
};

// From the socket in the folder to the answer of a driver, and through its restart.
TEST(PluginSockets, ADriverComesAndGoesAndComes) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "gRPC's archives are not compiled for the thread sanitizer";
#endif
  const files::TemporaryFolder folder;
  const base::SystemClock clock;
  Loop loop(clock);
  const auto connector = rpc::SocketConnector();
  NoSlices slices(loop);
  OffloadHere offload;
  Deaf deaf;
  auto manager = std::make_unique<PluginManager>(
      PluginManagerParts{
          .loop = loop, .offload = offload, .connector = *connector, .wiper = slices},
      PluginManagerOptions{.root = folder.path()});
  manager->Start(deaf);
  ASSERT_THAT(manager->WatchSockets(), IsOk());
  std::thread thread([&] { loop.Run(); });
  const auto on_loop = [&](const std::function<bool()>& what) {
    std::promise<bool> answer;
    loop.Post([&] { answer.set_value(what()); });
    return answer.get_future().get();
  };
  Plugins& plugins = manager->plugins();

  Driver driver(folder / "dra.sock");
  const rpc::PluginSockets sockets = {.registration = folder / "plugins_registry/x-reg.sock",
                                      .dra = folder / "dra.sock"};
  for (int life = 0; life < 2; ++life) {
    auto server = rpc::ServePlugin(sockets, driver);
    ASSERT_THAT(server, IsOk());
    ASSERT_TRUE(Eventually([&] { return on_loop([&] { return plugins.Registered("x").ok(); }); }));
    std::promise<StatusOr<rpc::PrepareAnswer>> prepared;
    loop.Post([&] {
      plugins.Prepare("x", {{.namespace_ = "n", .uid = "u", .name = "c"}},
                      [&](StatusOr<rpc::PrepareAnswer> answer) { prepared.set_value(answer); });
    });
    EXPECT_THAT(prepared.get_future().get(), IsOk());
    EXPECT_TRUE(Eventually([&] {
      return on_loop([&] {
        return plugins.HealthOf({"x", "p", "d"}).health == rpc::Health::kUnhealthy;
      });
    }));
    server->reset();
    ASSERT_TRUE(Eventually([&] { return on_loop([&] { return !plugins.Registered("x").ok(); }); }));
  }
  // The agent goes while its loop still runs.
  on_loop([&] {
    manager = nullptr;
    return true;
  });
  loop.Stop();
  thread.join();
}

}  // namespace
}  // namespace dray::node
