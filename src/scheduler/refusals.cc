// SPDX-License-Identifier: Apache-2.0
#include "scheduler/refusals.h"

#include <algorithm>
#include <utility>

namespace dray::scheduler {
namespace {

bool SameShortage(const Reason::Shortage& a, const Reason::Shortage& b) {
  return a.what == b.what && a.needed == b.needed && a.free == b.free;
}

bool SameReason(const Reason& a, const Reason& b) {
  return a.code == b.code && a.text == b.text &&
         std::ranges::equal(a.shortages, b.shortages, SameShortage);
}

}  // namespace

std::string Refusal::Key() const {
  std::string key = std::to_string(filter);
  key += code == PluginStatus::Code::kUnresolvable ? '!' : '?';
  for (const Reason& reason : reasons) {
    key.append(reason.code).append(1, '\0').append(reason.text).append(1, '\0');
    for (const Reason::Shortage& shortage : reason.shortages) {
      key.append(shortage.what).append(1, '\0').append(shortage.needed).append(1, '\0');
      key.append(shortage.free).append(1, '\0');
    }
    key += '\n';
  }
  return key;
}

bool SaysTheSame(const Refusal& a, const Refusal& b) {
  return a.filter == b.filter && a.code == b.code &&
         std::ranges::equal(a.reasons, b.reasons, SameReason);
}

std::uint32_t Refusals::Add(Refusal refusal) {
  // Neighbours are alike, and a few refusals are most of them: no key is made for those.
  constexpr std::size_t kFew = 8;
  if (!known_.empty() && SaysTheSame(*known_[last_].refusal, refusal)) return last_;
  for (std::uint32_t i = 0; i < std::min(known_.size(), kFew); ++i) {
    if (SaysTheSame(*known_[i].refusal, refusal)) return last_ = i;
  }
  std::string key = refusal.Key();
  const auto [entry, added] = by_key_.try_emplace(key, static_cast<std::uint32_t>(known_.size()));
  last_ = entry->second;
  if (added) {
    known_.push_back({std::make_shared<const Refusal>(std::move(refusal)), std::move(key)});
  }
  return last_;
}

}  // namespace dray::scheduler
