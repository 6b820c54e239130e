// SPDX-License-Identifier: Apache-2.0
//
// What has changed since when: batches of the newest changes, and an end to what is kept.
#include <algorithm>
#include <utility>

#include "fleet/fleet.h"

namespace dray::fleet {

// The newest changes are kept by themselves, so that who is a little behind costs what has changed.
void Fleet::KeepBatch() {
  constexpr std::size_t kMost = 50'000;
  batched_ += now_.size();
  batches_.emplace_back(revision_, std::exchange(now_, {}));
  while (batched_ > kMost && !batches_.empty()) {
    batched_ -= batches_.front().second.size();
    batches_.pop_front();
  }
}

Fleet::Changed Fleet::ChangedSince(std::uint64_t revision) const {
  Changed all;
  if (!batches_.empty() && batches_.front().first <= revision + 1) {
    const auto add = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    for (const auto& [at, batch] : batches_) {
      if (at <= revision) continue;
      add(all.nodes, batch.nodes);
      add(all.pools, batch.pools);
      add(all.devices, batch.devices);
      add(all.claims, batch.claims);
      add(all.pods, batch.pods);
    }
    const auto once = [](auto& list) {
      std::ranges::sort(list);
      list.erase(std::unique(list.begin(), list.end()), list.end());
    };
    once(all.nodes);
    once(all.pools);
    once(all.devices);
    once(all.claims);
    once(all.pods);
    return all;
  }
  const auto ids = [&](std::vector<Id>& to, const auto& things, const auto& changed) {
    for (Id id = 0; id < things.size(); ++id) {
      if (changed(things[id]) > revision) to.push_back(id);
    }
  };
  const auto plain = [](const auto& thing) { return thing.changed; };
  ids(all.nodes, nodes_, plain);
  ids(all.pools, pools_, plain);
  ids(all.devices, devices_,
      [](const Device& device) { return std::max(device.changed, device.announced); });
  for (const auto& [key, claim] : claims_) {
    if (claim.changed > revision) all.claims.push_back(key);
  }
  for (const auto& [key, pod] : pods_) {
    if (pod.changed > revision) all.pods.push_back(key);
  }
  return all;
}

// What is kept to tell that it is gone, is not kept for ever.
void Fleet::Forget() {
  constexpr std::size_t kMost = 10'000;
  if (gone_entries_ <= kMost) return;
  gone_entries_ = 0;
  absl::erase_if(claims_, [](const auto& entry) { return !entry.second.object; });
  absl::erase_if(pods_, [](const auto& entry) { return !entry.second.object; });
  oldest_ = revision_;
}

bool Fleet::Wasteful() const {
  constexpr std::size_t kFew = 1'000;
  return devices_.size() > 2 * live_devices_ + kFew ||
         nodes_.size() > 2 * node_ids_.size() + kFew || shapes_.size() > live_devices_ + kFew ||
         label_sets_.size() > 2 * nodes_.size() + kFew || cards_.size() > live_devices_ + kFew ||
         pools_.size() > 2 * pool_ids_.size() + kFew;
}

}  // namespace dray::fleet
