// SPDX-License-Identifier: Apache-2.0
//
// PodWorker: hooks of its containers, and what they leave when they end.
#include <algorithm>
#include <memory>
#include <utility>

#include "fmt/format.h"
#include "node/internal/pod_track.h"
#include "node/pod_worker.h"
#include "node/termination_message.h"
#include "node/volumes.h"

namespace dray::node {

ActionTarget PodWorker::TargetOf(const container::ContainerInfo& info) const {
  ActionTarget target{.container_id = info.id, .sandbox_id = info.sandbox_id, .ip = {}};
  if (pod().spec.host_network) {
    if (!host_.host_ips().empty()) target.ip = host_.host_ips().front();
    return target;
  }
  for (const container::SandboxInfo& sandbox : inventory_.sandboxes) {
    if (sandbox.id == info.sandbox_id && !sandbox.ips.empty()) target.ip = sandbox.ips.front();
  }
  return target;
}

void PodWorker::RunHook(Track& track, const Action& action, const ActionTarget& target,
                        std::optional<std::chrono::seconds> timeout,
                        std::function<void(Status)> then) {
  // Whichever comes first, the answer or the end of the time: it is told once.
  auto waiting = std::make_shared<std::function<void(Status)>>(std::move(then));
  const auto finish = [waiting](const Status& status) {
    if (!*waiting) return;
    std::exchange(*waiting, nullptr)(status);
  };
  if (action.sleep) {
    const auto time = timeout ? std::min(*action.sleep, *timeout) : *action.sleep;
    track.hook = host_.loop().After(time, [finish] { finish({}); });
    return;
  }
  if (timeout) {
    track.hook = host_.loop().After(*timeout, [finish] {
      finish(base::Unavailable("it took longer than the container has to end"));
    });
  }
  // Over HTTP an answer is all that is needed; somebody who never answers is not waited for, though.
  constexpr std::chrono::seconds kLongestHttp{120};
  const auto limit = timeout ? *timeout : (action.http ? kLongestHttp : std::chrono::seconds(0));
  RunAction(action, target, limit, /*any_status=*/true, host_.runtime(), host_.probes(),
            BackStatus(finish));
}

// The worker goes on meanwhile: a pod whose hook hangs can be deleted.
void PodWorker::BeginPostStart(Track& track, const std::string& id) {
  track.starting = id;
  track.Settle();
  container::ContainerInfo info;
  info.id = id;
  for (const container::SandboxInfo& sandbox : inventory_.sandboxes) {
    if (sandbox.ready) info.sandbox_id = sandbox.id;
  }
  RunHook(track, *track.lifecycle.post_start, TargetOf(info), std::nullopt,
          [this, &track, id](const Status& ran) {
            if (track.starting != id) return;
            track.starting.clear();
            track.Settle();
            if (!ran.ok()) {
              Note("Warning", "FailedPostStartHook",
                   fmt::format("PostStartHook of container {} failed: {}", track.spec.name,
                               base::Message(ran)));
              track.unhealthy = id;
              track.unhealthy_grace.reset();
              track.unhealthy_why = fmt::format(
                  "Container {} failed its postStart hook, will be stopped", track.spec.name);
            }
            Sync();
          });
}

void PodWorker::StopOne(const container::ContainerInfo& info, std::chrono::seconds grace,
                        std::function<void(Status)> done) {
  Track* track = FindTrack(info.name);
  if (track == nullptr || !track->lifecycle.pre_stop || grace.count() <= 0 ||
      info.state != container::ContainerState::kRunning) {
    return host_.runtime().Stop(info.id, grace, BackStatus(std::move(done)));
  }
  RunHook(*track, *track->lifecycle.pre_stop, TargetOf(info), grace,
          [this, name = info.name, id = info.id, grace, begun = host_.loop().Now(),
           done = std::move(done)](const Status& ran) {
            if (!ran.ok()) {
              Note("Warning", "FailedPreStopHook",
                   fmt::format("PreStopHook of container {} failed: {}", name, base::Message(ran)));
            }
            const auto taken =
                std::chrono::duration_cast<std::chrono::seconds>(host_.loop().Now() - begun);
            std::chrono::seconds left = std::max(kLeastGrace, grace - taken);
            // Somebody may have asked for less meanwhile.
            if (stopping_with_.count() >= 0) left = std::min(left, stopping_with_);
            host_.runtime().Stop(id, left, BackStatus(done));
          });
}

// ---- What containers leave ----

bool PodWorker::ReadMessages() {
  struct Wanted {
    std::string container;
    std::string id;
    std::string file;
    std::string log;  // empty: it does not stand in for a message
    std::string text;
  };
  std::vector<Wanted> wanted;
  for (const container::ContainerInfo& info : inventory_.containers) {
    if (info.state != container::ContainerState::kExited) continue;
    const Track* track = FindTrack(info.name);
    if (track == nullptr || track->messages.contains(info.id)) continue;
    const bool from_log =
        track->spec.termination_message_policy == "FallbackToLogsOnError" && info.exit_code != 0;
    if (track->spec.termination_message_path.empty() && !from_log) continue;
    wanted.push_back(
        {.container = info.name,
         .id = info.id,
         .file = track->spec.termination_message_path.empty()
                     ? std::string()
                     : MessageFile(PodFolder(host_.root(), uid_), info.name, info.attempt),
         .log = from_log ? info.log_path : std::string(),
         .text = {}});
  }
  if (wanted.empty()) return false;
  Busy(kReadingMessages);
  Away(
      host_.offload(), host_.loop(),
      [wanted = std::move(wanted)]() mutable {
        for (Wanted& one : wanted) one.text = ReadMessage(one.file, one.log);
        return std::move(wanted);
      },
      [this, alive = std::weak_ptr(alive_)](const std::vector<Wanted>& read) {
        if (alive.expired()) return;
        for (const Wanted& one : read) {
          if (Track* track = FindTrack(one.container)) track->messages[one.id] = one.text;
        }
        RefreshViews();
        Idle(false);
      });
  return true;
}

void PodWorker::AddMessage(const Track& track, container::ContainerInfo& info) const {
  const auto found = track.messages.find(info.id);
  if (found == track.messages.end() || found->second.empty()) return;
  info.message += (info.message.empty() ? "" : ": ") + found->second;
}

}  // namespace dray::node
