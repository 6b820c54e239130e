// SPDX-License-Identifier: Apache-2.0
//
// The conformance suite: good drivers pass, and for every rule there is one that breaks it.
#include "driver/conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cctype>
#include <map>
#include <set>
#include <thread>

#include "driver/driver_for_test.h"
#include "driver/slices_for_test.h"
#include "testing/status_matchers.h"

namespace dray::driver {
namespace {

using namespace std::chrono_literals;
using dray::testing::IsOk;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST_F(DriverTest, ADescribedDriverPassesTheConformanceSuite) {
  const auto program = Start(Options());
  ASSERT_NE(program, nullptr);
  const auto results = TestDriver(Conformance(*program), loopback_);
  EXPECT_THAT(Failed(results), IsEmpty());
  EXPECT_TRUE(Passed(results));
  EXPECT_THAT(Names(results, Outcome::kSkip), ElementsAre("restart/registers", "slices/repaired"));
  EXPECT_GE(results.size(), 43u);
  for (const CheckResult& result : results) EXPECT_NE(result.chapter, "") << result.name;
  // Nothing is left behind.
  EXPECT_THAT(program->driver().PreparedUids(), IsEmpty());
  EXPECT_THAT(*cluster_.List(api::HubKind(api::TypeInfoOf<api::ResourceClaim>())), IsEmpty());
}

// A slice is deleted, and half a minute later it is there again.
TEST_F(DriverTest, ADriverRepairsItsSlices) {
  const auto program = Start(Options());
  ConformanceOptions options = Conformance(*program);
  options.repair_patience = 20s;
  std::atomic<bool> deleted = false;
  std::atomic<bool> over = false;
  options.on_result = [&](const CheckResult& result) {
    if (result.name == "slices/quiet") deleted = true;  // the next thing that it does
  };
  std::thread time([&] {
    while (!over) {
      if (deleted) shop_.clock.Advance(10s);
      std::this_thread::sleep_for(20ms);
    }
  });
  const auto results = TestDriver(options, loopback_);
  over = true;
  time.join();
  EXPECT_THAT(Failed(results), IsEmpty());
  EXPECT_THAT(Names(results, Outcome::kPass), ::testing::Contains("slices/repaired"));
  // One that does not.
  options.repair_patience = 200ms;
  options.on_result = nullptr;
  EXPECT_THAT(Names(TestDriver(options, loopback_), Outcome::kFail),
              ::testing::Contains("slices/repaired"));
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
  Bad(rpc::PluginHandler& good, std::string fault, const api::Cluster& cluster, std::string cdi)
      : good_(good), fault_(std::move(fault)), cluster_(cluster), cdi_(std::move(cdi)) {}
  StatusOr<rpc::PrepareAnswer> Prepare(const std::vector<rpc::ClaimName>& claims) override {
    if (fault_ == "accepts everything") {
      rpc::PrepareAnswer answer;
      for (const rpc::ClaimName& claim : claims) answer[claim.uid] = {};
      return answer;
    }
    if (fault_ == "knows no batches" && claims.size() > 1) return base::Internal("one by one");
    if (fault_ == "prepares once" && !claims.empty() && !seen_.insert(claims[0].uid).second &&
        undone_.contains(claims[0].uid)) {
      return base::Internal("again?");
    }
    if (fault_ == "one at a time") {
      if (++inside_ > 1) {
        --inside_;
        return base::Unavailable("busy");
      }
      std::this_thread::sleep_for(30ms);
    }
    auto answer = good_.Prepare(claims);
    if (fault_ == "one at a time") --inside_;
    if (fault_ == "forgets who failed" && !answer.ok() && claims.size() > 1) {
      answer = good_.Prepare({claims[0]});
    }
    if (!answer.ok()) return answer;
    if (fault_ == "no entries") answer->clear();
    for (const rpc::ClaimName& claim : claims) {
      if (const auto it = answer->find(claim.uid); it != answer->end()) Spoil(claim, it->second);
    }
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
    std::map<std::string, std::string> kept;
    if (fault_ == "leaves CDI files") {
      const auto names = files::NamesIn(cdi_);
      for (const std::string& name : *names) {
        kept[name] = *files::ReadWhole(cdi_ + "/" + name);
      }
    }
    for (const rpc::ClaimName& claim : claims) undone_.insert(claim.uid);
    auto answer = good_.Unprepare(claims);
    for (const auto& [name, text] : kept) {
      EXPECT_TRUE(files::WriteWhole(cdi_ + "/" + name, text).ok());
    }
    return answer;
  }
  Status WatchHealth(std::shared_ptr<rpc::HealthReports> reports) override {
    if (fault_ == "health of nobody") {
      reports->Send({{.pool = "n1", .device = "gpu-9", .health = rpc::Health::kHealthy}});
      return {};
    }
    if (fault_ == "no health") return {};
    if (fault_ == "endless message") {
      reports->Send({{.pool = "n1", .device = "gpu-0", .message = std::string(2000, 'm')}});
      return {};
    }
    if (fault_ == "negative timeout") {
      reports->Send({{.pool = "n1", .device = "gpu-0", .timeout = std::chrono::seconds(-1)}});
      return {};
    }
    if (fault_ == "device twice") {
      reports->Send({{.pool = "n1", .device = "gpu-0"}, {.pool = "n1", .device = "gpu-0"}});
      return {};
    }
    const Status listening = good_.WatchHealth(std::move(reports));
    return fault_ == "ends its stream" ? base::Unavailable("that was all") : listening;
  }
  StatusOr<rpc::PluginInfo> Info() override {
    if (refused_ && fault_ == "ends when refused") return base::Unavailable("gone");
    if (fault_ == "nobody") return base::Unavailable("gone");
    auto info = good_.Info();
    if (fault_ == "nobody there") info->endpoint = "/nobody.sock";
    if (fault_ == "other type") info->type = "CSIPlugin";
    if (fault_ == "bad name") info->name = "GPU Driver";
    if (fault_ == "no services") info->supported_versions = {"1.0.0"};
    if (fault_ == "oldest first") {
      std::swap(info->supported_versions[0], info->supported_versions[1]);
    }
    if (fault_ == "bad endpoint") info->endpoint = "dra.sock";
    if (fault_ == "long path") info->endpoint = "/" + std::string(120, 'd');
    if (fault_ == "service twice") info->supported_versions.push_back("v1.DRAPlugin");
    if (fault_ == "changes its mind" && ++asked_ > 1) info->supported_versions.pop_back();
    return info;
  }
  Status Registered(bool registered, const std::string& error) override {
    refused_ = refused_ || !registered;
    if (registered && fault_ == "cannot be accepted") return base::Internal("no");
    if (registered && fault_ == "registers once" && ++accepted_ > 1) return base::Internal("no");
    return good_.Registered(registered, error);
  }

 private:
  // Faults that show in claims of a certain kind alone.
  void Spoil(const rpc::ClaimName& name, rpc::PreparedClaim& answer) {
    const auto found = cluster_.Find(api::HubKind(api::TypeInfoOf<api::ResourceClaim>()),
                                     name.namespace_, name.name);
    if (!found.ok() || !found->has_value()) return;
    const auto* claim = (*found)->As<api::ResourceClaim>();
    if (!claim->status.allocation) return;
    const auto& devices = claim->status.allocation->devices;
    if (fault_ == "keeps subrequests" && !answer.devices.empty()) {
      answer.devices[0].requests = {devices.results[0].request};
    }
    if (fault_ == "serves others") {
      for (const auto& result : devices.results) {
        if (result.driver == "gpu.example.com") continue;
        answer.devices.push_back({.requests = {result.request}, .pool = result.pool});
      }
    }
    if (fault_ == "reads all parameters" && !devices.config.empty()) {
      answer = {.error = "what is NobodyKnowsThis?"};
    }
    for (rpc::PreparedDevice& device : answer.devices) {
      if (fault_ == "forgets shares") device.share_id.reset();
      if (fault_ == "one name for all shares" && device.share_id) {
        device.cdi_ids = answer.devices[0].cdi_ids;
      }
    }
  }

  rpc::PluginHandler& good_;
  const std::string fault_;
  const api::Cluster& cluster_;
  const std::string cdi_;
  std::set<std::string> seen_;
  std::set<std::string> undone_;
  std::atomic<int> inside_ = 0;
  int calls_ = 0;
  int asked_ = 0;
  int accepted_ = 0;
  bool refused_ = false;
};

// Nobody answers on v1beta1.
class NoBeta final : public rpc::PluginConnector {
 public:
  explicit NoBeta(Loopback& inner) : inner_(inner) {}
  StatusOr<std::unique_ptr<rpc::RegistrationClient>> Registration(
      const std::string& socket) override {
    return inner_.Registration(socket);
  }
  StatusOr<std::unique_ptr<rpc::PluginChannel>> Channel(const rpc::ChannelOptions& options,
                                                        rpc::PluginListener& listener) override {
    rpc::ChannelOptions changed = options;
    if (options.dra == rpc::DraService::kV1Beta1) changed.endpoint = "/nobody.sock";
    return inner_.Channel(changed, listener);
  }

 private:
  Loopback& inner_;
};

struct BadCase {
  std::string fault;
  std::string check;
};
std::vector<BadCase> BadCases() {
  return {BadCase{"other type", "registration/type"},
          BadCase{"bad name", "registration/name"},
          BadCase{"no services", "registration/services"},
          BadCase{"oldest first", "registration/newest-first"},
          BadCase{"bad endpoint", "registration/endpoint"},
          BadCase{"ends when refused", "registration/refused"},
          BadCase{"cannot be accepted", "registration/accepted"},
          BadCase{"unknown is an error", "unprepare/unknown"},
          BadCase{"accepts everything", "prepare/unknown"},
          BadCase{"accepts everything", "prepare/in-use"},
          BadCase{"accepts everything", "prepare/not-allocated"},
          BadCase{"accepts everything", "prepare/replaced"},
          BadCase{"no entries", "prepare/claim"},
          BadCase{"foreign entries", "prepare/entries"},
          BadCase{"other device", "prepare/claim"},
          BadCase{"subrequests", "prepare/claim"},
          BadCase{"no such cdi", "prepare/cdi"},
          BadCase{"bad cdi", "prepare/cdi"},
          BadCase{"other names", "prepare/idempotent"},
          BadCase{"unprepare fails", "unprepare/claim"},
          BadCase{"unprepare fails", "unprepare/batch"},
          BadCase{"unprepare fails", "unprepare/gone"},
          BadCase{"no health", "health/stream"},
          BadCase{"health of nobody", "health/stream"},
          BadCase{"device twice", "health/stream"},
          BadCase{"endless message", "health/values"},
          BadCase{"negative timeout", "health/values"},
          BadCase{"ends its stream", "health/stays"},
          BadCase{"long path", "registration/path"},
          BadCase{"service twice", "registration/services-once"},
          BadCase{"changes its mind", "registration/stable"},
          BadCase{"registers once", "registration/again"},
          BadCase{"keeps subrequests", "prepare/subrequest"},
          BadCase{"serves others", "prepare/foreign-device"},
          BadCase{"reads all parameters", "prepare/foreign-parameters"},
          BadCase{"forgets shares", "prepare/shares"},
          BadCase{"one name for all shares", "prepare/shares"},
          BadCase{"one at a time", "prepare/at-once"},
          BadCase{"forgets who failed", "prepare/mixed"},
          BadCase{"leaves CDI files", "unprepare/cdi"},
          BadCase{"nobody", "registration/info"},
          BadCase{"nobody there", "registration/connects"},
          BadCase{"unprepare fails", "unprepare/idempotent"},
          BadCase{"unknown is an error", "unprepare/after-failure"},
          BadCase{"foreign entries", "prepare/empty"},
          BadCase{"prepares once", "prepare/anew"},
          BadCase{"knows no batches", "prepare/batch"},
          BadCase{"serves no v1beta1", "versions/both"}};
}

class BadDriverTest : public DriverTest, public ::testing::WithParamInterface<BadCase> {};

TEST_P(BadDriverTest, IsFound) {
  ProgramOptions options = Options();
  std::unique_ptr<Bad> bad;
  options.driver.serve = [&](const rpc::PluginSockets& sockets, rpc::PluginHandler& good) {
    bad = std::make_unique<Bad>(good, GetParam().fault, cluster_, shop_.folder / "cdi");
    return loopback_.Serve()(sockets, *bad);
  };
  const auto program = Start(std::move(options));
  NoBeta no_beta(loopback_);
  rpc::PluginConnector& connector = GetParam().fault == "serves no v1beta1"
                                        ? static_cast<rpc::PluginConnector&>(no_beta)
                                        : loopback_;
  const auto results = TestDriver(Conformance(*program), connector);
  EXPECT_THAT(Names(results, Outcome::kFail), ::testing::Contains(GetParam().check));
}

INSTANTIATE_TEST_SUITE_P(Faults, BadDriverTest, ::testing::ValuesIn(BadCases()),
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

// Every rule about slices, with a slice that breaks it.
struct BadSlice {
  std::string name;
  void (*change)(api::ResourceSlice&);
  std::string check;
  std::string detail;
};
class BadSliceTest : public DriverTest, public ::testing::WithParamInterface<BadSlice> {};

TEST_P(BadSliceTest, IsFound) {
  const auto program = Start(Options());
  const auto slices = cluster_.List(api::HubKind(api::TypeInfoOf<api::ResourceSlice>()));
  for (const api::Object& object : *slices) {
    api::Object changed = object;
    auto* slice = changed.Mutable<api::ResourceSlice>();
    if (slice->spec.pool.name != "n1") continue;
    GetParam().change(*slice);
    ASSERT_THAT(cluster_.Update(std::move(changed)), IsOk());
  }
  const auto results = TestDriver(Conformance(*program), loopback_);
  const auto failed = Failed(results);
  EXPECT_THAT(failed, ::testing::Contains(AllOf(StartsWith(GetParam().check + ": "),
                                                HasSubstr(GetParam().detail))));
}
INSTANTIATE_TEST_SUITE_P(
    Faults, BadSliceTest,
    ::testing::ValuesIn(std::vector<BadSlice>{
        {"count", [](api::ResourceSlice& s) { s.spec.pool.resource_slice_count = 2; },
         "slices/pools", "there are 1 slices, and they say 2"},
        {"twice", [](api::ResourceSlice& s) { s.spec.devices->push_back(s.spec.devices->front()); },
         "slices/pools", "device gpu-0 appears twice"},
        {"no_owner", [](api::ResourceSlice& s) { s.metadata.owner_references.clear(); },
         "slices/owner", "is not controlled by Node n1"},
        {"not_controlled",
         [](api::ResourceSlice& s) { s.metadata.owner_references[0].controller = false; },
         "slices/owner", "is not controlled by Node n1"},
        {"other_owner", [](api::ResourceSlice& s) { s.metadata.owner_references[0].uid = "u"; },
         "slices/owner", "will be collected as garbage"},
        {"no_counter_set",
         [](api::ResourceSlice& s) {
           (*s.spec.devices)[0].consumes_counters.emplace_back().counter_set = "c";
         },
         "slices/counters", "device gpu-0 consumes counters of the set c, which is not there"},
        {"no_counter",
         [](api::ResourceSlice& s) {
           s.spec.shared_counters.emplace().emplace_back().name = "c";
           auto& consumes = (*s.spec.devices)[0].consumes_counters.emplace_back();
           consumes.counter_set = "c";
           consumes.counters["k"];
         },
         "slices/counters", "consumes the counter k of the set c, which has none"},
        {"counter_set_twice",
         [](api::ResourceSlice& s) {
           s.spec.shared_counters.emplace().resize(2);
           for (auto& set : *s.spec.shared_counters) set.name = "c";
         },
         "slices/counters", "counter set c appears twice"},
    }),
    [](const auto& info) { return info.param.name; });

TEST_F(DriverTest, ADriverWithoutSlicesIsFound) {
  const auto program = Start(Options());
  program->driver().Publish({});
  Settle(*program);
  EXPECT_THAT(Names(TestDriver(Conformance(*program), loopback_), Outcome::kFail),
              ElementsAre("slices/there"));
}

// A driver that writes what it has written already.
TEST_F(DriverTest, SlicesThatAreWrittenForNothingAreFound) {
  const auto program = Start(Options());
  ConformanceOptions options = Conformance(*program);
  options.on_result = [&](const CheckResult& result) {
    if (result.name != "prepare/claim") return;
    const auto slices = cluster_.List(api::HubKind(api::TypeInfoOf<api::ResourceSlice>()));
    api::Object again = slices->front();
    again.Mutable<api::ResourceSlice>()->metadata.labels["written"] = "again";
    EXPECT_THAT(cluster_.Update(std::move(again)), IsOk());
  };
  EXPECT_THAT(Names(TestDriver(options, loopback_), Outcome::kFail), ElementsAre("slices/quiet"));
}

// Every rule that the suite has is broken by some driver above.
TEST_F(DriverTest, EveryRuleHasADriverThatBreaksIt) {
  const auto program = Start(Options());
  std::set<std::string> rules;
  for (const CheckResult& result : TestDriver(Conformance(*program), loopback_)) {
    rules.insert(result.name);
  }
  for (const BadCase& bad : BadCases()) rules.erase(bad.check);
  // Broken by slices, by nobody at the other end, and by restarts.
  for (const char* other : {"slices/there", "slices/pools", "slices/counters", "slices/owner",
                            "slices/quiet", "slices/repaired", "restart/registers"}) {
    rules.erase(other);
  }
  EXPECT_THAT(rules, IsEmpty());
}

}  // namespace
}  // namespace dray::driver
