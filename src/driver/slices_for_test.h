// SPDX-License-Identifier: Apache-2.0
//
// Pools and stored slices in a line each, for tests of what is published.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/slice_plan.h"
#include "fmt/format.h"
#include "testing/slice_builder.h"

namespace dray::driver {

inline Publisher TestPublisher() {
  return {.driver = std::string(dray::testing::kDriver),
          .node = "n1",
          .owner = api::OwnerReference{.api_version = "v1",
                                       .kind = "Node",
                                       .name = "n1",
                                       .uid = "node-uid",
                                       .controller = true}};
}

// A list of device names per slice.
inline WantedPool PoolWith(const std::vector<std::vector<std::string>>& slices) {
  WantedPool pool;
  for (const std::vector<std::string>& names : slices) {
    WantedSlice& slice = pool.slices.emplace_back();
    for (const std::string& name : names) slice.devices.push_back(dray::testing::Device(name));
  }
  return pool;
}

// What a server would have after the writes. One thread.
class StoredSlices {
 public:
  void Add(std::string_view name, std::int64_t generation, std::int64_t count,
           const std::vector<std::string>& devices) {
    dray::testing::Slice slice(name);
    slice.OnNode("n1").Generation(generation).Of(count);
    for (const std::string& device : devices) slice.With(dray::testing::Device(device));
    Put(slice);
  }
  void Put(api::ResourceSlice slice) {
    if (slice.metadata.uid.empty()) slice.metadata.uid = fmt::format("uid-{}", ++made_);
    slices_.push_back(std::move(slice));
  }
  void Apply(const PoolPlan& plan) {
    for (const DoomedSlice& doomed : plan.deletes) Delete(doomed.uid);
    for (const api::ResourceSlice& slice : plan.updates) Update(slice);
    for (const api::ResourceSlice& slice : plan.creates) Create(slice);
  }
  void Delete(const std::string& uid) {
    std::erase_if(slices_, [&](const auto& slice) { return slice.metadata.uid == uid; });
  }
  void Update(const api::ResourceSlice& slice) {
    for (api::ResourceSlice& stored : slices_) {
      if (stored.metadata.uid == slice.metadata.uid) stored = slice;
    }
  }
  void Create(api::ResourceSlice slice) {
    slice.metadata.name = fmt::format("{}{}", slice.metadata.generate_name, made_ + 1);
    Put(std::move(slice));
  }
  std::vector<const api::ResourceSlice*> All() const {
    std::vector<const api::ResourceSlice*> all;
    for (const api::ResourceSlice& slice : slices_) all.push_back(&slice);
    return all;
  }
  api::ResourceSlice& Mutable(std::size_t i) { return slices_[i]; }
  std::size_t size() const { return slices_.size(); }

 private:
  std::deque<api::ResourceSlice> slices_;
  int made_ = 0;
};

}  // namespace dray::driver
