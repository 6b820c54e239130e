// SPDX-License-Identifier: Apache-2.0
//
// A planted solution written down as slices and claims.
#include <algorithm>
#include <functional>

#include "fmt/format.h"
#include "model/generator_internal.h"
#include "model/generator_planted_internal.h"

namespace dray::model::planted {
namespace {

using generator::Amount;
using generator::kGpu;
using generator::kNode;
using generator::kNuma;
using generator::kRoots;

std::vector<api::DeviceToleration> TolerationsOf(const Wish& wish) {
  std::vector<api::DeviceToleration> tolerations;
  for (const std::string& key : wish.tolerates) {
    tolerations.push_back({.key = key, .operator_ = "Exists"});
  }
  return tolerations;
}

class Writer {
 public:
  Writer(Dice& dice, const PlantedOptions& o, const Plant& plant)
      : dice_(dice), o_(o), plant_(plant) {}

  Instance Write() {
    instance_.features = Features::All();
    if (plant_.themes.lists_off) instance_.features.list_type_attributes = false;
    groups_off_ = plant_.themes.counters && dice_.Chance(o_.groups_off);
    if (groups_off_) instance_.features.compatibility_groups = false;
    instance_.node.metadata.name = kNode;
    generator::Themes none{};
    generator::AddClasses(dice_, none, instance_);
    WriteSlices();
    WriteClaims();
    return std::move(instance_);
  }

 private:
  // What is left over: seldom anything.
  int Slack() { return dice_.Chance(0.6) ? 0 : dice_.Range(0, 2); }

  api::ResourceSlice NewSlice(const char* name) const {
    api::ResourceSlice slice;
    slice.metadata.name = name;
    slice.spec.driver = kGpu;
    slice.spec.pool = {
        .name = "pool-0", .generation = 1, .resource_slice_count = plant_.themes.counters ? 2 : 1};
    slice.spec.node_name = kNode;
    return slice;
  }

  api::Device DeviceOf(const Thing& thing) {
    api::Device device = thing.device;
    device.attributes["model"].string_value = thing.kind;
    device.attributes[kNuma].int_value = thing.numa;
    device.attributes[generator::kTier].int_value = thing.tier;
    if (plant_.themes.lists && thing.scalar && thing.roots.size() == 1) {
      device.attributes[kRoots].string_value = thing.roots.front();
    } else if (plant_.themes.lists) {
      device.attributes[kRoots].MutableLists().string_values = thing.roots;
    }
    if (plant_.themes.capacity) {
      const int least = thing.given ? thing.memory : dice_.Range(0, 3);
      api::DeviceCapacity memory{.value = Amount(std::to_string(least + Slack()))};
      memory.request_policy =
          api::CapacityRequestPolicy{.default_value = Amount(std::to_string(thing.usual))};
      api::CapacityRequestPolicyRange range{.min = Amount("1")};
      if (thing.step > 1) range.step = Amount(std::to_string(thing.step));
      memory.request_policy->valid_range = range;
      device.capacity["memory"] = std::move(memory);
    }
    if (groups_off_ && thing.given) {
      for (auto& use : device.consumes_counters) use.compatibility_groups.clear();
    }
    return device;
  }

  void WriteSlices() {
    if (plant_.themes.counters) {
      api::ResourceSlice counters = NewSlice("counters");
      counters.spec.shared_counters.emplace();
      for (const char* name : {"set-0", "set-1"}) {
        api::CounterSet set{.name = name};
        for (const char* counter : {"mem", "sm"}) {
          int drawn = 0;
          if (const auto it = plant_.drawn.find(name); it != plant_.drawn.end()) {
            const auto found = it->second.find(counter);
            drawn = found == it->second.end() ? 0 : found->second;
          }
          set.counters[counter].value = Amount(std::to_string(drawn + Slack()));
        }
        counters.spec.shared_counters->push_back(std::move(set));
      }
      instance_.slices.push_back(std::move(counters));
    }
    api::ResourceSlice all = NewSlice("devices");
    all.spec.devices.emplace();
    for (const Thing& thing : plant_.things) all.spec.devices->push_back(DeviceOf(thing));
    if (dice_.Chance(o_.taken)) AddTaken(*all.spec.devices);
    instance_.slices.push_back(std::move(all));
  }

  // A device like others that somebody has.
  void AddTaken(std::vector<api::Device>& devices) {
    api::Device taken = dice_.Pick(devices);
    taken.name = "taken";
    taken.allow_multiple_allocations.reset();
    taken.consumes_counters.clear();
    devices.insert(devices.begin() + dice_.Range(0, static_cast<int>(devices.size())), taken);
    api::ResourceClaim claim;
    claim.metadata.name = "taken";
    claim.metadata.namespace_ = "default";
    claim.metadata.uid = "taken";
    claim.status.allocation.emplace();
    claim.status.allocation->devices.results.push_back(
        {.request = "r0", .driver = kGpu, .pool = "pool-0", .device = "taken"});
    instance_.allocated_claims.push_back(std::move(claim));
  }

  template <typename T>
  void Fill(const Wish& wish, T& request) {
    request.device_class_name = "any";
    request.allocation_mode = wish.all ? "All" : "ExactCount";
    if (!wish.all) request.count = static_cast<std::int64_t>(wish.things.size());
    const bool by_name = !wish.names.empty();
    std::string list;
    for (const std::string& one : by_name ? wish.names : wish.kinds) {
      list += fmt::format("{}'{}'", list.empty() ? "" : ", ", one);
    }
    if (by_name || wish.kinds.size() < 3) {
      request.selectors.push_back(
          {.cel = api::CELDeviceSelector{
               .expression = fmt::format(
                   "{} in [{}]",
                   by_name ? "device.name" : "device.attributes['gpu.example.com'].model", list)}});
    }
    request.tolerations = TolerationsOf(wish);
    if (wish.memory > 0) {
      request.capacity.emplace();
      request.capacity->requests["memory"] = Amount(std::to_string(wish.memory));
    }
    if (!wish.derived.empty()) {
      request.derived_attributes.push_back({.name = kHalf, .expression = wish.derived});
    }
  }

  // Something like it, that may well be impossible.
  Wish Decoy(Wish wish) {
    wish.all = false;
    int what = dice_.Range(0, 4);
    if (plant_.themes.limit && dice_.Chance(0.6)) what = 2;
    if (plant_.themes.derived && dice_.Chance(0.4)) what = 3;
    switch (what) {
      case 0:
        wish.kinds = {"z"};
        wish.names.clear();
        break;
      case 1:
        wish.tolerates.clear();
        break;
      case 2:
        // More than that.
        wish.things.resize(wish.things.size() +
                           static_cast<std::size_t>(dice_.Range(1, plant_.themes.limit ? 12 : 1)));
        break;
      case 3:
        if (plant_.themes.derived) wish.derived = dice_.Pick({"'x'", "'y'", "device.name"});
        if (plant_.themes.capacity) wish.memory = dice_.Range(0, 3);
        break;
      default:
        wish.names.clear();
        wish.kinds = {dice_.Pick({"a", "b", "c"})};
    }
    return wish;
  }

  api::DeviceRequest NewRequest(const Wish& wish) {
    api::DeviceRequest request;
    if (!dice_.Chance(o_.alternatives)) {
      request.exactly.emplace();
      Fill(wish, *request.exactly);
      return request;
    }
    const int n = dice_.Range(1, 3);
    const int right = dice_.Range(0, n - 1);
    for (int i = 0; i < n; ++i) {
      api::DeviceSubRequest sub;
      sub.name = fmt::format("s{}", i);
      Fill(i == right ? wish : Decoy(wish), sub);
      request.first_available.push_back(std::move(sub));
    }
    return request;
  }

  // Of two that may have the same the alternatives are the same, too, but for tolerations.
  std::vector<api::DeviceRequest> WriteRequests() {
    std::vector<api::DeviceRequest> requests;
    for (const Wish& wish : plant_.wishes) {
      const auto like = [&](const Wish& other) {
        return other.kinds == wish.kinds && other.names == wish.names &&
               other.memory == wish.memory && other.derived == wish.derived && !other.all &&
               !wish.all;
      };
      const auto it = std::ranges::find_if(plant_.wishes, like);
      const auto at = static_cast<std::size_t>(it - plant_.wishes.begin());
      if (at >= requests.size()) {
        requests.push_back(NewRequest(wish));
        continue;
      }
      api::DeviceRequest copy = requests[at];
      const auto count = static_cast<std::int64_t>(wish.things.size());
      const bool other = count != static_cast<std::int64_t>(it->things.size());
      const auto change = [&](auto& request) {
        request.tolerations = TolerationsOf(wish);
        if (other) request.count = count;
      };
      if (copy.exactly) change(*copy.exactly);
      for (auto& sub : copy.first_available) change(sub);
      requests.push_back(std::move(copy));
    }
    return requests;
  }

  static api::DeviceRequest Watcher() {
    api::DeviceRequest watcher;
    watcher.name = "watcher";
    watcher.exactly.emplace();
    watcher.exactly->device_class_name = "any";
    watcher.exactly->allocation_mode = "ExactCount";
    watcher.exactly->count = 1;
    watcher.exactly->admin_access = true;
    watcher.exactly->tolerations.push_back({.operator_ = "Exists"});
    return watcher;
  }

  void WriteClaims() {
    const std::vector<api::DeviceRequest> requests = WriteRequests();
    // In which order requests come: any, or those with the most choice first, which take what
    // others need.
    std::vector<std::size_t> order;
    for (std::size_t w = 0; w < requests.size(); ++w) order.push_back(w);
    if (!plant_.themes.same_claims) {
      dice_.Shuffle(order);
      if (dice_.Chance(0.6)) {
        std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t w) {
          return plant_.wishes[w].kinds.size() + plant_.wishes[w].names.size();
        });
      }
    }
    for (int c = 0; c < o_.max_claims; ++c) {
      api::ResourceClaim claim;
      claim.metadata.namespace_ = "default";
      claim.metadata.name = fmt::format("claim-{}", c);
      claim.metadata.uid = claim.metadata.name;
      api::DeviceClaim& spec = claim.spec.devices;
      for (const std::size_t w : order) {
        const Wish& wish = plant_.wishes[w];
        if (wish.claim != c) continue;
        spec.requests.push_back(requests[w]);
        spec.requests.back().name = fmt::format("r{}", wish.shape);
      }
      if (spec.requests.empty()) continue;
      if (dice_.Chance(o_.admin)) {
        const int where = dice_.Range(0, static_cast<int>(spec.requests.size()));
        spec.requests.insert(spec.requests.begin() + where, Watcher());
      }
      for (const Constraint& constraint : plant_.constraints) {
        if (constraint.claim != c) continue;
        api::DeviceConstraint& one = spec.constraints.emplace_back();
        (constraint.match ? one.match_attribute : one.distinct_attribute) = constraint.attribute;
        const auto mine = std::ranges::count(plant_.wishes, c, &Wish::claim);
        const bool all = static_cast<std::ptrdiff_t>(constraint.covers.size()) == mine;
        if (all && dice_.Chance(0.5)) continue;  // who names nobody means everybody
        for (const int w : constraint.covers) {
          one.requests.push_back(
              fmt::format("r{}", plant_.wishes[static_cast<std::size_t>(w)].shape));
        }
      }
      instance_.claims.push_back(std::move(claim));
    }
    dice_.Shuffle(instance_.claims);
  }

  Dice& dice_;
  const PlantedOptions& o_;
  const Plant& plant_;
  bool groups_off_ = false;
  Instance instance_;
};

}  // namespace

Instance WritePlant(Dice& dice, const PlantedOptions& options, const Plant& plant) {
  return Writer(dice, options, plant).Write();
}

}  // namespace dray::model::planted
