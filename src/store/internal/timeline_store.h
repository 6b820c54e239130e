// SPDX-License-Identifier: Apache-2.0
//
// The half of a store that reads: the same for all, from a Timeline.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "store/internal/timeline.h"
#include "store/store.h"

namespace dray::store::internal {

class TimelineStore : public Store {
 public:
  explicit TimelineStore(HistoryOptions history) : timeline_(std::make_shared<Timeline>(history)) {}

  EntryPtr Find(std::string_view key) const final { return timeline_->Find(key); }
  StatusOr<RangeResult> Range(std::string_view prefix, const RangeOptions& options) const final {
    return timeline_->Range(prefix, options);
  }
  using Store::WatchFrom;
  StatusOr<std::unique_ptr<Watch>> WatchFrom(std::string_view prefix, Revision from,
                                             std::function<void()> wake,
                                             std::string_view topic) final {
    return timeline_->WatchFrom(prefix, from, std::move(wake), topic);
  }
  void SetTopics(std::string prefix, TopicFn topic_of) final {
    timeline_->SetTopics(std::move(prefix), std::move(topic_of));
  }
  void Attach(const Entry& version, std::shared_ptr<const void> attachment) final {
    timeline_->Attach(version, std::move(attachment));
  }
  Revision revision() const final { return timeline_->revision(); }
  Revision oldest_revision() const final { return timeline_->oldest_revision(); }

 protected:
  Timeline& timeline() { return *timeline_; }

 private:
  const std::shared_ptr<Timeline> timeline_;  // shared with watches, which may live longer
};

}  // namespace dray::store::internal
