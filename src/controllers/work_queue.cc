// SPDX-License-Identifier: Apache-2.0
#include "controllers/work_queue.h"
#include "base/seconds.h"

#include <algorithm>
#include <utility>

namespace dray::controllers {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kFirstDelay = std::chrono::milliseconds(5);
constexpr nanoseconds kLongestDelay = std::chrono::seconds(1000);
// 5 ms doubled as often is beyond the longest delay.
constexpr int kMaxDoublings = 18;

}  // namespace

void WorkQueue::Add(const ObjectKey& key) {
  if (!queued_.insert(key).second) return;
  auto& ready = ready_[key.namespace_];
  if (ready.empty()) turns_.push_back(key.namespace_);
  ready.emplace_back(key, clock_.Monotonic());
  ++adds_;
}

void WorkQueue::AddAfter(const ObjectKey& key, nanoseconds delay) {
  if (delay <= nanoseconds::zero()) return Add(key);
  const Moment moment{clock_.Monotonic() + base::Bounded(delay), number_++};
  const auto [it, added] = moments_.try_emplace(key, moment);
  if (!added) {
    if (it->second.due <= moment.due) return;
    later_.erase(it->second);
    it->second = moment;
  }
  later_.emplace(moment, key);
}

void WorkQueue::Retry(const ObjectKey& key) {
  ++retries_;
  const nanoseconds now = clock_.Monotonic();
  Failures& failures = failures_[key];
  // A change has brought it back before its time: that it fails again is no news. Otherwise an object to
  // which much happens would soon be tried once in a quarter of an hour.
  if (now < failures.retry) return AddAfter(key, failures.retry - now);
  const nanoseconds delay =
      std::min(kFirstDelay * (std::int64_t{1} << failures.retries), kLongestDelay);
  failures = {std::min(failures.retries + 1, kMaxDoublings), now + delay};
  AddAfter(key, delay);
}

void WorkQueue::Wake() {
  if (later_.empty()) return;
  const nanoseconds now = clock_.Monotonic();
  while (!later_.empty() && later_.begin()->first.due <= now) {
    const ObjectKey key = std::move(later_.begin()->second);
    later_.erase(later_.begin());
    moments_.erase(key);
    Add(key);
  }
}

std::optional<ObjectKey> WorkQueue::Pop() {
  Wake();
  if (turns_.empty()) return std::nullopt;
  std::string namespace_ = std::move(turns_.front());
  turns_.pop_front();
  const auto found = ready_.find(namespace_);
  auto& ready = found->second;
  ObjectKey key = std::move(ready.front().first);
  waited_ = clock_.Monotonic() - ready.front().second;
  ready.pop_front();
  if (ready.empty()) {
    ready_.erase(found);
  } else {
    turns_.push_back(std::move(namespace_));
  }
  queued_.erase(key);
  return key;
}

std::optional<nanoseconds> WorkQueue::NextDue() const {
  if (!turns_.empty()) return clock_.Monotonic();
  if (later_.empty()) return std::nullopt;
  return later_.begin()->first.due;
}

}  // namespace dray::controllers
