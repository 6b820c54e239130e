// SPDX-License-Identifier: Apache-2.0
#include "registry/objects.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "store/memory/memory_store.h"

namespace dray::registry {
namespace {

// Texts that look like what the revision is put behind.
api::ObjectMeta AwkwardMetadata() {
  api::ObjectMeta metadata;
  metadata.name = "uid";
  metadata.generate_name = "uid-";
  metadata.uid = "0a1b";
  metadata.generation = 3;
  metadata.labels["uid"] = "0a1b";
  metadata.annotations["last"] = R"({"metadata":{"uid":"0a1b","resourceVersion":"7"}})";
  metadata.owner_references.push_back(
      {.api_version = "v1", .kind = "Pod", .name = "p", .uid = "0a1b"});
  return metadata;
}

TEST(StoredObject, ItsTextIsThatOfTheStruct) {
  for (const api::KindInfo& kind : api::Kinds()) {
    if (&kind != &api::HubKind(*kind.hub)) continue;
    const auto store = store::MakeMemoryStore();
    const Objects objects(*store);
    api::Object object = api::Object::New(kind);
    object.MutableMetadata() = AwkwardMetadata();
    if (kind.namespaced) object.MutableMetadata().namespace_ = "uid";
    store::Transaction transaction;
    Objects::Put(transaction, object, std::nullopt);
    ASSERT_TRUE(store->CommitAndWait(std::move(transaction)).ok());

    const auto found = *objects.Find(kind, object.metadata().namespace_, "uid");
    ASSERT_TRUE(found.has_value()) << kind.kind;
    EXPECT_EQ(found->object().metadata().resource_version, "1");
    EXPECT_EQ(*found->stored->Json(), found->object().ToJson());
  }
}

TEST(StoredObject, WithoutAUidItsTextIsMadeFromTheStruct) {
  const auto store = store::MakeMemoryStore();
  const Objects objects(*store);
  api::Object object = api::Object::New(*api::FindKind("v1", "Pod"));
  object.MutableMetadata().name = "p";
  object.MutableMetadata().namespace_ = "default";
  store::Transaction transaction;
  Objects::Put(transaction, object, std::nullopt);
  ASSERT_TRUE(store->CommitAndWait(std::move(transaction)).ok());
  const auto found = *objects.Find(object.kind(), "default", "p");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found->stored->Json(), found->object().ToJson());
}

// The last version may say more than what was stored before it, such as when it was to go.
TEST(StoredObject, TheLastVersionIsShownAsItWasAtTheEnd) {
  const auto store = store::MakeMemoryStore();
  api::Object object = api::Object::New(*api::FindKind("v1", "Pod"));
  object.MutableMetadata().name = "p";
  object.MutableMetadata().uid = "u";
  store::Transaction put;
  Objects::Put(put, object, std::nullopt);
  ASSERT_TRUE(store->CommitAndWait(std::move(put)).ok());
  object.MutableMetadata().labels["last"] = "words";
  store::Transaction gone;
  Objects::Delete(gone, object, std::nullopt);
  const auto outcome = store->CommitAndWait(std::move(gone));
  ASSERT_TRUE(outcome.ok());
  const auto stored =
      std::static_pointer_cast<const StoredObject>(outcome->entries.front()->attachment);
  EXPECT_EQ(*stored->Json(), stored->object().ToJson());
  EXPECT_NE(stored->Json()->find("words"), std::string::npos);
}

}  // namespace
}  // namespace dray::registry
