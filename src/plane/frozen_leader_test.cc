// SPDX-License-Identifier: Apache-2.0
//
// Two schedulers of a server, the first of them behind somebody who stops to forward: whoever has
// lost touch with the lease stops writing before another one begins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/resource_claim.h"
#include "base/mutex.h"
#include "client/server_for_test.h"
#include "plane/plane_for_test.h"
#include "plane/remote_scheduler.h"
#include "testing/tcp_proxy.h"

namespace dray::plane {
namespace {

using ::testing::IsEmpty;
using testing::TcpProxy;
using Fate = testing::TcpProxy::Fate;
using std::chrono::milliseconds;
using std::chrono::seconds;

// The time of the schedulers is the test's own; that of the server and of the sockets goes by.
class FrozenLeaderTest : public ::testing::Test {
 protected:
  FrozenLeaderTest() {
    for (api::Object& object : SmallCluster()) {
      if (auto* node = object.Mutable<api::Node>()) {
        node->status.allocatable["pods"] = *base::Quantity::Parse("110");
      }
      Store(std::move(object));
    }
    api::Namespace system;
    system.metadata.name = "kube-system";
    Store(api::Object::Of(system));
  }
  void Store(api::Object object) {
    const auto stored = server_.local().Create(std::move(object));
    EXPECT_TRUE(stored.ok()) << stored.status();
  }
  void AddPod(const std::string& name) {
    api::ResourceClaim claim;
    claim.metadata.namespace_ = "default";
    claim.metadata.name = name;
    api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
    request.name = "gpu";
    request.exactly.emplace().device_class_name = "gpu.example.com";
    Store(api::Object::Of(claim));
    api::Pod pod = PodFromTemplate(name);
    pod.spec.resource_claims = {{.name = "gpu", .resource_claim_name = name}};
    Store(api::Object::Of(pod));
  }
  std::unique_ptr<RemoteScheduler> Schedule(const std::string& identity, std::uint16_t port) {
    RemoteSchedulerOptions options;
    options.identity = identity;
    options.access = server_.AccessBy(port);
    auto scheduler = RemoteScheduler::Start(std::move(options), clock_);
    EXPECT_TRUE(scheduler.ok()) << scheduler.status();
    return *std::move(scheduler);
  }
  template <typename T>
  T Find(const std::string& name) {
    const auto& kind = api::HubKind(api::TypeInfoOf<T>());
    return *(**server_.local().Find(kind, "default", name)).template As<T>();
  }
  bool Bound(const std::string& pod) { return !Find<api::Pod>(pod).spec.node_name.empty(); }
  static bool Until(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + seconds(30);
    while (!done()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return true;
  }
  // Every device of every claim, each once.
  void ExpectNothingTwice() {
    std::set<std::string> devices;
    const auto& kind = api::HubKind(api::TypeInfoOf<api::ResourceClaim>());
    const auto claims = server_.local().List(kind);
    ASSERT_TRUE(claims.ok());
    for (const api::Object& object : *claims) {
      const auto& allocation = object.As<api::ResourceClaim>()->status.allocation;
      if (!allocation) continue;
      for (const auto& result : allocation->devices.results) {
        const std::string device = result.pool + "/" + result.device;
        EXPECT_TRUE(devices.insert(device).second) << device << " was given twice";
      }
    }
  }
  static bool Writes(std::string_view bytes) {
    return bytes.starts_with("PUT") || bytes.starts_with("POST") || bytes.starts_with("PATCH") ||
           bytes.starts_with("DELETE");
  }
  static bool IsOfTheLease(std::string_view bytes) {
    return bytes.substr(0, bytes.find('\r')).find("/leases") != std::string_view::npos;
  }

  base::ManualClock clock_{base::Time::FromUnix(1'000'000)};
  client::TestServer server_{{}, false};
  TcpProxy proxy_{server_.port()};
};

TEST_F(FrozenLeaderTest, WhoCannotRenewStopsWritingBeforeAnotherOneBegins) {
  auto first = Schedule("first", proxy_.port());
  ASSERT_TRUE(Until([&] { return first->leading(); }));
  AddPod("a");
  ASSERT_TRUE(Until([&] { return Bound("a"); }));
  const auto second = Schedule("second", server_.port());
  ASSERT_TRUE(Until([&] { return second->leader() == "first"; }));

  // Only the lease is cut off: the first sees pods and could write.
  std::atomic<int> lease_requests = 0;
  std::atomic<int> writes = 0;
  proxy_.SetRule([&](std::string_view bytes) {
    if (IsOfTheLease(bytes)) return ++lease_requests, Fate::kFreeze;
    if (Writes(bytes)) ++writes;
    return Fate::kForward;
  });
  ASSERT_TRUE(Until([&] { return lease_requests > 0; }));
  clock_.Advance(seconds(9));
  EXPECT_TRUE(first->leading());
  EXPECT_FALSE(second->leading());
  clock_.Advance(seconds(1));
  EXPECT_FALSE(first->leading());
  // Events of before may be on their way.
  std::this_thread::sleep_for(milliseconds(200));
  writes = 0;
  AddPod("b");
  std::this_thread::sleep_for(milliseconds(1'500));
  EXPECT_EQ(writes, 0);
  EXPECT_FALSE(Bound("b"));
  EXPECT_FALSE(second->leading());
  clock_.Advance(seconds(5));
  ASSERT_TRUE(Until([&] { return Bound("b"); }));
  EXPECT_TRUE(second->leading());
  EXPECT_EQ(writes, 0);
  EXPECT_TRUE(Until([&] { return !first->Health().ok(); }));
  EXPECT_EQ(first->statistics().bound, 1u);
  ExpectNothingTwice();
  // It does not lead again, even if it could.
  proxy_.SetRule({});
  proxy_.Thaw();
  clock_.Advance(seconds(1));
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_FALSE(first->leading());
}

// What a standby knew would be as old as its watches. It knows nothing: it watches nothing before it leads, and then reads
// what is stored at that moment, not what some server remembers.
TEST_F(FrozenLeaderTest, WhoBeginsToLeadReadsEverythingAnew) {
  auto first = Schedule("first", server_.port());
  ASSERT_TRUE(Until([&] { return first->leading(); }));
  base::Mutex mutex;
  std::vector<std::string> asked;
  proxy_.SetRule([&](std::string_view bytes) {
    const base::MutexLock lock(mutex);
    if (bytes.starts_with("GET")) asked.emplace_back(bytes.substr(0, bytes.find('\r')));
    return Fate::kForward;
  });
  const auto second = Schedule("second", proxy_.port());
  ASSERT_TRUE(Until([&] { return second->leader() == "first"; }));
  AddPod("a");
  ASSERT_TRUE(Until([&] { return Bound("a"); }));
  const auto lists_of = [&](std::string_view plural) {
    const base::MutexLock lock(mutex);
    std::vector<std::string> lists;
    for (const std::string& line : asked) {
      if (line.find(plural) != line.npos) lists.push_back(line);
    }
    return lists;
  };
  EXPECT_THAT(lists_of("/pods"), IsEmpty());
  EXPECT_THAT(lists_of("/resourceclaims"), IsEmpty());
  first = nullptr;
  AddPod("b");
  ASSERT_TRUE(Until([&] { return Bound("b"); }));
  EXPECT_TRUE(second->leading());
  for (const char* plural : {"/api/v1/pods", "/api/v1/nodes", "/v1/resourceclaims"}) {
    const auto lists = lists_of(plural);
    ASSERT_FALSE(lists.empty()) << plural;
    EXPECT_TRUE(lists.front().ends_with(std::string(plural) + "?limit=500 HTTP/1.1"))
        << lists.front();
  }
  ExpectNothingTwice();
}

// Its requests end well before the lease does, and the next one goes another way.
TEST_F(FrozenLeaderTest, OneRequestThatIsNotAnsweredDoesNotEndIt) {
  const base::SystemClock clock;
  RemoteSchedulerOptions options;
  options.identity = "first";
  options.access = server_.AccessBy(proxy_.port());
  const auto first = RemoteScheduler::Start(std::move(options), clock);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(Until([&] { return (*first)->leading(); }));
  std::atomic<int> lease_requests = 0;
  proxy_.SetRule([&](std::string_view bytes) {
    return IsOfTheLease(bytes) && lease_requests++ == 0 ? Fate::kFreeze : Fate::kForward;
  });
  const auto end = std::chrono::steady_clock::now() + seconds(13);
  while (std::chrono::steady_clock::now() < end) {
    ASSERT_TRUE((*first)->leading());
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_GT(lease_requests, 2);
  EXPECT_TRUE((*first)->Health().ok());
}

// What the first has sent is held back until the second has decided: every write names the version
// that it changes.
TEST_F(FrozenLeaderTest, AWriteThatArrivesAfterItsLeaseChangesNothing) {
  auto first = Schedule("first", proxy_.port());
  ASSERT_TRUE(Until([&] { return first->leading(); }));
  const auto second = Schedule("second", server_.port());
  ASSERT_TRUE(Until([&] { return second->leader() == "first"; }));
  std::atomic<int> held = 0;
  std::atomic<int> lease_requests = 0;
  proxy_.SetRule([&](std::string_view bytes) {
    if (bytes.starts_with("PUT") && bytes.find("/resourceclaims/a/status") < 200) {
      return ++held, Fate::kFreeze;
    }
    if (held > 0 && IsOfTheLease(bytes)) return ++lease_requests, Fate::kFreeze;
    return Fate::kForward;
  });
  AddPod("a");
  ASSERT_TRUE(Until([&] { return held == 1 && lease_requests > 0; }));
  clock_.Advance(seconds(15));
  ASSERT_TRUE(Until([&] { return Bound("a"); }));
  EXPECT_TRUE(second->leading());
  const api::ResourceClaim decided = Find<api::ResourceClaim>("a");
  proxy_.SetRule({});
  proxy_.Thaw();
  ASSERT_TRUE(Until([&] { return !first->Health().ok(); }));
  std::this_thread::sleep_for(milliseconds(500));
  const api::ResourceClaim now = Find<api::ResourceClaim>("a");
  EXPECT_EQ(now.metadata.resource_version, decided.metadata.resource_version);
  EXPECT_EQ(first->statistics().bound, 0u);
  ExpectNothingTwice();
}

}  // namespace
}  // namespace dray::plane
