// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/device_view.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "scheduler/plugins/claim_writes.h"
#include "scheduler/plugins/pod_claims.h"
#include "scheduler/world.h"

namespace dray::scheduler {

using View = HeldDevices::View;

// The ledger in one view, and the node that was asked about last as it sees it.
struct DeviceView::Sheet {
  explicit Sheet(ledger::Ledger& ledger) : varied(ledger) {}
  ledger::Variation varied;
  std::optional<NodeIndex> node;
  ledger::NodeUsage usage;
};

namespace {

// As the ledger names it.
std::string LedgerKey(const api::ResourceClaim& claim) {
  return claim.metadata.uid.empty() ? KeyOf(claim.metadata) : claim.metadata.uid;
}

// Whether somebody has the device, or a share of it.
bool IsInUse(const api::DeviceRequestAllocationResult& result, const ledger::Ledger& ledger) {
  const inventory::Dictionary& dictionary = ledger.dictionary();
  const auto pool = dictionary.FindPool(result.driver, result.pool);
  const ledger::PoolUsage* usage = pool ? ledger.snapshot().Find(*pool) : nullptr;
  return usage != nullptr && std::ranges::any_of(usage->devices, [&](const auto& device) {
           return device.results() > 0 && dictionary.View(device.device) == result.device;
         });
}

// What is held as others have to see it who take devices now. A share of a device that nobody has yet
// stands for all of it: the counters that it draws may be those that somebody is to give back first, and
// a share beside it would look as if they were drawn already. `whole`: devices that are taken so.
api::AllocationResult TakenNow(const api::AllocationResult& held, const ledger::Ledger& ledger,
                               base::StringSet& whole) {
  api::AllocationResult taken = held;
  std::erase_if(taken.devices.results, [&](api::DeviceRequestAllocationResult& result) {
    if (!result.share_id || IsInUse(result, ledger)) return false;
    result.share_id.reset();
    result.consumed_capacity.clear();
    std::string device = result.driver;
    device.append("/").append(result.pool).append("/").append(result.device);
    return !whole.insert(std::move(device)).second;
  });
  return taken;
}

}  // namespace

DeviceView::DeviceView(World& world, const PodInfo& pod)
    : world_(world), pod_(pod), before_(world.holds().Before(pod, world)) {
  for (const DeviceHold* hold : before_) {
    for (const DeviceHold::Leaving& leaving : hold->leaving) {
      leaving_.insert(leaving.uid.empty() ? leaving.namespace_ + "/" + leaving.name : leaving.uid);
    }
  }
}
DeviceView::~DeviceView() = default;

DeviceView::Claim& DeviceView::ClaimOf(const ClaimPointer& claim) {
  auto& entry = claims_[LedgerKey(*claim)];
  if (entry != nullptr) return *entry;
  entry = std::make_unique<Claim>();
  entry->claim = claim;
  entry->key = LedgerKey(*claim);
  const ClaimUsers users = UsersOf(*claim, world_);
  // Nobody gives back what was allocated without the finalizer.
  entry->kept = users.others || !ClaimWrites::IsGivenBack(*claim);
  for (const auto& user : users.pods) {
    if (user->priority < pod_.priority) {
      entry->users.insert(user->pod->metadata.uid);
    } else if (!user->pod->metadata.deletion_timestamp.has_value()) {
      entry->kept = true;
    }
  }
  entry->staying = entry->users.size();
  for (const std::string& uid : gone_) entry->staying -= entry->users.count(uid);
  return *entry;
}

// Allocated, or about to be: whatever holds something in the ledger.
std::vector<DeviceView::Claim*> DeviceView::ClaimsOf(const PodInfo& other) {
  std::vector<Claim*> claims;
  const api::Pod& pod = *other.pod;
  const auto add = [&](const ClaimPointer& claim) {
    if (claim == nullptr) return;
    Claim* known = &ClaimOf(claim);
    if (std::ranges::find(claims, known) == claims.end()) claims.push_back(known);
  };
  const api::ClaimsOfPod entries(pod);
  for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
    if (const auto name = entries.NameOf(entry)) {
      add(world_.FindClaim(pod.metadata.namespace_, *name));
    }
  }
  add(world_.FindExtendedResourceClaim(pod));
  return claims;
}

void DeviceView::Take(const PodInfo& other) {
  const std::string& uid = other.pod->metadata.uid;
  if (gone_.contains(uid)) return;
  const std::vector<Claim*> claims = ClaimsOf(other);
  gone_.insert(uid);
  for (Claim* claim : claims) {
    if (!claim->users.contains(uid)) continue;
    if (--claim->staying == 0 && !claim->kept) SetOut(*claim, true);
  }
}

void DeviceView::PutBack(const PodInfo& other) {
  const std::string& uid = other.pod->metadata.uid;
  if (gone_.erase(uid) == 0) return;
  for (Claim* claim : ClaimsOf(other)) {
    if (!claim->users.contains(uid)) continue;
    if (claim->staying++ == 0 && claim->out) SetOut(*claim, false);
  }
}

void DeviceView::TakeIdle(const NodeInfo& known) {
  for (std::size_t device = 0; device < known.devices->devices().size(); ++device) {
    for (const ledger::Holder holder : known.usage.holders(device)) {
      const std::string_view name = known.usage.NameOf(holder);
      const std::size_t slash = name.find('/');
      const ClaimPointer claim = world_.FindClaim(name.substr(0, slash), name.substr(slash + 1));
      if (claim == nullptr || !claim->status.allocation.has_value()) continue;
      Claim& entry = ClaimOf(claim);
      if (entry.kept || !entry.users.empty() || entry.out) continue;
      SetOut(entry, true);
      idle_ = true;
    }
  }
}

void DeviceView::SetOut(Claim& claim, bool out) {
  claim.out = out;
  const auto change = [&](Sheet* sheet) {
    if (sheet == nullptr) return;
    out ? sheet->varied.TakeOut(claim.key) : sheet->varied.PutBack(claim.key);
  };
  change(plain_.get());
  change(taken_.get());
  if (!leaving_.contains(claim.key)) change(afterwards_.get());
}

DeviceView::Sheet& DeviceView::SheetOf(View view) {
  auto& sheet = view == View::kIgnored ? plain_ : view == View::kTaken ? taken_ : afterwards_;
  if (sheet != nullptr) return *sheet;
  sheet = std::make_unique<Sheet>(world_.ledger());
  for (const auto& [key, claim] : claims_) {
    if (claim->out) sheet->varied.TakeOut(key);
  }
  if (view == View::kIgnored) return *sheet;
  base::StringSet whole;
  for (const DeviceHold* hold : before_) {
    for (const DeviceHold::Kept& kept : hold->devices) {
      sheet->varied.Add(kept.claim, view == View::kTaken
                                        ? TakenNow(kept.allocation, world_.ledger(), whole)
                                        : kept.allocation);
    }
  }
  if (view == View::kTaken) return *sheet;
  for (const std::string& key : leaving_) sheet->varied.TakeOut(key);
  return *sheet;
}

const ledger::NodeUsage& DeviceView::UsageOf(const NodeInfo& known, View view) {
  Sheet& sheet = SheetOf(before_.empty() ? View::kIgnored : view);
  if (sheet.node != known.index) {
    sheet.node = known.index;
    sheet.usage = known.usage;
  }
  sheet.usage.Update(known.devices, sheet.varied.snapshot());
  return sheet.usage;
}

const ledger::Snapshot& DeviceView::SnapshotOf(View view) {
  return SheetOf(before_.empty() ? View::kIgnored : view).varied.snapshot();
}

std::vector<DeviceView::ClaimPointer> DeviceView::Released() const {
  std::vector<ClaimPointer> released;
  for (const auto& [key, claim] : claims_) {
    if (claim->out) released.push_back(claim->claim);
  }
  std::ranges::sort(released, {}, [](const ClaimPointer& claim) { return KeyOf(claim->metadata); });
  return released;
}

}  // namespace dray::scheduler
