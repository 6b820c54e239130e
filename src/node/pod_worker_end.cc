// SPDX-License-Identifier: Apache-2.0
//
// PodWorker: the end of a pod. Containers are stopped, then it is seen that none runs, then claims
// are unprepared, and only then anybody is told that it is over: whoever gives devices away goes by
// that.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/seconds.h"
#include "files/files.h"
#include "fmt/format.h"
#include "node/internal/pod_track.h"
#include "node/pod_worker.h"
#include "node/volumes.h"

namespace dray::node {
namespace {

constexpr std::chrono::seconds kDefaultGrace{30};
constexpr std::chrono::seconds kFirstRetry{1};
constexpr std::chrono::seconds kLongestUnprepareRetry{15};
constexpr std::chrono::seconds kLongestRetry{30};

}  // namespace

void PodWorker::BeginEnd() {
  terminating_ = true;
  deadline_.Cancel();
  renew_.Cancel();
  for (auto* list : {&init_, &main_, &ephemeral_}) {
    for (auto& track : *list) {
      track->Forget();
      track->unhealthy.clear();
    }
  }
}

std::chrono::seconds PodWorker::Grace() const {
  const api::Pod& now = pod();
  if (now.metadata.deletion_timestamp && now.metadata.deletion_grace_period_seconds) {
    // 0 is the API server's way to say "now"; a process still gets to hear of it.
    return base::BoundedSeconds(
        std::max<std::int64_t>(1, *now.metadata.deletion_grace_period_seconds));
  }
  if (now.spec.termination_grace_period_seconds) {
    return base::BoundedSeconds(
        std::max<std::int64_t>(0, *now.spec.termination_grace_period_seconds));
  }
  return kDefaultGrace;
}

std::chrono::seconds PodWorker::GraceLeft() const {
  if (!stop_deadline_) return Grace();
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(*stop_deadline_ -
                                                                     host_.loop().clock().Now());
  return std::max(left, kLeastGrace);
}

bool PodWorker::StepEnd() {
  if (StopContainers() || StopSandboxes()) return true;
  if (UnprepareStep()) return true;
  ended_ = true;
  if (object_exists_) return RemoveObject();
  return RemoveRest();
}

// Ordinary containers at the same time; when they have ended, sidecars, the last one first.
bool PodWorker::StopContainers() {
  std::vector<const container::ContainerInfo*> running;
  std::vector<const container::ContainerInfo*> sidecars;
  for (const container::ContainerInfo& info : inventory_.containers) {
    if (info.state == container::ContainerState::kExited) continue;
    const auto it = std::ranges::find_if(
        init_, [&](const auto& track) { return track->spec.name == info.name; });
    const bool sidecar = it != init_.end() && IsSidecar((*it)->spec);
    (sidecar ? sidecars : running).push_back(&info);
  }
  if (running.empty() && !sidecars.empty()) {
    const auto order = [&](const container::ContainerInfo* info) {
      return std::ranges::find_if(
                 init_, [&](const auto& track) { return track->spec.name == info->name; }) -
             init_.begin();
    };
    running = {*std::ranges::max_element(sidecars, {}, order)};
  }
  if (running.empty()) return false;
  if (Later(stop_at_)) return true;
  const std::chrono::seconds grace = GraceLeft();
  if (!stop_deadline_) stop_deadline_ = host_.loop().clock().Now() + grace;
  stopping_with_ = grace;
  Busy("stop");
  auto left = std::make_shared<std::size_t>(running.size());
  auto failed = std::make_shared<Status>();
  for (const container::ContainerInfo* info : running) {
    Note("Normal", "Killing", fmt::format("Stopping container {}", info->name));
    StopOne(*info, grace, [this, left, failed](const Status& status) {
      if (!status.ok()) *failed = status;
      if (--*left > 0) return;
      if (!failed->ok()) {
        Note("Warning", "FailedKillPod",
             fmt::format("error killing pod: {}", base::Message(*failed)));
        // The list tells whether it runs; if so, it is stopped again in a moment.
        stop_at_ = host_.loop().Now() + kFirstRetry;
      }
      Idle();
    });
  }
  return true;
}

bool PodWorker::StopSandboxes() {
  for (const container::SandboxInfo& sandbox : inventory_.sandboxes) {
    if (!sandbox.ready) continue;
    if (Later(stop_at_)) return true;
    Busy("stop sandbox");
    host_.runtime().StopSandbox(
        sandbox.id, BackStatus([this](const Status& status) {
          if (!status.ok()) {
            Note("Warning", "FailedKillPod",
                 fmt::format("error killing pod: {}", base::Message(status)));
            stop_at_ = host_.loop().Now() + kFirstRetry;
          }
          Idle();
        }));
    return true;
  }
  return false;
}

bool PodWorker::UnprepareStep() {
  if (unprepared_ && !host_.claims().Holds(uid_)) return false;
  if (Later(unprepare_at_)) return true;
  Busy("unprepare");
  host_.claims().Unprepare(
      uid_, BackStatus([this](const Status& status) {
        if (status.ok()) {
          unprepared_ = true;
          unprepare_delay_ = {};
          return Idle(false);
        }
        Note("Warning", "FailedUnprepareDynamicResources",
             fmt::format("Failed to unprepare dynamic resources: {}", base::Message(status)));
        host_.log().Warning(
            "Claims of a pod could not be unprepared",
            {{"pod", pod().metadata.namespace_ + "/" + pod().metadata.name}, {"err", status}});
        unprepare_delay_ = NextDelay(unprepare_delay_, kFirstRetry, kLongestUnprepareRetry);
        unprepare_at_ = host_.loop().Now() + unprepare_delay_;
        Idle(false);
      }));
  return true;
}

// The object of a pod that is to be deleted goes when its status is final, and when nobody could
// believe that its devices are in use.
bool PodWorker::RemoveObject() {
  const api::Pod& now = pod();
  if (!now.metadata.deletion_timestamp || !IsTerminal(now.status) || writing_) return false;
  if (host_.claims().Holds(uid_)) return false;
  if (Later(remove_at_)) return true;
  Busy("remove");
  api::Cluster& cluster = host_.cluster();
  Away(
      host_.offload(), host_.loop(),
      [&cluster, ns = now.metadata.namespace_, name = now.metadata.name, uid = uid_] {
        return cluster.Delete(api::HubKind(api::TypeInfoOf<api::Pod>()), ns, name, uid);
      },
      [this, alive = std::weak_ptr(alive_)](Status removed) {
        if (alive.expired()) return;
        // Another object by that name has another UID: ours is gone.
        if (removed.ok() || removed.code() == StatusCode::kNotFound ||
            removed.code() == StatusCode::kAborted) {
          remove_delay_ = {};
          // The watch tells when it is gone; somebody's finalizers may keep it.
          remove_at_ = host_.loop().Now() + kLongestRetry;
        } else {
          remove_delay_ = NextDelay(remove_delay_, kFirstRetry, kLongestRetry);
          remove_at_ = host_.loop().Now() + remove_delay_;
          host_.log().Warning(
              "A pod could not be removed",
              {{"pod", pod().metadata.namespace_ + "/" + pod().metadata.name}, {"err", removed}});
        }
        Idle(false);
      });
  return true;
}

// Nobody can ask for its logs any more.
bool PodWorker::RemoveRest() {
  if (!inventory_.sandboxes.empty()) {
    if (Later(rest_at_)) return true;
    Busy("remove sandbox");
    host_.runtime().RemoveSandbox(inventory_.sandboxes.front().id,
                                  BackStatus([this](const Status& status) {
                                    if (!status.ok()) {
                                      rest_at_ = host_.loop().Now() + kFirstRetry;
                                    } else {
                                      rest_at_.reset();
                                    }
                                    Idle();
                                  }));
    return true;
  }
  Busy("remove files");
  std::string logs;
  if (const auto sandbox = SandboxConfigOf(pod(), host_.log_root(), ""); sandbox.ok()) {
    logs = sandbox->log_directory;
  }
  Away(
      host_.offload(), host_.loop(),
      [root = host_.root(), uid = uid_, logs]() -> Status {
        const Status one = RemovePodFolder(root, uid);
        const Status two = files::RemoveTree(logs);
        return one.ok() ? two : one;
      },
      [this, alive = std::weak_ptr(alive_)](const Status& status) {
        if (alive.expired()) return;
        if (!status.ok()) {
          host_.log().Warning("Files of a pod could not be removed", {{"err", status}});
        }
        finished_ = true;
        host_.Finished(uid_);
      });
  return true;
}

}  // namespace dray::node
