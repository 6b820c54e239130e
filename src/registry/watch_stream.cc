// SPDX-License-Identifier: Apache-2.0
#include "registry/watch_stream.h"

#include <algorithm>
#include <map>
#include <utility>

#include "fmt/format.h"
#include "registry/custom_kinds.h"
#include "registry/internal/shared_texts.h"
#include "registry/internal/topics.h"
#include "rest/api_error.h"
#include "rest/compare.h"

namespace dray::registry {
namespace {

using apiserver::Bytes;

constexpr std::size_t kBatch = 256;           // events taken from the store at once
constexpr std::size_t kPullBytes = 64 << 10;  // about so much text per pull
constexpr std::chrono::seconds kBookmarkEvery(60);
constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";

class WatchStream final : public apiserver::StreamSource {
 public:
  WatchStream(const Objects& objects, const base::Clock& clock, WatchOptions options)
      : objects_(objects),
        clock_(clock),
        options_(std::move(options)),
        ends_(clock.Monotonic() + options_.timeout),
        next_bookmark_(clock.Monotonic() + kBookmarkEvery) {}

  void Start(std::function<void()> wake) override {
    const std::string prefix = PrefixOf(*options_.selection.kind, options_.selection.namespace_);
    const std::string topic = internal::TopicOf(options_.selection);
    store::Revision from;
    if (options_.from) {
      from = *options_.from;
    } else if (auto range = objects_.store().Range(prefix, {.topic = topic}); range.ok()) {
      from = range->revision;
      initial_ = std::move(range->entries);
      initial_revision_ = from;
    }
    told_ = from;
    // From the revision itself on, as long as the history has it: see DropKnown.
    repeat_ = options_.from && from > objects_.store().oldest_revision() &&
              from <= objects_.store().revision();
    auto watch = objects_.store().WatchFrom(
        prefix, repeat_ ? store::Revision{from.value - 1} : from, wake, topic);
    if (!watch.ok() && std::exchange(repeat_, false)) {
      watch = objects_.store().WatchFrom(prefix, from, wake, topic);
    }
    if (watch.ok()) {
      watch_ = *std::move(watch);
    } else {
      failure_ = TooOld(from);
    }
  }

  State Pull(std::vector<Bytes>& out) override {
    if (!failure_.ok()) return Fail(failure_, out);
    std::size_t bytes = 0;
    while (next_initial_ < initial_.size() && bytes < kPullBytes) {
      auto stored = objects_.Read(*initial_[next_initial_++]);
      if (!stored.ok() && options_.shape == Shape::kTable) continue;  // as a list
      if (!stored.ok()) return Fail(stored.status(), out);
      if (options_.selection.Matches((*stored)->object())) bytes += Send("ADDED", **stored, out);
    }
    if (next_initial_ < initial_.size()) return State::kMore;
    if (options_.mark_initial_end && !std::exchange(initial_ended_, true)) {
      SendBookmark(initial_revision_, true, out);
    }
    initial_.clear();
    next_initial_ = 0;
    while (bytes < kPullBytes) {
      // However much there is to tell, the time that was asked for ends it.
      if (clock_.Monotonic() >= ends_) return Idle(out);
      auto events = watch_->Next(kBatch);
      if (!events.ok()) return Fail(TooOld(watch_->progress()), out);
      if (events->empty()) return Idle(out);
      if (std::exchange(repeat_, false)) DropKnown(*events);
      for (const store::Event& event : *events) {
        auto sent = Send(event, out);
        if (!sent.ok()) return Fail(sent.status(), out);
        bytes += *sent;
      }
    }
    return State::kMore;
  }

 private:
  Status TooOld(store::Revision from) const {
    return rest::Expired(fmt::format("too old resource version: {} ({})", from.value,
                                     objects_.store().oldest_revision().value));
  }

  State Fail(const Status& status, std::vector<Bytes>& out) {
    Line("ERROR", rest::FromStatus(status).ToJson(), out);
    return State::kEnd;
  }

  // Nothing happened: time for what the clock asks for.
  State Idle(std::vector<Bytes>& out) {
    const std::chrono::nanoseconds now = clock_.Monotonic();
    const bool over = now >= ends_;
    // Once a minute the client hears something, be it what it knows already: who hears nothing for
    // longer may take the connection to be dead. At the end only news are worth a line.
    const bool news = watch_->progress() > told_;
    if (options_.bookmarks && (over ? news : now >= next_bookmark_)) {
      next_bookmark_ = now + kBookmarkEvery;
      SendBookmark(watch_->progress(), false, out);
    }
    return over ? State::kEnd : State::kWait;
  }

  // Who goes on at a revision has been told of it. But several changes may share one (of one
  // transaction, and on etcd of several), and a connection can end between two lines: a client that
  // was told of the first one says the same revision as one that was told of all. So they are told
  // again where there is more than one that is this watcher's business.
  void DropKnown(std::vector<store::Event>& events) const {
    const auto end = std::ranges::find_if(
        events, [&](const store::Event& event) { return event.revision() > *options_.from; });
    const auto told =
        std::count_if(events.begin(), end, [&](const auto& event) { return Concerns(event); });
    if (told < 2) events.erase(events.begin(), end);
  }
  bool Concerns(const store::Event& event) const {
    if (options_.selection.all()) return true;
    const auto matches = [&](const store::Entry& entry) {
      const auto stored = objects_.Read(entry);
      return !stored.ok() || options_.selection.Matches((*stored)->object());
    };
    return (!event.deleted && matches(*event.entry)) ||
           (event.before != nullptr && matches(*event.before));
  }

  StatusOr<std::size_t> Send(const store::Event& event, std::vector<Bytes>& out) {
    DRAY_ASSIGN_OR_RETURN(const StoredObjectPtr after, objects_.Read(*event.entry));
    const Selection& selection = options_.selection;
    // An object that begins or ceases to match comes and goes for this watcher.
    const bool matches = !event.deleted && selection.Matches(after->object());
    bool matched = event.before != nullptr;
    if (matched && !selection.all()) {
      DRAY_ASSIGN_OR_RETURN(const StoredObjectPtr before, objects_.Read(*event.before));
      matched = selection.Matches(before->object());
      if (matched && !matches && !event.deleted) return SendLeft(*before, *after, out);
    }
    if (!matches && !matched) return std::size_t{0};
    return Send(!matches ? "DELETED" : matched ? "MODIFIED" : "ADDED", *after, out);
  }

  // An object that has left the selection is shown as it last was in it, at the revision of the
  // change, which may be none of this watcher's business.
  std::size_t SendLeft(const StoredObject& before, const StoredObject& after,
                       std::vector<Bytes>& out) {
    api::Object last = before.object();
    last.MutableMetadata().resource_version = after.object().metadata().resource_version;
    return Send("DELETED", last, out);
  }

  std::size_t Send(std::string_view type, const StoredObject& stored, std::vector<Bytes>& out) {
    const api::KindInfo& kind = *options_.selection.kind;
    const api::Object& object = stored.object();
    if (options_.shape == Shape::kTable) return Send(type, object, out);
    if (options_.shape == Shape::kPartialMetadata) {
      return Line(type,
                  objects_.texts().Get(object, kind, 'm',
                                       [&] { return rest::PartialMetadataJson(object); }),
                  out);
    }
    if (&kind == &api::HubKind(*kind.hub)) return Line(type, stored.Json(), out);
    return Line(type, objects_.texts().Get(object, kind, 'o', [&] { return object.ToJson(kind); }),
                out);
  }

  std::size_t Send(std::string_view type, const api::Object& object, std::vector<Bytes>& out) {
    const api::KindInfo& kind = *options_.selection.kind;
    switch (options_.shape) {
      case Shape::kTable: {
        const rest::TableOptions table{
            .list_metadata =
                fmt::format(R"({{"resourceVersion":"{}"}})", object.metadata().resource_version),
            .include = options_.include,
            .headers = !std::exchange(headers_sent_, true)};
        return Line(type, rest::TableJson(kind, {&object, 1}, table, Context()), out);
      }
      case Shape::kPartialMetadata:
        return Line(type, rest::PartialMetadataJson(object), out);
      default:
        return Line(type, object.ToJson(kind), out);
    }
  }

  rest::TableContext Context() const {
    rest::TableContext context{.now = clock_.Now()};
    const Selection& selection = options_.selection;
    if (selection.custom != nullptr) {
      context.custom = TableOf(selection.custom, *selection.kind, context.now);
    }
    return context;
  }

  void SendBookmark(store::Revision revision, bool initial_end, std::vector<Bytes>& out) {
    const api::KindInfo& kind = *options_.selection.kind;
    told_ = revision;
    api::Object object = rest::EmptyObject(kind);
    object.MutableMetadata().resource_version = fmt::format_int(revision.value).str();
    if (initial_end) object.MutableMetadata().annotations[kInitialEventsEnd] = "true";
    switch (options_.shape) {
      case Shape::kTable:
        Line("BOOKMARK",
             rest::TableJson(
                 kind, {&object, 1},
                 {.list_metadata = fmt::format(R"({{"resourceVersion":"{}"}})", revision.value),
                  .include = options_.include,
                  .headers = !std::exchange(headers_sent_, true)},
                 Context()),
             out);
        return;
      case Shape::kPartialMetadata:
        Line("BOOKMARK", rest::PartialMetadataJson(object), out);
        return;
      default:
        Line("BOOKMARK", object.ToJson(kind), out);
    }
  }

  // The object's text is everybody's: nobody copies it before it is on its way to the client.
  static std::size_t Line(std::string_view type, Bytes object, std::vector<Bytes>& out) {
    static const Bytes kEnd = std::make_shared<const std::string>("}\n");
    out.push_back(BeginningOf(type));
    const std::size_t size = out.back()->size() + object->size() + kEnd->size();
    out.push_back(std::move(object));
    out.push_back(kEnd);
    return size;
  }
  static std::size_t Line(std::string_view type, std::string object, std::vector<Bytes>& out) {
    return Line(type, std::make_shared<const std::string>(std::move(object)), out);
  }
  static Bytes BeginningOf(std::string_view type) {
    static const std::map<std::string, Bytes, std::less<>> kBeginnings = [] {
      std::map<std::string, Bytes, std::less<>> all;
      for (const char* name : {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"}) {
        all.emplace(name, std::make_shared<const std::string>(
                              fmt::format(R"({{"type":"{}","object":)", name)));
      }
      return all;
    }();
    return kBeginnings.find(type)->second;
  }

  const Objects& objects_;
  const base::Clock& clock_;
  const WatchOptions options_;
  const std::chrono::nanoseconds ends_;
  std::chrono::nanoseconds next_bookmark_;
  std::vector<store::EntryPtr> initial_;
  std::size_t next_initial_ = 0;
  store::Revision initial_revision_;
  store::Revision told_;  // of the last bookmark, or where the client began
  bool initial_ended_ = false;
  bool headers_sent_ = false;
  bool repeat_ = false;  // the first events may be some that the client knows
  std::unique_ptr<store::Watch> watch_;
  Status failure_;
};

}  // namespace

std::unique_ptr<apiserver::StreamSource> MakeWatchStream(const Objects& objects,
                                                         const base::Clock& clock,
                                                         WatchOptions options) {
  return std::make_unique<WatchStream>(objects, clock, std::move(options));
}

}  // namespace dray::registry
