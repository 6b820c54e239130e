// SPDX-License-Identifier: Apache-2.0
//
// Devices that are held for pods which have sent others away for them: from the choice of victims
// until the pod has its devices, or gives up. A claim is given back some time after its last pod has
// gone; meanwhile nobody else of lower or equal priority takes what was freed, and the pod sends
// nobody away a second time.
//
// Spec: the idea of KEP-5690 (nominated claims), for every kind of device. In memory: after a restart a
// hold is made again from the pod's nominated node and the victims that are still leaving.
// docs/decisions.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/resource_claim.h"
#include "scheduler/pod_info.h"

namespace dray::scheduler {

class World;

struct DeviceHold {
  struct Kept {
    std::string claim;  // of the pod, "namespace/name"
    api::AllocationResult allocation;
  };
  struct Leaving {  // a claim that is to be given back
    std::string namespace_;
    std::string name;
    std::string uid;
  };
  struct Victim {
    std::string key;
    std::string uid;
  };

  std::string pod;  // "namespace/name"
  std::string uid;
  std::string group = {};  // "namespace/name" of its PodGroup, if all of that preempts; else empty
  std::int32_t priority = 0;
  std::string node;
  std::vector<Kept> devices;
  bool wide = false;  // some device can be used on other nodes, too
  std::vector<Leaving> leaving;
  std::vector<Victim> victims;  // most important first
  // Of the holds that this one was made beside. While theirs are still leaving, the pod may not see
  // yet that it fits.
  std::vector<Leaving> others_leaving;
  std::vector<Victim> others_victims;
  std::uint64_t number = 0;  // holds are numbered as they come

  // Whether pods that go to the node could get what is held.
  bool IsFor(std::string_view node_name) const { return wide || node == node_name; }
};

// Who uses a claim that is allocated, or about to be.
struct ClaimUsers {
  std::vector<std::shared_ptr<const PodInfo>> pods;  // those that are there, each once
  bool others = false;                               // something that is no pod has it
};
ClaimUsers UsersOf(const api::ResourceClaim& claim, const World& world);

// One thread.
class DeviceHolds {
 public:
  bool empty() const { return holds_.empty(); }
  // Instead of what was held for the pod before.
  void Put(DeviceHold hold);
  void Remove(std::string_view pod_key);
  // Of the pod that has the uid.
  const DeviceHold* Find(const PodInfo& pod) const;

  // Who leaves all of them alone; may be asked from several threads.
  void SetYields(std::function<bool(const PodInfo&)> yields) { yields_ = std::move(yields); }
  bool Yields(const PodInfo& pod) const { return yields_ != nullptr && yields_(pod); }
  // Those that the pod must leave alone: of more important pods, and of equally important ones
  // unless they came after its own, by number. Not of pods that are being bound: they have what they
  // need; nor of pods of its own group, with which it is placed.
  std::vector<const DeviceHold*> Before(const PodInfo& pod, const World& world) const;
  // Of these, the one that a claim is given back for; null: none.
  const DeviceHold* GivenBackFor(const api::ResourceClaim& claim, const PodInfo& pod,
                                 const World& world) const;

 private:
  std::map<std::string, DeviceHold, std::less<>> holds_;  // by pod
  std::uint64_t last_ = 0;
  std::function<bool(const PodInfo&)> yields_;
};

enum class HoldState : std::uint8_t {
  kPending,  // a victim has not gone, or a claim is still to be given back
  kSettled,  // everything has been given back
  kBroken,   // it will not be: somebody stays who uses a claim, or the node is gone
};
HoldState StateOf(const DeviceHold& hold, const World& world);
// Whether the pod's claims have just the devices that were held for it.
bool HasWhatWasHeld(const DeviceHold& hold, const World& world);
// "pod a/b, pod group a/c and 2 more", each once.
std::string ForWhom(const std::vector<const DeviceHold*>& holds);
// "driver/pool/device", each once, in order.
std::vector<std::string> DevicesOf(const DeviceHold& hold);
std::vector<std::string> DevicesOf(const api::AllocationResult& allocation);

}  // namespace dray::scheduler
