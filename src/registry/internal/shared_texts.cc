// SPDX-License-Identifier: Apache-2.0
#include "registry/internal/shared_texts.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace dray::registry::internal {

SharedTexts::Text SharedTexts::Get(const api::Object& object, const api::KindInfo& kind, char form,
                                   const std::function<std::string()>& make) {
  const api::ObjectMeta& metadata = object.metadata();
  std::string key = fmt::format("{} {} {}{} {}", metadata.uid, metadata.resource_version, form,
                                kind.version, kind.plural);
  {
    const base::MutexLock lock(mutex_);
    const auto found = known_.find(key);
    if (found != known_.end()) {
      if (Text text = found->second.lock()) return text;
    }
  }
  // Without the lock: two that come at the same moment make it twice, nobody waits.
  Text text = std::make_shared<const std::string>(make());
  ++made_;
  const base::MutexLock lock(mutex_);
  known_[std::move(key)] = text;
  if (known_.size() >= purge_at_) {
    absl::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    purge_at_ = std::max<std::size_t>(256, 2 * known_.size());
  }
  return text;
}

}  // namespace dray::registry::internal
