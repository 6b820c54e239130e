// SPDX-License-Identifier: Apache-2.0
#include "node/claim_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "files/disk_for_test.h"
#include "files/files.h"
#include "files/temporary_folder.h"
#include "fmt/format.h"
#include "node/claim_manager.h"
#include "node/plugins_for_test.h"
#include "testing/status_matchers.h"

namespace dray::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::StatusIs;
using Fault = files::DiskForTest::Fault;

ClaimState Claim(const std::string& name) {
  ClaimState claim;
  claim.uid = "uid-" + name;
  claim.name = name;
  claim.namespace_ = "ns";
  claim.pods = {"p"};
  claim.drivers["d1"].devices = {{.pool = "pool", .device = name}};
  return claim;
}

TEST(ClaimLogTest, IsOneFileForAKubeletWhenNothingHappens) {
  const files::TemporaryFolder folder;
  const std::string whole = folder / "root/dra_manager_state";
  auto log = ClaimLog::Open(folder / "root");
  ASSERT_THAT(log, IsOk());
  EXPECT_THAT(files::ReadWhole(whole), IsOkAndHolds(EncodeClaimStates({}, true)));
  ASSERT_THAT((*log)->Write({.now = {Claim("a"), Claim("b")}, .gone = {}}), IsOk());
  ASSERT_THAT((*log)->Write({.now = {}, .gone = {"uid-a"}}), IsOk());
  // Not there yet, and read all the same.
  EXPECT_THAT(files::ReadWhole(whole), IsOkAndHolds(EncodeClaimStates({}, true)));
  EXPECT_THAT(ClaimLog::Read(folder / "root"), IsOkAndHolds(ElementsAre(Claim("b"))));
  ASSERT_THAT((*log)->Fold(), IsOk());
  EXPECT_THAT(files::ReadWhole(whole), IsOkAndHolds(EncodeClaimStates({Claim("b")})));
  // An agent that was killed: the next one has everything, and puts it into the file.
  ASSERT_THAT((*log)->Write({.now = {Claim("c")}, .gone = {}}), IsOk());
  log = ClaimLog::Open(folder / "root");
  ASSERT_THAT(log, IsOk());
  EXPECT_THAT((*log)->Claims(), ElementsAre(Claim("b"), Claim("c")));
  EXPECT_THAT(files::ReadWhole(whole), IsOkAndHolds(EncodeClaimStates({Claim("b"), Claim("c")})));
}

// A kubelet had the machine meanwhile: what its file says holds.
TEST(ClaimLogTest, WhatAKubeletHasWrittenSinceHolds) {
  const files::TemporaryFolder folder;
  auto log = *ClaimLog::Open(folder / "root");
  ASSERT_THAT(log->Write({.now = {Claim("a")}, .gone = {}, .must_last = true}), IsOk());
  ASSERT_THAT(files::WriteWhole(folder / "root/dra_manager_state", EncodeClaimStates({Claim("k")})),
              IsOk());
  EXPECT_THAT((*ClaimLog::Open(folder / "root"))->Claims(), ElementsAre(Claim("k")));
}

TEST(ClaimLogTest, SaysWhatToDoAboutDamage) {
  const files::TemporaryFolder folder;
  auto log = *ClaimLog::Open(folder / "root");
  ASSERT_THAT(log->Write({.now = {Claim("a")}, .gone = {}, .must_last = true}), IsOk());
  ASSERT_THAT(files::WriteWhole(folder / "root/dra_manager_state.log", "junk"), IsOk());
  EXPECT_THAT(ClaimLog::Open(folder / "root"),
              StatusIs(StatusCode::kDataLoss,
                       HasSubstr("dra_manager_state.log is damaged: it has no head. It says which "
                                 "claims are prepared on this node, so that the agent cannot do "
                                 "without it: drain the node, remove dra_manager_state and "
                                 "dra_manager_state.log, and start again")));
}

TEST(ClaimLogTest, ALongLogIsFolded) {
  const files::TemporaryFolder folder;
  auto log = *ClaimLog::Open(folder / "root");
  for (int i = 0; i < 3000; ++i) {
    ASSERT_THAT(log->Write({.now = {Claim("a" + std::to_string(i % 10))}, .gone = {}}), IsOk());
  }
  EXPECT_THAT(files::ReadWhole(folder / "root/dra_manager_state.log")->size(),
              ::testing::Le(300'000u));
  EXPECT_EQ(ClaimLog::Read(folder / "root")->size(), 10u);
}

// ---- With everything above it ----

// Claims in memory, the checkpoint on a disk.
class DiskSource final : public ClaimSource {
 public:
  DiskSource(Loop& loop, ClaimSourceForTest& claims, ClaimLog& log)
      : loop_(loop), claims_(claims), log_(log) {}
  void Fetch(const std::string& namespace_, std::vector<std::string> names,
             std::function<void(StatusOr<Claims>)> done) override {
    claims_.Fetch(namespace_, std::move(names), std::move(done));
  }
  void WriteCheckpoint(ClaimChanges changes, std::function<void(Status)> done) override {
    loop_.Post([this, changes = std::move(changes), done = std::move(done)] {
      done(log_.Write(changes));
    });
  }

 private:
  Loop& loop_;
  ClaimSourceForTest& claims_;
  ClaimLog& log_;
};

class ClaimsOnDisk : public ::testing::TestWithParam<Fault> {
 protected:
  void Reset() {
    manager_.reset();
    source_.reset();
    log_.reset();
    loop_ = std::make_unique<Loop>(clock_);
    plugins_ = std::make_unique<PluginsForTest>(*loop_);
    claims_ = std::make_unique<ClaimSourceForTest>(*loop_);
    disk_ = std::make_unique<files::DiskForTest>();
    plugins_->Register("d1");
  }
  bool Boot() {
    manager_.reset();
    source_.reset();
    auto log = ClaimLog::Open(folder_ / "root", *disk_);
    if (!log.ok()) return false;
    log_ = *std::move(log);
    source_ = std::make_unique<DiskSource>(*loop_, *claims_, *log_);
    manager_ = std::make_unique<ClaimManager>(*source_, *plugins_, clock_, api::FeatureGates());
    manager_->Restore(log_->Claims());
    return true;
  }
  void Prepare(int i) {
    const std::string claim = fmt::format("a{}", i);
    const std::string pod = fmt::format("p{}", i);
    claims_->claims[claim] = ClaimOf(claim, {"d1"}, {pod});
    manager_->Prepare(PodWith(pod, {claim}), [](const Status&) {});
  }
  // What is prepared is remembered on the disk.
  void ExpectRemembered() {
    const auto read = ClaimLog::Read(folder_ / "root", *disk_);
    ASSERT_THAT(read, IsOk());
    std::set<std::string> known;
    for (const ClaimState& claim : *read) known.insert("d1/" + claim.uid);
    for (const std::string& prepared : plugins_->prepared()) {
      EXPECT_TRUE(known.contains(prepared)) << prepared << " would never be unprepared";
    }
  }
  // A new agent, whose pods are all gone: it lets go of everything.
  void ExpectAllLetGo() {
    ASSERT_TRUE(Boot());
    manager_->Reconcile([](const std::string&) { return false; },
                        [](const std::string&, const Status&) {});
    loop_->RunDue();
    EXPECT_THAT(plugins_->prepared(), IsEmpty());
    EXPECT_THAT(ClaimLog::Read(folder_ / "root", *disk_), IsOkAndHolds(IsEmpty()));
  }
  // Some pods come, some go, some come again.
  void Live() {
    for (int i = 0; i < 6; ++i) {
      Prepare(i);
      if (i % 2 == 0) loop_->RunDue();
    }
    loop_->RunDue();
    for (int i = 0; i < 4; ++i) {
      manager_->Unprepare(fmt::format("uid-p{}", i), [](const Status&) {});
    }
    Prepare(6);
    loop_->RunDue();
    (void)log_->Fold();
    Prepare(7);
    loop_->RunDue();
  }

  base::ManualClock clock_;
  files::TemporaryFolder folder_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<PluginsForTest> plugins_;
  std::unique_ptr<ClaimSourceForTest> claims_;
  std::unique_ptr<files::DiskForTest> disk_;
  std::unique_ptr<ClaimLog> log_;
  std::unique_ptr<DiskSource> source_;
  std::unique_ptr<ClaimManager> manager_;
};

// 110 pods that come at once and go at once wait for the disk three times, not 330 times.
TEST_F(ClaimsOnDisk, ManyPodsShareASync) {
  Reset();
  ASSERT_TRUE(Boot());
  const int before = disk_->syncs();
  for (int i = 0; i < 110; ++i) Prepare(i);
  loop_->RunDue();
  EXPECT_EQ(plugins_->prepared().size(), 110u);
  EXPECT_LE(disk_->syncs() - before, 2);
  for (int i = 0; i < 110; ++i) {
    manager_->Unprepare(fmt::format("uid-p{}", i), [](const Status&) {});
  }
  loop_->RunDue();
  EXPECT_THAT(plugins_->prepared(), IsEmpty());
  EXPECT_LE(disk_->syncs() - before, 2);
  ASSERT_THAT(log_->Fold(), IsOk());
  EXPECT_LE(disk_->syncs() - before, 5);
  // One pod alone: one sync before its driver is called.
  const int alone = disk_->syncs();
  Prepare(200);
  loop_->RunDue();
  manager_->Unprepare("uid-p200", [](const Status&) {});
  loop_->RunDue();
  EXPECT_EQ(disk_->syncs() - alone, 1);
}

// The agent or the machine dies before, in the middle of and after every step of the disk.
TEST_P(ClaimsOnDisk, NothingThatIsPreparedIsForgottenWhereverItDies) {
  int deaths = 0;
  for (int step = 0; step < 40; ++step) {
    for (unsigned seed = 0; seed < 8; ++seed) {
      for (const bool power : {false, true}) {
        SCOPED_TRACE(fmt::format("step {} seed {} power {}", step, seed, power));
        Reset();
        ASSERT_TRUE(Boot());
        disk_->FailAt(step, GetParam(), true, seed);
        Live();
        deaths += disk_->dead() ? 1 : 0;
        power ? disk_->CutPower(seed) : disk_->Kill();
        ExpectRemembered();
        ExpectAllLetGo();
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(deaths, 100);
}

// A step fails, and the agent goes on.
TEST_P(ClaimsOnDisk, AFailureOfTheDiskIsOvercome) {
  for (int step = 0; step < 40; ++step) {
    SCOPED_TRACE(fmt::format("step {}", step));
    Reset();
    ASSERT_TRUE(Boot());
    disk_->FailAt(step, GetParam(), false, 3);
    Live();
    ExpectRemembered();
    for (int i = 0; i < 8; ++i) {
      manager_->Unprepare(fmt::format("uid-p{}", i), [](const Status&) {});
    }
    loop_->RunDue();
    ExpectRemembered();
    disk_->Heal();
    ExpectAllLetGo();
    if (HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Kinds, ClaimsOnDisk,
                         ::testing::Values(Fault::kBefore, Fault::kAfter, Fault::kTorn),
                         [](const auto& info) {
                           return info.param == Fault::kBefore  ? "Before"
                                  : info.param == Fault::kAfter ? "After"
                                                                : "Torn";
                         });

}  // namespace
}  // namespace dray::node
