// SPDX-License-Identifier: Apache-2.0
//
// A request, or one alternative of a prioritized list, seen alike.
#pragma once

#include <string>
#include <vector>

#include "api/resource_claim.h"

namespace dray::model {

// Points into the claim.
struct RequestView {
  std::string name;  // of the request
  std::string sub;   // of the alternative; empty for a plain request
  std::string class_name;
  const std::vector<api::DeviceSelector>* selectors = nullptr;
  std::string mode;
  std::int64_t count = 0;
  bool has_admin_access = false;  // set, be it to false
  bool admin_access = false;
  const std::vector<api::DeviceToleration>* tolerations = nullptr;
  const api::CapacityRequirements* capacity = nullptr;
  const std::vector<api::DeviceDerivedAttribute>* derived = nullptr;

  // As results name it.
  std::string full_name() const { return sub.empty() ? name : name + "/" + sub; }
};

// The alternatives in order; one for a plain request, none for a request of no known kind.
std::vector<RequestView> AlternativesOf(const api::DeviceRequest& request);

}  // namespace dray::model
