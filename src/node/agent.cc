// SPDX-License-Identifier: Apache-2.0
#include "node/agent.h"

#include <algorithm>
#include <utility>

#include "api/pod_resources.h"
#include "files/files.h"
#include "fmt/format.h"
#include "node/refusals.h"
#include "node/volumes.h"

namespace dray::node {
namespace {

constexpr std::chrono::seconds kListInterval{1};
constexpr std::chrono::seconds kReconcileInterval{60};
constexpr std::chrono::seconds kProbeInterval{5};
constexpr std::chrono::seconds kFoldAfter{1};
constexpr std::string_view kComponent = "kubelet";

}  // namespace

StatusOr<std::unique_ptr<Agent>> Agent::Make(AgentParts parts, AgentOptions options) {
  DRAY_ASSIGN_OR_RETURN(std::shared_ptr<ClaimLog> state, ClaimLog::Open(options.root));
  // What pods have in there is nobody else's business.
  DRAY_RETURN_IF_ERROR(files::MakeFolder(options.root + "/pods", 0750));
  return std::unique_ptr<Agent>(new Agent(std::move(parts), std::move(options), std::move(state)));
}

Agent::Agent(AgentParts parts, AgentOptions options, std::shared_ptr<ClaimLog> state)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      state_(std::move(state)),
      health_in_status_(options_.gates.Enabled(api::Gate::kResourceHealthStatus)),
      health_messages_(options_.gates.Enabled(api::Gate::kResourceHealthStatusMessage)),
      metrics_(parts_.metrics != nullptr ? std::make_unique<ClaimMetrics>(*parts_.metrics)
                                         : nullptr),
      claims_(*this, parts_.plugins, parts_.loop.clock(), options_.gates, metrics_.get()),
      reporter_(parts_.loop, parts_.offload, parts_.cluster, parts_.log, options_.node,
                [this](const std::string& uid) {
                  if (on_registered_) on_registered_(uid);
                }) {
  claims_.Restore(state_->Claims());
}

Agent::~Agent() { parts_.runtime.OnChange(nullptr); }

void Agent::Start(std::unique_ptr<api::ObjectWatch> watch,
                  std::function<void(const std::string& uid)> on_registered) {
  watch_ = std::move(watch);
  on_registered_ = std::move(on_registered);
  started_ = true;
  reporter_.Start();
  ProbeRuntime();
  parts_.runtime.OnChange([&loop = parts_.loop, this, alive = std::weak_ptr(alive_)] {
    loop.Post([this, alive] {
      if (!alive.expired()) RequestList();
    });
  });
  reconcile_timer_ = parts_.loop.After(kReconcileInterval, [this] { Reconcile(); });
  DrainWatch();
}

void Agent::OnWatch() {
  parts_.loop.Post([this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) DrainWatch();
  });
}

// ---- Pods ----

void Agent::DrainWatch() {
  if (!started_) return;
  while (auto change = watch_->Next()) TakeObject(*change);
  // Only who has heard everything may take what is missing for gone.
  if (!pods_known_ && watch_->Stale().ok()) {
    pods_known_ = true;
    if (listed_) FindOrphans();
  }
}

void Agent::TakeObject(const api::Change& change) {
  const api::Object& object = change.object;
  if (object.As<api::Pod>() == nullptr) return;
  const std::string& uid = object.metadata().uid;
  const auto it = pods_.find(uid);
  if (change.kind == api::Change::Kind::kDeleted) {
    if (it != pods_.end()) it->second->OnObjectGone();
    return;
  }
  if (it != pods_.end()) return it->second->OnObject(object);
  auto worker = std::make_unique<PodWorker>(static_cast<PodHost&>(*this), object);
  PodWorker& added = *worker;
  pods_.emplace(uid, std::move(worker));
  if (listed_) added.OnInventory(inventory_[uid], known_number_);
}

void Agent::Finished(const std::string& uid) {
  // Not from inside the worker.
  parts_.loop.Post([this, uid, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) pods_.erase(uid);
  });
}

std::optional<Rejection> Agent::Admit(const api::Pod& pod) {
  if (auto refused = RefusedField(pod, enforcing())) return refused;
  api::Map<base::Quantity> used;
  std::int64_t pods = 0;
  for (const auto& [uid, worker] : pods_) {
    if (!worker->active() || uid == pod.metadata.uid) continue;
    api::AddResources(used, RequestsOnNode(worker->pod(), options_.node.allocatable));
    ++pods;
  }
  return node::Admit(pod, options_.node.allocatable, used, pods);
}

void Agent::Note(const api::Object& about, std::string_view type, std::string_view reason,
                 std::string message) {
  parts_.cluster.Note({.about = about,
                       .type = std::string(type),
                       .reason = std::string(reason),
                       .message = std::move(message),
                       .component = std::string(kComponent),
                       .action = {}});
}

std::vector<const PodWorker*> Agent::Pods() const {
  std::vector<const PodWorker*> pods;
  for (const auto& [uid, worker] : pods_) pods.push_back(worker.get());
  return pods;
}

const PodWorker* Agent::FindPod(std::string_view namespace_, std::string_view name) const {
  const PodWorker* found = nullptr;
  for (const auto& [uid, worker] : pods_) {
    const api::ObjectMeta& metadata = worker->pod().metadata;
    if (metadata.namespace_ != namespace_ || metadata.name != name) continue;
    // Of one that is ending and its successor the latter is meant.
    if (found == nullptr || found->terminating()) found = worker.get();
  }
  return found;
}

// ---- Drivers ----

void Agent::OnDriverReady(const std::string&) {
  for (const auto& [uid, worker] : pods_) worker->OnDriverReady();
  // Pods that are gone may have waited for it, too.
  if (started_) Reconcile();
}

void Agent::OnHealthChanged(const std::vector<DeviceName>& devices) {
  for (const std::string& uid : claims_.PodsUsing(devices)) {
    if (const auto it = pods_.find(uid); it != pods_.end()) it->second->OnHealthChanged();
  }
}

// ---- The runtime ----

void Agent::ProbeRuntime() {
  parts_.runtime.Probe([this, &loop = parts_.loop,
                        alive = std::weak_ptr(alive_)](StatusOr<container::RuntimeInfo> info) {
    loop.Post([this, alive, info = std::move(info)] {
      if (alive.expired()) return;
      RuntimeReport report;
      report.health = info.status();
      if (info.ok()) {
        runtime_name_ = info->name;
        report.version = fmt::format("{}://{}", info->name, info->version);
        report.network = info->network;
      }
      reporter_.SetRuntime(std::move(report));
      // Names of containers begin with the runtime's, so it is known before any pod is looked at.
      if (info.ok() && !listed_ && !listing_) ListNow();
      probe_timer_ = parts_.loop.After(kProbeInterval, [this] { ProbeRuntime(); });
    });
  });
}

std::uint64_t Agent::RequestList() {
  if (!listing_) {
    ListNow();
    return list_number_;
  }
  list_again_ = true;
  return list_number_ + 1;
}

void Agent::ListNow() {
  listing_ = true;
  list_again_ = false;
  list_timer_.Cancel();
  const std::uint64_t number = ++list_number_;
  parts_.runtime.List([this, number, &loop = parts_.loop,
                       alive = std::weak_ptr(alive_)](StatusOr<container::Inventory> inventory) {
    auto kept = std::make_shared<StatusOr<container::Inventory>>(std::move(inventory));
    loop.Post([this, number, alive, kept] {
      if (!alive.expired()) Listed(std::move(*kept), number);
    });
  });
}

void Agent::Listed(StatusOr<container::Inventory> inventory, std::uint64_t number) {
  listing_ = false;
  if (!inventory.ok()) {
    parts_.log.Warning("The runtime could not list its containers", {{"err", inventory.status()}});
    list_again_ = false;
    // Whoever waits for a list waits for the next one that succeeds.
    list_timer_ = parts_.loop.After(kListInterval, [this] { RequestList(); });
    return;
  }
  known_number_ = number;
  inventory_.clear();
  for (container::SandboxInfo& sandbox : inventory->sandboxes) {
    const std::string uid = sandbox.pod.uid;
    inventory_[uid].sandboxes.push_back(std::move(sandbox));
  }
  for (container::ContainerInfo& one : inventory->containers) {
    const std::string uid = one.pod.uid;
    inventory_[uid].containers.push_back(std::move(one));
  }
  listed_ = true;
  static const PodInventory kNothing;
  std::vector<std::string> uids;
  for (const auto& [uid, worker] : pods_) uids.push_back(uid);
  for (const std::string& uid : uids) {
    const auto worker = pods_.find(uid);
    const auto known = inventory_.find(uid);
    worker->second->OnInventory(known != inventory_.end() ? known->second : kNothing, number);
  }
  // A server that was away at the start may have nothing to tell when it is back.
  if (!pods_known_) DrainWatch();
  if (pods_known_) FindOrphans();
  if (list_again_ && !listing_) return ListNow();
  if (!listing_) list_timer_ = parts_.loop.After(kListInterval, [this] { RequestList(); });
}

// What runs for a pod that does not exist is ended like one that was deleted.
void Agent::FindOrphans() {
  std::vector<container::PodIdentity> orphans;
  for (const auto& [uid, known] : inventory_) {
    if (pods_.contains(uid) || uid.empty()) continue;
    const container::PodIdentity& identity =
        known.sandboxes.empty() ? known.containers.front().pod : known.sandboxes.front().pod;
    orphans.push_back(identity);
  }
  for (const container::PodIdentity& identity : orphans) {
    auto worker = std::make_unique<PodWorker>(static_cast<PodHost&>(*this), identity);
    PodWorker& added = *worker;
    pods_.emplace(identity.uid, std::move(worker));
    added.OnInventory(inventory_[identity.uid], known_number_);
  }
}

// ---- Claims ----

void Agent::Reconcile() {
  reconcile_timer_ = parts_.loop.After(kReconcileInterval, [this] { Reconcile(); });
  if (!ready() || !watch_->Stale().ok()) return;
  RemoveLeftFolders();
  claims_.Reconcile(
      [this](const std::string& uid) { return pods_.contains(uid); },
      [this](const std::string& uid, const Status& status) {
        if (status.ok()) {
          parts_.log.Info(2, "Claims of a pod that is gone are unprepared", {{"pod", uid}});
        } else {
          parts_.log.Warning("Claims of a pod that is gone could not be unprepared",
                             {{"pod", uid}, {"err", status}});
        }
      });
}

// Volumes and logs of pods that went while no agent ran, and of which the runtime has nothing any more:
// nobody else would look for them.
void Agent::RemoveLeftFolders() {
  if (std::exchange(removing_, true)) return;
  struct Folders {
    std::vector<std::string> pods;  // by UID
    std::vector<std::string> logs;  // <namespace>_<name>_<UID>
  };
  const auto look = [pods = options_.root + "/pods", logs = options_.log_root] {
    const auto names = [](const std::string& folder) {
      auto found = files::NamesIn(folder);
      return found.ok() ? *std::move(found) : std::vector<std::string>();
    };
    return Folders{.pods = names(pods), .logs = names(logs)};
  };
  Away(parts_.offload, parts_.loop, look, [this, alive = std::weak_ptr(alive_)](Folders found) {
    if (alive.expired()) return;
    removing_ = false;
    if (!ready() || !watch_->Stale().ok()) return;
    const auto known = [this](std::string_view uid) {
      return pods_.contains(uid) || inventory_.contains(uid);
    };
    std::erase_if(found.pods, known);
    std::erase_if(found.logs, [&](const std::string& name) {
      // A folder that is called otherwise is not ours.
      return std::ranges::count(name, '_') != 2 ||
             known(std::string_view(name).substr(name.rfind('_') + 1));
    });
    if (found.pods.empty() && found.logs.empty()) return;
    removing_ = true;
    Away(
        parts_.offload, parts_.loop,
        [found = std::move(found), root = options_.root, logs = options_.log_root]() -> Status {
          Status first;
          const auto note = [&](const Status& status) {
            if (first.ok()) first = status;
          };
          for (const std::string& uid : found.pods) note(RemovePodFolder(root, uid));
          for (const std::string& name : found.logs) {
            note(files::RemoveTree(fmt::format("{}/{}", logs, name)));
          }
          return first;
        },
        [this, alive](const Status& status) {
          if (alive.expired()) return;
          removing_ = false;
          if (!status.ok()) {
            parts_.log.Warning("Files of pods that are gone could not be removed",
                               {{"err", status}});
          }
        });
  });
}

void Agent::Fetch(const std::string& namespace_, std::vector<std::string> names,
                  std::function<void(StatusOr<Claims>)> done) {
  api::Cluster& cluster = parts_.cluster;
  Away(
      parts_.offload, parts_.loop,
      [&cluster, namespace_, names = std::move(names)]() -> StatusOr<Claims> {
        Claims claims;
        for (const std::string& name : names) {
          const std::string doing = fmt::format("fetch ResourceClaim {}", name);
          auto found =
              cluster.Find(api::HubKind(api::TypeInfoOf<api::ResourceClaim>()), namespace_, name);
          if (!found.ok()) return base::Annotate(found.status(), doing);
          if (!found->has_value()) {
            return base::FailedPrecondition(
                fmt::format("{}: resourceclaims.resource.k8s.io \"{}\" not found", doing, name));
          }
          claims.push_back(*(*found)->As<api::ResourceClaim>());
        }
        return claims;
      },
      std::move(done));
}

void Agent::WriteCheckpoint(ClaimChanges changes, std::function<void(Status)> done) {
  Away(
      parts_.offload, parts_.loop,
      [state = state_, changes = std::move(changes)] { return state->Write(changes); },
      std::move(done));
  // Not in the way of what comes next: when it is quiet.
  fold_timer_ = parts_.loop.After(kFoldAfter, [this] {
    Away(
        parts_.offload, parts_.loop, [state = state_] { return state->Fold(); },
        [log = parts_.log](const Status& status) {
          if (!status.ok()) log.Warning("Claims could not be checkpointed", {{"err", status}});
        });
  });
}

}  // namespace dray::node
