// SPDX-License-Identifier: Apache-2.0
//
// The conformance suite and restarts: a good driver passes, and for every rule there is one that breaks
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/conformance.h"
#include "driver/driver_for_test.h"
#include "testing/status_matchers.h"

namespace dray::driver {
namespace {

using namespace std::chrono_literals;
using dray::testing::IsOk;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

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
    last_ = &listener;
    return inner_.Channel(options, listener);
  }
  void Break() { last_->OnConnected(false); }

 private:
  Loopback& inner_;
  rpc::PluginListener* last_ = nullptr;
};

// As good as the one behind it, but for what is changed.
class Wrapped : public rpc::PluginHandler {
 public:
  explicit Wrapped(rpc::PluginHandler& good) : good_(good) {}
  StatusOr<rpc::PrepareAnswer> Prepare(const std::vector<rpc::ClaimName>& claims) override {
    return good_.Prepare(claims);
  }
  StatusOr<rpc::UnprepareAnswer> Unprepare(const std::vector<rpc::ClaimName>& claims) override {
    return good_.Unprepare(claims);
  }
  Status WatchHealth(std::shared_ptr<rpc::HealthReports> reports) override {
    return good_.WatchHealth(std::move(reports));
  }
  StatusOr<rpc::PluginInfo> Info() override { return good_.Info(); }
  Status Registered(bool registered, const std::string& error) override {
    return good_.Registered(registered, error);
  }

 private:
  rpc::PluginHandler& good_;
};

// Has lost its memory: what it has not prepared in this life is somebody else's.
class Forgets final : public Wrapped {
 public:
  using Wrapped::Wrapped;
  StatusOr<rpc::PrepareAnswer> Prepare(const std::vector<rpc::ClaimName>& claims) override {
    rpc::PrepareAnswer answer;
    for (const rpc::ClaimName& claim : claims) answer[claim.uid].error = "device is in use";
    return answer;
  }
};

// Prepares, and cannot let go of what it prepared before.
class Keeps final : public Wrapped {
 public:
  using Wrapped::Wrapped;
  StatusOr<rpc::UnprepareAnswer> Unprepare(const std::vector<rpc::ClaimName>& claims) override {
    rpc::UnprepareAnswer answer;
    for (const rpc::ClaimName& claim : claims) answer[claim.uid] = "never heard of it";
    return answer;
  }
};

class Refuses final : public Wrapped {
 public:
  using Wrapped::Wrapped;
  Status Registered(bool, const std::string&) override {
    return base::FailedPrecondition("registered twice");
  }
};

class RestartTest : public DriverTest {
 protected:
  // What the suite says of a driver that is restarted like that.
  std::vector<CheckResult> Test(const std::function<Status()>& restart,
                                std::chrono::nanoseconds patience = 30s) {
    program_ = Start(Options());
    ConformanceOptions options = Conformance(*program_);
    options.restart = restart;
    options.restart_patience = patience;
    return TestDriver(options, breaks_);
  }
  void Stop() {
    breaks_.Break();
    program_.reset();
  }
  // It comes back as another, in front of the good one.
  template <class Handler>
  Status RestartAs() {
    Stop();
    ProgramOptions options = Options();
    options.driver.serve = [&](const rpc::PluginSockets& sockets, rpc::PluginHandler& good) {
      bad_ = std::make_unique<Handler>(good);
      return loopback_.Serve()(sockets, *bad_);
    };
    program_ = Start(std::move(options));
    return {};
  }

  Breaks breaks_{loopback_};
  std::unique_ptr<rpc::PluginHandler> bad_;
  std::unique_ptr<DriverProgram> program_;
};

TEST_F(RestartTest, AGoodDriverPasses) {
  const auto results = Test([&]() -> Status {
    Stop();
    program_ = Start(Options());
    return {};
  });
  EXPECT_THAT(Failed(results), IsEmpty());
  EXPECT_THAT(Names(results, Outcome::kSkip), ElementsAre("slices/repaired"));
  EXPECT_THAT(Names(results, Outcome::kPass),
              AllOf(Contains("restart/registers"), Contains("restart/slices"),
                    Contains("restart/remembers")));
}

TEST_F(RestartTest, ACommandThatFailsIsToldWithItsWords) {
  EXPECT_THAT(Failed(Test([] { return base::Unavailable("no such unit"); })),
              Contains(AllOf(StartsWith("restart/registers: "), HasSubstr("no such unit"))));
}

TEST_F(RestartTest, ADriverThatGoesOnAsBeforeIsFound) {
  const auto results = Test([] { return Status(); }, 50ms);
  EXPECT_THAT(Failed(results), Contains(AllOf(StartsWith("restart/registers: "),
                                              HasSubstr("its connection was not broken"))));
  EXPECT_THAT(Names(results, Outcome::kSkip), Contains("restart/remembers"));
}

TEST_F(RestartTest, ADriverThatDoesNotComeBackIsFound) {
  const auto results = Test(
      [&]() -> Status {
        Stop();
        return {};
      },
      100ms);
  EXPECT_THAT(Failed(results),
              Contains(AllOf(StartsWith("restart/registers: "), HasSubstr("nobody listens"))));
}

TEST_F(RestartTest, ADriverThatDoesNotWantToBeRegisteredAgainIsFound) {
  const auto results = Test([&] { return RestartAs<Refuses>(); });
  EXPECT_THAT(Failed(results),
              Contains(AllOf(StartsWith("restart/registers: "), HasSubstr("registered twice"))));
}

TEST_F(RestartTest, ADriverThatPublishesAnewIsFound) {
  const auto results = Test([&]() -> Status {
    Stop();
    const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<api::ResourceSlice>());
    const auto slices = cluster_.List(kind);
    for (const api::Object& slice : *slices) {
      EXPECT_THAT(cluster_.Delete(kind, "", slice.metadata().name, ""), IsOk());
    }
    program_ = Start(Options());
    return {};
  });
  EXPECT_THAT(Failed(results),
              ElementsAre(AllOf(StartsWith("restart/slices: "), HasSubstr("is not what it was"))));
}

TEST_F(RestartTest, ADriverThatForgetsClaimsIsFound) {
  const auto results = Test([&] { return RestartAs<Forgets>(); });
  EXPECT_THAT(Failed(results),
              Contains(AllOf(StartsWith("restart/remembers: "), HasSubstr("device is in use"))));
}

TEST_F(RestartTest, ADriverThatCannotLetGoOfOldClaimsIsFound) {
  const auto results = Test([&] { return RestartAs<Keeps>(); });
  EXPECT_THAT(Failed(results),
              Contains(AllOf(StartsWith("restart/remembers: "), HasSubstr("never heard of it"))));
}

}  // namespace
}  // namespace dray::driver
