// SPDX-License-Identifier: Apache-2.0
#include "node/claim_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "files/crc32.h"
#include "files/files.h"
#include "files/temporary_folder.h"
#include "fmt/format.h"
#include "node/agent_for_test.h"
#include "testing/recorded_cases.h"
#include "testing/status_matchers.h"

namespace dray::node {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::StatusIs;

// The pair that Kubernetes's own tests have.
constexpr std::string_view kKnownData =
    R"({"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v1","ClaimInfoStateList":[{"ClaimUID":"067798be-454e-4be4-9047-1aa06aea63f7","ClaimName":"example","Namespace":"default","PodUIDs":{"139cdb46-f989-4f17-9561-ca10cfb509a6":{}},"DriverState":{"test-driver.cdi.k8s.io":{"Devices":[{"PoolName":"worker-1","DeviceName":"dev-1","ShareID":null,"RequestNames":["test request"],"CDIDeviceIDs":["example.com/example=cdi-example"]}]}}}]})";

ClaimState Known() {
  ClaimState claim;
  claim.uid = "067798be-454e-4be4-9047-1aa06aea63f7";
  claim.name = "example";
  claim.namespace_ = "default";
  claim.pods = {"139cdb46-f989-4f17-9561-ca10cfb509a6"};
  claim.drivers["test-driver.cdi.k8s.io"].devices = {
      {.pool = "worker-1",
       .device = "dev-1",
       .requests = {"test request"},
       .cdi_ids = {"example.com/example=cdi-example"}}};
  return claim;
}

std::string Quoted(std::string_view data) {
  std::string out = "\"";
  for (const char c : data) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string FileOf(std::string_view data) {
  return fmt::format(R"({{"Data":{},"Checksum":{}}})", Quoted(data), files::Crc32(data));
}

TEST(ClaimStateFile, IsTheKubeletsByteForByte) {
  EXPECT_EQ(files::Crc32(kKnownData), 2570581864u);
  EXPECT_EQ(EncodeClaimStates({Known()}),
            fmt::format(R"({{"Data":{},"Checksum":2570581864}})", Quoted(kKnownData)));
  ClaimState shared = Known();
  shared.drivers.begin()->second.devices[0].share_id = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa";
  EXPECT_THAT(EncodeClaimStates({shared}), HasSubstr(R"("Checksum":736302156})"));
  EXPECT_THAT(DecodeClaimStates(EncodeClaimStates({shared})),
              IsOkAndHolds(std::vector<ClaimState>{shared}));
}

// A kubelet wrote it, with a claim of two shares and an extended resource.
TEST(ClaimStateFile, IsWhatAKubeletHasWritten) {
  const auto folder = testing::SharedFolder("transcripts/node");
  if (!folder) GTEST_SKIP() << "there are no recorded transcripts";
  const auto bytes = files::ReadWhole(*folder / "dra_manager_state");
  ASSERT_THAT(bytes, IsOk());
  const auto claims = DecodeClaimStates(*bytes);
  ASSERT_THAT(claims, IsOk());
  ASSERT_EQ(claims->size(), 2u);
  const auto& devices = (*claims)[1].drivers.at("py.example.com").devices;
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[1].share_id, "e5ad978d-5ed7-4ed8-b217-90203ab6690b");
  EXPECT_EQ(EncodeClaimStates(*claims), *bytes);
}

TEST(ClaimStateFile, NewAndEmptyAreNotTheSame) {
  EXPECT_THAT(EncodeClaimStates({}, true), HasSubstr(R"(\"ClaimInfoStateList\":null})"));
  EXPECT_THAT(EncodeClaimStates({}), HasSubstr(R"(\"ClaimInfoStateList\":[]})"));
  EXPECT_THAT(DecodeClaimStates(EncodeClaimStates({}, true)), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(DecodeClaimStates(EncodeClaimStates({})), IsOkAndHolds(IsEmpty()));
}

TEST(ClaimStateFile, KeepsSkippedOperationsAndStrangeNames) {
  ClaimState claim = Known();
  claim.drivers["a<b>&\"\\\n\xe2\x80\xa8"].skips = {"*"};
  claim.drivers["none"];
  const std::string bytes = EncodeClaimStates({claim});
  EXPECT_THAT(bytes, HasSubstr(R"(\\u003c)"));
  EXPECT_THAT(bytes, HasSubstr(R"(\"none\":{\"Devices\":null})"));
  EXPECT_THAT(DecodeClaimStates(bytes), IsOkAndHolds(std::vector<ClaimState>{claim}));
}

TEST(ClaimStateFile, ChangesAreReadAsTheyWereWritten) {
  ClaimChanges changes{.now = {Known()}, .gone = {"u1", "u\"2"}, .must_last = false};
  EXPECT_THAT(DecodeClaimChanges(EncodeClaimChanges(changes)), IsOkAndHolds(changes));
  EXPECT_THAT(DecodeClaimChanges(EncodeClaimChanges({})), IsOkAndHolds(ClaimChanges{}));
  EXPECT_THAT(DecodeClaimChanges("{"), StatusIs(StatusCode::kDataLoss, HasSubstr("corrupted")));
}

// Row 58: of another version, without request names.
TEST_F(Acceptance, Row58StateOfAnotherVersionIsRead) {
  const auto claims = DecodeClaimStates(FileOf(
      R"({"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v9","New":1,"ClaimInfoStateList":[{"ClaimUID":"u","ClaimName":"c","DriverState":{"d":{"Devices":[{"PoolName":"p","DeviceName":"x"}]}}}]})"));
  ASSERT_THAT(claims, IsOk());
  ASSERT_EQ(claims->size(), 1u);
  EXPECT_EQ((*claims)[0].uid, "u");
  EXPECT_THAT((*claims)[0].drivers.at("d").devices.at(0).requests, IsEmpty());
}

TEST_F(Acceptance, Row58CorruptStateIsRefused) {
  const std::string good = EncodeClaimStates({Known()});
  // Every byte that is missing at the end, and every byte that is another.
  for (std::size_t n = 0; n < good.size(); ++n) {
    EXPECT_THAT(DecodeClaimStates(good.substr(0, n)),
                StatusIs(StatusCode::kDataLoss, HasSubstr("checkpoint is corrupted")))
        << n;
    std::string other = good;
    other[n] = other[n] == 'x' ? 'y' : 'x';
    const auto read = DecodeClaimStates(other);
    if (read.ok()) {
      EXPECT_EQ(*read, std::vector<ClaimState>{Known()}) << other;
    }
  }
}

// The writer is killed after each byte in turn, by a limit on the size of its files.
TEST(ClaimStateFile, SurvivesAKillAtEveryByte) {
  const files::TemporaryFolder folder;
  const std::string path = folder / "dra_manager_state";
  const std::string before = EncodeClaimStates({Known()});
  ClaimState changed = Known();
  changed.pods.insert("another");
  const std::string after = EncodeClaimStates({changed});
  for (std::size_t n = 0; n <= after.size(); ++n) {
    ASSERT_THAT(files::WriteWhole(path, before), IsOk());
    const pid_t child = ::fork();
    if (child == 0) {
      const rlimit limit{.rlim_cur = n, .rlim_max = n};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      const rlimit none{.rlim_cur = 0, .rlim_max = 0};
      ::setrlimit(RLIMIT_CORE, &none);
      ::signal(SIGXFSZ, SIG_DFL);
      ::_exit(files::WriteWhole(path, after).ok() ? 0 : 1);
    }
    int ended = 0;
    ASSERT_EQ(::waitpid(child, &ended, 0), child);
    const bool whole = n == after.size();
    EXPECT_EQ(WIFEXITED(ended) && WEXITSTATUS(ended) == 0, whole) << n;
    EXPECT_THAT(files::ReadWhole(path), IsOkAndHolds(whole ? after : before)) << n;
  }
}

}  // namespace
}  // namespace dray::node
