// SPDX-License-Identifier: Apache-2.0
//
// PodWorker: one pod on this node, from its admission to the removal of its object. It looks at what
// is there and does the one thing that is next; when that is done, it looks again. So it does not
// matter where an agent before it was interrupted.
//
// The order that is binding (docs/spec/node.md 1): volumes, claims, sandbox, containers; and at the
// end containers, claims, final status, object.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "api/pod.h"
#include "base/status.h"
#include "container/runtime.h"
#include "logs/log.h"
#include "node/admission.h"
#include "node/claim_manager.h"
#include "node/container_config.h"
#include "node/loop.h"
#include "node/offload.h"
#include "node/plugins.h"
#include "node/pod_status.h"
#include "node/probes.h"
#include "node/security.h"
#include "node/sources.h"
#include "node/volumes.h"

namespace dray::node {

// What pods share. All outlive their workers.
class PodHost {
 public:
  virtual ~PodHost() = default;

  virtual Loop& loop() = 0;
  virtual Offload& offload() = 0;
  virtual api::Cluster& cluster() = 0;
  virtual container::Runtime& runtime() = 0;
  virtual ClaimManager& claims() = 0;
  virtual Plugins& plugins() = 0;
  virtual ProbeClient& probes() = 0;
  virtual Sources& sources() = 0;
  virtual const logs::Logger& log() const = 0;

  virtual const std::string& root() const = 0;
  virtual const std::string& log_root() const = 0;
  virtual const std::string& cgroup_parent() const = 0;
  virtual const std::string& runtime_name() const = 0;
  virtual const std::vector<std::string>& host_ips() const = 0;
  virtual const api::Map<base::Quantity>& allocatable() const = 0;
  virtual bool health_in_status() const = 0;
  virtual bool health_messages() const = 0;

  virtual Enforcing enforcing() const = 0;

  // Whether there is room beside the pods that were let in before.
  virtual std::optional<Rejection> Admit(const api::Pod& pod) = 0;
  // Has the runtime listed, soon. The answer comes to OnInventory with a number that is at least the
  // one returned.
  virtual std::uint64_t RequestList() = 0;
  virtual void Note(const api::Object& about, std::string_view type, std::string_view reason,
                    std::string message) = 0;
  // The worker has nothing left to do: it is destroyed soon.
  virtual void Finished(const std::string& uid) = 0;
};

// What the runtime has of one pod.
struct PodInventory {
  std::vector<container::SandboxInfo> sandboxes;
  std::vector<container::ContainerInfo> containers;
};

// On the loop's thread alone.
class PodWorker {
 public:
  // The host outlives it. `object`: as the API server has it.
  PodWorker(PodHost& host, api::Object object);
  // Of a pod that no object is of any more, but of which something is left here.
  PodWorker(PodHost& host, const container::PodIdentity& identity);
  ~PodWorker();
  PodWorker(const PodWorker&) = delete;
  PodWorker& operator=(const PodWorker&) = delete;

  void OnObject(api::Object object);
  void OnObjectGone();
  void OnInventory(const PodInventory& inventory, std::uint64_t number);
  // Claims are worth another try.
  void OnDriverReady();
  void OnHealthChanged() { Sync(); }

  const std::string& uid() const { return uid_; }
  const api::Pod& pod() const { return *object_.As<api::Pod>(); }
  const api::Object& object() const { return object_; }
  // It was let in, and may have something running or prepared here.
  bool active() const { return admitted_ && !ended_; }
  bool terminating() const { return terminating_; }
  // Of a container of the spec: what is known of it, for logs and exec. Null: no such container.
  const ContainerView* FindContainer(std::string_view name) const;
  // That is ready; null: there is none.
  const container::SandboxInfo* FindSandbox() const;

 private:
  struct Track;

  // Looks, and does what is next.
  void Sync();
  void Decide();
  // One step of a pod that is to run, or to end. Whether something was begun.
  bool StepRun();
  bool StepEnd();

  // pod_worker_run.cc
  bool Reject();
  bool CleanUpSandboxes();
  bool NeedsNoSandbox() const;
  bool VolumesStep();
  bool PrepareStep();
  void Prepared(const Status& status);
  bool SandboxStep();
  // Of containers for debugging, the next that was never made is started.
  bool DebugStep();
  bool InitStep();
  bool MainStep();
  bool RemoveOld();
  // Starts it unless it has to wait. Whether it was begun.
  bool StartContainer(Track& track);
  bool InBackoff(Track& track);
  void FoundImage(Track& track, StatusOr<container::ImageInfo> image);
  // Everything that it is made from is there.
  void Configure(Track& track, const container::ImageInfo& image, PodFacts facts);
  PodFacts Facts() const;
  void OnVolumes(StatusOr<VolumesMade> made);
  void Create(Track& track, container::ContainerConfig config);
  void Start(Track& track, const std::string& id);
  // It waits with this reason and is tried again later.
  void StartFailed(Track& track, std::string reason, std::string message, std::string event);

  // pod_worker_probes.cc
  bool KillUnhealthy();
  void UpdateProbes();
  void ProbeChanged(Track& track, Probe::Kind kind, bool good, const std::string& why);

  // pod_worker_hooks.cc
  ActionTarget TargetOf(const container::ContainerInfo& info) const;
  // `then` is called once, on the loop, at the latest when `timeout` is over; none: no such time.
  void RunHook(Track& track, const Action& action, const ActionTarget& target,
               std::optional<std::chrono::seconds> timeout, std::function<void(Status)> then);
  void BeginPostStart(Track& track, const std::string& id);
  // Its hook, then the signal.
  void StopOne(const container::ContainerInfo& info, std::chrono::seconds grace,
               std::function<void(Status)> done);
  // What containers have left that have ended. Whether something has to be read first.
  bool ReadMessages();
  void AddMessage(const Track& track, container::ContainerInfo& info) const;

  // pod_worker_end.cc
  void BeginEnd();
  bool StopContainers();
  bool StopSandboxes();
  bool UnprepareStep();
  bool RemoveObject();
  bool RemoveRest();
  std::chrono::seconds Grace() const;
  std::chrono::seconds GraceLeft() const;

  // Containers as they are known now.
  PodView View() const;
  void RefreshViews();
  Track* FindTrack(std::string_view name);
  void AddDebuggers();
  void AdoptStatus();
  void WriteStatus();
  void StatusWritten(StatusOr<api::Object> written);
  void Busy(std::string_view what);
  // The operation has ended; what the runtime lists from now on counts.
  void Idle(bool changed_runtime = true);
  void Note(std::string_view type, std::string_view reason, std::string message);
  // Called on the loop, unless the worker is gone by then.
  template <typename T>
  std::function<void(StatusOr<T>)> Back(std::function<void(StatusOr<T>)> then);
  std::function<void(Status)> BackStatus(std::function<void(Status)> then);
  void RetryAfter(std::chrono::nanoseconds time);
  // Whether it is too early for what is not to be done before `at`; somebody looks again then.
  bool Later(std::optional<std::chrono::nanoseconds>& at);

  PodHost& host_;
  const std::string uid_;
  api::Object object_;
  bool object_exists_ = true;
  bool admitted_ = false;
  bool terminating_ = false;
  bool unprepared_ = false;
  bool ended_ = false;  // nothing of it runs, its claims are unprepared
  bool finished_ = false;
  bool has_volumes_ = false;
  bool prepared_ = false;  // for the next sandbox
  std::optional<Verdict> verdict_;

  PodInventory inventory_;
  std::uint64_t number_ = 0;  // of the list that it is from
  std::uint64_t needed_ = 0;  // of the list that is needed to decide anything
  std::string busy_;          // with what; empty: with nothing
  std::vector<std::unique_ptr<Track>> init_;
  std::vector<std::unique_ptr<Track>> main_;
  std::vector<std::unique_ptr<Track>> ephemeral_;  // for debugging
  VolumesMade volumes_;
  bool volumes_old_ = false;  // what is in them may have changed
  Loop::Timer renew_;
  std::uint32_t next_sandbox_ = 0;  // the attempt

  std::optional<base::Time> stop_deadline_;
  std::chrono::seconds stopping_with_{-1};  // the shortest grace that was asked for
  std::chrono::nanoseconds prepare_delay_{0};
  std::chrono::nanoseconds unprepare_delay_{0};
  std::optional<std::chrono::nanoseconds> prepare_at_;  // not before
  std::optional<std::chrono::nanoseconds> unprepare_at_;
  std::optional<std::chrono::nanoseconds> volumes_at_;
  std::optional<std::chrono::nanoseconds> sandbox_at_;
  std::optional<std::chrono::nanoseconds> remove_at_;
  std::optional<std::chrono::nanoseconds> rest_at_;
  std::optional<std::chrono::nanoseconds> stop_at_;
  std::chrono::nanoseconds remove_delay_{0};
  std::chrono::nanoseconds sandbox_delay_{0};
  std::chrono::nanoseconds volumes_delay_{0};
  Loop::Timer retry_;
  std::chrono::nanoseconds retry_due_{0};
  Loop::Timer deadline_;

  bool writing_ = false;
  bool hide_extended_ = false;  // devices of extended resources; a server has refused them
  std::chrono::nanoseconds write_delay_{0};
  std::optional<std::chrono::nanoseconds> write_at_;

  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

// Between attempts: the first, then twice as long each time, at most `longest`.
std::chrono::nanoseconds NextDelay(std::chrono::nanoseconds before, std::chrono::nanoseconds first,
                                   std::chrono::nanoseconds longest);

}  // namespace dray::node
