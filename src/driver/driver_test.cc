// SPDX-License-Identifier: Apache-2.0
//
// Whole drivers: with an agent in the same process, and with the controls of `dray driver`.
#include "driver/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "driver/driver_for_test.h"
#include "driver/registrar.h"
#include "testing/status_matchers.h"

namespace dray::driver {
namespace {

using namespace std::chrono_literals;
using dray::testing::IsOk;
using dray::testing::IsOkAndHolds;
using dray::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST_F(DriverTest, AFileThatChangesIsPublishedAndOneThatIsWrongIsNot) {
  const auto program = Start(Options());
  EXPECT_THAT(DevicesPublished(),
              ::testing::UnorderedElementsAre("gpu-0", "gpu-1", "gpu-2", "link"));
  ASSERT_THAT(files::WriteWhole(shop_.folder / "devices.yaml", "pools: [{devices: [{name: x}]}]"),
              IsOk());
  shop_.clock.Advance(1s);
  program->Tick();
  Settle(*program);
  EXPECT_THAT(DevicesPublished(), ElementsAre("x"));
  ASSERT_THAT(files::WriteWhole(shop_.folder / "devices.yaml", "pools: ["), IsOk());
  shop_.clock.Advance(1s);
  program->Tick();
  Settle(*program);
  EXPECT_THAT(DevicesPublished(), ElementsAre("x"));
  const base::MutexLock lock(mutex_);
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("the devices are as before")));
}

// Pools for several nodes are somebody else's to publish; their devices are prepared all the same.
TEST_F(DriverTest, PoolsForSeveralNodesAreServedAndNotPublished) {
  ASSERT_THAT(files::WriteWhole(shop_.folder / "devices.yaml", R"(
driver: gpu.example.com
pools:
- devices: [{name: local}]
- {name: fabric, allNodes: true, devices: [{name: lun, cdi: {env: [LUN=yes]}}]}
)"),
              IsOk());
  const auto program = Start(Options());
  ASSERT_NE(program, nullptr);
  EXPECT_THAT(DevicesPublished(), ElementsAre("local"));
  rpc::PluginHandler& agent = *loopback_.Find(program->driver().sockets().dra).handler;
  const auto claim = shop_.Claim("a", {{.device = "lun", .pool = "fabric"}});
  const auto answer = agent.Prepare({claim});
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->at(claim.uid).error, "");
  EXPECT_THAT(answer->at(claim.uid).devices.at(0).cdi_ids, SizeIs(1));
  const base::MutexLock lock(mutex_);
  EXPECT_THAT(problems_, IsEmpty());
}

TEST_F(DriverTest, ControlsFailAndBlockAndCount) {
  const auto program = Start(Options());
  rpc::PluginHandler& agent = *loopback_.Find(program->driver().sockets().dra).handler;
  const auto claim = shop_.Claim("a", {{.device = "gpu-0"}});
  EXPECT_EQ(program->Command("fail prepare 2"), "ok\n");
  EXPECT_THAT(agent.Prepare({claim}), StatusIs(StatusCode::kInternal, HasSubstr("told to")));
  EXPECT_THAT(agent.Prepare({claim}), StatusIs(StatusCode::kInternal, HasSubstr("told to")));
  EXPECT_THAT(agent.Prepare({claim}), IsOk());
  EXPECT_EQ(program->Command("prepared"), claim.uid + "\nok\n");
  EXPECT_EQ(program->Command("block unprepare"), "ok\n");
  std::atomic<bool> done = false;
  std::thread blocked([&] {
    EXPECT_THAT(agent.Unprepare({claim}), IsOk());
    done = true;
  });
  while (program->Command("calls").find("unprepare") == std::string::npos) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_FALSE(done);
  EXPECT_EQ(program->Command("unblock unprepare"), "ok\n");
  blocked.join();
  EXPECT_THAT(program->Command("calls"),
              AllOf(HasSubstr("prepare ns/a/" + claim.uid), HasSubstr("unprepare ns/a/")));
  EXPECT_THAT(program->Command("jump"), StartsWith("error: unknown command \"jump\""));
  EXPECT_THAT(program->Command("fail"), StartsWith("error: fail what?"));
  EXPECT_THAT(program->Command("fail prepare x"), StartsWith("error:"));
  EXPECT_THAT(program->Command("health n1/nobody Healthy"),
              StartsWith("error: there is no device"));
  EXPECT_THAT(program->Command("health n1/gpu-0 Fine"), StartsWith("error: health is Healthy"));
  EXPECT_EQ(program->Command("health n1/gpu-0 Unhealthy fan is loud"), "ok\n");
}

TEST_F(DriverTest, HealthOfTheFileAndOfTheControlsIsTold) {
  const auto program = Start(Options());
  class Ear final : public rpc::HealthReports {
   public:
    bool Send(std::vector<rpc::DeviceHealth> devices) override {
      heard = std::move(devices);
      return true;
    }
    std::vector<rpc::DeviceHealth> heard;
  };
  const auto ear = std::make_shared<Ear>();
  ASSERT_THAT(loopback_.Find(program->driver().sockets().dra).handler->WatchHealth(ear), IsOk());
  ASSERT_THAT(ear->heard, SizeIs(4));
  EXPECT_EQ(ear->heard[2].message, "hot");
  program->Command("health n1/gpu-0 Unhealthy fan is loud");
  EXPECT_EQ(ear->heard[0].health, rpc::Health::kUnhealthy);
  EXPECT_EQ(ear->heard[0].message, "fan is loud");
  ear->heard.clear();
  shop_.clock.Advance(10s);
  program->Tick();  // reported again: it is looked at
  EXPECT_THAT(ear->heard, SizeIs(4));
}

TEST_F(DriverTest, ControlsAreServedOnASocket) {
  ProgramOptions options = Options();
  options.controls = shop_.folder / "c.sock";
  const auto program = Start(std::move(options));
  const files::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = shop_.folder / "c.sock";
  std::copy(path.begin(), path.end(), address.sun_path);
  ASSERT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_THAT(files::WriteAll(fd.get(), "fail prepare\nnonsense\n"), IsOk());
  std::string heard;
  while (std::count(heard.begin(), heard.end(), '\n') < 2) {
    char bytes[256];
    const ssize_t n = ::read(fd.get(), bytes, sizeof(bytes));
    ASSERT_GT(n, 0);
    heard.append(bytes, static_cast<std::size_t>(n));
  }
  EXPECT_THAT(heard, StartsWith("ok\nerror: unknown command \"nonsense\""));
}

// A probe hears whether the driver answers on its own sockets.
TEST_F(DriverTest, ALivenessProbeIsAnswered) {
  ProgramOptions options = Options();
  options.health_port = std::uint16_t{0};
  options.connector = &loopback_;
  const auto program = Start(std::move(options));
  ASSERT_NE(program, nullptr);
  const std::string target = "127.0.0.1:" + std::to_string(program->health_port());
  const auto alive = [&] { return rpc::AskLiveness(target, "liveness", 20s); };
  EXPECT_THAT(alive(), IsOkAndHolds(true));
  // Claims that take their time do not matter; a service that does not answer does.
  program->Command("fail prepare 1");
  EXPECT_THAT(alive(), IsOkAndHolds(false));
  EXPECT_THAT(alive(), IsOkAndHolds(true));
}

// One process registers, another serves: an agent sees one driver.
TEST_F(DriverTest, RegistrationAndServiceCanBeApart) {
  ProgramOptions options = Options();
  options.driver.registration = false;
  const auto program = Start(std::move(options));
  ASSERT_NE(program, nullptr);
  const std::string socket = program->driver().sockets().registration;
  EXPECT_EQ(loopback_.Find(socket).handler, nullptr);
  DriverOptions registrar;
  registrar.name = "gpu.example.com";
  registrar.root = shop_.folder.path();
  registrar.health = true;
  registrar.serve = loopback_.Serve();
  const auto registered = Registrar::Start(registrar);
  ASSERT_THAT(registered, IsOk());
  EXPECT_EQ((*registered)->sockets().registration, socket);
  const auto results = TestDriver(Conformance(*program), loopback_);
  EXPECT_THAT(Failed(results), IsEmpty());
  EXPECT_THAT(Names(results, Outcome::kPass),
              ::testing::IsSupersetOf({"registration/connects", "prepare/claim", "health/stream"}));
  // Who only registers does nothing else.
  rpc::PluginHandler& handler = *loopback_.Find(socket).handler;
  EXPECT_THAT(handler.Prepare({}), StatusIs(StatusCode::kUnimplemented, HasSubstr("registers")));
}

TEST_F(DriverTest, WhoHasNoNameIsNotStarted) {
  ASSERT_THAT(files::WriteWhole(shop_.folder / "devices.yaml", "pools: []"), IsOk());
  EXPECT_THAT(
      DriverProgram::Start(Options(), cluster_, shop_.clock, threads::TheSystemHost()).status(),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("--name")));
}

}  // namespace
}  // namespace dray::driver
