// SPDX-License-Identifier: Apache-2.0
#include "node/plugins_for_test.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

std::string Call(std::string_view verb, std::string_view driver,
                 const std::vector<rpc::ClaimName>& claims) {
  std::vector<std::string> names;
  for (const rpc::ClaimName& claim : claims) names.push_back(claim.name);
  std::ranges::sort(names);
  return fmt::format("{} {} {}", verb, driver, absl::StrJoin(names, ","));
}

Status Deadline() {
  return base::MakeStatus(StatusCode::kDeadlineExceeded, "context deadline exceeded");
}

}  // namespace

int PluginsForTest::CallsOf(std::string_view prefix) const {
  return static_cast<int>(std::ranges::count_if(
      calls_, [&](const std::string& call) { return call.starts_with(prefix); }));
}

Status PluginsForTest::Registered(std::string_view driver) const {
  if (driver.empty()) return base::NotFound("DRA driver name is empty");
  if (drivers_.contains(driver)) return {};
  return base::NotFound(fmt::format("DRA driver {} is not registered", driver));
}

void PluginsForTest::Answer(bool hang, std::function<void(bool)> answer) {
  if (!hang) return loop_.Post([answer = std::move(answer)] { answer(true); });
  const int id = next_++;
  Hanging& hanging = hanging_[id];
  hanging.answer = std::move(answer);
  hanging.timer = loop_.After(std::chrono::seconds(45), [this, id] {
    auto late = hanging_.extract(id);
    late.mapped().answer(false);
  });
}

void PluginsForTest::LetGo() {
  for (auto& [id, hanging] : std::exchange(hanging_, {})) {
    hanging.timer.Cancel();
    loop_.Post([answer = std::move(hanging.answer)] { answer(true); });
  }
}

void PluginsForTest::Prepare(std::string_view name, std::vector<rpc::ClaimName> claims,
                             rpc::Done<rpc::PrepareAnswer> done) {
  calls_.push_back(Call("prepare", name, claims));
  if (const Status missing = Registered(name); !missing.ok()) {
    return loop_.Post([done, missing] { done(missing); });
  }
  Driver& now = drivers_.find(name)->second;
  const bool fails = now.fail_prepare > 0 && now.fail_prepare-- > 0;
  const bool refuses = now.refuse_prepare > 0 && now.refuse_prepare-- > 0;
  Answer(now.hang_prepare, [this, name = std::string(name), claims = std::move(claims), fails,
                            refuses, done = std::move(done)](bool in_time) {
    if (!in_time) return done(Deadline());
    if (fails) return done(base::Internal("this driver is told to fail"));
    rpc::PrepareAnswer answer;
    Driver& driver = drivers_[name];
    for (const rpc::ClaimName& claim : claims) {
      rpc::PreparedClaim& entry = answer[claim.uid];
      if (refuses) {
        entry.error = "no such device";
        continue;
      }
      prepared_.insert(fmt::format("{}/{}", name, claim.uid));
      const auto it = driver.devices.find(claim.name);
      if (it != driver.devices.end()) {
        entry.devices = it->second;
      } else {
        entry.devices = {{.pool = "pool",
                          .device = "dev-" + claim.name,
                          .cdi_ids = {fmt::format("{}/dev={}", name, claim.uid)}}};
      }
    }
    if (driver.twist) driver.twist(answer);
    done(std::move(answer));
  });
}

void PluginsForTest::Unprepare(std::string_view name, std::vector<rpc::ClaimName> claims,
                               rpc::Done<rpc::UnprepareAnswer> done) {
  calls_.push_back(Call("unprepare", name, claims));
  if (const Status missing = Registered(name); !missing.ok()) {
    return loop_.Post([done, missing] { done(missing); });
  }
  Driver& now = drivers_.find(name)->second;
  const bool fails = now.fail_unprepare > 0 && now.fail_unprepare-- > 0;
  const bool refuses = now.refuse_unprepare > 0 && now.refuse_unprepare-- > 0;
  Answer(now.hang_unprepare, [this, name = std::string(name), claims = std::move(claims), fails,
                              refuses, done = std::move(done)](bool in_time) {
    if (!in_time) return done(Deadline());
    if (fails) return done(base::Internal("this driver is told to fail"));
    rpc::UnprepareAnswer answer;
    for (const rpc::ClaimName& claim : claims) {
      if (!refuses) prepared_.erase(fmt::format("{}/{}", name, claim.uid));
      answer[claim.uid] = refuses ? "the device is busy" : "";
    }
    Driver& driver = drivers_[name];
    if (driver.twist_unprepare) driver.twist_unprepare(answer);
    done(std::move(answer));
  });
}

HealthOfDevice PluginsForTest::HealthOf(const DeviceName& device) const {
  const auto it = drivers_.find(device.driver);
  if (it == drivers_.end()) return {};
  const auto known = it->second.health.find(device);
  return known == it->second.health.end() ? HealthOfDevice() : known->second;
}

void ClaimSourceForTest::Fetch(const std::string&, std::vector<std::string> names,
                               std::function<void(StatusOr<Claims>)> done) {
  loop_.Post([this, names = std::move(names), done = std::move(done)] {
    Claims found;
    for (const std::string& name : names) {
      const auto it = claims.find(name);
      if (it == claims.end()) {
        return done(base::NotFound(fmt::format("fetch ResourceClaim {}: not found", name)));
      }
      found.push_back(it->second);
    }
    done(std::move(found));
  });
}

void ClaimSourceForTest::WriteCheckpoint(ClaimChanges changes, std::function<void(Status)> done) {
  ++writes;
  if (changes.must_last) ++synced;
  const bool fails = fail_writes > 0 && fail_writes-- > 0;
  loop_.Post([this, fails, life = life_, changes = std::move(changes), done = std::move(done)] {
    if (life != life_) return;
    if (fails) return done(base::Unavailable("no space left on device"));
    for (const std::string& uid : changes.gone) written.erase(uid);
    for (const ClaimState& claim : changes.now) written[claim.uid] = claim;
    done({});
  });
}

std::vector<ClaimState> ClaimSourceForTest::Written() const {
  std::vector<ClaimState> claims;
  for (const auto& [uid, claim] : written) claims.push_back(claim);
  return claims;
}

api::Pod PodWith(std::string_view name, const std::vector<std::string>& claims) {
  api::Pod pod;
  pod.metadata.namespace_ = "ns";
  pod.metadata.name = name;
  pod.metadata.uid = fmt::format("uid-{}", name);
  api::Container& container = pod.spec.containers.emplace_back();
  container.name = "c";
  for (const std::string& claim : claims) {
    pod.spec.resource_claims.push_back({.name = "r-" + claim, .resource_claim_name = claim});
    container.resources.claims.push_back({.name = "r-" + claim});
  }
  return pod;
}

api::ResourceClaim ClaimOf(std::string_view name, const std::vector<std::string>& drivers,
                           const std::vector<std::string>& pods) {
  api::ResourceClaim claim;
  claim.metadata.namespace_ = "ns";
  claim.metadata.name = name;
  claim.metadata.uid = fmt::format("uid-{}", name);
  auto& allocation = claim.status.allocation.emplace();
  for (const std::string& driver : drivers) {
    allocation.devices.results.push_back(
        {.request = "r", .driver = driver, .pool = "pool", .device = fmt::format("dev-{}", name)});
  }
  for (const std::string& pod : pods) {
    claim.status.reserved_for.push_back(
        {.resource = "pods", .name = pod, .uid = fmt::format("uid-{}", pod)});
  }
  return claim;
}

api::ResourceClaim Allocated(api::ResourceClaim claim, std::string_view driver,
                             const std::vector<rpc::PreparedDevice>& devices) {
  auto& results = claim.status.allocation->devices.results;
  std::erase_if(results, [&](const auto& result) { return result.driver == driver; });
  for (const rpc::PreparedDevice& device : devices) {
    results.push_back({.request = device.requests.empty() ? "r" : device.requests[0],
                       .driver = std::string(driver),
                       .pool = device.pool,
                       .device = device.device});
    if (device.share_id) results.back().share_id = *device.share_id;
  }
  return claim;
}

}  // namespace dray::node
