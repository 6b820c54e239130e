// SPDX-License-Identifier: Apache-2.0
//
// Claims as the search needs them, and what it chooses. Inside the model.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "api/device_class.h"
#include "model/capacity.h"
#include "model/instance.h"
#include "model/requests.h"

namespace dray::model {

// A device of a usable pool, by search order.
struct Candidate {
  DeviceId id;
  const api::Device* device = nullptr;
  const api::ResourceSlice* slice = nullptr;
  std::size_t pool = 0;
};

struct Alternative {
  RequestView view;
  const api::DeviceClass* device_class = nullptr;
  std::int64_t need = 0;
  std::vector<std::size_t> all;  // mode All: the candidates that it is about
};

struct RequestPlan {
  bool prioritized = false;
  std::vector<Alternative> alternatives;
};

struct ClaimPlan {
  const api::ResourceClaim* claim = nullptr;
  std::vector<RequestPlan> requests;
  std::vector<std::size_t> chosen;  // per request its alternative, in the end
};

struct Choice {
  std::size_t claim = 0;
  const Alternative* alternative = nullptr;
  std::size_t candidate = 0;
  bool shared = false;  // gets a share of the device
  Amounts consumed;     // of a share
};

// The answer for a claim. Throws Abort when a selector has more terms than one can be made of.
api::AllocationResult BuildResult(const Instance& instance, const ClaimPlan& plan,
                                  const std::vector<Candidate>& candidates,
                                  const std::vector<const Choice*>& choices, int& shares);

}  // namespace dray::model
