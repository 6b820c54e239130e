// SPDX-License-Identifier: Apache-2.0
#include "cdi/registry.h"

#include <algorithm>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dray::cdi {

Registry::Registry(std::vector<SpecFile> files) {
  std::ranges::stable_sort(files, [](const SpecFile& a, const SpecFile& b) {
    return std::pair(a.priority, std::string_view(a.path)) <
           std::pair(b.priority, std::string_view(b.path));
  });
  for (SpecFile& file : files) {
    auto spec = file.content.ok() ? ReadSpec(*file.content) : StatusOr<Spec>(file.content.status());
    if (!spec.ok()) {
      problems_.push_back(
          {.path = file.path, .message = std::string(base::Message(spec.status()))});
      continue;
    }
    auto loaded = std::make_shared<LoadedSpec>(LoadedSpec{
        .priority = file.priority, .path = std::move(file.path), .spec = *std::move(spec)});
    for (const Device& device : loaded->spec.devices) {
      const std::string name = fmt::format("{}={}", loaded->spec.kind, device.name);
      // Files come in ascending order of priority, so that a later one replaces an earlier one, unless
      // both are of one folder. Names are unique in a file.
      Place& place = places_[name];
      if (place.spec != nullptr && place.spec->priority == loaded->priority) {
        if (place.rival == nullptr) place.rival = loaded.get();
      } else {
        place = {.spec = loaded.get(), .device = &device};
      }
    }
    specs_.push_back(std::move(loaded));
  }
  for (const auto& [name, place] : places_) {
    if (place.rival == nullptr) continue;
    problems_.push_back({.path = place.spec->path,
                         .message = fmt::format("device {} is defined in {}, too: neither is used",
                                                name, place.rival->path)});
  }
  std::ranges::stable_sort(problems_, {}, &FileProblem::path);
}

StatusOr<ContainerEdits> Registry::Resolve(std::span<const std::string> names) const {
  ContainerEdits edits;
  std::vector<std::string_view> missing;
  std::vector<std::string> why;
  std::set<std::string_view> seen;
  std::set<const LoadedSpec*> used;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) continue;
    const auto found = places_.find(name);
    if (found == places_.end() || found->second.rival != nullptr) {
      missing.push_back(name);
      if (found != places_.end()) {
        why.push_back(fmt::format("{} is defined in both {} and {}", name, found->second.spec->path,
                                  found->second.rival->path));
      }
      continue;
    }
    const Place& place = found->second;
    if (used.insert(place.spec).second) edits.Append(place.spec->spec.container_edits);
    edits.Append(place.device->container_edits);
  }
  if (missing.empty()) return edits;
  std::string message = fmt::format("unresolvable CDI devices {}", fmt::join(missing, ", "));
  if (!why.empty()) message += fmt::format(" ({})", fmt::join(why, "; "));
  return base::NotFound(message);
}

std::vector<std::string> Registry::Devices() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : places_) {
    if (place.rival == nullptr) names.push_back(name);
  }
  return names;
}

}  // namespace dray::cdi
