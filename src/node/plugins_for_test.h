// SPDX-License-Identifier: Apache-2.0
//
// Drivers for tests: they prepare what they are asked for, fail or hang when told to, and complain
// about an agent that does not keep to the rules.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/pod.h"
#include "api/resource_claim.h"
#include "node/claim_manager.h"
#include "node/loop.h"
#include "node/plugins.h"

namespace dray::node {

class PluginsForTest final : public Plugins {
 public:
  explicit PluginsForTest(Loop& loop) : loop_(loop) {}

  void Register(const std::string& driver) { drivers_[driver]; }
  void Deregister(const std::string& driver) { drivers_.erase(driver); }

  // The next calls fail as a whole, with an error per claim, or are not answered for 45 s.
  struct Driver {
    int fail_prepare = 0;
    int fail_unprepare = 0;
    int refuse_prepare = 0;  // by an entry with an error
    int refuse_unprepare = 0;
    bool hang_prepare = false;
    bool hang_unprepare = false;
    // What is prepared for a claim; by default one device per claim, for all requests, with the CDI
    // name <driver>/dev=<claim uid>.
    std::map<std::string, std::vector<rpc::PreparedDevice>> devices;  // by claim's name
    // A driver that lies.
    std::function<void(rpc::PrepareAnswer&)> twist;
    std::function<void(rpc::UnprepareAnswer&)> twist_unprepare;
    std::map<DeviceName, HealthOfDevice> health;
  };
  Driver& driver(const std::string& name) { return drivers_.at(name); }

  // "prepare d1 a,b", in order.
  const std::vector<std::string>& calls() const { return calls_; }
  int CallsOf(std::string_view prefix) const;
  void ForgetCalls() { calls_.clear(); }
  // Claims that are prepared, by driver: "d1/uid-a".
  const std::set<std::string>& prepared() const { return prepared_; }
  // Hanging calls are answered now.
  void LetGo();

  Status Registered(std::string_view driver) const override;
  void Prepare(std::string_view driver, std::vector<rpc::ClaimName> claims,
               rpc::Done<rpc::PrepareAnswer> done) override;
  void Unprepare(std::string_view driver, std::vector<rpc::ClaimName> claims,
                 rpc::Done<rpc::UnprepareAnswer> done) override;
  HealthOfDevice HealthOf(const DeviceName& device) const override;

 private:
  struct Hanging {
    Loop::Timer timer;
    std::function<void(bool in_time)> answer;
  };
  void Answer(bool hang, std::function<void(bool in_time)> answer);

  Loop& loop_;
  std::map<std::string, Driver, std::less<>> drivers_;
  std::vector<std::string> calls_;
  std::set<std::string> prepared_;
  std::map<int, Hanging> hanging_;
  int next_ = 0;
};

// Claims and a checkpoint in memory. What is asked is answered on the loop, later.
class ClaimSourceForTest final : public ClaimSource {
 public:
  explicit ClaimSourceForTest(Loop& loop) : loop_(loop) {}

  std::map<std::string, api::ResourceClaim> claims;  // by name
  std::map<std::string, ClaimState> written;         // by UID
  int writes = 0;
  int synced = 0;  // of these, such that have to last
  int fail_writes = 0;
  // The process that writes dies: what is not written yet never is.
  void Crash() { ++life_; }

  void Fetch(const std::string& namespace_, std::vector<std::string> names,
             std::function<void(StatusOr<Claims>)> done) override;
  void WriteCheckpoint(ClaimChanges changes, std::function<void(Status)> done) override;
  std::vector<ClaimState> Written() const;

 private:
  Loop& loop_;
  int life_ = 0;
};

// A pod in namespace "ns" with uid "uid-<name>" that uses these claims by name: the entry is "r-" and
// the claim's name.
api::Pod PodWith(std::string_view name, const std::vector<std::string>& claims);
// Allocated with one device per driver, for request "r"; reserved for these pods by name.
api::ResourceClaim ClaimOf(std::string_view name, const std::vector<std::string>& drivers,
                           const std::vector<std::string>& pods);
// Allocated just what the driver will say that it has prepared.
api::ResourceClaim Allocated(api::ResourceClaim claim, std::string_view driver,
                             const std::vector<rpc::PreparedDevice>& devices);

}  // namespace dray::node
