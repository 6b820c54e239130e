// SPDX-License-Identifier: Apache-2.0
//
// Objects: API objects in a store of bytes. Knows where which object lies and what is kept of it:
// its JSON in the hub version without the resourceVersion, which is the revision that the store
// gives.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "base/status.h"
#include "store/store.h"

namespace dray::registry {

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

 private:
  api::Object object_;
  std::shared_ptr<const std::string> bytes_;
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
  // The store outlives it.
  explicit Objects(store::Store& store) : store_(store) {}

  store::Store& store() const { return store_; }

  std::optional<Found> Find(const api::KindInfo& kind, std::string_view namespace_,
                            std::string_view name) const;
  // What an entry holds: from memory, or decoded once after a restart. An entry that cannot be read
  // is an error that names the key.
  StatusOr<StoredObjectPtr> Read(const store::Entry& entry) const;
  // Everything of a kind, in order of namespace and name.
  std::vector<StoredObjectPtr> All(const api::KindInfo& kind,
                                   std::string_view namespace_ = {}) const;

  // Adds the write of an object to a transaction; watchers and readers get it with its revision.
  static void Put(store::Transaction& transaction, api::Object object,
                  std::optional<store::Revision> expected);
  static void Delete(store::Transaction& transaction, api::Object last,
                     std::optional<store::Revision> expected);

  // The object of an outcome's entry.
  static const api::Object& ObjectOf(const store::Entry& entry) {
    return static_cast<const StoredObject*>(entry.attachment.get())->object();
  }

 private:
  store::Store& store_;
};

}  // namespace dray::registry
