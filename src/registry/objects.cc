// SPDX-License-Identifier: Apache-2.0
#include "registry/objects.h"

#include <chrono>
#include <utility>

#include "api/custom_kind.h"
#include "api/event.h"
#include "api/json.h"
#include "fmt/format.h"
#include "registry/custom_kinds.h"
#include "registry/internal/shared_texts.h"
#include "rest/custom_object.h"

namespace dray::registry {
namespace {

constexpr std::string_view kRoot = "/registry/";
// As long as Kubernetes's --event-ttl. Where the store keeps them for longer a controller deletes them.
constexpr std::chrono::seconds kEventTtl = std::chrono::hours(1);

std::string_view GroupFolder(const api::KindInfo& kind) {
  return kind.group.empty() ? "core" : kind.group;
}

// Sets the revision in place the first time, which is nearly always the only one: copying a pod
// would cost more than the rest of this. A store that has to commit again gets a copy.
// `stored`: the entry's bytes are this object's, not those of the version before its end.
store::AttachFn AttachWithRevision(api::Object object, bool stored) {
  auto held = std::make_shared<std::optional<api::Object>>(std::move(object));
  auto made = std::make_shared<StoredObjectPtr>();
  return [held, made, stored](const store::Entry& entry) -> std::shared_ptr<const void> {
    api::Object version = *made == nullptr ? *std::move(*held) : (*made)->object();
    held->reset();
    version.MutableMetadata().resource_version = fmt::format_int(entry.modified.value).str();
    *made =
        std::make_shared<const StoredObject>(std::move(version), stored ? entry.value : nullptr);
    return *made;
  };
}

// The bytes have all but the resourceVersion, whose place is behind the uid: nothing before that
// can be taken for it, since names hold no quotes.
std::optional<std::string> WithRevision(std::string_view bytes, const api::ObjectMeta& metadata) {
  if (metadata.uid.empty() || metadata.resource_version.empty()) return std::nullopt;
  std::string uid;
  uid.reserve(metadata.uid.size() + 8);
  uid.append("\"uid\":\"").append(metadata.uid).append("\"");
  const std::size_t at = bytes.find(uid);
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t end = at + uid.size();
  constexpr std::string_view kName = ",\"resourceVersion\":\"";
  // In one piece: it is copied for each version that somebody watches.
  std::string text;
  text.reserve(bytes.size() + kName.size() + metadata.resource_version.size() + 1);
  text.append(bytes.substr(0, end)).append(kName).append(metadata.resource_version);
  text.append("\"").append(bytes.substr(end));
  return text;
}

std::string BytesOf(api::Object& object) {
  // Asking to change what is shared would copy it.
  if (!object.metadata().resource_version.empty()) {
    object.MutableMetadata().resource_version.clear();
  }
  return object.ToJson();
}

// What is of another version than any that is known may mean something else by the same fields.
Status CheckKind(api::JsonDecoder& decoder, const std::string& bytes, const api::KindInfo& kind) {
  // As it is written here.
  if (bytes.starts_with(
          fmt::format(R"({{"apiVersion":"{}","kind":"{}")", kind.ApiVersion(), kind.kind))) {
    return {};
  }
  DRAY_ASSIGN_OR_RETURN(const api::JsonDecoder::TypeMeta meta, decoder.PeekType(bytes));
  if (meta.api_version.empty() && meta.kind.empty()) return {};
  const std::string_view version = meta.api_version;
  const std::size_t slash = version.find('/');
  const std::string_view group =
      slash == version.npos ? std::string_view() : version.substr(0, slash);
  const api::KindInfo* known = api::FindKind(version, meta.kind);
  // Which versions a kind has that somebody has defined, its definition says.
  const bool same = api::IsCustom(kind) ? group == kind.group && meta.kind == kind.kind
                                        : known != nullptr && known->hub == kind.hub;
  if (same) return {};
  return base::InvalidArgument(
      fmt::format("it is a {} of version \"{}\", not a {} of version \"{}\"", meta.kind, version,
                  kind.kind, kind.ApiVersion()));
}

// An object is what its key says, and is somebody: what has no identity would be taken for another
// one, and what it owns for left behind.
Status CheckIdentity(const std::string& key, const api::Object& object) {
  const api::ObjectMeta& metadata = object.metadata();
  if (KeyOf(object.kind(), metadata.namespace_, metadata.name) != key) {
    return base::InvalidArgument(
        fmt::format("metadata: it says that it is \"{}{}{}\"", metadata.namespace_,
                    metadata.namespace_.empty() ? "" : "/", metadata.name));
  }
  if (metadata.uid.empty()) return base::InvalidArgument("metadata.uid: it has none");
  return {};
}

}  // namespace

std::string StoredObject::MakeJson() const {
  std::optional<std::string> text;
  if (bytes_ != nullptr) text = WithRevision(*bytes_, object_.metadata());
  return text ? *std::move(text) : object_.ToJson();
}

const std::shared_ptr<const std::string>& StoredObject::Json() const {
  std::call_once(once_, [this] { json_ = std::make_shared<const std::string>(MakeJson()); });
  return json_;
}

std::string PrefixOf(const api::KindInfo& kind, std::string_view namespace_) {
  return KeyOf(kind, namespace_, {});
}

std::string KeyOf(const api::KindInfo& kind, std::string_view namespace_, std::string_view name) {
  const api::KindInfo& hub = api::HubKind(*kind.hub);
  const std::string_view group = GroupFolder(hub);
  const bool spaced = hub.namespaced && !namespace_.empty();
  std::string key;
  // Made for every read and write, so in one piece.
  key.reserve(kRoot.size() + group.size() + hub.plural.size() + namespace_.size() + name.size() +
              3);
  key.append(kRoot).append(group).append("/").append(hub.plural).append("/");
  if (spaced) key.append(namespace_).append("/");
  return key.append(name);
}

Objects::Objects(store::Store& store, const api::FeatureGates& gates)
    : store_(store),
      texts_(std::make_unique<internal::SharedTexts>()),
      custom_(std::make_unique<CustomKinds>(*this, gates)) {}

Objects::~Objects() = default;

std::shared_ptr<const rest::ServedKinds> Objects::served() const { return custom()->kinds; }

std::shared_ptr<const CustomSnapshot> Objects::custom() const { return custom_->Get(); }

// The kind whose objects lie under a key.
const api::KindInfo* Objects::KindAt(std::string_view key) const {
  if (!key.starts_with(kRoot)) return nullptr;
  for (const api::KindInfo& kind : api::Kinds()) {
    if (kind.type == kind.hub && key.starts_with(PrefixOf(kind))) return &api::HubKind(*kind.hub);
  }
  key.remove_prefix(kRoot.size());
  const std::size_t group = key.find('/');
  const std::size_t plural = group == key.npos ? key.npos : key.find('/', group + 1);
  if (plural == key.npos) return nullptr;
  const auto snapshot = custom();
  const auto found = snapshot->by_place.find(key.substr(0, plural));
  return found == snapshot->by_place.end() ? nullptr : found->second->hub;
}

StoredObjectPtr Objects::Completed(StoredObjectPtr stored) const {
  const CustomResourcePtr resource = custom()->Find(stored->object().kind());
  if (resource == nullptr || stored->completed_ == resource->serial) return stored;
  rest::DocumentNode tree = rest::TreeOfObject(stored->object(), *resource->hub);
  const rest::DocumentNode before = tree;
  resource->storage->Complete(tree);
  if (rest::JsonEqual(before, tree)) {
    stored->completed_ = resource->serial;
    return stored;
  }
  api::Object object = stored->object();
  rest::SetContent(object, tree);
  auto made = std::make_shared<const StoredObject>(std::move(object));
  made->completed_ = resource->serial;
  return made;
}

StatusOr<std::optional<Found>> Objects::Find(const api::KindInfo& kind, std::string_view namespace_,
                                             std::string_view name) const {
  store::EntryPtr entry = store_.Find(KeyOf(kind, namespace_, name));
  if (entry == nullptr) return std::nullopt;
  DRAY_ASSIGN_OR_RETURN(StoredObjectPtr stored, Read(*entry));
  return std::optional<Found>({std::move(entry), std::move(stored)});
}

StatusOr<StoredObjectPtr> Objects::Read(const store::Entry& entry) const {
  if (entry.attachment != nullptr) {
    auto known = std::static_pointer_cast<const StoredObject>(entry.attachment);
    return api::IsCustom(known->object().kind()) ? Completed(std::move(known)) : known;
  }
  auto stored = Decode(entry);
  if (!stored.ok()) Remember(entry, stored.status());
  if (stored.ok() && api::IsCustom((*stored)->object().kind())) return Completed(*stored);
  return stored;
}

StatusOr<StoredObjectPtr> Objects::Decode(const store::Entry& entry) const {
  const api::KindInfo* kind = KindAt(entry.key);
  if (kind == nullptr) {
    return base::MakeStatus(StatusCode::kDataLoss,
                            fmt::format("the store has no objects under \"{}\"", entry.key));
  }
  thread_local api::JsonDecoder decoder;
  api::Object object = api::Object::New(*kind);
  Status read = decoder.Decode(*entry.value, *kind->type, object.MutableData());
  if (read.ok()) read = CheckIdentity(entry.key, object);
  if (read.ok()) read = CheckKind(decoder, *entry.value, *kind);
  if (!read.ok()) {
    return base::MakeStatus(StatusCode::kDataLoss,
                            fmt::format("what is stored under \"{}\" cannot be read: {}", entry.key,
                                        base::Message(read)));
  }
  object.MutableMetadata().resource_version = fmt::format_int(entry.modified.value).str();
  // What is stored of a defined kind may say another version than the one that is the hub by now.
  auto stored = std::make_shared<const StoredObject>(std::move(object),
                                                     api::IsCustom(*kind) ? nullptr : entry.value);
  store_.Attach(entry, stored);
  return stored;
}

void Objects::Remember(const store::Entry& entry, const Status& why) const {
  Unreadable found{entry.key, entry.modified, std::string(base::Message(why))};
  {
    const base::MutexLock lock(mutex_);
    const auto [it, added] = unreadable_.try_emplace(entry.key, found);
    if (!added && it->second.revision == found.revision) return;
    it->second = found;
  }
  if (tell_) tell_(found);
}

std::vector<Objects::Unreadable> Objects::CannotBeRead() const {
  const base::MutexLock lock(mutex_);
  // What was written or deleted since is not what was found; whoever reads it says what it is now.
  std::erase_if(unreadable_, [this](const auto& entry) {
    const store::EntryPtr now = store_.Find(entry.first);
    return now == nullptr || now->modified != entry.second.revision;
  });
  std::vector<Unreadable> all;
  for (const auto& [key, found] : unreadable_) all.push_back(found);
  return all;
}

StatusOr<std::vector<StoredObjectPtr>> Objects::All(const api::KindInfo& kind,
                                                    std::string_view namespace_) const {
  DRAY_ASSIGN_OR_RETURN(const store::RangeResult range, store_.Range(PrefixOf(kind, namespace_)));
  std::vector<StoredObjectPtr> all;
  all.reserve(range.entries.size());
  for (const store::EntryPtr& entry : range.entries) {
    DRAY_ASSIGN_OR_RETURN(StoredObjectPtr stored, Read(*entry));
    all.push_back(std::move(stored));
  }
  return all;
}

std::vector<StoredObjectPtr> Objects::Readable(const api::KindInfo& kind,
                                               std::string_view namespace_) const {
  std::vector<StoredObjectPtr> all;
  const auto range = store_.Range(PrefixOf(kind, namespace_));
  if (!range.ok()) return all;
  all.reserve(range->entries.size());
  for (const store::EntryPtr& entry : range->entries) {
    auto stored = Read(*entry);
    if (stored.ok()) all.push_back(*std::move(stored));
  }
  return all;
}

void Objects::Put(store::Transaction& transaction, api::Object object,
                  std::optional<store::Revision> expected) {
  store::Operation& put = transaction.operations.emplace_back();
  put.kind = store::Operation::Kind::kPut;
  put.key = KeyOf(object);
  put.expected = expected;
  Fill(put, std::move(object));
}

void Objects::Fill(store::Operation& put, api::Object object) {
  if (object.As<api::Event>() != nullptr) put.ttl = kEventTtl;
  put.value = std::make_shared<const std::string>(BytesOf(object));
  put.attach = AttachWithRevision(std::move(object), true);
}

void Objects::Delete(store::Transaction& transaction, api::Object last,
                     std::optional<store::Revision> expected) {
  std::string key = KeyOf(last);
  transaction.Delete(std::move(key), expected, AttachWithRevision(std::move(last), false));
}

}  // namespace dray::registry
