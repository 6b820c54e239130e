// SPDX-License-Identifier: Apache-2.0
//
// View: what a controller knows of the cluster, and its pen. Objects are as a watch has told them;
// what is written by a controller is seen at once, so that it never does a thing twice because the
// watch is late.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "api/cluster.h"
#include "base/status.h"
#include "controllers/object_key.h"
#include "controllers/picture.h"

namespace dray::controllers {

// One thread.
class View final : private Picture::Listener {
 public:
  using Listener = Picture::Listener;

  // What the source names outlives it, the listener too.
  // `defined`: also of all kinds that somebody defines.
  View(const Source& source, std::span<const api::KindInfo* const> kinds, Listener& listener,
       bool defined = false);
  ~View() override { picture_->Leave(*this); }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  // Takes in what has happened, for all who share the picture. The number of changes that were
  // news.
  std::size_t Pull() { return picture_->Pull(); }
  // Whether one may decide by it. Where objects cannot be read one may: what a controller does not
  // find it looks for (Fetch), and an error then is not absence.
  bool Followed() const {
    const Status stale = picture_->Stale();
    return stale.ok() || stale.code() == StatusCode::kDataLoss;
  }

  // What is there and cannot be read; Find has it as it last could be, if it ever could.
  std::vector<api::UnreadableObject> Unreadable() const { return picture_->Unreadable(); }

  // Valid until the next Pull or write; a copy of the Object stays.
  const api::Object* Find(const ObjectKey& key) const { return picture_->Find(key); }
  template <typename T>
  const T* Find(std::string_view namespace_, std::string_view name) const {
    const api::Object* object = Find(ObjectKey::Of<T>(namespace_, name));
    return object == nullptr ? nullptr : object->As<T>();
  }
  // Past the watch: what is stored at this moment. An error says nothing about that.
  StatusOr<std::optional<api::Object>> Fetch(const api::KindInfo& kind, std::string_view namespace_,
                                             std::string_view name) const {
    return cluster_.Find(kind, namespace_, name);
  }
  StatusOr<std::vector<api::Object>> List(const api::KindInfo& kind) const {
    return cluster_.List(kind);
  }
  template <typename T>
  StatusOr<std::optional<api::Object>> Fetch(std::string_view namespace_,
                                             std::string_view name) const {
    return Fetch(KindOf<T>(), namespace_, name);
  }

  // Whether everything that is in the namespace can be read: whoever concludes from seeing nothing
  // that nothing is left asks this first. Not OK: something is there that nobody can see, and why.
  // Without a namespace: anywhere. Costs nothing while everything can be read.
  Status NothingHidden(std::string_view namespace_) const;

  // As the Cluster's verbs. An update of what is not the newest fails with Aborted.
  StatusOr<api::Object> Create(api::Object object);
  StatusOr<api::Object> Update(api::Object object);
  StatusOr<api::Object> UpdateStatus(api::Object object);
  // Changes a copy of the object and writes it; when somebody else was faster, that of the stored
  // one. For changes that are right whatever else has changed. `edit` returns false when there is
  // nothing to change (any more). NotFound when the object is gone.
  using Edit = std::function<bool(api::Object&)>;
  Status EditObject(const api::Object& object, const Edit& edit);
  Status EditStatus(const api::Object& object, const Edit& edit);
  // Only this very object. OK when it is gone, and once it was told to go; Aborted when another has
  // its name by now.
  Status Delete(const api::Object& object);
  void Note(const api::EventNote& note) { cluster_.Note(note); }

  // Whether it has been deleted: by whomever, or by this view a moment ago.
  bool Leaving(const api::Object& object) const;

  // Writes that were done so far.
  std::size_t writes() const { return writes_; }

 private:
  using Write = StatusOr<api::Object> (View::*)(api::Object);
  Status EditWith(const api::Object& object, const Edit& edit, Write write);
  void OnChange(const api::Object* before, const api::Object* after) override;
  StatusOr<api::Object> Written(StatusOr<api::Object> stored);

  std::shared_ptr<Picture> picture_;
  api::Cluster& cluster_;
  Listener& listener_;
  absl::flat_hash_set<std::string> told_to_go_;  // uids
  std::size_t writes_ = 0;
};

}  // namespace dray::controllers
