// SPDX-License-Identifier: Apache-2.0
//
// Random lives of pods, claims, drivers and agents. Drivers say when a rule is broken:
//   - a claim is prepared only while some pod that exists, or did when it was asked, may use it;
//   - what is prepared on a driver is in the checkpoint, always: nothing leaks;
//   - once all pods have ended and drivers answer, nothing is prepared and nothing remembered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "node/claim_manager.h"
#include "node/plugins_for_test.h"
#include "testing/status_matchers.h"

namespace dray::node {
namespace {

using ::testing::IsEmpty;

class Life {
 public:
  explicit Life(unsigned seed) : random_(seed) {
    for (const char* driver : {"d1", "d2"}) plugins_.Register(driver);
    Boot();
  }

  void Run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      Step();
      Check();
    }
    Settle();
  }

 private:
  struct Pod {
    api::Pod pod;
    bool preparing = false;
    bool prepared = false;
    bool ending = false;
    bool gone = false;  // force-deleted
  };

  int Pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  void Boot() {
    manager_ = std::make_unique<ClaimManager>(source_, plugins_, clock_, api::FeatureGates());
    ++generation_;
    manager_->Restore(source_.Written());
    for (auto& [uid, pod] : pods_) pod.preparing = pod.ending = false;
  }

  void Step() {
    switch (Pick(13)) {
      case 0:
        return NewClaim();
      case 1:
        return NewPod();
      case 2:
      case 3:
      case 4:
        return PreparePod();
      case 5:
      case 6:
        return EndPod();
      case 7:
        return Fault();
      case 8:
        // kill -9: answers that are on their way find nobody, and what was being written is not.
        if (Pick(4) == 0) {
          manager_.reset();
          source_.Crash();
          Boot();
        }
        return;
      case 9: {
        if (pods_.empty()) return;
        auto it = std::next(pods_.begin(), Pick(static_cast<int>(pods_.size())));
        it->second.gone = true;
        return;
      }
      case 10:
        return Reconcile();
      case 11:
        return Reallocate();
      default:
        RunFor(loop_, clock_, std::chrono::seconds(Pick(60)));
    }
  }

  // Somebody of the cluster uses it; who is gone does not.
  bool Used(const std::string& claim) const {
    for (const auto& [uid, pod] : pods_) {
      if (pod.gone) continue;
      for (const auto& entry : pod.pod.spec.resource_claims) {
        if (entry.resource_claim_name == claim) return true;
      }
    }
    return false;
  }

  // The same claim gets another device, as the control plane does it when nobody has it reserved.
  void Reallocate() {
    const std::string name = fmt::format("c{}", Pick(4));
    const auto it = source_.claims.find(name);
    if (it == source_.claims.end() || Used(name)) return;
    it->second.status.reserved_for.clear();
    const std::string device = fmt::format("dev-{}", next_++);
    for (auto& result : it->second.status.allocation->devices.results) result.device = device;
    for (const char* driver : {"d1", "d2"}) {
      plugins_.driver(driver).devices[name] = {{.pool = "pool", .device = device}};
    }
  }

  void NewClaim() {
    const std::string name = fmt::format("c{}", Pick(4));
    // The same name again, as another object: only when nobody of the cluster uses the old one.
    if (Used(name)) return;
    for (const char* driver : {"d1", "d2"}) plugins_.driver(driver).devices.erase(name);
    std::vector<std::string> drivers = {Pick(2) == 0 ? "d1" : "d2"};
    if (Pick(3) == 0) drivers = {"d1", "d2"};
    api::ResourceClaim claim = ClaimOf(name, drivers, {});
    claim.metadata.uid = fmt::format("claim-{}", next_++);
    source_.claims[name] = claim;
  }

  void NewPod() {
    if (source_.claims.empty() || pods_.size() > 6) return;
    const std::string name = fmt::format("p{}", next_++);
    std::vector<std::string> claims;
    for (auto& [claim_name, claim] : source_.claims) {
      if (Pick(2) == 0) continue;
      claims.push_back(claim_name);
      claim.status.reserved_for.push_back({.resource = "pods", .name = name, .uid = "uid-" + name});
    }
    pods_["uid-" + name].pod = PodWith(name, claims);
  }

  Pod* PickPod() {
    if (pods_.empty()) return nullptr;
    return &std::next(pods_.begin(), Pick(static_cast<int>(pods_.size())))->second;
  }

  void PreparePod() {
    Pod* pod = PickPod();
    if (pod == nullptr || pod->preparing || pod->prepared || pod->ending || pod->gone) return;
    pod->preparing = true;
    const std::string uid = pod->pod.metadata.uid;
    manager_->Prepare(pod->pod, [this, uid, generation = generation_](const Status& status) {
      const auto it = pods_.find(uid);
      if (generation != generation_ || it == pods_.end()) return;
      it->second.preparing = false;
      it->second.prepared = status.ok();
      if (!status.ok()) return;
      for (const auto& entry : it->second.pod.spec.resource_claims) {
        const auto& claim = source_.claims.at(*entry.resource_claim_name);
        for (const auto& result : claim.status.allocation->devices.results) {
          EXPECT_TRUE(plugins_.prepared().contains(result.driver + "/" + claim.metadata.uid))
              << uid << " was told that " << claim.metadata.name << " is prepared";
        }
      }
      // And with what the claims are allocated now.
      const api::Pod& told = it->second.pod;
      const auto has = manager_->ClaimsFor(told, told.spec.containers[0]);
      ASSERT_TRUE(has.ok()) << has.status();
      for (const ContainerClaim& one : *has) {
        const auto& results = source_.claims.at(one.claim).status.allocation->devices.results;
        EXPECT_EQ(one.devices.size(), results.size());
        for (const UsedDevice& used : one.devices) {
          EXPECT_EQ(used.device.device, results[0].device) << uid << " uses " << one.claim;
        }
      }
    });
  }

  void EndPod() {
    Pod* pod = PickPod();
    // A worker ends what it has begun first; a pod that is gone is the reconciliation's.
    if (pod == nullptr || pod->preparing || pod->ending || pod->gone) return;
    pod->ending = true;
    const std::string uid = pod->pod.metadata.uid;
    manager_->Unprepare(uid, [this, uid, generation = generation_](const Status& status) {
      const auto it = pods_.find(uid);
      if (generation != generation_ || it == pods_.end()) return;
      it->second.ending = false;
      if (!status.ok()) return;
      EXPECT_FALSE(manager_->Holds(uid));
      Forget(uid);
      pods_.erase(it);
    });
  }

  // The control plane takes a pod that is over out of reservedFor.
  void Forget(const std::string& uid) {
    for (auto& [name, claim] : source_.claims) {
      std::erase_if(claim.status.reserved_for, [&](const auto& user) { return user.uid == uid; });
    }
  }

  void Fault() {
    auto& driver = plugins_.driver(Pick(2) == 0 ? "d1" : "d2");
    switch (Pick(7)) {
      case 0:
        driver.fail_prepare = 1;
        break;
      case 1:
        driver.fail_unprepare = 1;
        break;
      case 2:
        driver.refuse_prepare = 1;
        break;
      case 3:
        driver.refuse_unprepare = 1;
        break;
      case 4:
        driver.hang_prepare = !driver.hang_prepare;
        break;
      case 5:
        driver.hang_unprepare = !driver.hang_unprepare;
        break;
      default:
        source_.fail_writes = 1;
    }
  }

  void Reconcile() {
    manager_->Reconcile(
        [this](const std::string& uid) {
          const auto it = pods_.find(uid);
          return it != pods_.end() && !it->second.gone;
        },
        [this, generation = generation_](const std::string& uid, const Status& status) {
          if (generation != generation_ || !status.ok()) return;
          Forget(uid);
          pods_.erase(uid);
        });
  }

  // Whatever is prepared somewhere is in the checkpoint, or is being unprepared at this moment.
  void Check() {
    std::set<std::string> remembered;
    for (const auto& [uid, claim] : source_.written) {
      for (const auto& [driver, state] : claim.drivers) remembered.insert(driver + "/" + uid);
    }
    for (const std::string& prepared : plugins_.prepared()) {
      EXPECT_TRUE(remembered.contains(prepared)) << prepared << " would be forgotten by a restart";
    }
  }

  void Settle() {
    for (const char* name : {"d1", "d2"}) {
      auto& driver = plugins_.driver(name);
      driver.fail_prepare = driver.fail_unprepare = 0;
      driver.refuse_prepare = driver.refuse_unprepare = 0;
      driver.hang_prepare = driver.hang_unprepare = false;
    }
    source_.fail_writes = 0;
    RunFor(loop_, clock_, std::chrono::minutes(3));
    for (auto& [uid, pod] : pods_) pod.gone = true;
    for (int i = 0; i < 3; ++i) {
      Reconcile();
      RunFor(loop_, clock_, std::chrono::minutes(3));
    }
    EXPECT_THAT(plugins_.prepared(), IsEmpty());
    EXPECT_THAT(manager_->States(), IsEmpty());
    EXPECT_THAT(source_.Written(), IsEmpty());
  }

  std::mt19937 random_;
  base::ManualClock clock_;
  Loop loop_{clock_};
  PluginsForTest plugins_{loop_};
  ClaimSourceForTest source_{loop_};
  std::map<std::string, Pod> pods_;
  std::unique_ptr<ClaimManager> manager_;
  int next_ = 0;
  int generation_ = 0;
};

class ClaimLives : public ::testing::TestWithParam<unsigned> {};

TEST_P(ClaimLives, NothingLeaksAndNothingIsForgotten) {
  for (unsigned seed = GetParam() * 40; seed < (GetParam() + 1) * 40; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Life(seed).Run(250);
    if (HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, ClaimLives, ::testing::Range(0u, 8u));

}  // namespace
}  // namespace dray::node
