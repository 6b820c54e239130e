// SPDX-License-Identifier: Apache-2.0
//
// PodWorker: the life of a pod that is to run. Volumes, claims, sandbox, init containers one after
// the other, then all others; and whatever ends is started again as the spec says.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "files/files.h"
#include "fmt/format.h"
#include "node/internal/pod_track.h"
#include "node/pod_files.h"
#include "node/pod_worker.h"
#include "node/refusals.h"
#include "node/termination_message.h"
#include "node/volumes.h"

namespace dray::node {
namespace {

constexpr std::chrono::seconds kFirstRetry{1};
constexpr std::chrono::seconds kLongestPrepareRetry{90};
// What keeps a pod waiting is a claim that is not as it should be: nobody tells a node when that
// changes, so it looks.
constexpr std::chrono::seconds kLongestClaimRetry{10};
constexpr std::chrono::seconds kLongestRetry{60};
// How old what a pod reads of config maps, secrets and itself may be.
constexpr std::chrono::seconds kRenewVolumes{60};

std::string Shown(const api::Pod& pod) {
  return fmt::format("{}_{}({})", pod.metadata.name, pod.metadata.namespace_, pod.metadata.uid);
}

// Mounts of something below a volume: from now on nobody can lead them elsewhere.
Status PlaceSubPaths(const api::Container& spec, const std::string& pod_folder,
                     const std::map<std::string, VolumePlace>& volumes,
                     std::vector<container::Mount>& mounts) {
  for (std::size_t i = 0; i < spec.volume_mounts.size(); ++i) {
    const api::VolumeMount& mount = spec.volume_mounts[i];
    if (mount.sub_path.empty() && mount.sub_path_expr.empty()) continue;
    const std::string& volume = volumes.at(mount.name).path;
    const std::string below = mounts[i].host_path.substr(volume.size() + 1);
    DRAY_ASSIGN_OR_RETURN(mounts[i].host_path,
                          PlaceSubPath(pod_folder, mount.name, volume, below, spec.name, i));
  }
  return {};
}

}  // namespace

bool PodWorker::StepRun() {
  if (Reject() || VolumesStep() || KillUnhealthy()) return true;
  const bool has_sandbox = std::ranges::any_of(
      inventory_.sandboxes, [](const container::SandboxInfo& one) { return one.ready; });
  if (!has_sandbox) {
    if (CleanUpSandboxes()) return true;
    if (NeedsNoSandbox()) {
      BeginEnd();
      return StepEnd();
    }
    return PrepareStep() || SandboxStep();
  }
  return DebugStep() || InitStep() || MainStep() || RemoveOld();
}

bool PodWorker::Reject() {
  if (admitted_) return false;
  const auto rejection = host_.Admit(pod());
  if (!rejection) {
    admitted_ = true;
    return false;
  }
  verdict_ = Verdict{rejection->reason, "Pod was rejected: " + rejection->message};
  Note("Warning", rejection->reason, rejection->message);
  BeginEnd();
  return StepEnd();
}

// A sandbox that is not ready any more (the machine was started again) makes room for a new one.
bool PodWorker::CleanUpSandboxes() {
  if (inventory_.sandboxes.empty()) return false;
  if (Later(sandbox_at_)) return true;
  const std::string id = inventory_.sandboxes.front().id;
  const auto failed = [this](const Status& status) {
    Note("Warning", "FailedKillPod", fmt::format("error killing pod: {}", base::Message(status)));
    sandbox_at_ = host_.loop().Now() + kFirstRetry;
    Idle();
  };
  for (const container::SandboxInfo& one : inventory_.sandboxes) {
    next_sandbox_ = std::max(next_sandbox_, one.attempt + 1);
  }
  Busy("clean up");
  host_.runtime().StopSandbox(id, BackStatus([this, id, failed](const Status& stopped) {
                                if (!stopped.ok()) return failed(stopped);
                                host_.runtime().RemoveSandbox(
                                    id, BackStatus([this, failed](const Status& removed) {
                                      if (!removed.ok()) return failed(removed);
                                      Idle();
                                    }));
                              }));
  return true;
}

// Everything has ended that would run in it.
bool PodWorker::NeedsNoSandbox() const {
  const api::PodSpec& spec = pod().spec;
  const auto over = [&](const auto& track) {
    return track->view.exited() &&
           !Restarts(spec, track->spec, track->is_init, track->view.latest->exit_code);
  };
  const bool init_failed = std::ranges::any_of(init_, [&](const auto& track) {
    return over(track) && !track->view.succeeded() && !IsSidecar(track->spec);
  });
  return init_failed || (!main_.empty() && std::ranges::all_of(main_, over));
}

PodFacts PodWorker::Facts() const {
  PodFacts facts{.host_ips = host_.host_ips(), .allocatable = host_.allocatable()};
  facts.volumes = volumes_.places;
  facts.seccomp_folder = host_.root() + "/seccomp";
  facts.runtime_checks_user = host_.runtime().ChecksUser();
  for (const container::SandboxInfo& sandbox : inventory_.sandboxes) {
    if (sandbox.ready) facts.pod_ips = pod().spec.host_network ? host_.host_ips() : sandbox.ips;
  }
  return facts;
}

bool PodWorker::VolumesStep() {
  if (has_volumes_ && !volumes_old_) return false;
  if (pod().spec.volumes.empty()) {
    has_volumes_ = true;
    return false;
  }
  // Those that are there are good enough to go on with.
  if (Later(volumes_at_)) return !has_volumes_;
  Busy("volumes");
  volumes_old_ = false;
  VolumeWork work{.pod = pod(),
                  .root = host_.root(),
                  .facts = Facts(),
                  .now = host_.loop().clock().Now(),
                  .tokens = volumes_.tokens};
  Away(
      host_.offload(), host_.loop(),
      [work = std::move(work), &sources = host_.sources()] { return MakeVolumes(work, sources); },
      [this, alive = std::weak_ptr(alive_)](StatusOr<VolumesMade> made) {
        if (!alive.expired()) OnVolumes(std::move(made));
      });
  return true;
}

void PodWorker::OnVolumes(StatusOr<VolumesMade> made) {
  if (made.ok()) {
    has_volumes_ = true;
    volumes_delay_ = {};
    volumes_ = *std::move(made);
    if (!volumes_.exceeded.empty()) {
      verdict_ = Verdict{"Evicted", volumes_.exceeded};
      Note("Warning", "Evicted", volumes_.exceeded);
    }
  } else {
    Note("Warning", "FailedMount",
         fmt::format("MountVolume.SetUp failed: {}", base::Message(made.status())));
    volumes_delay_ = NextDelay(volumes_delay_, kFirstRetry, kLongestRetry);
    volumes_at_ = host_.loop().Now() + volumes_delay_;
    volumes_old_ = has_volumes_;
  }
  if (volumes_.changes) {
    renew_ = host_.loop().After(kRenewVolumes, [this] {
      volumes_old_ = true;
      Sync();
    });
  }
  Idle(false);
}

bool PodWorker::PrepareStep() {
  if (prepared_) return false;
  if (Later(prepare_at_)) return true;
  Busy("prepare");
  host_.claims().Prepare(pod(), BackStatus([this](const Status& status) { Prepared(status); }));
  return true;
}

void PodWorker::Prepared(const Status& status) {
  if (status.ok()) {
    prepared_ = true;
    prepare_delay_ = {};
    return Idle(false);
  }
  Note("Warning", "FailedPrepareDynamicResources",
       fmt::format("Failed to prepare dynamic resources: prepare dynamic resources: {}",
                   base::Message(status)));
  const auto longest =
      status.code() == StatusCode::kFailedPrecondition ? kLongestClaimRetry : kLongestPrepareRetry;
  prepare_delay_ = NextDelay(prepare_delay_, kFirstRetry, longest);
  prepare_at_ = host_.loop().Now() + prepare_delay_;
  Idle(false);
}

bool PodWorker::SandboxStep() {
  if (Later(sandbox_at_)) return true;
  auto config = SandboxConfigOf(pod(), host_.log_root(), host_.cgroup_parent());
  if (!config.ok()) {
    Note("Warning", "FailedCreatePodSandBox", std::string(base::Message(config.status())));
    sandbox_at_ = host_.loop().Now() + kLongestRetry;
    return Later(sandbox_at_);
  }
  config->attempt = next_sandbox_;
  Busy("sandbox");
  Away(
      host_.offload(), host_.loop(),
      [folder = config->log_directory] { return files::MakeFolder(folder); },
      [this, config = *config, alive = std::weak_ptr(alive_)](const Status& made) {
        if (alive.expired()) return;
        const auto back =
            Back<container::SandboxInfo>([this](StatusOr<container::SandboxInfo> ran) {
              if (ran.ok()) {
                sandbox_delay_ = {};
                // The next one is prepared for again.
                prepared_ = false;
              } else {
                Note("Warning", "FailedCreatePodSandBox",
                     fmt::format("Failed to create pod sandbox: {}", base::Message(ran.status())));
                sandbox_delay_ = NextDelay(sandbox_delay_, kFirstRetry, kLongestRetry);
                sandbox_at_ = host_.loop().Now() + sandbox_delay_;
              }
              Idle();
            });
        if (!made.ok()) return back(made);
        host_.runtime().RunSandbox(config, back);
      });
  return true;
}

bool PodWorker::DebugStep() {
  for (auto& track : ephemeral_) {
    // Once: one that has ended is not started again.
    if (track->view.latest && !track->stuck()) continue;
    if (const auto refused = RefusedDebugger(pod(), track->spec, host_.enforcing())) {
      if (track->view.waiting_reason == refused->reason) continue;
      track->view.waiting_reason = refused->reason;
      track->view.waiting_message = refused->message;
      Note("Warning", refused->reason, refused->message);
      continue;
    }
    if (StartContainer(*track)) return true;
  }
  return false;
}

bool PodWorker::InitStep() {
  // Of a sandbox before this one nothing counts: init containers run again.
  const auto here = [&](const ContainerView& view) {
    return view.latest && std::ranges::any_of(inventory_.sandboxes, [&](const auto& sandbox) {
             return sandbox.ready && sandbox.id == view.latest->sandbox_id;
           });
  };
  const bool main_began =
      std::ranges::any_of(main_, [&](const auto& track) { return here(track->view); });
  for (auto& track : init_) {
    const ContainerView& view = track->view;
    if (IsSidecar(track->spec)) {
      if (!view.running()) {
        if (StartContainer(*track)) return true;
        // In its back-off; others that run already do not wait for it.
        if (!main_began) return true;
      } else if (!view.started && !main_began) {
        return true;  // its startup probe calls back
      }
      continue;
    }
    // Once the others have begun, these are through, whether the runtime still has them or not.
    if (main_began || (view.succeeded() && here(view))) continue;
    if (view.running()) return true;
    if (view.exited() && here(view) &&
        !Restarts(pod().spec, track->spec, true, view.latest->exit_code)) {
      BeginEnd();
      return StepEnd();
    }
    StartContainer(*track);
    return true;
  }
  return false;
}

bool PodWorker::MainStep() {
  bool over = !main_.empty();
  for (auto& track : main_) {
    const ContainerView& view = track->view;
    if (view.running()) {
      over = false;
      // Those behind it wait for its hook.
      if (view.starting) return true;
      continue;
    }
    if (view.exited() && !Restarts(pod().spec, track->spec, false, view.latest->exit_code))
      continue;
    over = false;
    if (StartContainer(*track)) return true;
  }
  if (!over) return false;
  BeginEnd();
  return StepEnd();
}

// The one before the latest is kept, for its logs and for the status; those before that go.
bool PodWorker::RemoveOld() {
  if (Later(rest_at_)) return false;
  for (const container::ContainerInfo& info : inventory_.containers) {
    const Track* track = FindTrack(info.name);
    if (track == nullptr || !track->view.latest ||
        info.attempt + 1 >= track->view.latest->attempt ||
        info.state == container::ContainerState::kRunning) {
      continue;
    }
    Busy("remove " + info.name);
    const std::string message = MessageFile(PodFolder(host_.root(), uid_), info.name, info.attempt);
    host_.runtime().Remove(info.id,
                           BackStatus([this, id = info.id, name = info.name, log = info.log_path,
                                       message](const Status& removed) {
                             if (!removed.ok()) {
                               rest_at_ = host_.loop().Now() + kLongestRetry;
                               return Idle();
                             }
                             if (Track* gone = FindTrack(name)) gone->messages.erase(id);
                             Away(
                                 host_.offload(), host_.loop(),
                                 [log, message] {
                                   (void)files::RemoveFile(message);
                                   return files::RemoveFile(log);
                                 },
                                 [this, alive = std::weak_ptr(alive_)](const Status&) {
                                   if (!alive.expired()) Idle();
                                 });
                           }));
    return true;
  }
  return false;
}

// As long as it was seen to end the same way: 10 s, then twice that, at most 5 min; forgotten when it
// has run for 10 min.
bool PodWorker::InBackoff(Track& track) {
  const ContainerView& view = track.view;
  if (view.exited() && track.counted != static_cast<std::int64_t>(view.latest->attempt)) {
    track.counted = view.latest->attempt;
    if (view.latest->finished_at - view.latest->started_at >= kRestartsForgotten) {
      track.backoff = {};
    }
    const auto since = host_.loop().clock().Now() - view.latest->finished_at;
    if (track.backoff > since) {
      track.not_before = host_.loop().Now() + (track.backoff - since);
      const std::string& name = track.spec.name;
      track.view.waiting_reason = "CrashLoopBackOff";
      track.view.waiting_message =
          fmt::format("back-off {} restarting failed container={} pod={}",
                      base::GoDurationToString(track.backoff), name, Shown(pod()));
      Note("Warning", "BackOff",
           fmt::format("Back-off restarting failed container {} in pod {}", name, Shown(pod())));
    }
    track.backoff = NextDelay(track.backoff, kFirstRestart, kLongestRestart);
  }
  return Later(track.not_before);
}

bool PodWorker::StartContainer(Track& track) {
  if (InBackoff(track)) return false;
  if (track.stuck()) {
    // Made, but not started: what it was made with still holds.
    if (track.view.latest->state == container::ContainerState::kCreated) {
      Busy("start " + track.spec.name);
      Start(track, track.view.latest->id);
      return true;
    }
    Busy("remove " + track.spec.name);
    host_.runtime().Stop(track.view.latest->id, std::chrono::seconds(0),
                         BackStatus([this, &track](const Status&) {
                           track.not_before = host_.loop().Now() + kFirstRetry;
                           Idle();
                         }));
    return true;
  }
  Busy("start " + track.spec.name);
  host_.runtime().FindImage(
      track.spec.image,
      Back<container::ImageInfo>([this, &track](StatusOr<container::ImageInfo> image) {
        FoundImage(track, std::move(image));
      }));
  return true;
}

void PodWorker::FoundImage(Track& track, StatusOr<container::ImageInfo> image) {
  const std::string& name = track.spec.image;
  if (!image.ok()) {
    if (track.spec.image_pull_policy == "Never" && image.status().code() == StatusCode::kNotFound) {
      return StartFailed(track, "ErrImageNeverPull",
                         fmt::format("Container image \"{}\" is not present with pull policy of "
                                     "Never: {}",
                                     name, base::Message(image.status())),
                         "Failed");
    }
    return StartFailed(
        track, "ErrImagePull",
        fmt::format("Failed to pull image \"{}\": {}", name, base::Message(image.status())),
        "Failed");
  }
  Note("Normal", "Pulled", fmt::format("Container image \"{}\" already present on machine", name));
  PodFacts facts = Facts();
  const KeptNames names = NamedIn(track.spec);
  if (names.empty()) return Configure(track, *image, std::move(facts));
  Away(
      host_.offload(), host_.loop(),
      [names, facts, namespace_ = pod().metadata.namespace_,
       &sources = host_.sources()]() mutable -> StatusOr<PodFacts> {
        for (const std::string& one : names.config_maps) {
          DRAY_ASSIGN_OR_RETURN(facts.config_maps[one], sources.ConfigMap(namespace_, one));
        }
        for (const std::string& one : names.secrets) {
          DRAY_ASSIGN_OR_RETURN(facts.secrets[one], sources.Secret(namespace_, one));
        }
        return std::move(facts);
      },
      [this, &track, image = *image, alive = std::weak_ptr(alive_)](StatusOr<PodFacts> fetched) {
        if (alive.expired()) return;
        if (!fetched.ok()) {
          return StartFailed(track, "CreateContainerConfigError",
                             std::string(base::Message(fetched.status())), "Failed");
        }
        Configure(track, image, *std::move(fetched));
      });
}

void PodWorker::Configure(Track& track, const container::ImageInfo& image, PodFacts facts) {
  auto config = ConfigOf(pod(), track.spec, facts);
  if (!config.ok()) {
    return StartFailed(track, "CreateContainerConfigError",
                       std::string(base::Message(config.status())), "Failed");
  }
  auto devices = host_.claims().CdiNamesFor(pod(), track.spec);
  if (!devices.ok()) {
    return StartFailed(track, "CreateContainerConfigError",
                       std::string(base::Message(devices.status())), "Failed");
  }
  if (!track.target.empty()) {
    const Track* target = FindTrack(track.target);
    if (target == nullptr || !target->view.running()) {
      return StartFailed(track, "CreateContainerConfigError",
                         fmt::format("unable to find target container {}", track.target), "Failed");
    }
    config->pid_target = target->view.latest->id;
  }
  config->cdi_devices = *std::move(devices);
  config->image = image.id;
  config->attempt = track.next_attempt;
  config->log_path = fmt::format("{}/{}.log", track.spec.name, track.next_attempt);
  const std::string message =
      MessageFile(PodFolder(host_.root(), uid_), track.spec.name, track.next_attempt);
  const std::string& message_path = track.spec.termination_message_path;
  const bool has_message =
      !message_path.empty() &&
      std::ranges::find(config->mounts, message_path, &container::Mount::container_path) ==
          config->mounts.end();
  if (has_message) {
    config->mounts.push_back({.container_path = message_path, .host_path = message});
  }
  std::string folder;
  if (const auto sandbox = SandboxConfigOf(pod(), host_.log_root(), ""); sandbox.ok()) {
    folder = fmt::format("{}/{}", sandbox->log_directory, track.spec.name);
  }
  AddPodFiles(PodFolder(host_.root(), uid_), config->mounts);
  Away(
      host_.offload(), host_.loop(),
      [folder, spec = track.spec, config = *std::move(config), volumes = facts.volumes, pod = pod(),
       ips = facts.pod_ips, pod_folder = PodFolder(host_.root(), uid_),
       message = has_message ? message
                             : std::string()]() mutable -> StatusOr<container::ContainerConfig> {
        DRAY_RETURN_IF_ERROR(files::MakeFolder(folder));
        DRAY_RETURN_IF_ERROR(WritePodFiles(pod, ips, pod_folder));
        if (!message.empty()) DRAY_RETURN_IF_ERROR(MakeMessageFile(message));
        DRAY_RETURN_IF_ERROR(PlaceSubPaths(spec, pod_folder, volumes, config.mounts));
        return std::move(config);
      },
      [this, &track, alive = std::weak_ptr(alive_)](StatusOr<container::ContainerConfig> made) {
        if (alive.expired()) return;
        if (!made.ok()) {
          return StartFailed(track, "CreateContainerConfigError",
                             std::string(base::Message(made.status())), "Failed");
        }
        Create(track, *std::move(made));
      });
}

void PodWorker::Create(Track& track, container::ContainerConfig config) {
  const container::SandboxInfo* ready = nullptr;
  for (const container::SandboxInfo& sandbox : inventory_.sandboxes) {
    if (sandbox.ready) ready = &sandbox;
  }
  auto sandbox = SandboxConfigOf(pod(), host_.log_root(), host_.cgroup_parent());
  if (ready == nullptr || !sandbox.ok()) return Idle();
  sandbox->attempt = ready->attempt;
  host_.runtime().Create(
      ready->id, *sandbox, config, Back<std::string>([this, &track](StatusOr<std::string> id) {
        if (!id.ok()) {
          return StartFailed(track, "CreateContainerError", std::string(base::Message(id.status())),
                             "Failed");
        }
        Note("Normal", "Created", fmt::format("Created container: {}", track.spec.name));
        Start(track, *id);
      }));
}

void PodWorker::Start(Track& track, const std::string& id) {
  host_.runtime().Start(id, BackStatus([this, &track, id](const Status& started) {
                          if (!started.ok()) {
                            return StartFailed(track, "RunContainerError",
                                               std::string(base::Message(started)), "Failed");
                          }
                          Note("Normal", "Started",
                               fmt::format("Started container {}", track.spec.name));
                          track.view.waiting_reason.clear();
                          track.view.waiting_message.clear();
                          if (track.lifecycle.post_start) BeginPostStart(track, id);
                          Idle();
                        }));
}

void PodWorker::StartFailed(Track& track, std::string reason, std::string message,
                            std::string event) {
  Note("Warning", event, fmt::format("Error: {}", message));
  track.view.waiting_reason = std::move(reason);
  track.view.waiting_message = std::move(message);
  track.backoff = NextDelay(track.backoff, kFirstRestart, kLongestRestart);
  track.not_before = host_.loop().Now() + track.backoff;
  Idle();
}

}  // namespace dray::node
