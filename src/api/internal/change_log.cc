// SPDX-License-Identifier: Apache-2.0
#include "api/internal/change_log.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace dray::api::internal {

// Invariant: `next_` is between the log's first change and the one that comes next.
class ChangeLog::LogWatch final : public ObjectWatch {
 public:
  LogWatch(std::shared_ptr<ChangeLog> log, std::vector<const TypeInfo*> kinds,
           std::vector<Object> present)
      : log_(std::move(log)),
        kinds_(std::move(kinds)),
        present_(std::move(present)),
        next_(log_->first_ + log_->changes_.size()) {
    log_->watches_.push_back(this);
  }
  ~LogWatch() override {
    std::erase(log_->watches_, this);
    log_->Trim();
  }
  LogWatch(const LogWatch&) = delete;
  LogWatch& operator=(const LogWatch&) = delete;

  std::optional<Change> Next() override {
    if (told_ < present_.size()) {
      Change change{Change::Kind::kAdded, std::move(present_[told_++])};
      if (told_ == present_.size()) present_ = {};
      return change;
    }
    std::optional<Change> found;
    const std::uint64_t before = next_;
    const std::uint64_t end = log_->first_ + log_->changes_.size();
    while (!found && next_ < end) {
      const Change& change = log_->changes_[next_ - log_->first_];
      if (Wants(*change.object.kind().hub)) found = change;
      ++next_;
    }
    // Only whoever was last can let go of something.
    if (before == log_->first_ && next_ != before) log_->Trim();
    return found;
  }

  bool Wants(const TypeInfo& kind) const {
    return std::ranges::find(kinds_, &kind) != kinds_.end();
  }
  std::uint64_t next() const { return next_; }
  void Skip() { ++next_; }

 private:
  std::shared_ptr<ChangeLog> log_;
  std::vector<const TypeInfo*> kinds_;
  std::vector<Object> present_;
  std::size_t told_ = 0;  // of present_; both are 0 when all is told
  std::uint64_t next_;
};

void ChangeLog::Append(Change change) {
  const TypeInfo& kind = *change.object.kind().hub;
  if (std::ranges::none_of(watches_, [&](const LogWatch* w) { return w->Wants(kind); })) return;
  const std::uint64_t number = first_ + changes_.size();
  changes_.push_back(std::move(change));
  // A watch that is up to date and does not care must not hold the change back for others.
  for (LogWatch* watch : watches_) {
    if (watch->next() == number && !watch->Wants(kind)) watch->Skip();
  }
}

std::unique_ptr<ObjectWatch> ChangeLog::Watch(std::span<const KindInfo* const> kinds,
                                              std::vector<Object> present) {
  std::vector<const TypeInfo*> hubs;
  for (const KindInfo* kind : kinds) hubs.push_back(kind->hub);
  return std::make_unique<LogWatch>(shared_from_this(), std::move(hubs), std::move(present));
}

void ChangeLog::Trim() {
  std::uint64_t needed = first_ + changes_.size();
  for (const LogWatch* watch : watches_) needed = std::min(needed, watch->next());
  while (first_ < needed) {
    changes_.pop_front();
    ++first_;
  }
}

}  // namespace dray::api::internal
