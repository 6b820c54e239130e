// SPDX-License-Identifier: Apache-2.0
//
// SharedTexts: what a version of an object looks like in other forms than it is stored in, made once
// for all who are told of it at about the same time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "api/kinds.h"
#include "base/mutex.h"
#include "base/string_map.h"

namespace dray::registry::internal {

// A text lives as long as anybody has it: when all have passed it on, it is gone. Thread-safe.
class SharedTexts {
 public:
  using Text = std::shared_ptr<const std::string>;

  // `form` tells apart what has one kind.
  Text Get(const api::Object& object, const api::KindInfo& kind, char form,
           const std::function<std::string()>& make);
  // How many were made so far.
  std::uint64_t made() const { return made_; }

 private:
  base::Mutex mutex_;
  base::StringMap<std::weak_ptr<const std::string>> known_ ABSL_GUARDED_BY(mutex_);
  std::size_t purge_at_ ABSL_GUARDED_BY(mutex_) = 256;
  std::atomic<std::uint64_t> made_ = 0;
};

}  // namespace dray::registry::internal
