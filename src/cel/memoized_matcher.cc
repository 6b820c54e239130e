// SPDX-License-Identifier: Apache-2.0
#include "cel/memoized_matcher.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace dray::cel {
namespace {

constexpr std::size_t kFirstSlots = 16;

bool Memoizes(const Program& program) {
  if (!program.only_device_reads()) return false;
  return std::ranges::none_of(program.device_reads(), [](const DeviceRead& read) {
    return read.field == DeviceRead::Field::kName;
  });
}

std::uint32_t Hash(std::span<const std::uint32_t> key) {
  std::uint64_t hash = 0x9e3779b97f4a7c15U;
  for (const std::uint32_t number : key) {
    hash = (hash ^ number) * 0xff51afd7ed558ccdU;
    hash ^= hash >> 32;
  }
  return static_cast<std::uint32_t>(hash);
}

}  // namespace

MemoizedMatcher::MemoizedMatcher(std::shared_ptr<const Program> program, const Options& options)
    : program_(std::move(program)),
      options_(options),
      reads_(program_->device_reads().size()),
      memoizes_(Memoizes(*program_)),
      key_(reads_),
      slots_(kFirstSlots) {}

MemoizedMatcher::Answer MemoizedMatcher::Match(const DeviceView& view) {
  if (!memoizes_ || !view.Project(key_)) return Evaluate(view);
  const std::uint32_t hash = Hash(key_);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask; slots_[at].entry != 0; at = (at + 1) & mask) {
    const std::size_t entry = slots_[at].entry - 1;
    if (slots_[at].hash == hash && SameKey(entry)) {
      ++hits_;
      return answers_[entry];
    }
  }
  const Answer answer = Evaluate(view);
  Insert(hash, answer);
  return answer;
}

MemoizedMatcher::Answer MemoizedMatcher::Evaluate(const DeviceView& view) {
  ++evaluations_;
  arena_.Reset();
  const MatchOutcome outcome = TryMatch(*program_, view, arena_, options_.limits);
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint32_t>::max();
  return {outcome.verdict, static_cast<std::uint32_t>(std::min(outcome.cost, kLargest))};
}

Status MemoizedMatcher::Explain(const DeviceView& view) {
  ++evaluations_;
  arena_.Reset();
  return cel::Match(*program_, view, arena_, options_.limits).status();
}

bool MemoizedMatcher::SameKey(std::size_t entry) const {
  const std::uint32_t* kept = keys_.data() + entry * reads_;
  for (std::size_t i = 0; i < reads_; ++i) {
    if (kept[i] != key_[i]) return false;
  }
  return true;
}

void MemoizedMatcher::Insert(std::uint32_t hash, const Answer& answer) {
  if (answers_.size() >= options_.max_answers) Clear();
  if ((answers_.size() + 1) * 2 > slots_.size()) {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.entry == 0) continue;
      std::size_t at = slot.hash & (slots_.size() - 1);
      while (slots_[at].entry != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }
  keys_.insert(keys_.end(), key_.begin(), key_.end());
  answers_.push_back(answer);
  std::size_t at = hash & (slots_.size() - 1);
  while (slots_[at].entry != 0) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {static_cast<std::uint32_t>(answers_.size()), hash};
}

void MemoizedMatcher::Clear() {
  keys_.clear();
  answers_.clear();
  std::ranges::fill(slots_, Slot());
}

}  // namespace dray::cel
