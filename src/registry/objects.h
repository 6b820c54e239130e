// SPDX-License-Identifier: Apache-2.0
//
// Objects: API objects in a store of bytes. Knows where which object lies and what is kept of it:
// its JSON in the hub version without the resourceVersion, which is the revision that the store
// gives.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "base/mutex.h"
#include "base/status.h"
#include "rest/served_kinds.h"
#include "store/store.h"

namespace dray::registry {

namespace internal {
class SharedTexts;
}  // namespace internal
class CustomKinds;
struct CustomSnapshot;

// One version of an object, shared by everyone who reads it: the struct, and its text, which is
// made once for all who ask. Thread-safe.
class StoredObject {
 public:
  // `bytes`: what the store keeps of it; without them the text is made from the struct.
  explicit StoredObject(api::Object object, std::shared_ptr<const std::string> bytes = nullptr)
      : object_(std::move(object)), bytes_(std::move(bytes)) {}

  const api::Object& object() const { return object_; }
  // JSON in the hub version.
  const std::shared_ptr<const std::string>& Json() const;
  // The same for one who asks alone, not kept: much is written that nobody reads.
  std::string MakeJson() const;

 private:
  api::Object object_;
  std::shared_ptr<const std::string> bytes_;
  friend class Objects;
  // Of a defined kind: the form of its definition by which it has its defaults.
  mutable std::atomic<std::uint64_t> completed_ = 0;
  mutable std::once_flag once_;
  mutable std::shared_ptr<const std::string> json_;
};
using StoredObjectPtr = std::shared_ptr<const StoredObject>;

struct Found {
  store::EntryPtr entry;
  StoredObjectPtr stored;

  const api::Object& object() const { return stored->object(); }
};

// "/registry/resource.k8s.io/resourceclaims/default/c0"
std::string KeyOf(const api::KindInfo& kind, std::string_view namespace_, std::string_view name);
inline std::string KeyOf(const api::Object& object) {
  return KeyOf(object.kind(), object.metadata().namespace_, object.metadata().name);
}
// Of all objects of a kind, or of those in a namespace. Ends with '/'.
std::string PrefixOf(const api::KindInfo& kind, std::string_view namespace_ = {});

// Thread-safe.
class Objects {
 public:
  // The store outlives it. What a gate switches off is stored and read, and not served.
  explicit Objects(store::Store& store, const api::FeatureGates& gates = {});
  ~Objects();

  store::Store& store() const { return store_; }
  internal::SharedTexts& texts() const { return *texts_; }
  // What is served at this moment. Never null.
  std::shared_ptr<const rest::ServedKinds> served() const;
  // What of it somebody has defined. Never null.
  std::shared_ptr<const CustomSnapshot> custom() const;

  // What was found not to be readable, and is still there as it was then. Whatever cannot be read
  // is not absent: what it may own or hold stays.
  struct Unreadable {
    std::string key;
    store::Revision revision;
    std::string why;
  };
  std::vector<Unreadable> CannotBeRead() const;
  // Called once for each, from whatever thread finds it. Set before anybody reads.
  void OnUnreadable(std::function<void(const Unreadable&)> tell) { tell_ = std::move(tell); }

  // Nothing: there is none. DataLoss: there is one, and it cannot be read.
  StatusOr<std::optional<Found>> Find(const api::KindInfo& kind, std::string_view namespace_,
                                      std::string_view name) const;
  // What an entry holds: from memory, or decoded once after a restart. DataLoss, with the key, when
  // it cannot be read.
  StatusOr<StoredObjectPtr> Read(const store::Entry& entry) const;
  // Everything of a kind, in order of namespace and name. DataLoss when one cannot be read: nobody
  // could tell what is missing.
  StatusOr<std::vector<StoredObjectPtr>> All(const api::KindInfo& kind,
                                             std::string_view namespace_ = {}) const;
  // The same without what cannot be read, for those who count and show.
  std::vector<StoredObjectPtr> Readable(const api::KindInfo& kind,
                                        std::string_view namespace_ = {}) const;

  // Adds the write of an object to a transaction; watchers and readers get it with its revision.
  static void Put(store::Transaction& transaction, api::Object object,
                  std::optional<store::Revision> expected);
  // The same for an operation that has everything but the object.
  static void Fill(store::Operation& put, api::Object object);
  static void Delete(store::Transaction& transaction, api::Object last,
                     std::optional<store::Revision> expected);

  // The object of an outcome's entry.
  static const api::Object& ObjectOf(const store::Entry& entry) {
    return static_cast<const StoredObject*>(entry.attachment.get())->object();
  }

 private:
  StatusOr<StoredObjectPtr> Decode(const store::Entry& entry) const;
  // The object of a defined kind, with the defaults that its schema has by now.
  StoredObjectPtr Completed(StoredObjectPtr stored) const;
  const api::KindInfo* KindAt(std::string_view key) const;
  void Remember(const store::Entry& entry, const Status& why) const;

  store::Store& store_;
  const std::unique_ptr<internal::SharedTexts> texts_;
  const std::unique_ptr<CustomKinds> custom_;
  std::function<void(const Unreadable&)> tell_;
  mutable base::Mutex mutex_;
  // By key.
  mutable std::map<std::string, Unreadable, std::less<>> unreadable_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::registry
