// SPDX-License-Identifier: Apache-2.0
//
// Pods that workloads make: from templates, with their maker as controller; how far they are, and
// what is said about them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/kinds.h"
#include "api/pod.h"
#include "base/time.h"
#include "controllers/view.h"

namespace dray::controllers {

api::OwnerReference ControllerReference(const api::Object& owner);
// Its name is completed from the owner's name and a hyphen.
api::Pod PodFromTemplate(const api::PodTemplateSpec& made_from, const api::Object& owner);

// Since when it is ready. Nothing: it is not.
std::optional<base::Time> ReadySince(const api::Pod& pod);
// When it counts as available. Nothing: it is not ready.
std::optional<base::Time> AvailableAt(const api::Pod& pod, std::int32_t min_ready_seconds);

// Tells people what a controller has done for an object.
struct Told {
  std::string_view component;  // replicaset-controller
  bool warning = false;
  std::string_view reason;
  std::string message;
};
void Tell(View& view, const api::Object& about, Told told);

// Says in the pod's status why it is going to be deleted (the condition DisruptionTarget). NotFound
// when it is gone.
struct Disruption {
  std::string_view reason;
  std::string_view message;
  base::Time now;
  bool fail = false;  // there is nobody to end its containers: it has failed, too
};
Status MarkDisrupted(View& view, const api::Object& pod, const Disruption& disruption);

}  // namespace dray::controllers
