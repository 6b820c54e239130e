// SPDX-License-Identifier: Apache-2.0
//
// ClaimManager: claims on this node, from the first pod that uses one to the last. It has drivers
// prepare and unprepare them, remembers what they answered, and keeps that in a checkpoint, so that
// nothing is forgotten when the agent dies.
//
// Everything is checked before anything is remembered: a pod that could not start leaves no trace.
// From then on a claim stays in the checkpoint until every driver has unprepared it.
//
// Spec: docs/spec/node.md 6, 9, 10, 13.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/container.h"
#include "api/gates.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "base/clock.h"
#include "base/status.h"
#include "metrics/registry.h"
#include "node/claim_state.h"
#include "node/plugins.h"
#include "node/pod_claims.h"

namespace dray::node {

// Where claims are read, and where the checkpoint is written. Called on the loop; answers come on
// it, never from inside the call.
class ClaimSource {
 public:
  using Claims = std::vector<api::ResourceClaim>;

  virtual ~ClaimSource() = default;
  // Fresh from the API server, in the order of the names. The first one that cannot be had ends it:
  // "fetch ResourceClaim <name>: ...".
  virtual void Fetch(const std::string& namespace_, std::vector<std::string> names,
                     std::function<void(StatusOr<Claims>)> done) = 0;
  // Whole or not at all. OK: it is there when the agent is killed, and with `must_last` after a power
  // cut, too. Not OK: nobody knows. One at a time.
  virtual void WriteCheckpoint(ClaimChanges changes, std::function<void(Status)> done) = 0;
};

// A device that a container uses.
struct UsedDevice {
  std::string driver;
  DeviceState device;
  friend bool operator==(const UsedDevice&, const UsedDevice&) = default;
};

// What a container gets through one entry of its resources.claims, or through one mapping of an
// extended resource.
struct ContainerClaim {
  std::string label;  // as in allocatedResourcesStatus: "claim:r", "claim:r/a"
  std::string claim;  // the object's name
  std::string namespace_;
  std::vector<UsedDevice> devices;  // by driver's name, then as the driver ordered them
};

struct ClaimMetrics {
  explicit ClaimMetrics(metrics::Registry& registry);
  metrics::Family<metrics::Histogram>& operations;
  metrics::Family<metrics::Gauge>& in_use;
  metrics::Family<metrics::Counter>& prepare_skips;
  metrics::Family<metrics::Counter>& unprepare_skips;
};

// On the loop's thread alone.
class ClaimManager {
 public:
  using Done = std::function<void(Status)>;

  // All outlive it. `metrics` may be null.
  ClaimManager(ClaimSource& source, Plugins& plugins, const base::Clock& clock,
               const api::FeatureGates& gates, ClaimMetrics* metrics = nullptr);
  ~ClaimManager();

  // What the checkpoint of an earlier life says. Nothing counts as prepared then, nor as being
  // unprepared: pods that still need a sandbox have it prepared again.
  void Restore(std::vector<ClaimState> claims);

  // All claims of the pod. OK: it may have its sandbox. One call for a pod at a time.
  void Prepare(const api::Pod& pod, Done done);
  // Whatever this pod has prepared; nothing is fine. One call for a pod at a time.
  void Unprepare(const std::string& pod_uid, Done done);
  // Unprepares for pods that have claims here and are not active. Each of them is told with what
  // came of it.
  void Reconcile(const std::function<bool(const std::string& uid)>& active,
                 const std::function<void(const std::string& uid, Status)>& ended);

  // Whether some claim is remembered for the pod.
  bool Holds(std::string_view pod_uid) const { return by_pod_.contains(pod_uid); }
  std::vector<ClaimState> States() const;
  // Pods that use some of these devices, shares included.
  std::set<std::string> PodsUsing(const std::vector<DeviceName>& devices) const;

  // What the container gets, in the order of its claims, then of the pod's mappings. An error: a
  // claim of it is not prepared here.
  StatusOr<std::vector<ContainerClaim>> ClaimsFor(const api::Pod& pod,
                                                  const api::Container& container) const;
  // The names of its CDI devices in that order, each once.
  StatusOr<std::vector<std::string>> CdiNamesFor(const api::Pod& pod,
                                                 const api::Container& container) const;

 private:
  using Key = std::pair<std::string, std::string>;  // namespace, name
  struct Entry {
    ClaimState state;
    bool prepared = false;     // by this process, or as the checkpoint says, for the metric
    bool restored = false;     // prepared as the checkpoint says
    bool unpreparing = false;  // no pod can join
    bool busy = false;         // a driver is being called for it
    // Of the allocation that it is for; none: of an earlier life, and only its devices are known.
    std::optional<std::size_t> allocation;
  };
  struct Work;  // one Prepare or Unprepare under way
  using WorkPtr = std::shared_ptr<Work>;

  Entry* Find(const std::string& namespace_, const std::string& name);
  const Entry* Find(const std::string& namespace_, const std::string& name) const;

  void Fetched(const WorkPtr& work, StatusOr<ClaimSource::Claims> claims);
  Status CheckFetched(const Work& work) const;
  void BeginPrepare(const WorkPtr& work);
  Status CheckEntry(const Entry& entry, const api::ResourceClaim& claim) const;
  // Of another allocation of the claim than the one that it has now.
  static bool Outdated(const Entry& entry, const api::ResourceClaim& claim);
  void LetGoFirst(const WorkPtr& work);
  void RememberPod(Work& work);
  void ForgetPod(Work& work);
  void CallPrepare(const WorkPtr& work);
  Status TakePrepared(Work& work, const std::string& driver, rpc::PrepareAnswer& answer);
  void FinishPrepare(const WorkPtr& work);

  void BeginUnprepare(const WorkPtr& work);
  void CallUnprepare(const WorkPtr& work);
  static Status CheckUnprepared(const Work& work, const std::string& driver,
                                const rpc::UnprepareAnswer& answer);
  void FinishUnprepare(const WorkPtr& work);

  // Begins it, or lets it wait until nobody calls drivers for its claims.
  void Begin(const WorkPtr& work);
  bool MustWait(const Work& work) const;
  void SetBusy(Work& work, bool busy);
  void End(const WorkPtr& work, Status status);
  // What is known now. `must_last`: drivers will be called because it is known, and that must be
  // undone after a power cut, too. What they have answered need not: everything is prepared anew then.
  void Checkpoint(bool must_last, Done done);
  void WriteNow();
  void MarkChanged(const Key& key);
  void CountInUse();
  void DropPod(const Key& key, const std::string& uid);

  ClaimSource& source_;
  Plugins& plugins_;
  const base::Clock& clock_;
  const bool may_skip_;
  const bool for_groups_;  // claims of a pod's group are its own, too
  ClaimMetrics* const metrics_;
  std::map<Key, Entry> entries_;
  std::map<std::string, std::set<Key>, std::less<>> by_pod_;
  std::list<WorkPtr> waiting_;
  std::set<std::string> counted_drivers_;  // that the metric has a value for
  std::set<std::string> reconciling_;      // pods
  // Who waits for the write that is to come next; all of them are served by one.
  std::vector<Done> waiting_for_write_;
  bool next_must_last_ = false;
  bool writing_ = false;
  bool dirty_ = false;                  // a write has failed, and nobody knows what is written
  std::map<std::string, Key> changed_;  // claims, by UID, of which the checkpoint does not have all
  // Answers that come when this is gone find nobody.
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace dray::node
