// SPDX-License-Identifier: Apache-2.0
//
// View: what a controller knows of the cluster, and its pen. Objects are as a watch has told them;
// what the controller writes itself is seen at once, so that it never does a thing twice because
// the watch is late.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "api/cluster.h"
#include "base/status.h"
#include "controllers/object_key.h"

namespace dray::controllers {

// One thread.
class View {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    // Null before: it is new. Null after: it is gone. Both are of one object, never of two that had
    // the same name. Called after the view has changed.
    virtual void OnChange(const api::Object* before, const api::Object* after) = 0;
  };

  // Both outlive it.
  View(api::Cluster& cluster, std::span<const api::KindInfo* const> kinds, Listener& listener);

  // Takes in what has happened. The number of changes that were news.
  std::size_t Pull();

  // Valid until the next Pull or write; a copy of the Object stays.
  const api::Object* Find(const ObjectKey& key) const;
  template <typename T>
  const T* Find(std::string_view namespace_, std::string_view name) const {
    const api::Object* object = Find(ObjectKey::Of<T>(namespace_, name));
    return object == nullptr ? nullptr : object->As<T>();
  }
  // Past the watch: what is stored at this moment.
  std::optional<api::Object> Fetch(const api::KindInfo& kind, std::string_view namespace_,
                                   std::string_view name) const {
    return cluster_.Find(kind, namespace_, name);
  }
  template <typename T>
  std::optional<api::Object> Fetch(std::string_view namespace_, std::string_view name) const {
    return Fetch(KindOf<T>(), namespace_, name);
  }

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
  // Whether that was news.
  bool Take(const api::Change& change);
  bool Put(const api::Object& object);
  StatusOr<api::Object> Written(StatusOr<api::Object> stored);

  api::Cluster& cluster_;
  Listener& listener_;
  std::unique_ptr<api::ObjectWatch> watch_;
  absl::flat_hash_map<ObjectKey, api::Object> objects_;
  absl::flat_hash_set<std::string> told_to_go_;  // uids
  std::size_t writes_ = 0;
};

}  // namespace dray::controllers
