// SPDX-License-Identifier: Apache-2.0
//
// Whole drivers: with an agent in the same process, with the controls of `dray driver`, and under
// the conformance suite.
#include "driver/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <thread>

#include "driver/conformance.h"
#include "driver/driver_program.h"
#include "driver/kit_for_test.h"
#include "driver/loopback_for_test.h"
#include "driver/slices_for_test.h"
#include "testing/status_matchers.h"
#include "threads/system_host.h"

namespace dray::driver {
namespace {

using namespace std::chrono_literals;
using dray::testing::IsOk;
using dray::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::string_view kDevices = R"(
driver: gpu.example.com
pools:
- devices:
  - name: gpu-0
    attributes: {model: {string: a}}
    cdi: {env: ["GPU=${device}"]}
  - name: gpu-1
  - name: gpu-2
    health: {status: Unhealthy, message: hot}
)";

// MemoryCluster belongs to one thread, and a driver publishes on one of its own.
class OneAtATime final : public api::Cluster {
 public:
  explicit OneAtATime(api::Cluster& inner) : inner_(inner) {}
  StatusOr<std::vector<api::Object>> List(const api::KindInfo& kind) const override {
    const base::MutexLock lock(mutex_);
    return inner_.List(kind);
  }
  StatusOr<std::optional<api::Object>> Find(const api::KindInfo& kind, std::string_view space,
                                            std::string_view name) const override {
    const base::MutexLock lock(mutex_);
    return inner_.Find(kind, space, name);
  }
  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection) override {
    const base::MutexLock lock(mutex_);
    return std::make_unique<Guarded>(mutex_, inner_.Watch(kinds, selection));
  }
  StatusOr<api::Object> Create(api::Object object) override {
    const base::MutexLock lock(mutex_);
    return inner_.Create(std::move(object));
  }
  StatusOr<api::Object> Update(api::Object object) override {
    const base::MutexLock lock(mutex_);
    return inner_.Update(std::move(object));
  }
  StatusOr<api::Object> UpdateStatus(api::Object object) override {
    const base::MutexLock lock(mutex_);
    return inner_.UpdateStatus(std::move(object));
  }
  Status Delete(const api::KindInfo& kind, std::string_view space, std::string_view name,
                std::string_view uid) override {
    const base::MutexLock lock(mutex_);
    return inner_.Delete(kind, space, name, uid);
  }
  Status Bind(std::string_view space, std::string_view pod, std::string_view uid,
              std::string_view node) override {
    const base::MutexLock lock(mutex_);
    return inner_.Bind(space, pod, uid, node);
  }
  void Note(const api::EventNote& note) override {
    const base::MutexLock lock(mutex_);
    inner_.Note(note);
  }

 private:
  class Guarded final : public api::ObjectWatch {
   public:
    Guarded(base::Mutex& mutex, std::unique_ptr<api::ObjectWatch> watch)
        : mutex_(mutex), watch_(std::move(watch)) {}
    ~Guarded() override {
      const base::MutexLock lock(mutex_);
      watch_.reset();
    }
    std::optional<api::Change> Next() override {
      const base::MutexLock lock(mutex_);
      return watch_->Next();
    }

   private:
    base::Mutex& mutex_;
    std::unique_ptr<api::ObjectWatch> watch_;
  };
  mutable base::Mutex mutex_;
  api::Cluster& inner_;
};

class DriverTest : public ::testing::Test {
 protected:
  DriverTest() { EXPECT_THAT(files::WriteWhole(shop_.folder / "devices.yaml", kDevices), IsOk()); }
  ProgramOptions Options() {
    ProgramOptions options;
    options.driver.node = "n1";
    options.driver.root = shop_.folder.path();
    options.driver.cdi_folder = shop_.folder / "cdi";
    options.driver.serve = loopback_.Serve();
    options.driver.problem = [this](const Status& status) {
      const base::MutexLock lock(mutex_);
      problems_.emplace_back(base::Message(status));
    };
    options.description = FileReader(shop_.folder / "devices.yaml");
    return options;
  }
  std::unique_ptr<DriverProgram> Start(ProgramOptions options) {
    auto program =
        DriverProgram::Start(std::move(options), cluster_, shop_.clock, threads::TheSystemHost());
    EXPECT_THAT(program, IsOk());
    if (!program.ok()) return nullptr;
    Settle(**program);
    return *std::move(program);
  }
  static void Settle(DriverProgram& program) {
    while (!program.driver().idle()) std::this_thread::sleep_for(1ms);
  }
  ConformanceOptions Conformance(DriverProgram& program) {
    return {.socket = program.driver().sockets().registration,
            .cdi_folders = {shop_.folder / "cdi"},
            .cluster = &cluster_,
            .namespace_ = "ns",
            .connect_patience = 100ms,
            .health_patience = 100ms};
  }
  static std::vector<std::string> Failed(const std::vector<CheckResult>& results) {
    std::vector<std::string> failed;
    for (const CheckResult& result : results) {
      if (result.outcome == Outcome::kFail) failed.push_back(result.name + ": " + result.detail);
    }
    return failed;
  }
  static std::set<std::string> Names(const std::vector<CheckResult>& results, Outcome outcome) {
    std::set<std::string> names;
    for (const CheckResult& result : results) {
      if (result.outcome == outcome) names.insert(result.name);
    }
    return names;
  }
  std::vector<std::string> DevicesPublished() const {
    std::vector<std::string> names;
    const auto slices = cluster_.List(api::HubKind(api::TypeInfoOf<api::ResourceSlice>()));
    for (const api::Object& object : *slices) {
      for (const api::Device& device : *object.As<api::ResourceSlice>()->spec.devices) {
        names.push_back(device.name);
      }
    }
    return names;
  }

  Workshop shop_;
  OneAtATime cluster_{shop_.cluster};
  Loopback loopback_;
  base::Mutex mutex_;
  std::vector<std::string> problems_;
};

TEST_F(DriverTest, ADescribedDriverPassesTheConformanceSuite) {
  const auto program = Start(Options());
  ASSERT_NE(program, nullptr);
  const auto results = TestDriver(Conformance(*program), loopback_);
  EXPECT_THAT(Failed(results), IsEmpty());
  EXPECT_TRUE(Passed(results));
  EXPECT_THAT(Names(results, Outcome::kSkip), ElementsAre("restart/registers"));
  EXPECT_GE(results.size(), 28u);
  // Nothing is left behind.
  EXPECT_THAT(program->driver().PreparedUids(), IsEmpty());
  EXPECT_THAT(*cluster_.List(api::HubKind(api::TypeInfoOf<api::ResourceClaim>())), IsEmpty());
}

TEST_F(DriverTest, ARestartedDriverPassesToo) {
  auto program = Start(Options());
  ConformanceOptions options = Conformance(*program);
  options.restart = [&]() -> Status {
    program.reset();
    program = Start(Options());
    return {};
  };
  // The suite waits for the connection to break, which the loopback does not tell by itself.
  class Breaks final : public rpc::PluginConnector {
   public:
    explicit Breaks(Loopback& inner) : inner_(inner) {}
    StatusOr<std::unique_ptr<rpc::RegistrationClient>> Registration(
        const std::string& socket) override {
      return inner_.Registration(socket);
    }
    StatusOr<std::unique_ptr<rpc::PluginChannel>> Channel(const rpc::ChannelOptions& options,
                                                          rpc::PluginListener& listener) override {
      last = &listener;
      return inner_.Channel(options, listener);
    }
    rpc::PluginListener* last = nullptr;

   private:
    Loopback& inner_;
  } breaks(loopback_);
  const auto restart = options.restart;
  options.restart = [&] {
    breaks.last->OnConnected(false);
    return restart();
  };
  const auto results = TestDriver(options, breaks);
  EXPECT_THAT(Failed(results), IsEmpty());
  EXPECT_THAT(Names(results, Outcome::kSkip), IsEmpty());
}

TEST_F(DriverTest, WithoutAnApiServerTheRestIsChecked) {
  const auto program = Start(Options());
  ConformanceOptions options = Conformance(*program);
  options.cluster = nullptr;
  const auto results = TestDriver(options, loopback_);
  EXPECT_THAT(Failed(results), IsEmpty());
  EXPECT_THAT(Names(results, Outcome::kSkip),
              ElementsAre("prepare/claim", "restart/registers", "slices/pools"));
}

// The suite finds what is wrong: a driver with one fault each, and the check that has to see it.
class Bad final : public rpc::PluginHandler {
 public:
  Bad(rpc::PluginHandler& good, std::string fault) : good_(good), fault_(std::move(fault)) {}
  StatusOr<rpc::PrepareAnswer> Prepare(const std::vector<rpc::ClaimName>& claims) override {
    if (fault_ == "accepts everything") {
      rpc::PrepareAnswer answer;
      for (const rpc::ClaimName& claim : claims) answer[claim.uid] = {};
      return answer;
    }
    auto answer = good_.Prepare(claims);
    if (!answer.ok()) return answer;
    if (fault_ == "no entries") answer->clear();
    if (fault_ == "foreign entries") (*answer)["another"] = {};
    for (auto& [uid, claim] : *answer) {
      for (auto& device : claim.devices) {
        if (fault_ == "other device") device.device = "gpu-7";
        if (fault_ == "subrequests") device.requests = {"r/big"};
        if (fault_ == "no such cdi") device.cdi_ids = {"gpu.example.com/claim=nobody"};
        if (fault_ == "bad cdi") device.cdi_ids = {"nobody"};
        if (fault_ == "other names") device.cdi_ids.push_back("a.b/c=d" + std::to_string(++calls_));
      }
    }
    return answer;
  }
  StatusOr<rpc::UnprepareAnswer> Unprepare(const std::vector<rpc::ClaimName>& claims) override {
    if (fault_ == "unknown is an error") {
      rpc::UnprepareAnswer answer;
      for (const rpc::ClaimName& claim : claims) answer[claim.uid] = "never heard of it";
      return answer;
    }
    if (fault_ == "unprepare fails") return base::Internal("no");
    return good_.Unprepare(claims);
  }
  Status WatchHealth(std::shared_ptr<rpc::HealthReports> reports) override {
    if (fault_ == "health of nobody") {
      reports->Send({{.pool = "n1", .device = "gpu-9", .health = rpc::Health::kHealthy}});
      return {};
    }
    if (fault_ == "no health") return {};
    return good_.WatchHealth(std::move(reports));
  }
  StatusOr<rpc::PluginInfo> Info() override {
    if (refused_ && fault_ == "ends when refused") return base::Unavailable("gone");
    auto info = good_.Info();
    if (fault_ == "other type") info->type = "CSIPlugin";
    if (fault_ == "bad name") info->name = "GPU Driver";
    if (fault_ == "no services") info->supported_versions = {"1.0.0"};
    if (fault_ == "oldest first") {
      std::swap(info->supported_versions[0], info->supported_versions[1]);
    }
    if (fault_ == "bad endpoint") info->endpoint = "dra.sock";
    return info;
  }
  Status Registered(bool registered, const std::string& error) override {
    refused_ = refused_ || !registered;
    if (registered && fault_ == "cannot be accepted") return base::Internal("no");
    return good_.Registered(registered, error);
  }

 private:
  rpc::PluginHandler& good_;
  const std::string fault_;
  int calls_ = 0;
  bool refused_ = false;
};

struct BadCase {
  std::string fault;
  std::string check;
};
class BadDriverTest : public DriverTest, public ::testing::WithParamInterface<BadCase> {};

TEST_P(BadDriverTest, IsFound) {
  ProgramOptions options = Options();
  std::unique_ptr<Bad> bad;
  options.driver.serve = [&](const rpc::PluginSockets& sockets, rpc::PluginHandler& good) {
    bad = std::make_unique<Bad>(good, GetParam().fault);
    return loopback_.Serve()(sockets, *bad);
  };
  const auto program = Start(std::move(options));
  const auto results = TestDriver(Conformance(*program), loopback_);
  EXPECT_THAT(Names(results, Outcome::kFail), ::testing::Contains(GetParam().check));
}

INSTANTIATE_TEST_SUITE_P(
    Faults, BadDriverTest,
    ::testing::Values(
        BadCase{"other type", "registration/type"}, BadCase{"bad name", "registration/name"},
        BadCase{"no services", "registration/services"},
        BadCase{"oldest first", "registration/newest-first"},
        BadCase{"bad endpoint", "registration/endpoint"},
        BadCase{"ends when refused", "registration/refused"},
        BadCase{"cannot be accepted", "registration/accepted"},
        BadCase{"unknown is an error", "unprepare/unknown"},
        BadCase{"accepts everything", "prepare/unknown"},
        BadCase{"accepts everything", "prepare/in-use"},
        BadCase{"accepts everything", "prepare/not-allocated"},
        BadCase{"accepts everything", "prepare/replaced"}, BadCase{"no entries", "prepare/claim"},
        BadCase{"foreign entries", "prepare/entries"}, BadCase{"other device", "prepare/claim"},
        BadCase{"subrequests", "prepare/claim"}, BadCase{"no such cdi", "prepare/cdi"},
        BadCase{"bad cdi", "prepare/cdi"}, BadCase{"other names", "prepare/idempotent"},
        BadCase{"unprepare fails", "unprepare/claim"},
        BadCase{"unprepare fails", "unprepare/batch"}, BadCase{"unprepare fails", "unprepare/gone"},
        BadCase{"no health", "health/stream"}, BadCase{"health of nobody", "health/stream"}),
    [](const auto& info) {
      std::string name = info.param.fault + "_" + info.param.check;
      for (char& c : name) {
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
      }
      return name;
    });

TEST_F(DriverTest, SlicesThatContradictEachOtherAreFound) {
  const auto program = Start(Options());
  api::ResourceSlice extra = dray::testing::Slice("extra").OnNode("n1").Pool("n1").Of(2).With(
      dray::testing::Device("gpu-0"));
  ASSERT_THAT(cluster_.Create(api::Object::Of(extra)), IsOk());
  const auto results = TestDriver(Conformance(*program), loopback_);
  EXPECT_THAT(Names(results, Outcome::kFail),
              AllOf(::testing::Contains("slices/pools"), ::testing::Contains("slices/owner")));
}

TEST_F(DriverTest, AFileThatChangesIsPublishedAndOneThatIsWrongIsNot) {
  const auto program = Start(Options());
  EXPECT_THAT(DevicesPublished(), ElementsAre("gpu-0", "gpu-1", "gpu-2"));
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
  EXPECT_THAT(program->Command("jump"), StartsWith("error: \"jump\" means nothing"));
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
  ASSERT_THAT(ear->heard, SizeIs(3));
  EXPECT_EQ(ear->heard[2].message, "hot");
  program->Command("health n1/gpu-0 Unhealthy fan is loud");
  EXPECT_EQ(ear->heard[0].health, rpc::Health::kUnhealthy);
  EXPECT_EQ(ear->heard[0].message, "fan is loud");
  ear->heard.clear();
  shop_.clock.Advance(10s);
  program->Tick();  // reported again: it is looked at
  EXPECT_THAT(ear->heard, SizeIs(3));
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
  EXPECT_THAT(heard, StartsWith("ok\nerror: \"nonsense\""));
}

TEST_F(DriverTest, WhoHasNoNameIsNotStarted) {
  ASSERT_THAT(files::WriteWhole(shop_.folder / "devices.yaml", "pools: []"), IsOk());
  EXPECT_THAT(
      DriverProgram::Start(Options(), cluster_, shop_.clock, threads::TheSystemHost()).status(),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("--name")));
}

}  // namespace
}  // namespace dray::driver
