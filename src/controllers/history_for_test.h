// SPDX-License-Identifier: Apache-2.0
//
// Random histories of a cluster with all controllers: people make and delete things by name, a
// stand-in for scheduler and kubelet runs the pods, and controllers are disturbed or left in peace.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/all_controllers.h"
#include "controllers/late_cluster_for_test.h"
#include "controllers/workloads_for_test.h"

namespace dray::controllers {

struct Deed {
  enum class Kind : std::uint8_t {
    kAddTemplate,
    kDeleteTemplate,
    kAddClaim,
    kDeleteClaim,
    kAddPod,
    kEndPod,
    kDeletePod,
    kAddDeployment,
    kScale,
    kNewImage,
    kDeleteDeployment,
    kAddJob,
    kDeleteJob,
    kAddQuota,
    kTaint,
    kDeleteNamespace,
  };
  Kind kind = Kind::kAddPod;
  std::string name;
  int number = 0;
};
// The last one deletes the namespace.
std::vector<Deed> RandomDeeds(std::uint64_t seed, std::size_t count);

// One cluster and its controllers. One thread.
class Life {
 public:
  // `disturbance`: of a hundred writes of controllers, how many fail or meet somebody who was
  // faster; of a hundred changes, how many hold up their watch. Then controllers are sometimes
  // replaced by new ones, too.
  Life(std::uint64_t seed, int disturbance);

  // Does it and lets everything come to rest.
  void Do(const Deed& deed);
  // What is stored, one text per object, without what is different in every run: uids, times and
  // generated names.
  std::vector<std::string> Rest();
  // Writes of new controllers in a cluster at rest.
  std::size_t WritesOfNewcomers();
  std::size_t disturbed() const { return disturbed_; }

 private:
  bool Chance(int percent);
  void Restart();
  void Act(const Deed& deed);
  Status Disturb(api::Verb verb, const api::Object& object);
  bool RunPods();
  bool Place(const api::Pod& pod);
  bool GiveDevice(const api::Pod& pod, std::string_view claim);

  std::mt19937_64 random_;
  const int disturbance_;
  bool peace_ = true;
  std::size_t disturbed_ = 0;
  Scene scene_;
  LateCluster late_;
  ControllerList controllers_;
};

}  // namespace dray::controllers
