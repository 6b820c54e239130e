// SPDX-License-Identifier: Apache-2.0
#include "scheduler/internal/rooms_in_vain.h"

#include <cstddef>

#include "fmt/format.h"
#include "scheduler/queue.h"

namespace dray::scheduler::internal {
namespace {

constexpr int kMostFailures = 2;
// What is repeated of an error: there is more to be said in an event.
constexpr std::size_t kMostOfWhy = 320;

std::string Short(std::string_view why) {
  if (why.size() <= kMostOfWhy) return std::string(why);
  std::size_t end = kMostOfWhy;
  // Not in the middle of a character.
  while (end > 0 && (static_cast<unsigned char>(why[end]) & 0xC0) == 0x80) --end;
  return std::string(why.substr(0, end)) + "...";
}

}  // namespace

bool RoomsInVain::Failed(const PodInfo& pod, std::string_view why) {
  Entry& entry = pods_[pod.key];
  const bool over = entry.until && clock_.Monotonic() >= *entry.until;
  if (entry.pod == nullptr || entry.pod->metadata.uid != pod.pod->metadata.uid || over) entry = {};
  entry.pod = pod.pod;
  if (entry.until) return true;
  if (++entry.failures < kMostFailures) return false;
  entry.until = clock_.Monotonic() + pause_;
  entry.why = Short(why);
  return true;
}

void RoomsInVain::FailedOnNode(const PodInfo& pod) {
  Failing& failing = failing_[pod.key];
  const std::chrono::nanoseconds now = clock_.Monotonic();
  if (failing.uid != pod.pod->metadata.uid || now >= failing.until) {
    failing = {.uid = pod.pod->metadata.uid};
  }
  ++failing.failures;
  failing.until = now + pause_;
}

bool RoomsInVain::Yields(const PodInfo& pod) const {
  const auto found = failing_.find(pod.key);
  return found != failing_.end() && found->second.uid == pod.pod->metadata.uid &&
         found->second.failures >= kMostFailures && clock_.Monotonic() < found->second.until;
}

void RoomsInVain::Forget(std::string_view pod) {
  if (const auto found = pods_.find(pod); found != pods_.end()) pods_.erase(found);
  if (const auto found = failing_.find(pod); found != failing_.end()) failing_.erase(found);
}

void RoomsInVain::Refused(std::string_view pod) {
  const auto found = pods_.find(pod);
  if (found != pods_.end() && !found->second.until) pods_.erase(found);
}

void RoomsInVain::Take(const PodInfo& pod) {
  const auto found = pods_.find(pod.key);
  if (found == pods_.end()) return;
  const api::Pod& before = *found->second.pod;
  if (before.metadata.uid != pod.pod->metadata.uid || ChangeMayHelp(*pod.pod, before)) {
    Forget(pod.key);
  }
}

std::string RoomsInVain::WhyNot(const PodInfo& pod) const {
  const auto found = pods_.find(pod.key);
  if (found == pods_.end()) return {};
  const Entry& entry = found->second;
  if (!entry.until || clock_.Monotonic() >= *entry.until ||
      entry.pod->metadata.uid != pod.pod->metadata.uid) {
    return {};
  }
  return fmt::format("not again for now: room was made before, and then it failed: {}", entry.why);
}

}  // namespace dray::scheduler::internal
