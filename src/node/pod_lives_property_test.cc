// SPDX-License-Identifier: Apache-2.0
//
// Random pods on an agent around which everything goes wrong: the runtime fails, answers late or not
// as it did, the server is away, drivers refuse, pods are deleted, the agent is killed at any moment.
// What may happen at all is looked at when it happens:
//   - a sandbox is made when all claims of its pod are prepared, and not for a pod that is over;
//   - a container is made when what has to be through before it is, when the one before it has ended,
//     and with the devices of its claims;
//   - a claim is unprepared when nothing runs that may use it;
//   - a final status says that nothing runs and nothing is prepared, and stays.
// When the trouble is over, the API shows what a slow model of the specs says, and nothing else is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "node/agent_for_test.h"
#include "node/lives_for_test.h"
#include "node/pod_status.h"

namespace dray::node {
namespace {

using container::ContainerState;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::IsEmpty;

constexpr int kEndedByAgent = 143;  // how NoneRuntime's containers end that are stopped

struct Plan {
  api::Pod pod;
  std::vector<std::string> claims;
  bool deleted = false;
  bool forced = false;
};

// What the API must show in the end.
struct Outcome {
  std::string phase;
  std::map<std::string, int> restarts;  // of those that run until the end, or ended by themselves
};

class PodLife : public AgentTest {
 public:
  void TestBody() override {}
  explicit PodLife(unsigned seed) : dice_(seed) {
    runtime_troubled_.on_sandbox = [this](const auto& config) { OnSandbox(config); };
    runtime_troubled_.on_create = [this](const auto& sandbox, const auto& config) {
      OnCreate(sandbox, config);
    };
    plugins_watched_.on_unprepare = [this](const auto& claim) { OnUnprepare(claim); };
    cluster_->on_status = [this](const api::Pod& pod) { OnStatus(pod); };
    // Liveness probes are commands that name their container.
    runtime_.SetExec([this](const container::ContainerConfig& config,
                            const std::vector<std::string>& command) {
      if (command[0] != "check") return container::ExecResult{};
      const ContainerLife* life = runtime_troubled_.LifeOf(command[1], command[2], config.attempt);
      return container::ExecResult{.exit_code = life->unhealthy ? 1 : 0, .out = {}, .err = "sick"};
    });
    // The checkpoint is synced: on a disk that would be most of the time.
    char folder[] = "/dev/shm/dray-lives-XXXXXX";
    if (::mkdtemp(folder) != nullptr) {
      shared_memory_ = folder;
      options_.root = shared_memory_ + "/kubelet";
      options_.log_root = shared_memory_ + "/logs";
    }
  }
  ~PodLife() override {
    Kill();
    if (!shared_memory_.empty()) (void)files::RemoveTree(shared_memory_);
  }

  void Live(int steps) {
    Boot();
    for (int i = 0; i < steps && !HasFailure(); ++i) {
      Step();
      Go(seconds(dice_.Pick(12)));
    }
    Settle();
  }

 private:
  // ---- The world ----

  void Boot() {
    options_.gates = gates_;
    auto made = Agent::Make({.loop = loop_,
                             .offload = offload_,
                             .cluster = cluster_troubled_,
                             .runtime = runtime_troubled_,
                             .plugins = plugins_watched_,
                             .probes = probes_,
                             .sources = sources_,
                             .log = {},
                             .metrics = nullptr},
                            options_);
    ASSERT_TRUE(made.ok()) << made.status();
    agent_ = *std::move(made);
    const api::KindInfo* kinds[] = {&api::HubKind(api::TypeInfoOf<api::Pod>())};
    agent_->Start(
        cluster_->Watch(kinds, {.fields = *api::FieldSelector::Parse("spec.nodeName=n1")}));
  }
  void Kill() { KillAgent(); }

  void Go(std::chrono::nanoseconds time) {
    constexpr seconds kTick{1};
    do {
      if (agent_ != nullptr) agent_->OnWatch();
      loop_.RunDue();
      RunFor(loop_, clock_, std::min<std::chrono::nanoseconds>(time, kTick));
      time -= kTick;
    } while (time > std::chrono::nanoseconds(0) && !HasFailure());
  }

  void Step() {
    switch (dice_.Pick(10)) {
      case 0:
      case 1:
      case 2:
        if (plans_.size() < 6) NewPod();
        return;
      case 3: {
        if (Plan* plan = Any(); plan != nullptr && !plan->deleted && !plan->forced) {
          plan->deleted = true;
          if (Stored(*plan)) DeletePod(plan->pod.metadata.name);
        }
        return;
      }
      case 4: {
        if (Plan* plan = Any(); plan != nullptr && !plan->forced && dice_.Pick(3) == 0) {
          plan->forced = true;
          if (Stored(*plan)) ForceDelete(plan->pod.metadata.name);
        }
        return;
      }
      case 5:
      case 6:
        return DriverTrouble();
      case 7:
        Kill();
        Go(seconds(dice_.Pick(30)));
        return Boot();
      case 8:
        if (agent_ != nullptr) agent_->OnDriverReady("d1");
        return;
      default:
        return;
    }
  }

  Plan* Any() {
    if (plans_.empty()) return nullptr;
    return &std::next(plans_.begin(), dice_.Pick(static_cast<int>(plans_.size())))->second;
  }
  bool Stored(const Plan& plan) const {
    const auto pod = FindPod(plan.pod.metadata.name);
    return pod && pod->metadata.uid == plan.pod.metadata.uid;
  }

  void DriverTrouble() {
    auto& driver = plugins_.driver(dice_.Pick(2) == 0 ? "d1" : "d2");
    switch (dice_.Pick(6)) {
      case 0:
        driver.fail_prepare = 1 + dice_.Pick(3);
        return;
      case 1:
        driver.fail_unprepare = 1 + dice_.Pick(3);
        return;
      case 2:
        driver.refuse_prepare = 1;
        return;
      case 3:
        driver.refuse_unprepare = 1;
        return;
      case 4:
        driver.hang_prepare = !driver.hang_prepare;
        return;
      default:
        driver.hang_unprepare = !driver.hang_unprepare;
    }
  }

  std::vector<ContainerLife> NewLife(bool ends, bool may_be_sick) {
    std::vector<ContainerLife> life;
    for (int i = dice_.Pick(3); i > 0; --i) {
      if (may_be_sick && dice_.Pick(6) == 0) {
        life.push_back({.unhealthy = true});
      } else {
        life.push_back({.seconds = dice_.Pick(20), .code = dice_.Pick(3)});
      }
    }
    if (ends) {
      life.push_back({.seconds = dice_.Pick(20), .code = 0});
    } else {
      life.push_back({.forever = true});
    }
    return life;
  }

  void NewPod() {
    Plan plan;
    const std::string name = fmt::format("p{}", next_++);
    for (int i = dice_.Pick(3); i > 0; --i) {
      const std::string claim = fmt::format("{}-c{}", name, i);
      std::vector<std::string> drivers = {dice_.Pick(2) == 0 ? "d1" : "d2"};
      if (dice_.Pick(4) == 0) drivers = {"d1", "d2"};
      AddClaim(ClaimOf(claim, drivers, {name}));
      plan.claims.push_back(claim);
      for (const std::string& driver : drivers) drivers_of_[claim].push_back(driver);
    }
    api::Pod& pod = plan.pod;
    pod = PodWith(name, plan.claims);
    pod.spec.node_name = "n1";
    pod.spec.termination_grace_period_seconds = dice_.Pick(30);
    pod.spec.restart_policy = std::vector<std::string>{
        "Always", "OnFailure", "Never"}[static_cast<std::size_t>(dice_.Pick(3))];
    const api::Container model = pod.spec.containers[0];
    pod.spec.containers.clear();
    const std::string uid = pod.metadata.uid;
    for (int i = dice_.Pick(3); i > 0; --i) {
      api::Container one;
      one.name = fmt::format("i{}", pod.spec.init_containers.size());
      one.image = "busybox:1";
      const bool sidecar = dice_.Pick(3) == 0;
      if (sidecar) one.restart_policy = "Always";
      runtime_troubled_.lives[{uid, one.name}] = NewLife(!sidecar, false);
      if (sidecar) AddProbes(one, uid);
      pod.spec.init_containers.push_back(one);
    }
    for (int i = 1 + dice_.Pick(2); i > 0; --i) {
      api::Container one = pod.spec.containers.empty() ? model : api::Container();
      one.name = fmt::format("m{}", pod.spec.containers.size());
      one.image = "busybox:1";
      // One that always is started again ends by running.
      const bool ends = pod.spec.restart_policy != "Always" && dice_.Pick(2) == 0;
      runtime_troubled_.lives[{uid, one.name}] = NewLife(ends, true);
      if (dice_.Pick(4) == 0) {
        api::ContainerRestartRule rule{.action = "Restart"};
        rule.exit_codes = api::ContainerRestartRuleOnExitCodes{.operator_ = "In", .values = {2}};
        one.restart_policy = "Never";
        one.restart_policy_rules = {rule};
      }
      AddProbes(one, uid);
      if (dice_.Pick(4) == 0) {
        one.lifecycle = api::RawJson{R"({"preStop": {"sleep": {"seconds": 3}}})"};
      }
      if (dice_.Pick(4) == 0) {
        one.lifecycle = api::RawJson{R"({"postStart": {"exec": {"command": ["well"]}}})"};
      }
      pod.spec.containers.push_back(one);
    }
    pod.metadata.finalizers.push_back("dray.test/grace");
    std::vector<api::Object> one;
    one.push_back(api::Object::Of(pod));
    ASSERT_TRUE(memory_->Load(std::move(one)).ok());
    plans_[uid] = std::move(plan);
  }

  void AddProbes(api::Container& container, const std::string& uid) {
    const auto& life = runtime_troubled_.lives[{uid, container.name}];
    const bool sick = std::ranges::any_of(life, &ContainerLife::unhealthy);
    if (sick) {
      container.liveness_probe = api::RawJson{fmt::format(
          R"({{"exec": {{"command": ["check", "{}", "{}"]}}, "periodSeconds": 3, "failureThreshold": 2}})",
          uid, container.name)};
    }
    if (dice_.Pick(3) == 0) {
      container.readiness_probe =
          api::RawJson{R"({"exec": {"command": ["well"]}, "periodSeconds": 2})"};
    }
    if (dice_.Pick(4) == 0) {
      container.startup_probe =
          api::RawJson{R"({"exec": {"command": ["well"]}, "periodSeconds": 1})"};
    }
  }

  // ---- What may happen ----

  std::set<std::string> DevicesOf(const Plan& plan) const {
    std::set<std::string> all;
    for (const std::string& claim : plan.claims) {
      for (const std::string& driver : drivers_of_.at(claim)) {
        all.insert(fmt::format("{}/uid-{}", driver, claim));
      }
    }
    return all;
  }
  bool AnythingRuns(const std::string& uid) const {
    return std::ranges::any_of(runtime_troubled_.Now().containers, [&](const auto& info) {
      return info.pod.uid == uid && info.state == ContainerState::kRunning;
    });
  }

  void OnSandbox(const container::SandboxConfig& config) {
    const auto plan = plans_.find(config.pod.uid);
    ASSERT_NE(plan, plans_.end());
    for (const std::string& device : DevicesOf(plan->second)) {
      EXPECT_TRUE(plugins_.prepared().contains(device))
          << config.pod.name << " has a sandbox before " << device << " is prepared";
    }
    EXPECT_FALSE(over_.contains(config.pod.uid)) << config.pod.name << " is over";
  }

  void OnCreate(const container::SandboxConfig& sandbox, const container::ContainerConfig& config) {
    const std::string& uid = sandbox.pod.uid;
    const Plan& plan = plans_.at(uid);
    EXPECT_FALSE(over_.contains(uid));
    const container::Inventory now = runtime_troubled_.Now();
    const auto find = [&](const std::string& name,
                          std::optional<std::uint32_t> attempt) -> const container::ContainerInfo* {
      const container::ContainerInfo* latest = nullptr;
      for (const container::ContainerInfo& info : now.containers) {
        if (info.pod.uid != uid || info.name != name) continue;
        if (attempt && info.attempt != *attempt) continue;
        if (latest == nullptr || info.attempt > latest->attempt) latest = &info;
      }
      return latest;
    };
    const bool main = std::ranges::any_of(plan.pod.spec.containers,
                                          [&](const auto& one) { return one.name == config.name; });
    for (const api::Container& before : plan.pod.spec.init_containers) {
      if (!main && before.name == config.name) break;
      const container::ContainerInfo* info = find(before.name, std::nullopt);
      if (IsSidecar(before)) {
        // It has run; that it is between two lives now is nobody's fault.
        EXPECT_NE(info, nullptr) << config.name << " is made before " << before.name;
      } else {
        ASSERT_NE(info, nullptr) << config.name << " is made before " << before.name;
        EXPECT_EQ(info->state, ContainerState::kExited);
        EXPECT_EQ(info->exit_code, 0);
      }
    }
    if (config.attempt > 0) {
      const container::ContainerInfo* before = find(config.name, config.attempt - 1);
      ASSERT_NE(before, nullptr) << config.name << "#" << config.attempt
                                 << " without one before it";
      EXPECT_EQ(before->state, ContainerState::kExited) << config.name << " runs already";
    }
    const bool uses_claims = plan.pod.spec.containers[0].name == config.name;
    std::vector<std::string> want;
    if (uses_claims) {
      for (const std::string& claim : plan.claims) {
        for (const std::string& driver : drivers_of_.at(claim)) {
          want.push_back(fmt::format("{}/dev=uid-{}", driver, claim));
        }
      }
    }
    EXPECT_THAT(config.cdi_devices, ::testing::UnorderedElementsAreArray(want));
  }

  void OnUnprepare(const rpc::ClaimName& claim) {
    for (const auto& [uid, plan] : plans_) {
      if (std::ranges::find(plan.claims, claim.name) == plan.claims.end()) continue;
      EXPECT_FALSE(AnythingRuns(uid)) << claim.name << " is unprepared while " << uid << " runs";
    }
  }

  void OnStatus(const api::Pod& pod) {
    const std::string& uid = pod.metadata.uid;
    const auto plan = plans_.find(uid);
    if (plan == plans_.end()) return;
    for (const api::ContainerStatus& status : pod.status.container_statuses) {
      int& known = restarts_[uid + status.name];
      EXPECT_GE(status.restart_count, known) << pod.metadata.name << " " << status.name;
      known = status.restart_count;
    }
    if (!IsTerminal(pod.status)) {
      EXPECT_FALSE(over_.contains(uid)) << pod.metadata.name << " was over";
      return;
    }
    over_.insert(uid);
    EXPECT_FALSE(AnythingRuns(uid)) << pod.metadata.name << " is " << pod.status.phase;
    for (const std::string& device : DevicesOf(plan->second)) {
      EXPECT_FALSE(plugins_.prepared().contains(device))
          << pod.metadata.name << " is " << pod.status.phase << " and has " << device;
    }
  }

  // ---- The model ----

  static bool Again(const api::PodSpec& spec, const api::Container& container, bool is_init,
                    int code) {
    if (!container.restart_policy_rules.empty() && code == 2) return true;
    const std::string policy = container.restart_policy.value_or(spec.restart_policy);
    if (policy == "Never") return false;
    return policy == "OnFailure" || is_init ? code != 0 : true;
  }

  Outcome OutcomeOf(const Plan& plan) const {
    const api::PodSpec& spec = plan.pod.spec;
    const std::string& uid = plan.pod.metadata.uid;
    Outcome outcome;
    // Where a container gets to: the start at which it stays, and how it ended there.
    const auto follow = [&](const api::Container& container, bool is_init) {
      for (std::uint32_t attempt = 0;; ++attempt) {
        const ContainerLife& life = *runtime_troubled_.LifeOf(uid, container.name, attempt);
        if (life.forever) return std::pair<int, std::optional<int>>(attempt, std::nullopt);
        const int code = life.unhealthy ? kEndedByAgent : life.code;
        if (is_init && code == 0) return std::pair<int, std::optional<int>>(attempt, 0);
        if (!Again(spec, container, is_init, code)) {
          return std::pair<int, std::optional<int>>(attempt, code);
        }
      }
    };
    for (const api::Container& container : spec.init_containers) {
      if (IsSidecar(container)) continue;
      const auto [attempt, code] = follow(container, true);
      outcome.restarts[container.name] = attempt;
      if (code != 0) {
        outcome.phase = "Failed";
        return outcome;
      }
    }
    bool runs = false;
    bool well = true;
    for (const api::Container& container : spec.containers) {
      const auto [attempt, code] = follow(container, false);
      outcome.restarts[container.name] = attempt;
      runs = runs || !code;
      well = well && code == 0;
    }
    outcome.phase = runs ? "Running" : (well ? "Succeeded" : "Failed");
    return outcome;
  }

  void CheckOutcome(const Plan& plan) {
    const std::string& name = plan.pod.metadata.name;
    const auto pod = FindPod(name);
    if (plan.deleted || plan.forced) {
      EXPECT_FALSE(pod) << name << " was deleted: " << pod->status.phase;
      EXPECT_FALSE(AnythingRuns(plan.pod.metadata.uid)) << name;
      return;
    }
    ASSERT_TRUE(pod) << name;
    const Outcome want = OutcomeOf(plan);
    EXPECT_EQ(pod->status.phase, want.phase) << name;
    for (const auto& [container, restarts] : want.restarts) {
      EXPECT_EQ(StatusOf(*pod, container).restart_count, restarts) << name << " " << container;
    }
    const auto ready = std::ranges::find(pod->status.conditions, "Ready", &api::PodCondition::type);
    ASSERT_NE(ready, pod->status.conditions.end());
    EXPECT_EQ(ready->status, want.phase == "Running" && AllRun(plan, *pod) ? "True" : "False")
        << name;
    for (const std::string& device : DevicesOf(plan)) {
      EXPECT_EQ(plugins_.prepared().contains(device), want.phase == "Running") << device;
    }
  }
  static bool AllRun(const Plan&, const api::Pod& pod) {
    return std::ranges::all_of(pod.status.container_statuses, [](const api::ContainerStatus& one) {
      return one.state.running.has_value();
    });
  }

  // The trouble is over.
  void Settle() {
    if (HasFailure()) return;
    dice_.troubled = false;
    for (const char* name : {"d1", "d2"}) {
      auto& driver = plugins_.driver(name);
      driver.fail_prepare = driver.fail_unprepare = 0;
      driver.refuse_prepare = driver.refuse_unprepare = 0;
      driver.hang_prepare = driver.hang_unprepare = false;
    }
    Go(minutes(25));
    if (HasFailure()) return;
    for (const auto& [uid, plan] : plans_) CheckOutcome(plan);
    if (HasFailure()) return;
    for (auto& [uid, plan] : plans_) {
      if (Stored(plan) && !plan.deleted) DeletePod(plan.pod.metadata.name);
    }
    Go(minutes(3));
    EXPECT_THAT(plugins_.prepared(), IsEmpty());
    EXPECT_THAT(Checkpoint(), IsEmpty());
    EXPECT_THAT(runtime_troubled_.Now().containers, IsEmpty());
    EXPECT_THAT(runtime_troubled_.Now().sandboxes, IsEmpty());
    EXPECT_THAT(agent_->Pods(), IsEmpty());
    for (const std::string& folder : {options_.root + "/pods", options_.log_root}) {
      EXPECT_THAT(*files::NamesIn(folder), IsEmpty()) << folder;
    }
  }

  Dice dice_;
  TroubledRuntime runtime_troubled_{runtime_, loop_, dice_};
  TroubledCluster cluster_troubled_{*cluster_, dice_};
  WatchedPlugins plugins_watched_{plugins_};
  std::map<std::string, Plan> plans_;  // by UID
  std::map<std::string, std::vector<std::string>> drivers_of_;
  std::map<std::string, int> restarts_;
  std::set<std::string> over_;
  std::string shared_memory_;
  int next_ = 0;
};

class PodLives : public ::testing::TestWithParam<unsigned> {};

TEST_P(PodLives, EndAsTheirSpecsSay) {
  const char* const given = std::getenv("DRAY_SEED");
  const unsigned first =
      given != nullptr ? static_cast<unsigned>(std::atoi(given)) : GetParam() * 40;
  const unsigned last = given != nullptr ? first + 1 : first + 40;
  for (unsigned seed = first; seed < last; ++seed) {
    SCOPED_TRACE(fmt::format("DRAY_SEED={}", seed));
    PodLife(seed).Live(40);
    if (HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, PodLives, ::testing::Range(0u, 5u));

}  // namespace
}  // namespace dray::node
