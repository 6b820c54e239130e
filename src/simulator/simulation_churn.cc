// SPDX-License-Identifier: Apache-2.0
//
// Devices and nodes that come and go.
#include <algorithm>
#include <utility>

#include "api/node.h"
#include "base/check.h"
#include "simulator/internal/simulation.h"

namespace dray::simulator::internal {
namespace {

// Random nodes that are looked at before giving up on finding one that is up.
constexpr int kTries = 16;

const api::KindInfo& NodeKind() { return api::HubKind(api::TypeInfoOf<api::Node>()); }
const api::KindInfo& SliceKind() { return api::HubKind(api::TypeInfoOf<api::ResourceSlice>()); }

}  // namespace

void Simulation::ScheduleChurn(std::size_t churn) {
  events_.At(now() + churns_[churn].Draw(scenario_.churn[churn].every), [this, churn] {
    ChangeDevices(churn);
    ScheduleChurn(churn);
  });
}

std::optional<Simulation::Pool> Simulation::PickPool(const Churn& churn) {
  RandomStream& chance = churns_[static_cast<std::size_t>(&churn - scenario_.churn.data())];
  std::int64_t total = 0;
  const auto counts = [&](const NodeGroup& group) {
    if (!churn.node_group.empty() && group.name != churn.node_group) return false;
    return std::ranges::any_of(group.drivers, [&](const DriverDevices& driver) {
      return churn.driver.empty() || driver.driver == churn.driver;
    });
  };
  for (const NodeGroup& group : scenario_.node_groups) {
    if (counts(group)) total += group.count;
  }
  for (int attempt = 0; total > 0 && attempt < kTries; ++attempt) {
    auto number = static_cast<std::int64_t>(chance.Below(static_cast<std::uint64_t>(total)));
    for (std::size_t g = 0; g < scenario_.node_groups.size(); ++g) {
      const NodeGroup& group = scenario_.node_groups[g];
      if (!counts(group)) continue;
      if (number >= group.count) {
        number -= group.count;
        continue;
      }
      if (down_.contains({g, number})) break;
      const auto driver = churn.driver.empty() ? group.drivers.begin()
                                               : std::ranges::find(group.drivers, churn.driver,
                                                                   &DriverDevices::driver);
      return Pool{g, number, static_cast<std::size_t>(driver - group.drivers.begin())};
    }
  }
  return std::nullopt;
}

std::vector<api::ResourceSlice> Simulation::SlicesOf(const Pool& pool) {
  const std::string& driver = scenario_.node_groups[pool.group].drivers[pool.driver].driver;
  std::vector<api::ResourceSlice> slices = builder_.Slices(pool.group, pool.node);
  std::erase_if(slices, [&](const api::ResourceSlice& s) { return s.spec.driver != driver; });
  const auto generation = generations_.find(pool);
  const std::vector<DeviceChange>& changes = changes_[pool];
  for (api::ResourceSlice& slice : slices) {
    if (generation != generations_.end()) slice.spec.pool.generation = generation->second;
    if (!slice.spec.devices) continue;
    for (const DeviceChange& change : changes) {
      const Churn& churn = scenario_.churn[change.churn];
      auto& devices = *slice.spec.devices;
      const auto device = std::ranges::find(devices, change.device, &api::Device::name);
      if (device == devices.end()) continue;
      if (churn.remove) {
        devices.erase(device);
        continue;
      }
      if (churn.taint) device->taints.push_back(*churn.taint);
      for (const auto& [name, value] : churn.attributes) device->attributes[name.view()] = value;
    }
  }
  return slices;
}

void Simulation::WriteSlices(const Pool& pool) {
  auto& generation = generations_.try_emplace(pool, 1).first->second;
  ++generation;
  for (api::ResourceSlice& slice : SlicesOf(pool)) {
    const auto stored = cluster_.Stored(SliceKind(), "", slice.metadata.name);
    if (!stored) continue;  // its node is down; it comes back as it then should be
    slice.metadata = stored->metadata();
    const auto written = cluster_.Update(api::Object::Of(std::move(slice)));
    DRAY_CHECK(written.ok(), base::Message(written.status()));
  }
}

void Simulation::ChangeDevices(std::size_t number) {
  const Churn& churn = scenario_.churn[number];
  const std::optional<Pool> pool = PickPool(churn);
  if (!pool) return;
  std::vector<std::string> names;
  for (const api::ResourceSlice& slice : SlicesOf(*pool)) {
    if (!slice.spec.devices) continue;
    for (const api::Device& device : *slice.spec.devices) {
      const bool changed = std::ranges::any_of(
          changes_[*pool], [&](const DeviceChange& c) { return c.device == device.name; });
      if (!changed) names.push_back(device.name);
    }
  }
  std::vector<std::string> chosen;
  while (!names.empty() && std::ssize(chosen) < churn.devices) {
    const auto at = static_cast<std::ptrdiff_t>(churns_[number].Below(names.size()));
    chosen.push_back(std::move(names[static_cast<std::size_t>(at)]));
    names.erase(names.begin() + at);
  }
  if (chosen.empty()) return;
  for (const std::string& name : chosen) changes_[*pool].push_back({name, number});
  result_.device_changes += std::ssize(chosen);
  WriteSlices(*pool);
  events_.At(now() + churn.lasting, [this, pool = *pool, chosen] {
    std::erase_if(changes_[pool], [&](const DeviceChange& change) {
      return std::ranges::find(chosen, change.device) != chosen.end();
    });
    WriteSlices(pool);
  });
}

void Simulation::ScheduleNodeFailure(std::size_t failure) {
  events_.At(now() + node_failures_[failure].Draw(scenario_.node_failures[failure].every),
             [this, failure] {
               FailNode(failure);
               ScheduleNodeFailure(failure);
             });
}

void Simulation::FailNode(std::size_t failure) {
  const NodeFailure& what = scenario_.node_failures[failure];
  std::vector<std::size_t> groups;
  std::int64_t total = 0;
  for (std::size_t g = 0; g < scenario_.node_groups.size(); ++g) {
    const NodeGroup& group = scenario_.node_groups[g];
    if (!what.node_group.empty() && group.name != what.node_group) continue;
    groups.push_back(g);
    total += group.count;
  }
  if (total == 0) return;
  auto number =
      static_cast<std::int64_t>(node_failures_[failure].Below(static_cast<std::uint64_t>(total)));
  std::size_t group = 0;
  for (const std::size_t g : groups) {
    group = g;
    if (number < scenario_.node_groups[g].count) break;
    number -= scenario_.node_groups[g].count;
  }
  if (!down_.insert({group, number}).second) return;  // it is down already
  ++result_.node_failures;
  const std::string name = ClusterBuilder::NodeName(scenario_.node_groups[group], number);
  std::vector<std::string> lost;
  for (const auto& [key, pod] : pods_) {
    if (pod.node == name) lost.push_back(key);
  }
  DRAY_CHECK(cluster_.Delete(NodeKind(), "", name).ok(), name);
  for (const api::ResourceSlice& slice : builder_.Slices(group, number)) {
    DRAY_CHECK(cluster_.Delete(SliceKind(), "", slice.metadata.name).ok(), slice.metadata.name);
  }
  for (const std::string& key : lost) DeletePod(key, Going::kLost);
  events_.At(now() + what.lasting, [this, group, number] { ReturnNode(group, number); });
}

void Simulation::ReturnNode(std::size_t group, std::int64_t node) {
  down_.erase({group, node});
  const auto create = [&](api::Object object) {
    const auto created = cluster_.Create(std::move(object));
    DRAY_CHECK(created.ok(), base::Message(created.status()));
  };
  create(api::Object::Of(builder_.Node(group, node)));
  for (std::size_t d = 0; d < scenario_.node_groups[group].drivers.size(); ++d) {
    for (api::ResourceSlice& slice : SlicesOf({group, node, d})) {
      create(api::Object::Of(std::move(slice)));
    }
  }
}

}  // namespace dray::simulator::internal
