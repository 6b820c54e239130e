// SPDX-License-Identifier: Apache-2.0
//
// Volumes of pods: what is in them, how it changes, and what a hostile container cannot do.
#include "node/volumes.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "files/files.h"
#include "fmt/format.h"
#include "node/agent_for_test.h"
#include "node/internal/atomic_folder.h"
#include "node/internal/mounts.h"

namespace dray::node {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class VolumesTest : public AgentTest {
 protected:
  std::string MountOf(std::string_view path, std::string_view container = "c") const {
    const auto config = runtime_.ConfigOf("uid-p", container);
    if (!config) return "(no container)";
    for (const container::Mount& mount : config->mounts) {
      if (mount.container_path == path) return mount.host_path;
    }
    return "(no mount)";
  }
  std::string TextAt(const std::string& path) const {
    const auto text = files::ReadWhole(path);
    return text.ok() ? *text : std::string(base::Message(text.status()));
  }
  // A pod "p" whose container "c" has the volume "v" at /v.
  void ApplyWith(std::string_view volume, std::string_view more = "") {
    Apply(fmt::format(R"(
apiVersion: v1
kind: Pod
metadata: {{name: p, labels: {{app: web, tier: "a \"b\""}}}}
spec:
  serviceAccountName: robot
  volumes: [{{name: v, {}}}]
{}
  containers:
  - name: c
    image: i
    resources: {{limits: {{cpu: 1500m}}}}
    volumeMounts: [{{name: v, mountPath: /v}}]
)",
                      volume, more));
  }
};

TEST_F(VolumesTest, AConfigMapIsFilesThatFollowIt) {
  sources_.config_maps["ns/m"].data = {{"a.conf", "one"}, {"b", std::string("\0\xff", 2)}};
  ApplyWith("configMap: {name: m, defaultMode: 288}");
  StartAgent();
  EXPECT_EQ(PhaseOf("p"), "Running");
  const std::string volume = MountOf("/v");
  EXPECT_EQ(TextAt(volume + "/a.conf"), "one");
  EXPECT_EQ(TextAt(volume + "/b"), std::string("\0\xff", 2));
  struct stat about {};
  ASSERT_EQ(::stat((volume + "/a.conf").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0440u);
  EXPECT_TRUE(runtime_.ConfigOf("uid-p", "c")->mounts[0].read_only);
  // Nobody else's objects are read.
  EXPECT_THAT(sources_.asked, ::testing::Each("configmap ns/m"));
  sources_.config_maps["ns/m"].data = {{"a.conf", "two"}, {"c", ""}};
  Run(minutes(2));
  EXPECT_EQ(TextAt(volume + "/a.conf"), "two");
  EXPECT_EQ(TextAt(volume + "/c"), "");
  EXPECT_FALSE(std::filesystem::exists(volume + "/b"));
  // A server that is away takes nothing from a pod that runs.
  sources_.away = base::Unavailable("connection refused");
  Run(minutes(5));
  EXPECT_EQ(TextAt(volume + "/a.conf"), "two");
  EXPECT_EQ(PhaseOf("p"), "Running");
}

TEST_F(VolumesTest, APodWaitsForWhatItNeeds) {
  ApplyWith("configMap: {name: m, items: [{key: a, path: deep/er}]}");
  StartAgent();
  EXPECT_EQ(PhaseOf("p"), "Pending");
  EXPECT_TRUE(HasEvent(
      "Warning FailedMount: MountVolume.SetUp failed: volume \"v\": configmap \"ns/m\" not found"));
  sources_.config_maps["ns/m"].data = {{"b", "x"}};
  Run(seconds(10));
  EXPECT_TRUE(HasEvent("configmap \"ns/m\" has no key \"a\""));
  sources_.config_maps["ns/m"].data = {{"a", "x"}};
  Run(minutes(1));
  EXPECT_EQ(PhaseOf("p"), "Running");
  EXPECT_EQ(TextAt(MountOf("/v") + "/deep/er"), "x");
}

TEST_F(VolumesTest, WhatIsOptionalMayBeMissing) {
  ApplyWith("secret: {secretName: s, optional: true}");
  StartAgent();
  EXPECT_EQ(PhaseOf("p"), "Running");
  sources_.secrets["ns/s"].data = {{"key", "late"}};
  Run(minutes(2));
  EXPECT_EQ(TextAt(MountOf("/v") + "/key"), "late");
}

TEST_F(VolumesTest, WhatCannotChangeIsNotAskedForAgain) {
  sources_.config_maps["ns/m"] = {.data = {{"a", "x"}}, .immutable = true};
  ApplyWith("configMap: {name: m}");
  StartAgent();
  const std::size_t asked = sources_.asked.size();
  Run(minutes(10));
  EXPECT_EQ(sources_.asked.size(), asked);
}

TEST_F(VolumesTest, ASecretIsNeverOnADisk) {
  if (!CanMount()) GTEST_SKIP() << "only root can mount";
  sources_.secrets["ns/s"].data = {{"key", "hush"}};
  ApplyWith("secret: {secretName: s}");
  StartAgent();
  struct stat volume {};
  struct stat root {};
  ASSERT_EQ(::stat(MountOf("/v").c_str(), &volume), 0);
  ASSERT_EQ(::stat(options_.root.c_str(), &root), 0);
  EXPECT_NE(volume.st_dev, root.st_dev);
  EXPECT_EQ(TextAt(MountOf("/v") + "/key"), "hush");
  DeletePod("p");
  Run();
  EXPECT_THAT(*files::NamesIn(options_.root + "/pods"), IsEmpty());
}

// The pod went while no agent ran, and the machine was started again: nothing but files is left.
TEST_F(VolumesTest, WhatIsLeftOfPodsThatAreGoneIsRemoved) {
  sources_.secrets["ns/s"].data = {{"key", "hush"}};
  ApplyWith("secret: {secretName: s}");
  StartAgent();
  KillAgent();
  ForceDelete("p");
  runtime_.ForgetSandbox("uid-p");
  StartAgent();
  EXPECT_THAT(*files::NamesIn(options_.root + "/pods"), ElementsAre("uid-p"));
  Run(minutes(2));
  EXPECT_THAT(*files::NamesIn(options_.root + "/pods"), IsEmpty());
  EXPECT_THAT(*files::NamesIn(options_.log_root), IsEmpty());
}

TEST_F(VolumesTest, APodReadsOfItself) {
  ApplyWith(R"(downwardAPI: {items: [
    {path: labels, fieldRef: {fieldPath: metadata.labels}},
    {path: name, fieldRef: {fieldPath: metadata.name}},
    {path: cpu, resourceFieldRef: {containerName: c, resource: limits.cpu, divisor: 1m}}]})");
  StartAgent();
  const std::string volume = MountOf("/v");
  EXPECT_EQ(TextAt(volume + "/labels"), "app=\"web\"\ntier=\"a \\\"b\\\"\"");
  EXPECT_EQ(TextAt(volume + "/name"), "p");
  EXPECT_EQ(TextAt(volume + "/cpu"), "1500");
  auto object = *memory_->Stored(api::HubKind(api::TypeInfoOf<api::Pod>()), "ns", "p");
  object.MutableMetadata().labels["app"] = "db";
  ASSERT_TRUE(memory_->Update(object).ok());
  Run();
  EXPECT_EQ(TextAt(volume + "/labels"), "app=\"db\"\ntier=\"a \\\"b\\\"\"");
}

// What every pod of a Kubernetes has.
constexpr std::string_view kApiAccess = R"(projected: {defaultMode: 420, sources: [
    {serviceAccountToken: {expirationSeconds: 3607, path: token}},
    {configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}},
    {downwardAPI: {items: [{path: namespace, fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}]}}]})";

TEST_F(VolumesTest, AccessToTheApiIsRenewedInTime) {
  sources_.config_maps["ns/kube-root-ca.crt"].data = {{"ca.crt", "PEM"}};
  ApplyWith(kApiAccess);
  StartAgent();
  ASSERT_EQ(PhaseOf("p"), "Running");
  const std::string volume = MountOf("/v");
  EXPECT_EQ(TextAt(volume + "/token"), "token-1");
  EXPECT_EQ(TextAt(volume + "/ca.crt"), "PEM");
  EXPECT_EQ(TextAt(volume + "/namespace"), "ns");
  ASSERT_EQ(sources_.wishes.size(), 1u);
  EXPECT_EQ(sources_.wishes[0].account, "robot");
  EXPECT_EQ(sources_.wishes[0].lasts, seconds(3607));
  EXPECT_EQ(sources_.wishes[0].pod, "p");
  EXPECT_EQ(sources_.wishes[0].pod_uid, "uid-p");
  Run(minutes(45));
  EXPECT_EQ(TextAt(volume + "/token"), "token-1");
  Run(minutes(5));
  EXPECT_EQ(TextAt(volume + "/token"), "token-2");
  EXPECT_EQ(sources_.wishes.size(), 2u);
}

TEST_F(VolumesTest, WhatIsNotSupportedIsNamed) {
  ApplyWith("projected: {sources: [{clusterTrustBundle: {name: b, path: p}}]}");
  StartAgent();
  EXPECT_TRUE(HasEvent("projected.sources: clusterTrustBundle is not supported"));
  EXPECT_EQ(PhaseOf("p"), "Pending");
  ForceDelete("p");
  Run();
  ApplyWith("csi: {driver: x}");
  Run();
  EXPECT_TRUE(HasEvent("volume \"v\": volumes csi are not supported by this node agent"));
  ForceDelete("p");
  Run();
  ApplyWith("emptyDir: {medium: HugePages-2Mi}");
  Run();
  EXPECT_TRUE(HasEvent("emptyDir.medium \"HugePages-2Mi\" is not supported"));
}

TEST_F(VolumesTest, AnEmptyDirInMemoryHasItsSize) {
  if (!CanMount()) GTEST_SKIP() << "only root can mount";
  ApplyWith("emptyDir: {medium: Memory, sizeLimit: 64Ki}");
  StartAgent();
  const std::string file = MountOf("/v") + "/f";
  EXPECT_FALSE(files::WriteWhole(file, std::string(1 << 20, 'x')).ok());
  EXPECT_TRUE(files::WriteWhole(file, "x").ok());
  // It is there after a restart of the agent, and goes with its pod.
  RestartAgent();
  EXPECT_EQ(TextAt(file), "x");
  DeletePod("p");
  Run();
  EXPECT_THAT(*files::NamesIn(options_.root + "/pods"), IsEmpty());
}

TEST_F(VolumesTest, AnEmptyDirThatGrowsTooLargeEndsItsPod) {
  ApplyWith("emptyDir: {sizeLimit: 64Ki}");
  StartAgent();
  ASSERT_TRUE(files::WriteWhole(MountOf("/v") + "/f", std::string(10'000, 'x')).ok());
  Run(minutes(2));
  EXPECT_EQ(PhaseOf("p"), "Running");
  ASSERT_TRUE(files::WriteWhole(MountOf("/v") + "/g", std::string(100'000, 'x')).ok());
  Run(minutes(2));
  EXPECT_EQ(PhaseOf("p"), "Failed");
  EXPECT_EQ(FindPod("p")->status.reason, "Evicted");
  EXPECT_EQ(FindPod("p")->status.message,
            "Usage of EmptyDir volume \"v\" exceeds the limit \"64Ki\".");
}

TEST_F(VolumesTest, VolumesBelongToTheGroupOfThePod) {
  if (!CanMount()) GTEST_SKIP() << "only root can give files away";
  ApplyWith("emptyDir: {}", "  securityContext: {fsGroup: 4242}");
  StartAgent();
  struct stat about {};
  ASSERT_EQ(::stat(MountOf("/v").c_str(), &about), 0);
  EXPECT_EQ(about.st_gid, 4242u);
  EXPECT_EQ(about.st_mode & 07777, 02777u);
}

TEST_F(VolumesTest, TheEnvironmentComesFromConfigMapsAndSecrets) {
  sources_.config_maps["ns/m"].data = {{"A", "1"}, {"B", "2"}, {"no good=", "x"}};
  sources_.secrets["ns/s"].data = {{"key", "hush"}};
  Apply(R"yaml(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: c
    image: i
    envFrom: [{prefix: M_, configMapRef: {name: m}}, {secretRef: {name: none, optional: true}}]
    env:
    - {name: M_B, value: "$(M_A)!"}
    - {name: SECRET, valueFrom: {secretKeyRef: {name: s, key: key}}}
    - {name: GONE, valueFrom: {configMapKeyRef: {name: m, key: gone, optional: true}}}
)yaml");
  StartAgent();
  ASSERT_EQ(PhaseOf("p"), "Running");
  EXPECT_THAT(runtime_.ConfigOf("uid-p", "c")->env,
              ElementsAre(Pair("M_A", "1"), Pair("M_B", "1!"), Pair("SECRET", "hush"),
                          Pair("HOSTNAME", "p")));
}

TEST_F(VolumesTest, AContainerWaitsForItsEnvironment) {
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: c
    image: i
    env: [{name: X, valueFrom: {secretKeyRef: {name: s, key: k}}}]
)");
  StartAgent();
  EXPECT_TRUE(HasEvent("Warning Failed: Error: secret \"s\" not found"));
  EXPECT_EQ(StatusOf(*FindPod("p"), "c").state.waiting->reason, "CreateContainerConfigError");
  sources_.secrets["ns/s"].data = {{"other", "x"}};
  Run(seconds(15));
  EXPECT_TRUE(HasEvent("couldn't find key k in secret \"s\""));
  sources_.secrets["ns/s"].data = {{"k", "x"}};
  Run(minutes(2));
  EXPECT_EQ(PhaseOf("p"), "Running");
}

// ---- Below a volume ----

class SubPathTest : public ::testing::Test {
 protected:
  SubPathTest() {
    EXPECT_TRUE(files::MakeFolder(folder_ / "volume", 0777).ok());
    EXPECT_TRUE(files::MakeFolder(folder_ / "host").ok());
    EXPECT_TRUE(files::WriteWhole(folder_ / "host/shadow", "root:x").ok());
  }
  ~SubPathTest() override {
    if (CanMount()) (void)UnmountBelow(folder_.path());
  }
  StatusOr<std::string> Place(const std::string& path, std::size_t index = 0) {
    return PlaceSubPath(folder_ / "pod", "v", folder_ / "volume", path, "c", index);
  }
  void Link(const std::string& target, const std::string& name) {
    ASSERT_EQ(::symlink(target.c_str(), (folder_ / ("volume/" + name)).c_str()), 0);
  }
  const files::TemporaryFolder folder_;
};

TEST_F(SubPathTest, WhatIsMissingIsMade) {
  const auto place = Place("a/b/c");
  ASSERT_TRUE(place.ok()) << place.status();
  struct stat about {};
  ASSERT_EQ(::stat((folder_ / "volume/a/b/c").c_str(), &about), 0);
  EXPECT_TRUE(S_ISDIR(about.st_mode));
  EXPECT_EQ(about.st_mode & 0777, 0777u);
  ASSERT_TRUE(files::WriteWhole(*place + "/f", "x").ok());
  EXPECT_EQ(*files::ReadWhole(folder_ / "volume/a/b/c/f"), "x");
  // Asked again, it is the same.
  EXPECT_EQ(*Place("a/b/c"), *place);
}

TEST_F(SubPathTest, AFileMayBeMeant) {
  ASSERT_TRUE(files::WriteWhole(folder_ / "volume/f", "x").ok());
  const auto place = Place("f");
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_EQ(*files::ReadWhole(*place), "x");
}

TEST_F(SubPathTest, LinksStayInTheVolume) {
  ASSERT_TRUE(files::MakeFolder(folder_ / "volume/real").ok());
  Link("real", "inside");
  EXPECT_TRUE(Place("inside").ok());
  Link(folder_ / "host", "absolute");
  Link("../host", "relative");
  Link("/proc/self/root", "magic");
  Link("loop", "loop");
  for (const char* path :
       {"absolute", "relative", "absolute/shadow", "relative/new", "magic", "loop", "magic/etc"}) {
    const auto place = Place(path);
    EXPECT_FALSE(place.ok()) << path;
  }
  EXPECT_THAT(*files::NamesIn(folder_ / "host"), ElementsAre("shadow"));
}

// A container that runs already changes the path all the time: what is held is in the volume, or
// nothing is.
TEST_F(SubPathTest, WhoeverChangesLinksMeanwhileWinsNothing) {
  if (!CanMount()) GTEST_SKIP() << "only root can mount";
  ASSERT_TRUE(files::MakeFolder(folder_ / "volume/good").ok());
  ASSERT_TRUE(files::WriteWhole(folder_ / "volume/good/shadow", "fine").ok());
  std::atomic<bool> stop = false;
  std::thread hostile([&] {
    const std::string path = folder_ / "volume/x";
    const std::string good = folder_ / "volume/good";
    const std::string aside = folder_ / "volume/y";
    while (!stop) {
      (void)::symlink((folder_ / "host").c_str(), aside.c_str());
      (void)::rename(aside.c_str(), path.c_str());
      (void)::symlink("good", aside.c_str());
      (void)::rename(aside.c_str(), path.c_str());
    }
  });
  int held = 0;
  for (int i = 0; i < 300; ++i) {
    const auto place = Place("x", 1);
    if (!place.ok()) continue;
    ++held;
    const auto text = files::ReadWhole(*place + "/shadow");
    EXPECT_TRUE(!text.ok() || *text == "fine") << *text;
  }
  stop = true;
  hostile.join();
  RecordProperty("held", held);
}

// ---- Files that change at once ----

TEST(AtomicFolder, AReaderSeesTheOldOrTheNew) {
  const files::TemporaryFolder folder;
  const base::Time now = base::Time::FromUnix(1'794'000'000);
  const auto write = [&](const std::string& text) {
    return WriteFolder(folder.path(), {{"a", {text, 0644}}, {"d/b", {text, 0600}}}, now);
  };
  ASSERT_TRUE(*write("0"));
  EXPECT_FALSE(*write("0"));
  std::atomic<bool> stop = false;
  std::atomic<int> mixed = 0;
  std::thread reader([&] {
    while (!stop) {
      const files::Fd data(::open((folder / "..data").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (!data.valid()) continue;  // it was replaced between the link and what it leads to
      const std::string self = fmt::format("/proc/self/fd/{}", data.get());
      const auto one = files::ReadWhole(self + "/a");
      const auto two = files::ReadWhole(self + "/d/b");
      // One that is gone by now was whole when it was opened.
      if (one.ok() && two.ok() && *one != *two) ++mixed;
    }
  });
  for (int i = 1; i < 60; ++i) EXPECT_TRUE(*write(std::to_string(i)));
  stop = true;
  reader.join();
  EXPECT_EQ(mixed, 0);
  EXPECT_EQ(*files::ReadWhole(folder / "d/b"), "59");
  // The folder, the link to it, and what is shown.
  EXPECT_EQ(files::NamesIn(folder.path())->size(), 4u);
}

TEST(AtomicFolder, WhatIsNoPathBelowIsRefused) {
  const files::TemporaryFolder folder;
  for (const char* path : {"", "/a", "..", "../a", "..a", "a/../b", "a//b", "./a", "a/", "a/."}) {
    EXPECT_FALSE(WriteFolder(folder.path(), {{path, {"x", 0644}}}, base::Time()).ok()) << path;
  }
  EXPECT_THAT(*files::NamesIn(folder.path()), IsEmpty());
}

// A writer that died anywhere leaves nothing that the next one trips over.
TEST(AtomicFolder, LeftoversGo) {
  const files::TemporaryFolder folder;
  ASSERT_TRUE(files::MakeFolder(folder / "..1").ok());
  ASSERT_TRUE(files::WriteWhole(folder / "..1/a", "half").ok());
  ASSERT_EQ(::symlink("nowhere", (folder / "..data").c_str()), 0);
  ASSERT_EQ(::symlink("nowhere", (folder / "....data_tmp").c_str()), 0);
  ASSERT_TRUE(WriteFolder(folder.path(), {{"a", {"x", 0644}}}, base::Time()).ok());
  EXPECT_EQ(*files::ReadWhole(folder / "a"), "x");
  EXPECT_EQ(files::NamesIn(folder.path())->size(), 3u);
}

}  // namespace
}  // namespace dray::node
