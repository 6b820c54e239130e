// SPDX-License-Identifier: Apache-2.0
#include "client/internal/inbox.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "fmt/format.h"

namespace dray::client::internal {

Inbox::Inbox(std::size_t feeds, std::function<void()> wake, const base::Clock& clock,
             std::chrono::nanoseconds silence)
    : wake_(std::move(wake)), clock_(clock), silence_(silence), feeds_(feeds) {}

void Inbox::Put(std::size_t feed, std::vector<Item> items, std::uint64_t revision) {
  const bool any = !items.empty();
  bool first = false;
  {
    const base::MutexLock lock(mutex_);
    Feed& box = feeds_[feed];
    first = !std::exchange(box.listed, true);
    box.heard = clock_.Monotonic();
    box.revision = std::max(box.revision, revision);
    std::ranges::move(items, std::back_inserter(box.items));
  }
  if ((any || first) && wake_) wake_();
}

void Inbox::SetTrouble(std::size_t feed, Status trouble) {
  bool turned = false;
  {
    const base::MutexLock lock(mutex_);
    Feed& box = feeds_[feed];
    turned = box.trouble.ok() != trouble.ok();
    if (trouble.ok()) box.heard = clock_.Monotonic();
    box.trouble = std::move(trouble);
  }
  if (turned && wake_) wake_();
}

void Inbox::SetAbsent(std::size_t feed) {
  SetTrouble(feed, {});
  const base::MutexLock lock(mutex_);
  feeds_[feed].heard = std::nullopt;
}

std::vector<api::Change> Inbox::Take() {
  std::vector<std::vector<Item>> taken;
  {
    const base::MutexLock lock(mutex_);
    if (!std::ranges::all_of(feeds_, &Feed::listed)) return {};
    for (Feed& feed : feeds_) taken.push_back(std::exchange(feed.items, {}));
  }
  std::vector<api::Change> changes;
  std::vector<std::size_t> next(taken.size(), 0);
  for (;;) {
    // What was there at the beginning has revision 0: kind by kind, in their order.
    std::size_t best = taken.size();
    for (std::size_t i = 0; i < taken.size(); ++i) {
      if (next[i] == taken[i].size()) continue;
      if (best == taken.size() || taken[i][next[i]].revision < taken[best][next[best]].revision) {
        best = i;
      }
    }
    if (best == taken.size()) return changes;
    changes.push_back(std::move(taken[best][next[best]++].change));
  }
}

std::uint64_t Inbox::Progress() const {
  const base::MutexLock lock(mutex_);
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const Feed& feed : feeds_) least = std::min(least, feed.listed ? feed.revision : 0);
  return least;
}

Status Inbox::Trouble() const {
  const base::MutexLock lock(mutex_);
  const std::chrono::nanoseconds now = clock_.Monotonic();
  bool silent = false;
  for (const Feed& feed : feeds_) {
    if (!feed.trouble.ok()) return feed.trouble;
    silent = silent || (feed.heard && now - *feed.heard > silence_);
  }
  if (!silent) return {};
  // The same each time: people are told what is new.
  return base::Unavailable(fmt::format("a watch: the server has said nothing for more than {} s",
                                       std::chrono::duration<double>(silence_).count()));
}

}  // namespace dray::client::internal
