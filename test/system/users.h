// SPDX-License-Identifier: Apache-2.0
//
// Users: people and drivers who ask for things over the wire, and remember what they were told.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/kinds.h"
#include "client/object_client.h"
#include "system/stage.h"
#include "system/wire.h"

namespace dray::system {

// What a cluster of this size has; the rest depends on the dice.
struct Town {
  int nodes = 4;
  bool changes_devices = false;  // slices, classes and nodes come and go
  bool quotas = true;
  bool workloads = true;
  bool namespaces = true;
  bool groups = false;
  // Whatever else there is: a second profile of the scheduler with a policy of its own, devices that every node can use,
  // alternatives, budgets of disruptions, devices that are tainted by rules, nodes that come and go, and groups of every kind.
  bool rich = false;
};

// One user: acts, waits, acts again, until it is told to stop.
class User {
 public:
  // All outlive it.
  User(Stage& stage, Wire& wire, const Town& town, int number);
  ~User();

  // Nodes, classes, slices, namespaces, templates: until everything is there.
  void SetUp();
  void Start(Nanos think);
  // No more new things.
  void Stop() { stopping_ = true; }
  bool stopped() const { return running_ == nullptr || stopped_; }
  // Whatever this user has counted: at least so much, at most so much, in the object by that name.
  struct Count {
    std::string namespace_;
    std::string name;
    std::int64_t least = 0;
    std::int64_t most = 0;
  };
  const Count& count() const { return count_; }

 private:
  void Act();
  void AddPod();
  void AddClaim();
  void AddDeployment();
  void AddJob();
  void AddGroup();
  // Of so many kinds; empty: the usual.
  std::string Priority();
  std::string GroupPriority();
  // Which profile schedules it; empty: the first.
  std::string Profile();
  // The name of a ResourceClaimTemplate.
  std::string Template();
  void Scale();
  void Remove(const char* api_version, const char* kind);
  void ChangeQuota();
  void ChangeNamespace();
  void ChangeNode();
  void RemoveNode();
  void ChangeBudget();
  void ChangeTaint();
  void ChangeSlice();
  void Increase();

  bool Create(const std::string& json);
  void CreateForSure(const std::string& json);
  // A random one of that kind in this user's namespaces, as the server says.
  std::optional<api::Object> Any(const api::KindInfo& kind);
  std::optional<api::Object> Remembered(const api::KindInfo& kind);
  std::string Space();

  Stage& stage_;
  const Town& town_;
  const int number_;
  Process process_;
  std::unique_ptr<client::HttpClient> http_;
  client::ObjectClient client_;
  std::unique_ptr<base::Running> running_;
  bool stopping_ = false;
  bool stopped_ = false;
  int made_ = 0;
  struct Name {
    const api::TypeInfo* kind;
    std::string namespace_;
    std::string name;
  };
  std::vector<Name> names_;  // of what this user has made
  Count count_;
};

std::string NodeManifest(int node, bool rich);
// The slices of its pools.
std::vector<std::string> NodeManifests(int node, int generation);

}  // namespace dray::system
