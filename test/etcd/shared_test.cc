// SPDX-License-Identifier: Apache-2.0
//
// Servers one after the other, and beside each other, on one etcd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/event.h"
#include "api/lease.h"
#include "etcd/server.h"
#include "fmt/format.h"
#include "store/etcd/etcd_for_test.h"
#include "store/etcd/tcp_proxy_for_test.h"
#include "testing/status_matchers.h"

namespace dray::etcd {
namespace {

using ::dray::testing::IsOk;
using ::testing::AnyOf;
using ::testing::Gt;

class EtcdShared : public ::testing::Test {
 protected:
  void SetUp() override {
    DRAY_NEEDS_ETCD();
    address_ = store::SharedEtcd().Address(store::FreshPrefix());
  }
  store::EtcdAddress address_;
};

TEST_F(EtcdShared, WhatOneHasAnsweredTheOtherShowsWithTheSameVersion) {
  Server a;
  a.Start(address_);
  if (HasFatalFailure()) return;
  Server b(&a);
  b.Start(address_);
  if (HasFatalFailure()) return;
  for (int i = 0; i < 50; ++i) {
    Server& writer = i % 2 == 0 ? a : b;
    Server& reader = i % 2 == 0 ? b : a;
    const std::string name = fmt::format("m{}", i);
    const client::HttpResponse made = writer.Ask("POST", std::string(kMaps), MapNamed(name, "1"));
    ASSERT_EQ(made.status, 201) << made.body;
    const client::HttpResponse read = reader.Ask("GET", Named(name));
    EXPECT_EQ(read.status, 200);
    EXPECT_EQ(read.body, made.body);
    EXPECT_EQ(reader.Put(name, "2"), 409);
  }
  for (Server* server : {&a, &b}) {
    EXPECT_THAT(server->Metric("dray_etcd_requests_total"), Gt(20));
    EXPECT_THAT(server->Metric("dray_etcd_transactions_total"), Gt(20));
    EXPECT_THAT(server->Metric("dray_etcd_barriers_total"), Gt(20));
    EXPECT_EQ(server->Metric("dray_etcd_watches_total"), 1);
    EXPECT_EQ(server->Metric("dray_etcd_relists_total"), 0);
  }
}

// Whoever decided alone left leases for years behind: it was killed. Those that come after it, in
// parts, need not wait.
TEST_F(EtcdShared, WhatAProcessThatWasAloneHasLeftIsGivenBack) {
  plane::PlaneOptions alone;
  alone.store = plane::StoreAddress::In(address_);
  alone.etcd.alone = true;
  alone.objects = plane::SmallCluster();
  Server up;
  ASSERT_THAT(up.TryStart(std::move(alone)), IsOk());
  const auto holder = [](Server& server, std::string_view name) -> std::string {
    const auto found = server.plane().cluster().Find(api::HubKind(api::TypeInfoOf<api::Lease>()),
                                                     "kube-system", name);
    EXPECT_THAT(found, IsOk());
    if (!found.ok() || !*found) return "none";
    return (*found)->As<api::Lease>()->spec.holder_identity.value_or("");
  };
  ASSERT_TRUE(Until([&] { return holder(up, "default-scheduler") == "dray-up"; }));
  ASSERT_TRUE(Until([&] { return holder(up, "dray-controllers") == "dray-up"; }));
  up.Stop();
  Server apart(&up);
  apart.Start(address_);
  if (HasFatalFailure()) return;
  // As a kill would have left them.
  const auto& kind = api::HubKind(api::TypeInfoOf<api::Lease>());
  for (const std::string name : {"default-scheduler", "dray-controllers"}) {
    auto found = *apart.plane().cluster().Find(kind, "kube-system", name);
    ASSERT_TRUE(found.has_value());
    auto& spec = found->Mutable<api::Lease>()->spec;
    spec.holder_identity = "dray-up";
    spec.lease_duration_seconds = 10 * 365 * 24 * 3600;
    ASSERT_THAT(apart.plane().cluster().Update(*found), IsOk());
  }
  apart.Start(address_);
  if (HasFatalFailure()) return;
  EXPECT_EQ(holder(apart, "default-scheduler"), "");
  EXPECT_EQ(holder(apart, "dray-controllers"), "");
}

// It is cut off, counts as dead, and others serve in its place. What it had decided, and has still under
// way when it is back, does not happen.
TEST_F(EtcdShared, WhoWasAloneAndWasCutOffWritesNothingOnceOthersHaveCome) {
  store::TcpProxy proxy(store::SharedEtcd().client(0));
  plane::PlaneOptions alone;
  alone.store = plane::StoreAddress::In(
      {.endpoints = {{.address = proxy.address()}}, .prefix = address_.prefix});
  alone.scheduler = alone.controllers = alone.nodes = false;
  alone.etcd.alone = true;
  alone.etcd.alive = std::chrono::seconds(2);
  alone.etcd.write_patience = std::chrono::seconds(30);
  Server first;
  ASSERT_THAT(first.TryStart(alone), IsOk());
  proxy.Refuse(true);
  proxy.Cut();
  auto late = std::async(std::launch::async, [&first] { return first.Put("late", "1"); });
  // It waits until the first one's 2 s are over, for longer than a busy machine takes.
  Server second(&first);
  second.Start(address_);
  proxy.Refuse(false);
  EXPECT_THAT(late.get(), AnyOf(503, 504));
  EXPECT_TRUE(Until([&] { return !first.plane().Health().ok(); }));
  if (HasFatalFailure()) return;
  EXPECT_EQ(second.Get(Named("late")), 404);
  EXPECT_EQ(second.Put("m", "1"), 201);
}

// So much later or earlier, for who asks.
class WrongClock final : public base::Clock {
 public:
  explicit WrongClock(std::chrono::hours by) : by_(by) {}
  base::Time Now() const override { return clock_.Now() + by_; }
  std::chrono::nanoseconds Monotonic() const override { return clock_.Monotonic(); }

 private:
  const std::chrono::hours by_;
  const base::SystemClock clock_{};
};

// A server with deciders that are elected.
class EtcdClocks : public EtcdShared {
 protected:
  void SetUp() override {
    EtcdShared::SetUp();
    if (IsSkipped()) return;
    first_.Start(address_);
    first_.Stop();
  }
  // With a folder of its own and the keys that all have.
  std::unique_ptr<plane::ControlPlane> StartDeciding(const base::Clock& clock,
                                                     store::EtcdAddress address) {
    folders_.push_back(std::make_unique<Server>(&first_));
    plane::PlaneOptions options;
    options.data = folders_.back()->folder();
    options.store = plane::StoreAddress::In(std::move(address));
    auto started = plane::ControlPlane::Start(std::move(options), clock);
    EXPECT_THAT(started, IsOk());
    return started.ok() ? *std::move(started) : nullptr;
  }
  std::string Holder(plane::ControlPlane& plane, std::string_view lease) {
    const auto found =
        plane.cluster().Find(api::HubKind(api::TypeInfoOf<api::Lease>()), "kube-system", lease);
    if (!found.ok() || !*found) return "";
    return (*found)->As<api::Lease>()->spec.holder_identity.value_or("");
  }

  Server first_;
  std::vector<std::unique_ptr<Server>> folders_;
};

// By its renewals, which are two hours old, it would be dead; by those two hours ahead it would live on.
// Nobody compares what others' clocks say.
TEST_F(EtcdClocks, WhoLeadsWithAWrongClockLeadsAndIsReplacedLikeAnyOther) {
  const base::SystemClock right;
  for (const std::chrono::hours by : {std::chrono::hours(-2), std::chrono::hours(2)}) {
    const WrongClock wrong(by);
    store::TcpProxy proxy(store::SharedEtcd().client(0));
    auto leader = StartDeciding(
        wrong, {.endpoints = {{.address = proxy.address()}}, .prefix = address_.prefix});
    ASSERT_NE(leader, nullptr);
    for (const char* lease : {"default-scheduler", "dray-controllers"}) {
      ASSERT_TRUE(Until([&] { return !Holder(*leader, lease).empty(); })) << lease;
    }
    const std::string scheduler = Holder(*leader, "default-scheduler");
    const std::string controllers = Holder(*leader, "dray-controllers");
    const auto other = StartDeciding(right, address_);
    ASSERT_NE(other, nullptr);
    // It looks every two seconds.
    const auto looks = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (std::chrono::steady_clock::now() < looks) {
      ASSERT_EQ(Holder(*other, "default-scheduler"), scheduler);
      ASSERT_EQ(Holder(*other, "dray-controllers"), controllers);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    // It is cut off.
    proxy.Refuse(true);
    proxy.Cut();
    const auto taken = [&](const char* lease, const std::string& before) {
      const std::string now = Holder(*other, lease);
      return !now.empty() && now != before;
    };
    EXPECT_TRUE(Until([&] { return taken("default-scheduler", scheduler); }));
    EXPECT_TRUE(Until([&] { return taken("dray-controllers", controllers); }));
    EXPECT_FALSE(leader->Health().ok());
    EXPECT_THAT(other->Health(), IsOk());
  }
}

// Etcd deletes them by itself after an hour, and shares a lease among them.
TEST_F(EtcdShared, EventsHaveALease) {
  Server server;
  server.Start(address_);
  if (HasFatalFailure()) return;
  constexpr std::string_view kEvents = "/api/v1/namespaces/default/events";
  for (const char* name : {"a", "b"}) {
    const auto made = server.Ask(
        "POST", std::string(kEvents),
        fmt::format(R"({{"metadata":{{"name":"{}"}},"involvedObject":{{"namespace":"default"}},)"
                    R"("reason":"Told"}})",
                    name));
    ASSERT_EQ(made.status, 201) << made.body;
  }
  ASSERT_EQ(server.Put("m", "1"), 201);
  const auto member = rpc::ConnectEtcd({.address = store::SharedEtcd().client(0)}, {});
  const auto lease = [&](const std::string& key) {
    std::promise<std::int64_t> told;
    member->Range(
        {.key = address_.prefix + "/registry/core/" + key}, std::chrono::seconds(60),
        [&](const StatusOr<rpc::EtcdRangeAnswer>& answer) {
          told.set_value(answer.ok() && answer->kvs.size() == 1 ? answer->kvs[0].lease : -1);
        });
    return told.get_future().get();
  };
  EXPECT_GT(lease("events/default/a"), 0);
  EXPECT_EQ(lease("events/default/b"), lease("events/default/a"));
  EXPECT_EQ(lease("configmaps/default/m"), 0);
}

// Events are told for an hour, whatever the store is: what it keeps for longer the controllers delete, so
// that watchers see them go as they see everything.
TEST_F(EtcdShared, OldEventsGo) {
  const WrongClock past(std::chrono::hours(-2));
  plane::TestPlane folder;
  plane::PlaneOptions options;
  options.data = folder.folder();
  options.store = plane::StoreAddress::In(address_);
  options.etcd.alone = true;
  const auto& kind = api::HubKind(api::TypeInfoOf<api::Event>());
  {
    auto then = plane::ControlPlane::Start(options, past);
    ASSERT_THAT(then, IsOk());
    api::Event event;
    event.metadata.namespace_ = "default";
    event.metadata.name = "old";
    event.involved_object.namespace_ = "default";
    event.involved_object.name = "p";
    event.reason = "Told";
    ASSERT_THAT((*then)->cluster().Create(api::Object::Of(event)), IsOk());
    ASSERT_TRUE((*then)->cluster().Find(kind, "default", "old")->has_value());
  }
  const base::SystemClock clock;
  auto now = plane::ControlPlane::Start(options, clock);
  ASSERT_THAT(now, IsOk());
  EXPECT_TRUE(Until([&] { return !(*now)->cluster().Find(kind, "default", "old")->has_value(); }));
}

}  // namespace
}  // namespace dray::etcd
