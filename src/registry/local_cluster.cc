// SPDX-License-Identifier: Apache-2.0
#include "registry/local_cluster.h"

#include <algorithm>
#include <future>
#include <tuple>
#include <utility>

#include "api/event.h"
#include "api/pod.h"
#include "api/selected_watch.h"
#include "api/shown_name.h"
#include "base/mutex.h"
#include "fmt/format.h"
#include "registry/local_watch.h"
#include "registry/roles.h"

namespace dray::registry {
namespace {

template <typename T>
struct Waited {
  std::promise<StatusOr<T>> promise;
  StatusOr<T> Get() { return promise.get_future().get(); }
  auto Done() {
    return [this](StatusOr<T> result) { promise.set_value(std::move(result)); };
  }
};

// A decider reads messages in logs, far from the request: they say which object it is about. One
// whose name was to be generated is called by what the refusal says.
Status Named(Status status, const api::KindInfo& kind, std::string_view namespace_,
             std::string_view name) {
  // A store whose disk has failed does not know what is on it.
  if (status.code() == StatusCode::kDeadlineExceeded) {
    status = api::OutcomeUnknown(base::Message(status));
  }
  if (name.empty()) return status;
  return base::Annotate(status, api::ShownName(kind, namespace_, name));
}
StatusOr<api::Object> NamedResult(StatusOr<api::Object> result, const api::KindInfo& kind,
                                  const std::string& namespace_, const std::string& name) {
  if (result.ok()) return result;
  return Named(result.status(), kind, namespace_, name);
}

const api::KindInfo& EventKind() { return api::HubKind(api::TypeInfoOf<api::Event>()); }

}  // namespace

// Notes that are being written, so that equal ones join the event that is not there yet.
struct LocalCluster::Notes {
  explicit Notes(std::size_t max_events) : folder(max_events) {}

  base::Mutex mutex;
  base::CondVar idle;
  api::EventFolder folder ABSL_GUARDED_BY(mutex);
  // By the name of an event that is being made: how many more notes belong to it.
  std::map<std::string, int> waiting ABSL_GUARDED_BY(mutex);
  int writing ABSL_GUARDED_BY(mutex) = 0;
  std::int64_t serial ABSL_GUARDED_BY(mutex) = 0;  // clocks may stand still

  void Finished() {
    const base::MutexLock lock(mutex);
    if (--writing == 0) idle.NotifyAll();
  }
  // Adds to the count of an event that is there.
  static void Count(Registry& registry, const WriteContext& context,
                    const std::shared_ptr<Notes>& notes, const api::EventFolder::Place& place,
                    int more) {
    const base::Time now = registry.clock().Now().TruncateToSeconds();
    registry.Modify(
        Part::kObject, EventKind(), place.namespace_, place.name,
        [more, now](const api::Object& stored) -> StatusOr<api::Object> {
          api::Object object = stored;
          api::Event& event = *object.Mutable<api::Event>();
          event.count += more;
          event.last_timestamp = now;
          return object;
        },
        context, [notes](const StatusOr<api::Object>&) { notes->Finished(); });
  }
};

LocalCluster::LocalCluster(Registry& registry, std::string component, std::size_t max_events)
    : registry_(registry),
      context_{.user = {.name = "system:" + component, .groups = {std::string(kMasters)}},
               .manager = component,
               .decider = true},
      notes_(std::make_shared<Notes>(max_events)) {}

LocalCluster::~LocalCluster() {
  Notes& notes = *notes_;
  const base::MutexLock lock(notes.mutex);
  while (notes.writing != 0) notes.idle.Wait(notes.mutex);
}

// Whoever asks past its watch wants to know what is stored at this moment, and others may have written
// it.
Status LocalCluster::Newest() const {
  store::Store& store = registry_.objects().store();
  if (store.early() != nullptr) return {};
  std::promise<Status> shown;
  store.Current([&shown](Status status) { shown.set_value(std::move(status)); });
  const Status status = shown.get_future().get();
  return status.ok() ? status : base::Unavailable(base::Message(status));
}

StatusOr<std::vector<api::Object>> LocalCluster::List(const api::KindInfo& kind) const {
  DRAY_RETURN_IF_ERROR(Newest());
  std::vector<api::Object> list;
  DRAY_ASSIGN_OR_RETURN(const std::vector<StoredObjectPtr> all, registry_.objects().All(kind));
  for (const StoredObjectPtr& stored : all) list.push_back(stored->object());
  // Keys of namespaces do not sort as their names do: '-' comes before '/'.
  std::ranges::stable_sort(list, {}, [](const api::Object& object) {
    return std::tuple(std::string_view(object.metadata().namespace_),
                      std::string_view(object.metadata().name));
  });
  return list;
}

StatusOr<std::optional<api::Object>> LocalCluster::Find(const api::KindInfo& kind,
                                                        std::string_view namespace_,
                                                        std::string_view name) const {
  DRAY_RETURN_IF_ERROR(Newest());
  DRAY_ASSIGN_OR_RETURN(const auto found, registry_.objects().Find(kind, namespace_, name));
  return found ? std::optional(found->object()) : std::nullopt;
}

std::unique_ptr<api::ObjectWatch> LocalCluster::Watch(std::span<const api::KindInfo* const> kinds,
                                                      const api::Selection& selection) {
  return api::SelectedWatch(MakeLocalWatch(registry_.objects(), kinds, selection.namespace_),
                            selection);
}

StatusOr<api::Object> LocalCluster::Create(api::Object object) {
  const api::KindInfo& kind = object.kind();
  const std::string space = object.metadata().namespace_;
  const std::string name = object.metadata().name;
  Waited<api::Object> result;
  registry_.Create(std::move(object), space, context_, result.Done());
  return NamedResult(result.Get(), kind, space, name);
}

StatusOr<api::Object> LocalCluster::Update(api::Object object) {
  const api::KindInfo& kind = object.kind();
  const std::string space = object.metadata().namespace_;
  const std::string name = object.metadata().name;
  Waited<api::Object> result;
  registry_.Update(Part::kObject, std::move(object), context_, result.Done());
  return NamedResult(result.Get(), kind, space, name);
}

StatusOr<api::Object> LocalCluster::UpdateStatus(api::Object object) {
  const api::KindInfo& kind = object.kind();
  if (!api::HasStatusPart(kind)) {
    return base::NotFound(fmt::format("a {} has no status", kind.kind));
  }
  const std::string space = object.metadata().namespace_;
  const std::string name = object.metadata().name;
  Waited<api::Object> result;
  registry_.Update(Part::kStatus, std::move(object), context_, result.Done());
  return NamedResult(result.Get(), kind, space, name);
}

Status LocalCluster::Delete(const api::KindInfo& kind, std::string_view namespace_,
                            std::string_view name, std::string_view uid) {
  Waited<Deleted> result;
  DeleteOptions options;
  if (!uid.empty()) options.uid = uid;
  registry_.Delete(kind, namespace_, name, options, context_, result.Done());
  const Status status = result.Get().status();
  return status.ok() ? status : Named(status, kind, namespace_, name);
}

Status LocalCluster::Bind(std::string_view namespace_, std::string_view pod, std::string_view uid,
                          std::string_view node) {
  Waited<api::Object> result;
  registry_.Bind(namespace_, pod, {.node = std::string(node), .uid = std::string(uid)}, context_,
                 result.Done());
  const Status status = result.Get().status();
  if (status.ok()) return status;
  const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<api::Pod>());
  // For clients that is a conflict like any other; a scheduler wants to know.
  const auto read = Find(kind, namespace_, pod);
  const api::Object* const found = read.ok() && read->has_value() ? &**read : nullptr;
  const bool same = found != nullptr && (uid.empty() || found->metadata().uid == uid);
  if (same && !found->As<api::Pod>()->spec.node_name.empty()) {
    return base::AlreadyExists(fmt::format("{} is already on node \"{}\"",
                                           api::ShownName(kind, namespace_, pod),
                                           found->As<api::Pod>()->spec.node_name));
  }
  return Named(status, kind, namespace_, pod);
}

void LocalCluster::Note(const api::EventNote& note) {
  const base::Time now = registry_.clock().Now();
  base::MutexLock lock(notes_->mutex);
  if (const auto* known = notes_->folder.Touch(note)) {
    const api::EventFolder::Place place = *known;
    if (const auto it = notes_->waiting.find(place.name); it != notes_->waiting.end()) {
      ++it->second;
      return;
    }
    const auto there = registry_.objects().Find(EventKind(), place.namespace_, place.name);
    if (there.ok() && there->has_value()) {
      ++notes_->writing;
      lock.Unlock();
      return Notes::Count(registry_, context_, notes_, place, 1);
    }
  }
  api::Event event = api::EventFor(note, now);
  // Kubernetes names an event by its object and the time.
  event.metadata.name =
      fmt::format("{}.{:x}", note.about.metadata().name, now.UnixNanos() + ++notes_->serial);
  const api::EventFolder::Place place{event.metadata.namespace_, event.metadata.name};
  const auto gone = notes_->folder.Add(note, place);
  notes_->waiting[place.name] = 0;
  notes_->writing += gone ? 2 : 1;
  lock.Unlock();
  registry_.Create(api::Object::Of(std::move(event)), place.namespace_, context_,
                   [this, notes = notes_, place](const StatusOr<api::Object>& made) {
                     int more = 0;
                     {
                       const base::MutexLock held(notes->mutex);
                       more = std::exchange(notes->waiting[place.name], 0);
                       notes->waiting.erase(place.name);
                     }
                     if (!made.ok() || more == 0) return notes->Finished();
                     Notes::Count(registry_, context_, notes, place, more);
                   });
  if (!gone) return;
  registry_.Delete(EventKind(), gone->namespace_, gone->name, {}, context_,
                   [notes = notes_](const StatusOr<Deleted>&) { notes->Finished(); });
}

}  // namespace dray::registry
