// SPDX-License-Identifier: Apache-2.0
//
// PodWorker: probes of its containers, and what follows from their answers.
#include <utility>

#include "fmt/format.h"
#include "node/internal/pod_track.h"
#include "node/pod_worker.h"

namespace dray::node {
namespace {

constexpr std::chrono::seconds kFirstRetry{1};

std::string_view NameOf(Probe::Kind kind) {
  constexpr std::string_view kNames[] = {"Startup", "Readiness", "Liveness"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace

void PodWorker::UpdateProbes() {
  for (auto* list : {&init_, &main_}) {
    for (auto& owned : *list) {
      Track& track = *owned;
      if (!track.view.shown_running()) {
        track.Forget();
        // One whose start nobody has listed yet may be unhealthy already: its hook has failed.
        if (track.view.exited() && track.view.latest->id == track.unhealthy) {
          track.unhealthy.clear();
        }
        track.view.ready = track.view.started = false;
        continue;
      }
      const auto make = [&](std::unique_ptr<Probe>& probe, Probe::Kind kind,
                            const api::Box<api::RawJson>& json) {
        if (!json) return;
        if (probe != nullptr && probe->container_id() == track.view.latest->id) return;
        probe = std::make_unique<Probe>(
            Probe::Parts{.loop = host_.loop(),
                         .runtime = host_.runtime(),
                         .client = host_.probes(),
                         .changed =
                             [this, &track](Probe::Kind of, bool good, const std::string& why) {
                               ProbeChanged(track, of, good, why);
                             },
                         .failed =
                             [this](Probe::Kind of, const std::string& why) {
                               Note("Warning", "Unhealthy",
                                    fmt::format("{} probe failed: {}", NameOf(of), why));
                             },
                         .warned =
                             [this](Probe::Kind of, const std::string& what) {
                               Note("Warning", "ProbeWarning",
                                    fmt::format("{} probe warning: {}", NameOf(of), what));
                             }},
            kind, ReadProbe(*json, track.spec),
            Probe::Target{.action = TargetOf(*track.view.latest),
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
    track.unhealthy_grace =
        kind == Probe::Kind::kLiveness ? track.liveness->grace() : track.startup->grace();
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
      StopOne(*track->view.latest, track->unhealthy_grace.value_or(Grace()),
              [this](const Status& stopped) {
                if (!stopped.ok()) stop_at_ = host_.loop().Now() + kFirstRetry;
                Idle();
              });
      return true;
    }
  }
  return false;
}

}  // namespace dray::node
