// SPDX-License-Identifier: Apache-2.0
//
// Picture: the cluster as a watch has told it, kept once for all controllers of a thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "api/cluster.h"
#include "base/status.h"
#include "controllers/object_key.h"

namespace dray::controllers {

// One thread.
class Picture {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    // Null before: it is new. Null after: it is gone. Both are of one object, never of two that had
    // the same name. Called after the picture has changed.
    virtual void OnChange(const api::Object* before, const api::Object* after) = 0;
  };

  // The cluster outlives it. Others than these kinds are not seen.
  Picture(api::Cluster& cluster, std::span<const api::KindInfo* const> kinds)
      : cluster_(cluster), watch_(cluster.Watch(kinds)) {}
  // Of every kind.
  explicit Picture(api::Cluster& cluster);
  // Of the kinds that somebody listens to when it is first pulled: each kind costs a watch, which far
  // from the server is not for nothing.
  static std::shared_ptr<Picture> OfWhatIsListenedTo(api::Cluster& cluster);

  // Before anything was taken in, so that listeners hear of everything. They outlive it or leave.
  void Listen(std::span<const api::KindInfo* const> kinds, Listener& listener);
  // Of all kinds that somebody defines, now or later.
  void ListenToDefined(Listener& listener) { defined_.push_back(&listener); }
  void Leave(const Listener& listener);

  // Takes in what has happened. The number of changes that were news.
  std::size_t Pull();
  // Not OK: more may have happened than was told, and why.
  Status Stale() const;
  // What is there and was not told, or not as it is now.
  std::vector<api::UnreadableObject> Unreadable() const;
  // The kinds that somebody has defined, if there is a listener to such.
  std::vector<const api::KindInfo*> DefinedKinds() const;
  // What was written through the cluster is seen at once. Whether that was news.
  bool Put(const api::Object& object);
  // While somebody writes and others have their turn: what the watch tells to be gone meanwhile does not
  // come back by what was written before that.
  class Writing {
   public:
    explicit Writing(Picture& picture)
        : picture_(picture), place_(picture.writing_.insert(picture.deletions_)) {}
    ~Writing();
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;

   private:
    Picture& picture_;
    const std::multiset<std::uint64_t>::iterator place_;
  };

  // Valid until the next Pull or Put; a copy of the Object stays.
  const api::Object* Find(const ObjectKey& key) const;
  api::Cluster& cluster() const { return cluster_; }

 private:
  struct Gathering {};
  Picture(api::Cluster& cluster, Gathering) : cluster_(cluster) {}
  std::vector<const api::KindInfo*> ListenedTo() const;
  bool Take(const api::Change& change);
  // Begins or ends to watch what a definition defines.
  void Follow(const api::Object* definition, std::string_view name);
  void Tell(const api::Object* before, const api::Object* after) const;

  api::Cluster& cluster_;
  std::unique_ptr<api::ObjectWatch> watch_;  // null: not pulled yet
  struct Defined {
    const api::KindInfo* kind = nullptr;
    std::unique_ptr<api::ObjectWatch> watch;
  };
  std::map<std::string, Defined, std::less<>> extra_;  // by the name of the definition
  std::vector<Listener*> defined_;
  absl::flat_hash_map<ObjectKey, api::Object> objects_;
  // Deletions that were told so far; how many that were when each began who is writing.
  std::uint64_t deletions_ = 0;
  std::multiset<std::uint64_t> writing_;
  // Uids of what has gone since the first of these began, in order; `gone_` has the same.
  std::deque<std::pair<std::uint64_t, std::string>> going_;
  absl::flat_hash_set<std::string> gone_;
  absl::flat_hash_map<const api::TypeInfo*, std::vector<Listener*>> listeners_;
};

// What a controller is made from: a cluster, of which it then has a picture of its own, or a
// picture that it shares with others.
class Source {
 public:
  Source(api::Cluster& cluster) : cluster_(&cluster) {}
  Source(std::shared_ptr<Picture> picture) : picture_(std::move(picture)) {}

  // For several controllers, of what they listen to.
  static Source Gathered(api::Cluster& cluster) {
    return Source(Picture::OfWhatIsListenedTo(cluster));
  }
  // For several controllers.
  Source Shared() const {
    return picture_ != nullptr ? *this : Source(std::make_shared<Picture>(*cluster_));
  }
  std::shared_ptr<Picture> Open(std::span<const api::KindInfo* const> kinds) const {
    return picture_ != nullptr ? picture_ : std::make_shared<Picture>(*cluster_, kinds);
  }

 private:
  api::Cluster* cluster_ = nullptr;
  std::shared_ptr<Picture> picture_;
};

}  // namespace dray::controllers
