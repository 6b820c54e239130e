// SPDX-License-Identifier: Apache-2.0
#include "scheduler/assumed_profiles.h"

#include <set>
#include <string>

#include "api/pod.h"

namespace dray::scheduler {

Config WithProfilesFor(std::span<const api::Object> objects, Config config) {
  std::set<std::string> names;
  for (const api::Object& object : objects) {
    const auto* pod = object.As<api::Pod>();
    if (pod != nullptr && !pod->spec.scheduler_name.empty()) names.insert(pod->spec.scheduler_name);
  }
  for (const Profile& profile : config.profiles) names.erase(profile.scheduler_name);
  for (const std::string& name : names) config.profiles.push_back({.scheduler_name = name});
  return config;
}

}  // namespace dray::scheduler
