// SPDX-License-Identifier: Apache-2.0
//
// Town: a small cluster in memory to which random things happen, as many clients would do them:
// people make and delete pods and claims, drivers publish their devices slice by slice, nodes come
// and go, controllers clean up, somebody else allocates claims. Everything through the API's
// defaults, strategies and validation.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/memory_cluster.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "model/dice.h"
#include "model/gates.h"
#include "model/instance.h"

namespace dray::soak {

inline constexpr const char* kNamespace = "ns";
inline constexpr const char* kResource =
    "example.com/gpu";  // served by a class, or a device plugin

// Everything that has to do with devices is on.
using model::AllDeviceGates;

template <typename T>
const api::KindInfo& KindOf() {
  return api::HubKind(api::TypeInfoOf<T>());
}

// One thread.
class Town {
 public:
  explicit Town(std::uint64_t seed);

  // One thing happens. False: what was rolled could not be done.
  bool Happen();
  // What is under way comes to its end: slices that are being published, claims of pods that are
  // gone, conditions that drivers set, gates.
  void Settle();

  // A pod that was sent away comes again under another name, with claims of its own that ask for the
  // same: as a ReplicaSet would have it.
  bool ComeAgain(const api::Pod& pod, std::optional<std::int32_t> priority = {});

  // While a scheduler writes, each of its writes fails with this chance: before it is done, or
  // after, when it stands and its answer is lost or is that to a second request. Reads fail, too.
  void SchedulerActs(double failures) { failures_ = failures; }
  void SchedulerRests() {
    failures_.reset();
    reads_that_fail_ = 0;
  }

  // For looking: copies are most of what a long soak takes.
  template <typename T>
  std::vector<api::Object> Objects() const {
    return cluster_.All(KindOf<T>());
  }
  template <typename T>
  std::vector<T> All() const {
    std::vector<T> all;
    for (const api::Object& object : Objects<T>()) all.push_back(*object.As<T>());
    return all;
  }
  template <typename T>
  std::optional<T> Find(std::string_view name, std::string_view space = kNamespace) const {
    const std::optional<api::Object> found = cluster_.Stored(KindOf<T>(), space, name);
    return found ? std::optional<T>(*found->template As<T>()) : std::nullopt;
  }
  // What an allocator would be told to allocate `claims` on the node.
  model::Instance InstanceFor(const api::Node& node, std::vector<api::ResourceClaim> claims) const;

  api::MemoryCluster& cluster() { return cluster_; }
  base::ManualClock& clock() { return clock_; }
  model::Dice& dice() { return dice_; }
  const std::map<std::string, int>& happened() const { return happened_; }
  std::uint64_t failed_writes() const { return failed_writes_; }
  std::uint64_t lost_answers() const { return lost_answers_; }
  std::uint64_t failed_reads() const { return failed_reads_; }

 private:
  // False: the server refused it.
  template <typename T>
  bool Create(T object);
  template <typename T>
  bool Update(T object);
  template <typename T>
  bool UpdateStatus(T object);
  template <typename T>
  bool Delete(const std::string& name, std::string_view space = kNamespace);
  template <typename T>
  std::optional<T> Any();

  // People.
  bool AddPod();
  bool RemovePod();
  bool FinishPod();
  bool PlaceElsewhere();
  bool OpenGate();
  bool ChangeClass();
  bool ChangeTaintRule();
  // Drivers.
  bool StartPublishing();
  bool GoOnPublishing();
  bool ChangeSlice();
  bool LoseSlice();
  bool SayReady();
  // Nodes.
  bool AddNode();
  bool RemoveNode();
  bool ChangeNode();
  // Controllers, and others who write claims.
  bool CleanUp();
  bool AllocateElsewhere();
  bool GiveBack();

  std::vector<api::ResourceClaim> NewClaims();
  std::string AnyNodeName();
  api::DeviceClass MakeClass(const std::string& name);
  Status BeforeWrite(api::Verb verb, const api::Object& object);
  Status AfterWrite(api::Verb verb);
  Status BeforeRead();

  model::Dice dice_;
  base::ManualClock clock_{base::Time::FromUnix(1'000'000'000)};
  base::SeededRandomSource random_;
  api::MemoryCluster cluster_;
  std::optional<double> failures_;
  std::uint64_t failed_writes_ = 0;
  std::uint64_t lost_answers_ = 0;
  std::uint64_t failed_reads_ = 0;
  int reads_that_fail_ = 0;  // from now on
  std::uint64_t pods_ = 0;
  std::uint64_t claims_ = 0;
  std::uint64_t shares_ = 0;
  std::int64_t generation_ = 0;
  // Slices to create, and names of those to delete, in the order in which a driver does it.
  std::deque<api::ResourceSlice> to_create_;
  std::deque<std::string> to_delete_;
  std::map<std::string, int> happened_;
};

}  // namespace dray::soak
