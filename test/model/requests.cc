// SPDX-License-Identifier: Apache-2.0
#include "model/requests.h"

namespace dray::model {
namespace {

template <typename T>
RequestView View(const std::string& name, const T& request) {
  return {.name = name,
          .class_name = request.device_class_name,
          .selectors = &request.selectors,
          .mode = request.allocation_mode,
          .count = request.count,
          .tolerations = &request.tolerations,
          .capacity = request.capacity.get(),
          .derived = &request.derived_attributes};
}

}  // namespace

std::vector<RequestView> AlternativesOf(const api::DeviceRequest& request) {
  std::vector<RequestView> views;
  for (const api::DeviceSubRequest& sub : request.first_available) {
    views.push_back(View(request.name, sub));
    views.back().sub = sub.name;
  }
  if (views.empty() && request.exactly) {
    views.push_back(View(request.name, *request.exactly));
    views.back().has_admin_access = request.exactly->admin_access.has_value();
    views.back().admin_access = request.exactly->admin_access.value_or(false);
  }
  return views;
}

}  // namespace dray::model
