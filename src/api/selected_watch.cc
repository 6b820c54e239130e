// SPDX-License-Identifier: Apache-2.0
#include "api/selected_watch.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace dray::api {
namespace {

class Selected final : public ObjectWatch {
 public:
  Selected(std::unique_ptr<ObjectWatch> watch, const Selection& selection)
      : watch_(std::move(watch)), selection_(selection) {}

  std::optional<Change> Next() override {
    while (std::optional<Change> change = watch_->Next()) {
      if (std::optional<Change> told = Told(*std::move(change))) return told;
    }
    return std::nullopt;
  }
  Status Stale() const override { return watch_->Stale(); }
  std::vector<UnreadableObject> Unreadable() const override {
    std::vector<UnreadableObject> all = watch_->Unreadable();
    std::erase_if(all, [&](const UnreadableObject& object) {
      return object.kind->namespaced && !selection_.namespace_.empty() &&
             object.namespace_ != selection_.namespace_;
    });
    return all;
  }

 private:
  using Key = std::tuple<const TypeInfo*, std::string, std::string>;

  // What the change is to those who see only what matches.
  std::optional<Change> Told(Change change) {
    const ObjectMeta& metadata = change.object.metadata();
    const Key key(change.object.kind().hub, metadata.namespace_, metadata.name);
    const auto known = matching_.find(key);
    const bool gone = change.kind == Change::Kind::kDeleted;
    if (!gone && selection_.Matches(change.object)) {
      change.kind = known == matching_.end() ? Change::Kind::kAdded : Change::Kind::kUpdated;
      matching_.insert_or_assign(key, change.object);
      return change;
    }
    if (known == matching_.end()) return std::nullopt;
    if (!gone) change = {Change::Kind::kDeleted, std::move(known->second)};
    matching_.erase(known);
    return change;
  }

  const std::unique_ptr<ObjectWatch> watch_;
  const Selection selection_;
  std::map<Key, Object> matching_;  // as they were last told
};

}  // namespace

bool Selection::Matches(const Object& object) const {
  const ObjectMeta& metadata = object.metadata();
  const bool inside =
      namespace_.empty() || !object.kind().namespaced || metadata.namespace_ == namespace_;
  return inside && fields.Matches(object) && labels.Matches(metadata.labels);
}

std::unique_ptr<ObjectWatch> SelectedWatch(std::unique_ptr<ObjectWatch> watch,
                                           const Selection& selection) {
  if (selection.empty()) return watch;
  return std::make_unique<Selected>(std::move(watch), selection);
}

}  // namespace dray::api
