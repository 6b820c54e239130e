// SPDX-License-Identifier: Apache-2.0
//
// What a PodWorker knows of one container of the spec.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "node/actions.h"
#include "node/pod_worker.h"

namespace dray::node {

inline constexpr std::chrono::seconds kFirstRestart{10};
inline constexpr std::chrono::seconds kLongestRestart{300};
inline constexpr std::chrono::minutes kRestartsForgotten{10};

// What a container has at least to end, however long others or its hook took.
inline constexpr std::chrono::seconds kLeastGrace{2};
inline constexpr std::string_view kReadingMessages = "messages";

struct PodWorker::Track {
  api::Container spec;
  bool is_init = false;
  std::string target;  // of one for debugging: whose processes it sees
  ContainerView view;
  std::uint32_t next_attempt = 0;
  std::chrono::nanoseconds backoff{0};                 // for the next time that it ends
  std::optional<std::int64_t> counted;                 // the attempt whose end was counted
  std::optional<std::chrono::nanoseconds> not_before;  // it is not started
  std::unique_ptr<Probe> startup;
  std::unique_ptr<Probe> readiness;
  std::unique_ptr<Probe> liveness;
  std::string unhealthy;      // the id of a container that has to be stopped
  std::string unhealthy_why;  // Container c failed liveness probe, will be restarted
  std::optional<std::chrono::seconds> unhealthy_grace;  // a probe's own
  Lifecycle lifecycle;
  std::string starting;  // the id of a container whose postStart hook has not ended
  Loop::Timer hook;      // when the hook that runs has taken too long, or has slept enough
  std::map<std::string, std::string> messages;  // by container id: what it left when it ended

  void Forget() {
    startup.reset();
    readiness.reset();
    liveness.reset();
  }
  // What follows for the view from a hook that runs.
  void Settle() { view.starting = view.running() && view.latest->id == starting; }
  // Neither runs nor has ended: it was made, and somebody died before it was started.
  bool stuck() const {
    return view.latest && (view.latest->state == container::ContainerState::kCreated ||
                           view.latest->state == container::ContainerState::kUnknown);
  }
};

template <typename T>
std::function<void(StatusOr<T>)> PodWorker::Back(std::function<void(StatusOr<T>)> then) {
  return [&loop = host_.loop(), then = std::move(then),
          alive = std::weak_ptr(alive_)](StatusOr<T> result) {
    auto kept = std::make_shared<StatusOr<T>>(std::move(result));
    loop.Post([then, alive, kept] {
      if (!alive.expired()) then(std::move(*kept));
    });
  };
}

}  // namespace dray::node
