// SPDX-License-Identifier: Apache-2.0
#include "driver/plugin_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>

#include "cdi/folder.h"
#include "driver/kit_for_test.h"
#include "files/crc32.h"
#include "fmt/format.h"
#include "testing/status_matchers.h"

namespace dray::driver {
namespace {

using dray::testing::IsOk;
using dray::testing::IsOkAndHolds;
using dray::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() { Restart(); }
  virtual ServiceOptions Options() {
    return {
        .driver = std::string(dray::testing::kDriver),
        .endpoint = "/plugins/dra.sock",
        .services = {"v1.DRAPlugin"},
        .folder = shop_.folder / "plugin",
        .cdi_folder = shop_.folder / "cdi",
        .boot_id = boot_id_,
        .problem = [this](const Status& status) { problems_.emplace_back(base::Message(status)); }};
  }
  // As a process that was killed and began again.
  void Restart() {
    service_.reset();
    auto service = PluginService::Open(Options(), handler_, shop_.cluster, health_);
    ASSERT_THAT(service, IsOk());
    service_ = *std::move(service);
  }
  // The answer for one claim.
  rpc::PreparedClaim Prepare(const rpc::ClaimName& claim) {
    const auto answer = service_->Prepare({claim});
    EXPECT_THAT(answer, IsOk());
    if (!answer.ok()) return {.error = std::string(base::Message(answer.status()))};
    EXPECT_EQ(answer->size(), 1u);
    return answer->at(claim.uid);
  }
  std::string Unprepare(const rpc::ClaimName& claim) {
    const auto answer = service_->Unprepare({claim});
    EXPECT_THAT(answer, IsOk());
    return answer->at(claim.uid);
  }
  std::vector<std::string> CdiFiles() const { return *files::NamesIn(shop_.folder / "cdi"); }
  StatusOr<cdi::ContainerEdits> Edits(const rpc::PreparedClaim& claim) const {
    std::vector<std::string> ids;
    for (const auto& device : claim.devices) {
      ids.insert(ids.end(), device.cdi_ids.begin(), device.cdi_ids.end());
    }
    const std::vector<std::string> folders = {shop_.folder / "cdi"};
    return cdi::Load(folders).Resolve(ids);
  }

  Workshop shop_;
  RecordingHandler handler_;
  HealthBoard health_{shop_.clock};
  std::string boot_id_ = "boot-1";
  std::vector<std::string> problems_;
  std::unique_ptr<PluginService> service_;
};

TEST_F(ServiceTest, AClaimIsPreparedAndItsCdiDeviceExists) {
  const auto claim = shop_.Claim("a", {{.device = "gpu-0", .request = "gpu/big"}});
  const rpc::PreparedClaim prepared = Prepare(claim);
  ASSERT_THAT(prepared.devices, SizeIs(1));
  EXPECT_THAT(prepared.devices[0].requests, ElementsAre("gpu"));
  EXPECT_EQ(prepared.devices[0].pool, "n1");
  EXPECT_EQ(prepared.devices[0].device, "gpu-0");
  ASSERT_THAT(prepared.devices[0].cdi_ids,
              ElementsAre("gpu.example.com/claim=" + claim.uid + "-0-gpu-0"));
  const auto edits = Edits(prepared);
  ASSERT_THAT(edits, IsOk());
  EXPECT_THAT(edits->env, ElementsAre("DEVICE=gpu-0"));
  EXPECT_EQ(Unprepare(claim), "");
  EXPECT_THAT(CdiFiles(), IsEmpty());
  EXPECT_THAT(handler_.calls, ElementsAre("prepare a", "unprepare a gpu-0"));
  EXPECT_THAT(service_->PreparedUids(), IsEmpty());
}

TEST_F(ServiceTest, OnlyDevicesOfTheDriverAreItsOwn) {
  const auto claim =
      shop_.Claim("a", {{.device = "x", .driver = "other.example.com"}, {.device = "gpu-1"}});
  ASSERT_THAT(Prepare(claim).devices, SizeIs(1));
}

TEST_F(ServiceTest, ADeviceWithoutEditsHasNoCdiDevice) {
  handler_.edits = false;
  const rpc::PreparedClaim prepared = Prepare(shop_.Claim("a", {{.device = "gpu-0"}}));
  ASSERT_THAT(prepared.devices, SizeIs(1));
  EXPECT_THAT(prepared.devices[0].cdi_ids, IsEmpty());
  EXPECT_THAT(CdiFiles(), IsEmpty());
}

TEST_F(ServiceTest, ClaimsThatAreNotWhatTheAgentThinksRefuseTheWholeCall) {
  const auto good = shop_.Claim("good", {{.device = "gpu-0"}});
  const auto pending = shop_.Claim("pending", {});
  EXPECT_THAT(service_->Prepare({good, pending}),
              StatusIs(StatusCode::kFailedPrecondition, "claim ns/pending not allocated"));
  auto replaced = good;
  replaced.uid = "another";
  EXPECT_THAT(service_->Prepare({replaced}),
              StatusIs(StatusCode::kFailedPrecondition, "claim ns/good got replaced"));
  EXPECT_THAT(service_->Prepare({{.namespace_ = "ns", .uid = "u", .name = "nobody"}}),
              StatusIs(StatusCode::kNotFound, HasSubstr("ns/nobody")));
  EXPECT_THAT(handler_.calls, IsEmpty());
}

TEST_F(ServiceTest, WhatIsPreparedIsAnsweredFromMemoryAlsoAfterARestart) {
  const auto claim = shop_.Claim("a", {{.device = "gpu-0"}});
  const rpc::PreparedClaim first = Prepare(claim);
  EXPECT_EQ(Prepare(claim), first);
  Restart();
  EXPECT_EQ(Prepare(claim), first);
  EXPECT_THAT(handler_.calls, ElementsAre("prepare a"));
  Restart();
  EXPECT_EQ(Unprepare(claim), "");
  EXPECT_THAT(handler_.calls, ElementsAre("prepare a", "unprepare a gpu-0"));
}

// Device files, and CDI files in /run, are gone after the machine was started anew.
TEST_F(ServiceTest, AfterTheMachineStartedAnewItIsPreparedAnew) {
  const auto claim = shop_.Claim("a", {{.device = "gpu-0"}});
  const rpc::PreparedClaim first = Prepare(claim);
  boot_id_ = "boot-2";
  ASSERT_THAT(files::RemoveTree(shop_.folder / "cdi"), IsOk());
  Restart();
  EXPECT_EQ(Prepare(claim), first);
  EXPECT_THAT(handler_.calls, ElementsAre("prepare a", "prepare a"));
  EXPECT_THAT(Edits(first), IsOk());
}

TEST_F(ServiceTest, ALostCdiFileIsWrittenAgain) {
  const auto claim = shop_.Claim("a", {{.device = "gpu-0"}});
  const rpc::PreparedClaim first = Prepare(claim);
  ASSERT_THAT(files::RemoveTree(shop_.folder / "cdi"), IsOk());
  EXPECT_EQ(Prepare(claim), first);
  EXPECT_THAT(Edits(first), IsOk());
}

TEST_F(ServiceTest, AFailureIsTheClaimsOwn) {
  const auto a = shop_.Claim("a", {{.device = "gpu-0"}});
  const auto b = shop_.Claim("b", {{.device = "gpu-1"}});
  handler_.next = base::Internal("no power");
  const auto answer = service_->Prepare({a, b});
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->at(a.uid).error, "no power");
  EXPECT_EQ(answer->at(b.uid).error, "");
  EXPECT_THAT(problems_, ElementsAre("prepare claim ns/a: no power"));
  EXPECT_EQ(Prepare(a).error, "");
}

// The handler was interrupted: whatever it has begun is undone when the agent says so.
TEST_F(ServiceTest, AnInterruptedPreparationIsUndone) {
  const auto claim = shop_.Claim("a", {{.device = "gpu-0"}});
  handler_.next = base::Internal("killed here");
  EXPECT_EQ(Prepare(claim).error, "killed here");
  Restart();
  EXPECT_THAT(service_->PreparedUids(), ElementsAre(claim.uid));
  EXPECT_EQ(Unprepare(claim), "");
  EXPECT_THAT(handler_.calls, ElementsAre("prepare a", "unprepare a gpu-0"));
  EXPECT_THAT(service_->PreparedUids(), IsEmpty());
}

TEST_F(ServiceTest, UnknownClaimsAreUnprepared) {
  EXPECT_EQ(Unprepare({.namespace_ = "ns", .uid = "nobody", .name = "a"}), "");
  EXPECT_EQ(Unprepare({.namespace_ = "../..", .uid = "../../etc/passwd", .name = "a"}), "");
  EXPECT_THAT(handler_.calls, IsEmpty());
}

TEST_F(ServiceTest, UnpreparingNeedsNoClaimAndIsTriedAgain) {
  const auto claim = shop_.Claim("a", {{.device = "gpu-0"}});
  Prepare(claim);
  shop_.Forget(claim);
  handler_.next = base::Internal("busy");
  EXPECT_EQ(Unprepare(claim), "busy");
  EXPECT_THAT(CdiFiles(), SizeIs(1));
  EXPECT_EQ(Unprepare(claim), "");
  EXPECT_EQ(Unprepare(claim), "");
  EXPECT_THAT(CdiFiles(), IsEmpty());
}

// The last line of defence: an allocator that gave a device twice.
TEST_F(ServiceTest, ADeviceThatAnotherClaimHasIsRefused) {
  const auto a = shop_.Claim("a", {{.device = "gpu-0"}});
  const auto b = shop_.Claim("b", {{.device = "gpu-0"}});
  EXPECT_EQ(Prepare(a).error, "");
  Restart();
  EXPECT_THAT(Prepare(b).error, HasSubstr("device n1/gpu-0 is in use by claim ns/a"));
  EXPECT_THAT(service_->PreparedUids(), ElementsAre(a.uid));
  EXPECT_EQ(Unprepare(a), "");
  EXPECT_EQ(Prepare(b).error, "");
}

TEST_F(ServiceTest, SharesOfADeviceHaveCdiDevicesOfTheirOwn) {
  const auto claim = shop_.Claim(
      "a", {{.device = "gpu-0", .share_id = "s1"}, {.device = "gpu-0", .share_id = "s2"}});
  const auto other = shop_.Claim("b", {{.device = "gpu-0", .share_id = "s3"}});
  const rpc::PreparedClaim prepared = Prepare(claim);
  ASSERT_THAT(prepared.devices, SizeIs(2));
  EXPECT_EQ(prepared.devices[0].share_id, "s1");
  EXPECT_EQ(prepared.devices[1].share_id, "s2");
  EXPECT_NE(prepared.devices[0].cdi_ids, prepared.devices[1].cdi_ids);
  EXPECT_EQ(Prepare(other).error, "");
  EXPECT_THAT(Prepare(shop_.Claim("c", {{.device = "gpu-0"}})).error, HasSubstr("is in use"));
}

TEST_F(ServiceTest, AdminAccessIsRefusedUnlessTheAuthorKnowsIt) {
  const auto claim = shop_.Claim("a", {{.device = "gpu-0", .admin_access = true}});
  EXPECT_THAT(Prepare(claim).error, HasSubstr("does not support admin access"));
  EXPECT_THAT(service_->PreparedUids(), IsEmpty());
}

class AdminTest : public ServiceTest {
 protected:
  AdminTest() { Restart(); }
  ServiceOptions Options() override {
    ServiceOptions options = ServiceTest::Options();
    options.admin_access = true;
    return options;
  }
};
TEST_F(AdminTest, AdminAccessTakesNothingFromOthers) {
  EXPECT_EQ(Prepare(shop_.Claim("a", {{.device = "gpu-0"}})).error, "");
  EXPECT_EQ(Prepare(shop_.Claim("b", {{.device = "gpu-0", .admin_access = true}})).error, "");
}

// Another allocation of the same claim, without an unprepare in between.
TEST_F(ServiceTest, OtherDevicesOfAClaimReplaceThoseOfBefore) {
  auto claim = shop_.Claim("a", {{.device = "gpu-0"}});
  Prepare(claim);
  api::Object stored =
      *shop_.cluster.Stored(api::HubKind(api::TypeInfoOf<api::ResourceClaim>()), "ns", "a");
  stored.Mutable<api::ResourceClaim>()->status.allocation->devices.results[0].device = "gpu-1";
  ASSERT_THAT(shop_.cluster.UpdateStatus(stored), IsOk());
  EXPECT_EQ(Prepare(claim).devices.at(0).device, "gpu-1");
  EXPECT_THAT(handler_.calls, ElementsAre("prepare a", "unprepare a gpu-0", "prepare a"));
}

TEST_F(ServiceTest, TellsWhoItIsAndGoesOnWhenItIsRefused) {
  const auto info = service_->Info();
  ASSERT_THAT(info, IsOk());
  EXPECT_EQ(*info, (rpc::PluginInfo{.type = "DRAPlugin",
                                    .name = "gpu.example.com",
                                    .endpoint = "/plugins/dra.sock",
                                    .supported_versions = {"v1.DRAPlugin"}}));
  EXPECT_THAT(service_->Registered(false, "unknown version"), IsOk());
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("unknown version")));
}

TEST_F(ServiceTest, AFileThatCannotBeUnderstoodIsNotGuessedAt) {
  ASSERT_THAT(files::WriteWhole(shop_.folder / "plugin/claims.json", "{"), IsOk());
  EXPECT_THAT(PluginService::Open(Options(), handler_, shop_.cluster, health_).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("claims.json")));
  ASSERT_THAT(files::WriteWhole(shop_.folder / "plugin/claims.json",
                                R"({"data":"{\"claims\":[]}","checksum":1})"),
              IsOk());
  EXPECT_THAT(PluginService::Open(Options(), handler_, shop_.cluster, health_).status(),
              StatusIs(StatusCode::kDataLoss, HasSubstr("claims.json is damaged")));
  // CDI files are called by it.
  const std::uint32_t sum = files::Crc32(R"({"claims":[{"uid":"../x"}]})");
  ASSERT_THAT(
      files::WriteWhole(
          shop_.folder / "plugin/claims.json",
          fmt::format(R"({{"data":"{{\"claims\":[{{\"uid\":\"../x\"}}]}}","checksum":{}}})", sum)),
      IsOk());
  EXPECT_THAT(PluginService::Open(Options(), handler_, shop_.cluster, health_).status(),
              StatusIs(StatusCode::kDataLoss, HasSubstr("\"../x\" is no UID of a claim")));
  ASSERT_THAT(files::WriteWhole(shop_.folder / "plugin/claims.log", "x"), IsOk());
  EXPECT_THAT(PluginService::Open(Options(), handler_, shop_.cluster, health_).status(),
              StatusIs(StatusCode::kDataLoss, HasSubstr("claims.log is damaged")));
}

// What waits for the disk: that claims are begun, all of a call at once; nothing else.
TEST_F(ServiceTest, ACallWaitsForTheDiskOnce) {
  auto counted = [before = files::Syncs()]() mutable {
    return files::Syncs() - std::exchange(before, files::Syncs());
  };
  const auto alone = shop_.Claim("a", {{.device = "gpu-0"}});
  EXPECT_EQ(Prepare(alone).error, "");
  EXPECT_EQ(counted(), 1u);
  EXPECT_EQ(Prepare(alone).error, "");
  EXPECT_EQ(counted(), 0u);
  std::vector<rpc::ClaimName> many;
  for (int i = 1; i < 9; ++i) {
    many.push_back(shop_.Claim(fmt::format("b{}", i), {{.device = fmt::format("gpu-{}", i)}}));
  }
  ASSERT_THAT(service_->Prepare(many), IsOk());
  EXPECT_EQ(counted(), 1u);
  ASSERT_THAT(service_->Unprepare(many), IsOk());
  EXPECT_EQ(Unprepare(alone), "");
  EXPECT_EQ(counted(), 0u);
  EXPECT_THAT(service_->PreparedUids(), IsEmpty());
}

TEST_F(ServiceTest, TwoClaimsOfOneCallDoNotGetOneDevice) {
  const auto a = shop_.Claim("a", {{.device = "gpu-0"}});
  const auto b = shop_.Claim("b", {{.device = "gpu-0"}});
  const auto answer = service_->Prepare({a, b});
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->at(a.uid).error, "");
  EXPECT_THAT(answer->at(b.uid).error, HasSubstr("device n1/gpu-0 is in use by claim ns/a"));
}

// It was unprepared, the power was cut before the disk knew, and no agent will ask for it again.
TEST_F(ServiceTest, AClaimOfAnEarlierStartOfTheMachineHoldsNothing) {
  const auto a = shop_.Claim("a", {{.device = "gpu-0"}});
  const auto b = shop_.Claim("b", {{.device = "gpu-0"}});
  EXPECT_EQ(Prepare(a).error, "");
  boot_id_ = "boot-2";
  Restart();
  EXPECT_EQ(Prepare(b).error, "");
  EXPECT_THAT(handler_.calls, ElementsAre("prepare a", "unprepare a gpu-0", "prepare b"));
  EXPECT_THAT(service_->PreparedUids(), ElementsAre(b.uid));
}

// Two instances of a driver: what one has prepared, the other unprepares.
class TwoInstances : public ServiceTest {
 protected:
  TwoInstances() { Restart(); }
  ServiceOptions Options() override {
    ServiceOptions options = ServiceTest::Options();
    options.shared_folder = true;
    return options;
  }
};
TEST_F(TwoInstances, ShareWhatIsOnDisk) {
  auto other = PluginService::Open(Options(), handler_, shop_.cluster, health_);
  ASSERT_THAT(other, IsOk());
  const auto claim = shop_.Claim("a", {{.device = "gpu-0"}});
  const rpc::PreparedClaim first = Prepare(claim);
  const auto again = (*other)->Prepare({claim});
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->at(claim.uid), first);
  EXPECT_THAT((*other)->Prepare({shop_.Claim("b", {{.device = "gpu-0"}})})->begin()->second.error,
              HasSubstr("is in use"));
  ASSERT_THAT((*other)->Unprepare({claim}), IsOk());
  EXPECT_EQ(Unprepare(claim), "");
  EXPECT_THAT(handler_.calls, ElementsAre("prepare a", "unprepare a gpu-0"));
}

// Calls come one after the other; with serialization off only those about the same claim do.
TEST_F(ServiceTest, CallsComeOneAfterTheOther) {
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  handler_.on_prepare = [&] {
    most = std::max<int>(most, ++inside);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    --inside;
  };
  std::vector<rpc::ClaimName> claims;
  for (int i = 0; i < 4; ++i) {
    claims.push_back(shop_.Claim("c" + std::to_string(i), {{.device = "d" + std::to_string(i)}}));
  }
  std::vector<std::thread> threads;
  for (const rpc::ClaimName& claim : claims) {
    threads.emplace_back([&, claim] { EXPECT_THAT(service_->Prepare({claim}), IsOk()); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_THAT(service_->PreparedUids(), SizeIs(4));
}

class MetadataTest : public ServiceTest {
 protected:
  MetadataTest() { Restart(); }
  ServiceOptions Options() override {
    ServiceOptions options = ServiceTest::Options();
    options.metadata = true;
    options.attributes = [](std::string_view, std::string_view device) {
      api::Map<api::DeviceAttribute> attributes;
      attributes["model"].string_value = base::OptionalText("model of " + std::string(device));
      return attributes;
    };
    return options;
  }
};
using MetadataAcceptance = MetadataTest;

TEST_F(MetadataAcceptance, Row59MetadataOfAClaimIsMountedPerRequest) {
  const auto claim = shop_.Claim(
      "a", {{.device = "gpu-0", .request = "x/big"}, {.device = "gpu-1", .request = "y"}});
  const rpc::PreparedClaim prepared = Prepare(claim);
  ASSERT_THAT(prepared.devices, SizeIs(2));
  ASSERT_THAT(prepared.devices[0].cdi_ids, SizeIs(2));
  EXPECT_EQ(prepared.devices[0].cdi_ids[1], "gpu.example.com/metadata=" + claim.uid + "_x");
  const std::vector<std::string> folders = {shop_.folder / "cdi"};
  // A container that has request x alone sees nothing of y.
  const auto edits = cdi::Load(folders).Resolve(prepared.devices[0].cdi_ids);
  ASSERT_THAT(edits, IsOk());
  ASSERT_THAT(edits->mounts, SizeIs(1));
  const std::string file = shop_.folder / "plugin/dra-device-metadata/ns_a/x/metadata.json";
  EXPECT_EQ(edits->mounts[0].host_path, file);
  EXPECT_EQ(edits->mounts[0].container_path,
            "/var/run/kubernetes.io/dra-device-attributes/resourceclaims/a/x/"
            "gpu.example.com-metadata.json");
  EXPECT_THAT(edits->mounts[0].options, ElementsAre("ro", "bind"));
  EXPECT_THAT(CdiFiles(),
              UnorderedElementsAre("gpu.example.com-" + claim.uid + ".json",
                                   "gpu.example.com_metadata_" + claim.uid + "_x.json",
                                   "gpu.example.com_metadata_" + claim.uid + "_y.json"));
  const std::string rest =
      R"("metadata":{"name":"a","namespace":"ns","uid":")" + claim.uid +
      R"(","generation":1},"requests":[{"name":"x/big","devices":[{"driver":"gpu.example.com",)"
      R"("pool":"n1","name":"gpu-0","attributes":{"model":{"string":"model of gpu-0"}}}]}]})"
      "\n";
  EXPECT_THAT(
      files::ReadWhole(file),
      IsOkAndHolds(
          R"({"kind":"DeviceMetadata","apiVersion":"metadata.resource.k8s.io/v1beta1",)" + rest +
          R"({"kind":"DeviceMetadata","apiVersion":"metadata.resource.k8s.io/v1alpha1",)" + rest));
  EXPECT_EQ(Unprepare(claim), "");
  EXPECT_THAT(CdiFiles(), IsEmpty());
  EXPECT_THAT(files::NamesIn(shop_.folder / "plugin/dra-device-metadata"), IsOkAndHolds(IsEmpty()));
}

TEST_F(MetadataAcceptance, Row59MetadataOfAClaimFromATemplateHasThePodsName) {
  const auto claim = shop_.Claim("pod-gpu-x7", {{.device = "gpu-0"}}, {}, "gpu");
  const auto edits = Edits(Prepare(claim));
  ASSERT_THAT(edits, IsOk());
  ASSERT_THAT(edits->mounts, SizeIs(1));
  EXPECT_EQ(edits->mounts[0].container_path,
            "/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/gpu/r/"
            "gpu.example.com-metadata.json");
}

// Two drivers serve one request: each writes its own file, in one folder of the container.
TEST_F(MetadataAcceptance, Row59TwoDriversOnOneRequestHaveFilesOfTheirOwn) {
  ServiceOptions options = Options();
  options.driver = "nic.example.com";
  options.folder = shop_.folder / "plugin2";
  auto other = PluginService::Open(options, handler_, shop_.cluster, health_);
  ASSERT_THAT(other, IsOk());
  const auto claim =
      shop_.Claim("a", {{.device = "gpu-0"}, {.device = "nic-0", .driver = "nic.example.com"}});
  const auto ours = Edits(Prepare(claim));
  const auto theirs = Edits((*other)->Prepare({claim})->at(claim.uid));
  ASSERT_THAT(ours, IsOk());
  ASSERT_THAT(theirs, IsOk());
  EXPECT_THAT(ours->mounts.at(0).container_path, HasSubstr("a/r/gpu.example.com-metadata.json"));
  EXPECT_THAT(theirs->mounts.at(0).container_path, HasSubstr("a/r/nic.example.com-metadata.json"));
  EXPECT_EQ(Unprepare(claim), "");
  EXPECT_THAT(files::ReadWhole(theirs->mounts[0].host_path), IsOk());
}

TEST_F(MetadataTest, WhatCannotBeWrittenIsToldAndTheClaimIsPreparedWithout) {
  ASSERT_THAT(files::WriteWhole(shop_.folder / "plugin/dra-device-metadata", "in the way"), IsOk());
  const rpc::PreparedClaim prepared = Prepare(shop_.Claim("a", {{.device = "gpu-0"}}));
  EXPECT_EQ(prepared.error, "");
  EXPECT_THAT(prepared.devices.at(0).cdi_ids, SizeIs(1));
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("metadata of claim ns/a")));
}

}  // namespace
}  // namespace dray::driver
