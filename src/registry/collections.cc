// SPDX-License-Identifier: Apache-2.0
//
// Get, list, watch, and the deletion of all that a list finds.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "fmt/format.h"
#include "registry/custom_kinds.h"
#include "registry/internal/exchange.h"
#include "registry/internal/list_text.h"
#include "registry/internal/request_options.h"
#include "registry/internal/topics.h"
#include "registry/watch_stream.h"
#include "rest/api_error.h"
#include "rest/paging.h"
#include "rest/tree.h"

namespace dray::registry::internal {
namespace {

constexpr std::int64_t kDefaultWatchSeconds = 1800;
constexpr std::size_t kRangeBatch = 500;
constexpr std::size_t kShortList = 256u << 10;  // bytes

StatusOr<Selection> SelectionOf(const Exchange& exchange, const rest::ListOptions& options) {
  Selection selection{.kind = &exchange.kind(), .namespace_ = exchange.route.namespace_};
  auto labels = api::LabelMatcher::Parse(options.label_selector);
  if (!labels.ok()) {
    return rest::BadRequest(fmt::format("{}", base::Message(labels.status())));
  }
  selection.labels = *std::move(labels);
  auto fields = api::FieldSelector::Parse(options.field_selector);
  if (!fields.ok()) return rest::BadRequest(base::Message(fields.status()));
  if (const auto resource = exchange.registry->objects().custom()->Find(exchange.kind())) {
    selection.custom = resource->Of(exchange.kind());
    for (const api::FieldSelector::Term& term : fields->terms()) {
      const auto& known = selection.custom->selectable_fields();
      const bool own =
          std::ranges::any_of(known, [&](const auto& field) { return field.name == term.field; });
      if (own || term.field == "metadata.name" || term.field == "metadata.namespace") continue;
      return rest::BadRequest(fmt::format("field label not supported: {}", term.field));
    }
  } else if (Status known = fields->CheckSupported(exchange.kind()); !known.ok()) {
    return rest::BadRequest(base::Message(known));
  }
  selection.fields = *std::move(fields);
  return selection;
}

StatusOr<std::optional<store::Revision>> RevisionOf(std::string_view text) {
  if (text.empty() || text == "0") return std::optional<store::Revision>();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) {
    return rest::BadRequest(fmt::format(
        "resourceVersion: Invalid value: \"{}\": must be a number that this server has given",
        text));
  }
  return std::optional(store::Revision{number});
}

// Whoever has seen a revision must not be told of an older one.
Status CheckReached(const store::Store& store, std::optional<store::Revision> asked) {
  if (!asked || *asked <= store.revision()) return {};
  return rest::RevisionTooLarge(asked->value, store.revision().value);
}

struct Page {
  std::vector<StoredObjectPtr> items;
  store::Revision revision;
  std::string next;                     // a token; empty: that was all
  std::vector<std::string> unreadable;  // what is there and could not be shown
  std::optional<std::int64_t> remaining;
};

struct PageRequest {
  Selection selection;
  std::optional<store::Revision> at;
  std::string start;  // relative to the prefix
  std::size_t limit = 0;
  std::optional<std::size_t> left;  // from `start` on, if an earlier page has counted
};

StatusOr<Page> ReadPage(const Objects& objects, const PageRequest& request) {
  const std::string prefix = PrefixOf(*request.selection.kind, request.selection.namespace_);
  const std::string topic = TopicOf(request.selection);
  std::string start = request.start.empty() ? "" : prefix + request.start.substr(1);
  Page page;
  std::optional<store::Revision> at = request.at;
  std::optional<std::size_t> left = request.left;
  const bool all = request.selection.all();
  while (true) {
    const std::size_t batch = request.limit == 0 ? 0
                              : all              ? request.limit - page.items.size()
                                                 : kRangeBatch;
    auto range = objects.store().Range(
        prefix, {.start = start, .limit = batch, .at = at, .topic = topic, .count = all && !left});
    if (!range.ok()) return range.status();
    page.revision = range->revision;
    at = range->revision;  // further batches are of the same moment
    if (all && !left) left = range->entries.size() + range->remaining;
    for (std::size_t i = 0; i < range->entries.size(); ++i) {
      const store::Entry& entry = *range->entries[i];
      auto stored = objects.Read(entry);
      start = entry.key + '\0';
      if (left && *left > 0) --*left;
      if (!stored.ok()) {
        page.unreadable.emplace_back(base::Message(stored.status()));
        continue;
      }
      if (!request.selection.Matches((*stored)->object())) continue;
      page.items.push_back(*std::move(stored));
      if (request.limit == 0 || page.items.size() < request.limit) continue;
      const bool more = range->more || i + 1 < range->entries.size();
      if (!more) return page;
      if (left) page.remaining = static_cast<std::int64_t>(*left);
      page.next = rest::ContinueToken{.revision = page.revision.value,
                                      .start = "/" + start.substr(prefix.size()),
                                      .left = page.remaining}
                      .Encode();
      return page;
    }
    if (!range->more) return page;
  }
}

std::string ListMetadata(const Page& page) {
  rest::DocumentNode metadata = rest::MapNode();
  rest::SetIn(metadata, "resourceVersion",
              rest::StringNode(fmt::format_int(page.revision.value).str()));
  if (!page.next.empty()) rest::SetIn(metadata, "continue", rest::StringNode(page.next));
  if (page.remaining) {
    rest::SetIn(metadata, "remainingItemCount", rest::NumberNode(*page.remaining));
  }
  return ToJson(metadata);
}

ListText TextOf(const api::KindInfo& kind, Page page, bool metadata_only = false) {
  std::string metadata = ListMetadata(page);
  return ListText({&kind, metadata_only, std::move(metadata), std::move(page.items)});
}

Status TooOldToContinue(const rest::ContinueToken& token, store::Revision oldest) {
  rest::ApiError error = rest::FromStatus(rest::Expired(
      fmt::format("the list that this token continues is of revision {}, which has left the "
                  "history (it begins at {}): start the list again without the token",
                  token.revision, oldest.value)));
  return rest::ToStatus(error);
}

StatusOr<PageRequest> PageOf(const Exchange& exchange) {
  PageRequest request;
  DRAY_ASSIGN_OR_RETURN(const rest::ListOptions options, ListOptionsOf(exchange.query, false));
  DRAY_ASSIGN_OR_RETURN(request.selection, SelectionOf(exchange, options));
  request.limit = static_cast<std::size_t>(std::max<std::int64_t>(0, options.limit));
  const store::Store& store = exchange.registry->objects().store();
  DRAY_ASSIGN_OR_RETURN(const auto revision, RevisionOf(options.resource_version));
  if (!options.continue_.empty()) {
    if (revision) {
      return rest::BadRequest("specifying resource version is not allowed when using continue");
    }
    DRAY_ASSIGN_OR_RETURN(rest::ContinueToken token, rest::ContinueToken::Parse(options.continue_));
    DRAY_RETURN_IF_ERROR(CheckReached(store, store::Revision{token.revision}));
    if (token.revision > 0 && token.revision < store.oldest_revision().value) {
      return TooOldToContinue(token, store.oldest_revision());
    }
    if (!token.start.starts_with('/')) {
      return rest::BadRequest("invalid continue token: its start is not one of this list");
    }
    if (token.revision > 0) request.at = store::Revision{token.revision};
    request.start = std::move(token.start);
    // A token of another list, or a list of now, says nothing about this one.
    if (token.left && request.at) request.left = static_cast<std::size_t>(*token.left);
    return request;
  }
  DRAY_RETURN_IF_ERROR(CheckReached(store, revision));
  // Otherwise any moment from then on will do, and now is the best one.
  if (revision && options.resource_version_match == "Exact") {
    if (*revision < store.oldest_revision()) {
      return rest::Expired(
          fmt::format("The resourceVersion for the provided list is too old: {}", revision->value));
    }
    request.at = revision;
  }
  return request;
}

}  // namespace

void HandleGet(const ExchangePtr& exchange) {
  const Route& route = exchange->route;
  const auto options = GetOptionsOf(exchange->query);
  if (!options.ok()) return exchange->SendError(options.status());
  const auto revision = RevisionOf(options->resource_version);
  if (!revision.ok()) return exchange->SendError(revision.status());
  const store::Store& store = exchange->registry->objects().store();
  if (Status reached = CheckReached(store, *revision); !reached.ok()) {
    return exchange->SendError(reached);
  }
  const auto found =
      exchange->registry->objects().Find(exchange->kind(), route.namespace_, route.name);
  if (!found.ok()) return exchange->SendError(found.status());
  if (!*found) return exchange->SendError(rest::NotFound(exchange->kind(), route.name));
  exchange->SendObject(200, (*found)->object());
}

namespace {

// A short list has a length, which clients like; a long one is made as it is read.
void SendList(Exchange& exchange, ListText text) {
  std::string beginning;
  if (!text.Append(beginning, kShortList)) return exchange.Send(200, std::move(beginning));
  apiserver::Response response = exchange.Begin(200, exchange.format.content_type());
  response.stream = MakeListStream(std::move(beginning), std::move(text));
  exchange.Answer(std::move(response));
}

// In the shape that was asked for.
void SendPage(Exchange& exchange, Page page) {
  const api::KindInfo& kind = exchange.kind();
  if (exchange.format.shape != Shape::kTable) {
    const bool metadata_only = exchange.format.shape == Shape::kPartialMetadata;
    return SendList(exchange, TextOf(kind, std::move(page), metadata_only));
  }
  const auto include = IncludeOf(exchange.query);
  if (!include.ok()) return exchange.SendError(include.status());
  std::vector<api::Object> objects;
  for (const StoredObjectPtr& stored : page.items) objects.push_back(stored->object());
  exchange.Send(200, rest::TableJson(kind, objects,
                                     {.list_metadata = ListMetadata(page), .include = *include},
                                     TableContextFor(*exchange.registry, kind)));
}

}  // namespace

void HandleList(const ExchangePtr& exchange) {
  auto request = PageOf(*exchange);
  if (!request.ok()) return exchange->SendError(request.status());
  auto page = ReadPage(exchange->registry->objects(), *request);
  if (!page.ok()) return exchange->SendError(page.status());
  // A program takes what a list does not have for gone, and acts on it. People are shown the others;
  // whoever asks for this one gets its error.
  if (!page->unreadable.empty() && exchange->format.shape != Shape::kTable) {
    return exchange->SendError(base::MakeStatus(StatusCode::kDataLoss, page->unreadable.front()));
  }
  for (std::string& text : page->unreadable) exchange->warnings.push_back(std::move(text));
  SendPage(*exchange, *std::move(page));
}

void HandleWatch(const ExchangePtr& exchange) {
  WatchOptions options;
  const auto asked = ListOptionsOf(exchange->query, true);
  if (!asked.ok()) return exchange->SendError(asked.status());
  auto selection = SelectionOf(*exchange, *asked);
  if (!selection.ok()) return exchange->SendError(selection.status());
  options.selection = *std::move(selection);
  const auto from = RevisionOf(asked->resource_version);
  if (!from.ok()) return exchange->SendError(from.status());
  const auto include = IncludeOf(exchange->query);
  if (!include.ok()) return exchange->SendError(include.status());
  const store::Store& store = exchange->registry->objects().store();
  if (Status reached = CheckReached(store, *from); !reached.ok()) {
    return exchange->SendError(reached);
  }
  const bool initial = asked->send_initial_events.value_or(false);
  if (!initial) options.from = from->value_or(store.revision());
  options.bookmarks = asked->allow_watch_bookmarks;
  options.mark_initial_end = initial && options.bookmarks;
  // 0 is what clients write who leave it to the server.
  const std::int64_t seconds = asked->timeout_seconds.value_or(0);
  options.timeout = std::chrono::seconds(
      std::clamp<std::int64_t>(seconds == 0 ? kDefaultWatchSeconds : seconds, 1, 24 * 3600));
  options.shape = exchange->format.shape;
  options.include = *include;
  apiserver::Response response = exchange->Begin(200, exchange->format.content_type());
  response.stream = MakeWatchStream(exchange->registry->objects(), exchange->registry->clock(),
                                    std::move(options));
  response.tick = std::chrono::milliseconds(1000);
  exchange->Answer(std::move(response));
}

namespace {

// The deletions of one request; answers when the last is done. Thread-safe.
class Deletions : public std::enable_shared_from_this<Deletions> {
 public:
  Deletions(ExchangePtr exchange, Page page)
      : exchange_(std::move(exchange)), page_(std::move(page)) {}

  void Start(const Deletion& deletion) {
    // One that is not meant spares them all: nobody wants half of a collection deleted.
    for (const StoredObjectPtr& stored : page_.items) {
      const Status meant = CheckPreconditions(stored->object(), deletion.options);
      if (!meant.ok()) return exchange_->SendError(meant);
    }
    left_ = page_.items.size() + 1;
    for (const StoredObjectPtr& stored : page_.items) {
      const api::ObjectMeta& metadata = stored->object().metadata();
      exchange_->registry->Delete(
          exchange_->kind(), metadata.namespace_, metadata.name, deletion.options, deletion.context,
          [self = shared_from_this()](StatusOr<Deleted> deleted) { self->Done(deleted.status()); });
    }
    Done({});
  }

 private:
  void Done(const Status& status) {
    {
      const base::MutexLock lock(mutex_);
      // What is gone by now needs no deletion.
      if (!status.ok() && status.code() != StatusCode::kNotFound && failure_.ok()) {
        failure_ = status;
      }
    }
    if (left_.fetch_sub(1) > 1) return;
    const Status failure = Failure();
    if (!failure.ok()) return exchange_->SendError(failure);
    SendPage(*exchange_, page_);
  }

  Status Failure() {
    const base::MutexLock lock(mutex_);
    return failure_;
  }

  const ExchangePtr exchange_;
  const Page page_;
  std::atomic<std::size_t> left_ = 0;
  base::Mutex mutex_;
  Status failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void HandleDeleteCollection(const ExchangePtr& exchange) {
  const auto deletion = DeletionOf(*exchange);
  if (!deletion.ok()) return exchange->SendError(deletion.status());
  auto request = PageOf(*exchange);
  if (!request.ok()) return exchange->SendError(request.status());
  auto page = ReadPage(exchange->registry->objects(), *request);
  if (!page.ok()) return exchange->SendError(page.status());
  if (!page->unreadable.empty()) {
    return exchange->SendError(base::MakeStatus(StatusCode::kDataLoss, page->unreadable.front()));
  }
  std::make_shared<Deletions>(exchange, *std::move(page))->Start(*deletion);
}

}  // namespace dray::registry::internal
