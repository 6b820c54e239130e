// SPDX-License-Identifier: Apache-2.0
#include "client/remote_cluster.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <tuple>
#include <utility>

#include "api/namespace.h"
#include "api/pod.h"
#include "api/shown_name.h"
#include "client/internal/inbox.h"
#include "client/internal/note_writer.h"
#include "client/internal/reflector.h"
#include "fmt/format.h"
#include "threads/system_host.h"

namespace dray::client {
namespace {

constexpr std::chrono::milliseconds kReadAgain{200};

// A short trouble is waited out.
template <typename Read>
auto Patiently(base::Host& host, int reads, Read read) -> decltype(read()) {
  for (int left = reads;; --left) {
    auto result = read();
    if (result.status().code() != StatusCode::kUnavailable || left <= 1) return result;
    host.MakeAlarm()->Sleep(kReadAgain);
  }
}

// A decider reads messages in logs, far from the request: they say which object it is about.
StatusOr<api::Object> Named(StatusOr<api::Object> result, const api::Object& object) {
  if (result.ok()) return result;
  return base::Annotate(result.status(), api::ShownName(object));
}

class RemoteWatch final : public api::ObjectWatch {
 public:
  RemoteWatch(const ObjectClient& client, std::span<const api::KindInfo* const> kinds,
              std::shared_ptr<internal::Inbox> inbox, const base::Clock& clock,
              const internal::ReflectorOptions& options)
      : inbox_(std::move(inbox)) {
    for (std::size_t feed = 0; feed < kinds.size(); ++feed) {
      // Not all at the same time.
      internal::ReflectorOptions its = options;
      its.watch_for += std::chrono::seconds(7 * feed);
      reflectors_.push_back(std::make_unique<internal::Reflector>(
          client, api::HubKind(*kinds[feed]->hub), *inbox_, feed, clock, its));
      reflectors_.back()->Start();
    }
  }
  ~RemoteWatch() override {
    for (const auto& reflector : reflectors_) reflector->Stop();
  }

  std::optional<api::Change> Next() override {
    if (next_ == changes_.size()) {
      changes_ = inbox_->Take();
      next_ = 0;
      if (changes_.empty()) return std::nullopt;
    }
    return std::move(changes_[next_++]);
  }
  Status Stale() const override { return inbox_->Trouble(); }

 private:
  std::shared_ptr<internal::Inbox> inbox_;
  std::vector<std::unique_ptr<internal::Reflector>> reflectors_;
  std::vector<api::Change> changes_;
  std::size_t next_ = 0;
};

}  // namespace

RemoteCluster::RemoteCluster(HttpClient& http, const base::Clock& clock, RemoteOptions options)
    : options_(std::move(options)),
      host_(options_.host != nullptr ? *options_.host : threads::TheSystemHost()),
      clock_(clock),
      client_(http, options_.component) {
  const std::size_t writers = std::max<std::size_t>(options_.note_writers, 1);
  const internal::NoteOptions notes{
      .max_events = std::max<std::size_t>(options_.max_events / writers, 1),
      .max_waiting = std::max<std::size_t>(options_.max_waiting_events / writers, 1),
      .first_backoff = options_.first_backoff,
      .longest_backoff = options_.longest_backoff};
  for (std::size_t i = 0; i < writers; ++i) {
    notes_.push_back(std::make_unique<internal::NoteWriter>(client_, clock, host_, notes));
  }
}

RemoteCluster::~RemoteCluster() = default;

StatusOr<std::vector<api::Object>> RemoteCluster::List(const api::KindInfo& kind) const {
  auto listing = Patiently(host_, options_.reads, [&] { return client_.List(kind); });
  // A kind that the server does not have has no objects.
  if (listing.status().code() == StatusCode::kNotFound) return std::vector<api::Object>();
  if (!listing.ok()) return base::Annotate(listing.status(), fmt::format("list {}", kind.plural));
  std::vector<api::Object> objects = std::move(listing->objects);
  // A server's keys of namespaces do not sort as their names do: '-' comes before '/'.
  std::ranges::stable_sort(objects, {}, [](const api::Object& object) {
    return std::tuple(std::string_view(object.metadata().namespace_),
                      std::string_view(object.metadata().name));
  });
  return objects;
}

StatusOr<std::optional<api::Object>> RemoteCluster::Find(const api::KindInfo& kind,
                                                         std::string_view namespace_,
                                                         std::string_view name) const {
  auto found =
      Patiently(host_, options_.reads, [&] { return client_.Get(kind, namespace_, name); });
  if (found.status().code() == StatusCode::kNotFound) return std::nullopt;
  if (!found.ok()) {
    return base::Annotate(found.status(),
                          fmt::format("read {}", api::ShownName(kind, namespace_, name)));
  }
  return std::optional(*std::move(found));
}

std::unique_ptr<api::ObjectWatch> RemoteCluster::Watch(std::span<const api::KindInfo* const> kinds,
                                                       const api::Selection& selection) {
  std::vector<const api::KindInfo*> distinct;
  for (const api::KindInfo* kind : kinds) {
    const bool twice = std::ranges::any_of(
        distinct, [&](const api::KindInfo* other) { return other->hub == kind->hub; });
    if (!twice) distinct.push_back(kind);
  }
  auto inbox = std::make_shared<internal::Inbox>(distinct.size(), options_.on_change, clock_,
                                                 options_.silence);
  {
    const base::MutexLock lock(mutex_);
    std::erase_if(inboxes_, [](const auto& weak) { return weak.expired(); });
    inboxes_.push_back(inbox);
  }
  return std::make_unique<RemoteWatch>(
      client_, distinct, std::move(inbox), clock_,
      internal::ReflectorOptions{.first_backoff = options_.first_backoff,
                                 .longest_backoff = options_.longest_backoff,
                                 .absent = options_.absent,
                                 .silence = options_.silence,
                                 .selection = selection,
                                 .host = &host_,
                                 .withheld = options_.withheld});
}

StatusOr<api::Object> RemoteCluster::Create(api::Object object) {
  return Named(client_.Create(object), object);
}

StatusOr<api::Object> RemoteCluster::Update(api::Object object) {
  const auto* space = object.As<api::Namespace>();
  const bool emptied = space != nullptr && space->metadata.deletion_timestamp.has_value() &&
                       space->spec.finalizers.empty();
  return Named(emptied ? client_.Finalize(object) : client_.Update(object), object);
}

StatusOr<api::Object> RemoteCluster::UpdateStatus(api::Object object) {
  return Named(client_.UpdateStatus(object), object);
}

Status RemoteCluster::Delete(const api::KindInfo& kind, std::string_view namespace_,
                             std::string_view name, std::string_view uid) {
  return base::Annotate(client_.Delete(kind, namespace_, name, uid, options_.delete_grace_seconds),
                        api::ShownName(kind, namespace_, name));
}

Status RemoteCluster::Bind(std::string_view namespace_, std::string_view pod, std::string_view uid,
                           std::string_view node) {
  const Status status = client_.Bind(namespace_, pod, uid, node);
  if (status.ok()) return status;
  const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<api::Pod>());
  // For clients that is a conflict like any other; a scheduler wants to know.
  const auto found = client_.Get(kind, namespace_, pod);
  const bool same = found.ok() && (uid.empty() || found->metadata().uid == uid);
  if (same && !found->As<api::Pod>()->spec.node_name.empty()) {
    const std::string& there = found->As<api::Pod>()->spec.node_name;
    // No answer came, but it was done.
    if (api::MayHaveHappened(status) && there == node) return {};
    return base::AlreadyExists(
        fmt::format("{} is already on node \"{}\"", api::ShownName(kind, namespace_, pod), there));
  }
  return base::Annotate(status, api::ShownName(kind, namespace_, pod));
}

void RemoteCluster::Note(const api::EventNote& note) {
  // What is said about one object stays in order and is folded.
  const std::size_t hash = std::hash<std::string>()(note.about.metadata().uid);
  notes_[hash % notes_.size()]->Put(note);
}

void RemoteCluster::Flush() {
  for (const auto& notes : notes_) notes->Flush();
}

std::vector<std::shared_ptr<internal::Inbox>> RemoteCluster::Inboxes() const {
  const base::MutexLock lock(mutex_);
  std::vector<std::shared_ptr<internal::Inbox>> inboxes;
  for (const auto& weak : inboxes_) {
    if (auto inbox = weak.lock()) inboxes.push_back(std::move(inbox));
  }
  return inboxes;
}

std::uint64_t RemoteCluster::Progress() const {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const auto& inbox : Inboxes()) least = std::min(least, inbox->Progress());
  return least;
}

Status RemoteCluster::Health() const {
  for (const auto& inbox : Inboxes()) DRAY_RETURN_IF_ERROR(inbox->Trouble());
  return {};
}

}  // namespace dray::client
