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
#include "node/pod_worker.h"
#include "node/volumes.h"

namespace dray::node {
namespace {

constexpr std::chrono::seconds kFirstRetry{1};
constexpr std::chrono::seconds kLongestPrepareRetry{90};
// What keeps a pod waiting is a claim that is not as it should be: nobody tells a node when that
// changes, so it looks.
constexpr std::chrono::seconds kLongestClaimRetry{10};
constexpr std::chrono::seconds kLongestRetry{60};

std::string Shown(const api::Pod& pod) {
  return fmt::format("{}_{}({})", pod.metadata.name, pod.metadata.namespace_, pod.metadata.uid);
}

// A folder below a volume that does not exist yet is made; one that leads out of the volume by a link
// is refused: whoever can write to the volume could reach all files of the machine.
Status MakeSubPaths(const api::Container& spec, const std::vector<container::Mount>& mounts,
                    const std::map<std::string, std::string>& volumes) {
  for (std::size_t i = 0; i < spec.volume_mounts.size(); ++i) {
    const api::VolumeMount& mount = spec.volume_mounts[i];
    if (mount.sub_path.empty() && mount.sub_path_expr.empty()) continue;
    std::error_code error;
    if (!std::filesystem::exists(mounts[i].host_path, error)) {
      DRAY_RETURN_IF_ERROR(files::MakeFolder(mounts[i].host_path));
    }
    const std::string volume = std::filesystem::canonical(volumes.at(mount.name), error).string();
    const std::string place = std::filesystem::canonical(mounts[i].host_path, error).string();
    if (error || !place.starts_with(volume + "/")) {
      return base::FailedPrecondition(fmt::format(
          "subPath \"{}\" of volume \"{}\" leads out of the volume", mount.sub_path, mount.name));
    }
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
  return InitStep() || MainStep() || RemoveOld();
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

bool PodWorker::VolumesStep() {
  if (has_volumes_) return false;
  if (pod().spec.volumes.empty()) {
    has_volumes_ = true;
    return false;
  }
  if (Later(volumes_at_)) return true;
  Busy("volumes");
  Away(
      host_.offload(), host_.loop(),
      [pod = pod(), root = host_.root()] { return MakeVolumes(pod, root); },
      [this, alive = std::weak_ptr(alive_)](StatusOr<std::map<std::string, std::string>> made) {
        if (alive.expired()) return;
        if (made.ok()) {
          has_volumes_ = true;
          volumes_ = *std::move(made);
        } else {
          Note("Warning", "FailedMount",
               fmt::format("MountVolume.SetUp failed: {}", base::Message(made.status())));
          sandbox_delay_ = NextDelay(sandbox_delay_, kFirstRetry, kLongestRetry);
          volumes_at_ = host_.loop().Now() + sandbox_delay_;
        }
        Idle(false);
      });
  return true;
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
    host_.runtime().Remove(info.id, BackStatus([this, log = info.log_path](const Status& removed) {
                             if (!removed.ok()) {
                               rest_at_ = host_.loop().Now() + kLongestRetry;
                               return Idle();
                             }
                             Away(
                                 host_.offload(), host_.loop(),
                                 [log] { return files::RemoveFile(log); },
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
  PodFacts facts{
      .host_ips = host_.host_ips(), .allocatable = host_.allocatable(), .volumes = volumes_};
  for (const container::SandboxInfo& sandbox : inventory_.sandboxes) {
    if (sandbox.ready) facts.pod_ips = pod().spec.host_network ? host_.host_ips() : sandbox.ips;
  }
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
  config->cdi_devices = *std::move(devices);
  config->image = image->id;
  config->attempt = track.next_attempt;
  config->log_path = fmt::format("{}/{}.log", track.spec.name, track.next_attempt);
  std::string folder;
  if (const auto sandbox = SandboxConfigOf(pod(), host_.log_root(), ""); sandbox.ok()) {
    folder = fmt::format("{}/{}", sandbox->log_directory, track.spec.name);
  }
  Away(
      host_.offload(), host_.loop(),
      [folder, spec = track.spec, mounts = config->mounts, volumes = volumes_]() -> Status {
        DRAY_RETURN_IF_ERROR(files::MakeFolder(folder));
        return MakeSubPaths(spec, mounts, volumes);
      },
      [this, &track, config = *config, alive = std::weak_ptr(alive_)](const Status& made) {
        if (alive.expired()) return;
        if (!made.ok()) {
          return StartFailed(track, "CreateContainerConfigError", std::string(base::Message(made)),
                             "Failed");
        }
        Create(track, config);
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
  host_.runtime().Start(id, BackStatus([this, &track](const Status& started) {
                          if (!started.ok()) {
                            return StartFailed(track, "RunContainerError",
                                               std::string(base::Message(started)), "Failed");
                          }
                          Note("Normal", "Started",
                               fmt::format("Started container {}", track.spec.name));
                          track.view.waiting_reason.clear();
                          track.view.waiting_message.clear();
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

// ---- Probes ----

void PodWorker::UpdateProbes() {
  std::string ip;
  for (const container::SandboxInfo& sandbox : inventory_.sandboxes) {
    if (sandbox.ready && !sandbox.ips.empty()) ip = sandbox.ips.front();
  }
  if (ip.empty() && !host_.host_ips().empty()) ip = host_.host_ips().front();
  for (auto* list : {&init_, &main_}) {
    for (auto& owned : *list) {
      Track& track = *owned;
      if (!track.view.running()) {
        track.Forget();
        track.view.ready = track.view.started = false;
        continue;
      }
      const auto make = [&](std::unique_ptr<Probe>& probe, Probe::Kind kind,
                            const api::Box<api::RawJson>& json) {
        if (!json) return;
        if (probe != nullptr && probe->container_id() == track.view.latest->id) return;
        auto spec = ReadProbe(*json, track.spec);
        if (!spec.ok()) {
          spec = ProbeSpec();
          spec->unsupported = "the probe cannot be understood";
        }
        probe = std::make_unique<Probe>(
            Probe::Parts{
                .loop = host_.loop(),
                .runtime = host_.runtime(),
                .client = host_.probes(),
                .changed = [this, &track](
                               Probe::Kind of, bool good,
                               const std::string& why) { ProbeChanged(track, of, good, why); },
                .failed =
                    [this, &track](Probe::Kind of, const std::string& why) {
                      constexpr std::string_view kNames[] = {"Startup", "Readiness", "Liveness"};
                      (void)track;
                      Note("Warning", "Unhealthy",
                           fmt::format("{} probe failed: {}", kNames[static_cast<std::size_t>(of)],
                                       why));
                    }},
            kind, *std::move(spec),
            Probe::Target{.container_id = track.view.latest->id,
                          .ip = ip,
                          .started_at = track.view.latest->started_at});
      };
      make(track.startup, Probe::Kind::kStartup, track.spec.startup_probe);
      track.view.started = track.startup == nullptr || track.startup->good() == true;
      if (!track.view.started) {
        track.view.ready = false;
        continue;
      }
      make(track.readiness, Probe::Kind::kReadiness, track.spec.readiness_probe);
      make(track.liveness, Probe::Kind::kLiveness, track.spec.liveness_probe);
      track.view.ready = track.readiness == nullptr || track.readiness->good() == true;
    }
  }
}

void PodWorker::ProbeChanged(Track& track, Probe::Kind kind, bool good, const std::string&) {
  if (!good && kind != Probe::Kind::kReadiness && track.view.running()) {
    track.unhealthy = track.view.latest->id;
    track.unhealthy_why =
        fmt::format("Container {} failed {} probe, will be restarted", track.spec.name,
                    kind == Probe::Kind::kLiveness ? "liveness" : "startup");
  }
  // Not from inside the probe: what follows may be its end.
  host_.loop().Post([this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) Sync();
  });
}

bool PodWorker::KillUnhealthy() {
  for (auto* list : {&init_, &main_}) {
    for (auto& track : *list) {
      if (track->unhealthy.empty() || !track->view.running() ||
          track->view.latest->id != track->unhealthy) {
        continue;
      }
      if (Later(stop_at_)) return true;
      Note("Normal", "Killing", track->unhealthy_why);
      Busy("restart " + track->spec.name);
      host_.runtime().Stop(track->unhealthy, Grace(), BackStatus([this](const Status& stopped) {
                             if (!stopped.ok()) stop_at_ = host_.loop().Now() + kFirstRetry;
                             Idle();
                           }));
      return true;
    }
  }
  return false;
}

}  // namespace dray::node
