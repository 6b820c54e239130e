// SPDX-License-Identifier: Apache-2.0
#include "api/memory_cluster.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "api/event_folder.h"
#include "api/generated_name.h"
#include "api/internal/change_log.h"
#include "api/namespace.h"
#include "api/pod.h"
#include "api/selected_watch.h"
#include "api/shown_name.h"
#include "api/strategy.h"
#include "api/write_rules.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

constexpr std::string_view kDefaultNamespace = "default";

constexpr int kNameTries = 8;

Status NotThere(const KindInfo& kind, std::string_view namespace_, std::string_view name) {
  return base::NotFound(fmt::format("{} not found", ShownName(kind, namespace_, name)));
}

Status OtherUid(const Object& stored, std::string_view uid) {
  return base::Aborted(fmt::format("{} has the uid \"{}\", not \"{}\": it is another one by now",
                                   ShownName(stored), stored.metadata().uid, uid));
}

Status ToStatus(const ErrorList& errors) {
  if (errors.empty()) return {};
  std::string text;
  for (const FieldError& error : errors) {
    if (!text.empty()) text += "; ";
    text += error.Message();
  }
  return base::InvalidArgument(text);
}

// Whether somebody wants to do something before the object goes. A namespace says that in its spec,
// too.
bool IsHeld(const Object& object) {
  if (!object.metadata().finalizers.empty()) return true;
  const auto* space = object.As<Namespace>();
  return space != nullptr && !space->spec.finalizers.empty();
}

}  // namespace

MemoryCluster::MemoryCluster(const base::Clock& clock, base::RandomSource& random,
                             MemoryClusterOptions options)
    : clock_(clock),
      random_(random),
      options_(std::move(options)),
      rules_{options_.gates, options_.expressions, options_.validate},
      log_(std::make_shared<internal::ChangeLog>()),
      events_(std::make_unique<EventFolder>(options_.max_events)) {}

MemoryCluster::~MemoryCluster() = default;

std::size_t MemoryCluster::backlog() const { return log_->size(); }

MemoryCluster::KeyView MemoryCluster::KeyOf(const KindInfo& kind, std::string_view namespace_,
                                            std::string_view name) {
  return {kind.namespaced ? namespace_ : std::string_view(), name};
}
MemoryCluster::KeyView MemoryCluster::KeyOf(const Object& object) {
  return KeyOf(object.kind(), object.metadata().namespace_, object.metadata().name);
}

Object* MemoryCluster::FindStored(const KindInfo& kind, std::string_view namespace_,
                                  std::string_view name) {
  Objects& objects = ObjectsOf(kind);
  const auto it = objects.find(KeyOf(kind, namespace_, name));
  return it == objects.end() ? nullptr : &it->second;
}

Status MemoryCluster::AskToRead(const KindInfo& kind) const {
  if (!read_hook_) return {};
  const ReadHook hook = read_hook_;  // it may be one that sets the next one
  return hook(kind);
}

StatusOr<std::vector<Object>> MemoryCluster::List(const KindInfo& kind) const {
  DRAY_RETURN_IF_ERROR(AskToRead(kind));
  return All(kind);
}

StatusOr<std::optional<Object>> MemoryCluster::Find(const KindInfo& kind,
                                                    std::string_view namespace_,
                                                    std::string_view name) const {
  DRAY_RETURN_IF_ERROR(AskToRead(kind));
  return Stored(kind, namespace_, name);
}

std::vector<Object> MemoryCluster::All(const KindInfo& kind) const {
  std::vector<Object> list;
  const auto objects = objects_.find(kind.hub);
  if (objects == objects_.end()) return list;
  list.reserve(objects->second.size());
  for (const auto& [key, object] : objects->second) list.push_back(object);
  return list;
}

std::optional<Object> MemoryCluster::Stored(const KindInfo& kind, std::string_view namespace_,
                                            std::string_view name) const {
  const auto objects = objects_.find(kind.hub);
  if (objects == objects_.end()) return std::nullopt;
  const auto it = objects->second.find(KeyOf(kind, namespace_, name));
  if (it == objects->second.end()) return std::nullopt;
  return it->second;
}

std::unique_ptr<ObjectWatch> MemoryCluster::Watch(std::span<const KindInfo* const> kinds,
                                                  const Selection& selection) {
  std::vector<Object> present;
  std::set<const TypeInfo*> seen;
  for (const KindInfo* kind : kinds) {
    if (!seen.insert(kind->hub).second) continue;
    for (Object& object : All(*kind)) present.push_back(std::move(object));
  }
  return SelectedWatch(log_->Watch(kinds, std::move(present)), selection);
}

Status MemoryCluster::Ask(Verb verb, const Object& object) const {
  if (!hook_) return {};
  const WriteHook hook = hook_;  // it may be one that sets the next one
  return hook(verb, object);
}

Status MemoryCluster::Answer(Verb verb, const Object& object) const {
  if (!answer_hook_) return {};
  const WriteHook hook = answer_hook_;
  return hook(verb, object);
}

const Object& MemoryCluster::Insert(Object object) {
  const KeyView key = KeyOf(object);
  Objects& objects = ObjectsOf(object.kind());
  const auto it =
      objects.emplace(Key{std::string(key.namespace_), std::string(key.name)}, object).first;
  log_->Append({Change::Kind::kAdded, std::move(object)});
  return it->second;
}

void MemoryCluster::Overwrite(Object& stored, Object object) {
  object.MutableMetadata().resource_version = fmt::format_int(++revision_).str();
  stored = object;
  log_->Append({Change::Kind::kUpdated, std::move(object)});
}

void MemoryCluster::Remove(const Object& object) {
  Object last = object;  // `object` may be the stored one
  Objects& objects = ObjectsOf(last.kind());
  objects.erase(objects.find(KeyOf(last)));
  log_->Append({Change::Kind::kDeleted, std::move(last)});
}

void MemoryCluster::CompleteName(Object& object) {
  ObjectMeta& metadata = object.MutableMetadata();
  if (!metadata.name.empty() || metadata.generate_name.empty()) return;
  while (options_.name_suffix) {
    const std::string stem = metadata.generate_name.substr(0, kNameStemMaxLength);
    metadata.name = stem + options_.name_suffix(object);
    if (FindStored(object.kind(), metadata.namespace_, metadata.name) == nullptr) return;
  }
  for (int i = 0; i < kNameTries; ++i) {
    metadata.name = CompletedName(metadata.generate_name, random_);
    if (FindStored(object.kind(), metadata.namespace_, metadata.name) == nullptr) return;
  }
}

StatusOr<Object> MemoryCluster::Create(Object object) {
  if (Status refused = Ask(Verb::kCreate, object); !refused.ok()) return refused;
  if (!object.metadata().resource_version.empty()) {
    return base::InvalidArgument("metadata.resourceVersion must not be set on a new object");
  }
  const base::Time now = clock_.Now();
  PrepareNew(object, rules_, now, random_);
  CompleteName(object);
  if (object.metadata().name.empty()) {
    return base::InvalidArgument("metadata.name: Required value: name or generateName is required");
  }
  DRAY_RETURN_IF_ERROR(ToStatus(CheckNew(object, rules_)));
  if (FindStored(object.kind(), object.metadata().namespace_, object.metadata().name) != nullptr) {
    return base::AlreadyExists(fmt::format("{} already exists", ShownName(object)));
  }
  object.MutableMetadata().resource_version = fmt::format_int(++revision_).str();
  const Object inserted = Insert(std::move(object));
  DRAY_RETURN_IF_ERROR(Answer(Verb::kCreate, inserted));
  return inserted;
}

StatusOr<Object*> MemoryCluster::Target(Verb verb, const Object& object) {
  // Before anything is looked up: a hook may itself write, as another client would at that moment.
  DRAY_RETURN_IF_ERROR(Ask(verb, object));
  const ObjectMeta& metadata = object.metadata();
  Object* stored = FindStored(object.kind(), metadata.namespace_, metadata.name);
  if (stored == nullptr) return NotThere(object.kind(), metadata.namespace_, metadata.name);
  if (!metadata.uid.empty() && metadata.uid != stored->metadata().uid) {
    return OtherUid(*stored, metadata.uid);
  }
  if (!metadata.resource_version.empty() &&
      metadata.resource_version != stored->metadata().resource_version) {
    return base::Aborted(fmt::format("{} has changed: its resourceVersion is {}, not {}",
                                     ShownName(*stored), stored->metadata().resource_version,
                                     metadata.resource_version));
  }
  return stored;
}

StatusOr<Object*> MemoryCluster::Target(Verb verb, const KindInfo& kind,
                                        std::string_view namespace_, std::string_view name,
                                        std::string_view uid) {
  if (hook_) {
    if (const auto present = Stored(kind, namespace_, name)) {
      DRAY_RETURN_IF_ERROR(Ask(verb, *present));
    }
  }
  Object* stored = FindStored(kind, namespace_, name);
  if (stored == nullptr) return NotThere(kind, namespace_, name);
  if (!uid.empty() && uid != stored->metadata().uid) return OtherUid(*stored, uid);
  return stored;
}

StatusOr<Object> MemoryCluster::Replace(Verb verb, Object& stored, Object object) {
  if (object.metadata().deletion_timestamp && !IsHeld(object)) {
    object.MutableMetadata().resource_version = fmt::format_int(++revision_).str();
    Remove(object);
    DRAY_RETURN_IF_ERROR(Answer(verb, object));
    return object;
  }
  // A write that changes nothing is none: nobody is told, and the resourceVersion stays.
  if (!object.kind().equal(object.data(), stored.data())) Overwrite(stored, std::move(object));
  const Object written = stored;
  DRAY_RETURN_IF_ERROR(Answer(verb, written));
  return written;
}

StatusOr<Object> MemoryCluster::Update(Object object) {
  DRAY_ASSIGN_OR_RETURN(Object* const stored, Target(Verb::kUpdate, object));
  DRAY_RETURN_IF_ERROR(ToStatus(PrepareUpdate(object, *stored, rules_, clock_.Now())));
  return Replace(Verb::kUpdate, *stored, std::move(object));
}

StatusOr<Object> MemoryCluster::UpdateStatus(Object object) {
  if (!HasStatusPart(object.kind())) {
    return base::NotFound(fmt::format("a {} has no status", object.kind().kind));
  }
  DRAY_ASSIGN_OR_RETURN(Object* const stored, Target(Verb::kUpdateStatus, object));
  DRAY_RETURN_IF_ERROR(ToStatus(PrepareStatus(object, *stored, rules_, clock_.Now())));
  return Replace(Verb::kUpdateStatus, *stored, std::move(object));
}

Status MemoryCluster::Delete(const KindInfo& kind, std::string_view namespace_,
                             std::string_view name, std::string_view uid) {
  DRAY_ASSIGN_OR_RETURN(Object* const stored, Target(Verb::kDelete, kind, namespace_, name, uid));
  const Object last = *stored;
  if (!IsHeld(last)) {
    Remove(last);
  } else if (!last.metadata().deletion_timestamp) {
    Object object = last;
    MarkDeleted(object, clock_.Now());
    Overwrite(*stored, std::move(object));
  }
  return Answer(Verb::kDelete, last);
}

Status MemoryCluster::Bind(std::string_view namespace_, std::string_view pod, std::string_view uid,
                           std::string_view node) {
  const KindInfo& kind = HubKind(TypeInfoOf<Pod>());
  DRAY_ASSIGN_OR_RETURN(Object* const stored, Target(Verb::kBind, kind, namespace_, pod, uid));
  DRAY_ASSIGN_OR_RETURN(Object object, BoundPod(*stored, node, clock_.Now()));
  Overwrite(*stored, std::move(object));
  const Object bound = *stored;
  return Answer(Verb::kBind, bound);
}

void MemoryCluster::Note(const EventNote& note) {
  const KindInfo& kind = HubKind(TypeInfoOf<Event>());
  const base::Time now = clock_.Now();
  if (const auto* place = events_->Touch(note)) {
    if (Object* stored = FindStored(kind, place->namespace_, place->name)) {
      Object object = *stored;
      Event& event = *object.Mutable<Event>();
      event.last_timestamp = now.TruncateToSeconds();
      ++event.count;
      Overwrite(*stored, std::move(object));
      return;
    }
  }
  Event event = EventFor(note, now);
  // Kubernetes names an event by its object and the time. Clocks may stand still here, so that the
  // write's number is what tells two events apart.
  event.metadata.name = fmt::format("{}.{:x}", note.about.metadata().name, ++revision_);
  event.metadata.uid = base::NewUuid(random_);
  event.metadata.creation_timestamp = now.TruncateToSeconds();
  event.metadata.resource_version = fmt::format_int(revision_).str();
  const auto gone = events_->Add(note, {event.metadata.namespace_, event.metadata.name});
  Insert(Object::Of(std::move(event)));
  if (!gone) return;
  if (const Object* oldest = FindStored(kind, gone->namespace_, gone->name)) Remove(*oldest);
}

Status MemoryCluster::Load(std::vector<Object> objects) {
  const base::Time now = clock_.Now();
  std::uint64_t newest = revision_;
  std::set<std::pair<const TypeInfo*, KeyView>> keys;
  for (Object& object : objects) {
    SetDefaults(object, now);
    object = std::move(object).InHub();
    ObjectMeta& metadata = object.MutableMetadata();
    if (metadata.name.empty()) {
      return base::InvalidArgument(fmt::format("a {} has no name", object.kind().kind));
    }
    if (object.kind().namespaced && metadata.namespace_.empty()) {
      metadata.namespace_ = kDefaultNamespace;
    }
    std::uint64_t version = 0;
    const std::string& text = metadata.resource_version;
    std::from_chars(text.data(), text.data() + text.size(), version);
    newest = std::max(newest, version);
    if (!keys.emplace(object.kind().hub, KeyOf(object)).second ||
        FindStored(object.kind(), metadata.namespace_, metadata.name) != nullptr) {
      return base::AlreadyExists(fmt::format("{} already exists", ShownName(object)));
    }
  }
  revision_ = newest;
  for (Object& object : objects) {
    ObjectMeta& metadata = object.MutableMetadata();
    if (metadata.uid.empty()) metadata.uid = base::NewUuid(random_);
    if (!metadata.creation_timestamp) metadata.creation_timestamp = now.TruncateToSeconds();
    if (metadata.resource_version.empty()) {
      metadata.resource_version = fmt::format_int(++revision_).str();
    }
    Insert(std::move(object));
  }
  return {};
}

}  // namespace dray::api
