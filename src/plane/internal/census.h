// SPDX-License-Identifier: Apache-2.0
//
// Census: how many claims there are, and how many devices of each class are free, counted from what
// is stored when somebody asks.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "api/device_class.h"
#include "api/resource_slice.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/string_map.h"
#include "cel/program.h"
#include "registry/objects.h"

namespace dray::plane::internal {

struct DeviceCounts {
  std::size_t free = 0;
  std::size_t allocated = 0;  // wholly or in shares
  std::size_t tainted = 0;    // nobody has it, and not everybody may
};

struct CensusResult {
  // By whether it is allocated, admin access, and "", "resource_claim_template" or
  // "extended_resource".
  std::map<std::tuple<bool, bool, std::string>, std::size_t> claims;
  std::map<std::string, DeviceCounts> devices;  // by class; a device counts for each it is in
};

// What a slice's devices are is kept from one count to the next, and a count serves those who ask
// within a second, so that asking often costs little. Thread-safe.
class Census {
 public:
  // Both outlive it.
  Census(const registry::Objects& objects, const base::Clock& clock)
      : objects_(objects), clock_(clock) {}

  CensusResult Count();

 private:
  struct Class {
    std::string name;
    std::vector<std::shared_ptr<const cel::Program>> selectors;
    bool broken = false;  // some selector cannot be compiled: nothing is in it
  };
  struct Device {
    std::string key;  // driver/pool/name
    std::vector<std::uint32_t> classes;
    bool tainted = false;
  };
  struct Slice {
    std::string version;
    std::string pool;  // driver/pool
    std::int64_t generation = 0;
    std::vector<Device> devices;
  };

  void ReadClasses() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadSlices() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  base::StringSet CountClaims(CensusResult& result) const;
  Slice Read(const api::ResourceSlice& slice) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsIn(const Class& device_class, const api::ResourceSlice& slice,
            const api::Device& device) const;

  const registry::Objects& objects_;
  const base::Clock& clock_;
  base::Mutex mutex_;
  std::vector<Class> classes_ ABSL_GUARDED_BY(mutex_);
  std::string classes_version_ ABSL_GUARDED_BY(mutex_);                       // of all of them
  std::map<std::string, Slice, std::less<>> slices_ ABSL_GUARDED_BY(mutex_);  // by name
  std::optional<std::chrono::nanoseconds> counted_ ABSL_GUARDED_BY(mutex_);
  CensusResult last_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::plane::internal
