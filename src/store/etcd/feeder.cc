// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/feeder.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace dray::store::internal {
namespace {

// How often is asked for progress while somebody waits.
constexpr std::chrono::nanoseconds kAsk = std::chrono::milliseconds(100);
constexpr std::chrono::nanoseconds kLongestPause = std::chrono::seconds(1);
constexpr std::chrono::nanoseconds kLongestPatience = std::chrono::seconds(24);
constexpr std::chrono::nanoseconds kListPatience = std::chrono::minutes(2);
constexpr std::chrono::nanoseconds kPagePatience = std::chrono::seconds(30);

}  // namespace

Feeder::Feeder(EventLoop& loop, Members& members, const Layout& layout, const EtcdOptions& options,
               EtcdCounts& counts, Timeline& cache, OwnWrites& own,
               std::function<void(Status)> broken)
    : loop_(loop),
      members_(members),
      layout_(layout),
      options_(options),
      counts_(counts),
      cache_(cache),
      own_(own),
      broken_(std::move(broken)),
      patience_(options.watch_patience) {}

void Feeder::Start(Revision from, rpc::DoneStatus done) {
  auto list = std::make_shared<List>();
  list->revision = from.value;
  list->then = from.value > 0;
  list->done = std::move(done);
  ReadPage(std::move(list), layout_.root());
}

// [cost] The server counts the rest of the range for each page, so pages are large.
void Feeder::ReadPage(std::shared_ptr<List> list, std::string from) {
  const rpc::EtcdRange range{.key = std::move(from),
                             .end = rpc::EtcdPrefixEnd(layout_.root()),
                             .limit = options_.page,
                             .revision = list->revision};
  const auto ask = [range](rpc::EtcdMember& member, rpc::Done<rpc::EtcdRangeAnswer> answered) {
    member.Range(range, kPagePatience, std::move(answered));
  };
  members_.Until<rpc::EtcdRangeAnswer>(
      Clock::now() + kListPatience, ask, [this, list](StatusOr<rpc::EtcdRangeAnswer> answer) {
        if (closed_) return;
        if (!answer.ok() && FailureOf(answer.status()) == Failure::kCompacted) {
          // Somebody compacted while it was read, or long before: from now, then.
          list->entries.clear();
          list->revision = 0;
          list->then = false;
          return ReadPage(list, layout_.root());
        }
        if (!answer.ok()) {
          if (list->done) return list->done(answer.status());
          return Reopen(/*blame=*/false);
        }
        // The header says the current revision, also of a page that shows an older one.
        if (list->revision == 0) list->revision = answer->header.revision;
        expected_ = std::max(expected_, answer->header.revision);
        std::string last;
        for (rpc::EtcdKeyValue& kv : answer->kvs) {
          last = kv.key;
          auto key = layout_.Decode(kv.key);
          if (!key) continue;
          list->entries.push_back(std::make_shared<const Entry>(
              Entry{.key = *std::move(key),
                    .value = std::make_shared<const std::string>(std::move(kv.value)),
                    .created = {kv.created},
                    .modified = {kv.modified}}));
        }
        if (answer->more && !last.empty()) return ReadPage(list, last + std::string(1, '\0'));
        Listed(list);
      });
}

void Feeder::Listed(const std::shared_ptr<List>& list) {
  if (list->revision < revision_) {
    // A read that asks all members is never older than what was seen before.
    return broken_(base::Unavailable(
        fmt::format("etcd is at revision {}, but {} was seen here: an older state was restored",
                    list->revision, revision_)));
  }
  relisting_ = false;
  revision_ = list->revision;
  cache_.Replace(std::move(list->entries), {revision_});
  if (list->done) {
    list->done({});
  } else {
    ++counts_.relists;
    own_.OnRelist();
    own_.OnRevision({revision_});
  }
  if (!closed_) Open();
}

void Feeder::Open() {
  const std::uint64_t stream = ++stream_;
  watch_ = nullptr;
  created_ = false;
  pieces_.clear();
  heard_ = Clock::now();
  ++counts_.watches;
  // Where progress cannot be asked for, every revision of the database is seen.
  const std::string everything(1, '\0');
  rpc::EtcdWatchRequest request{.key = everything, .end = everything, .start = revision_ + 1};
  if (members_.tells_progress()) {
    request.key = layout_.root();
    request.end = rpc::EtcdPrefixEnd(layout_.root());
  }
  watch_ = members_.Watch(request, [this, stream](StatusOr<rpc::EtcdWatchAnswer> answer) {
    auto shared = std::make_shared<StatusOr<rpc::EtcdWatchAnswer>>(std::move(answer));
    loop_.Post([this, stream, shared] { OnAnswer(stream, std::move(*shared)); });
  });
  Look();
}

void Feeder::Reopen(bool blame) {
  ++stream_;  // what the old one still says is not heard
  watch_ = nullptr;
  if (closed_) return;
  if (blame) members_.BlameWatch();
  const std::uint64_t stream = stream_;
  loop_.After(pause_, [this, stream] {
    if (closed_ || stream != stream_) return;
    if (relisting_) return Relist();
    members_.WithToken([this, stream] {
      if (!closed_ && stream == stream_) Open();
    });
  });
  pause_ = std::min(kLongestPause, pause_ * 2 + std::chrono::milliseconds(20));
}

void Feeder::OnAnswer(std::uint64_t stream, StatusOr<rpc::EtcdWatchAnswer> answer) {
  if (closed_ || stream != stream_) return;
  if (!answer.ok()) {
    if (FailureOf(answer.status()) == Failure::kToken) members_.ForgetToken();
    return Reopen(/*blame=*/true);
  }
  if (!members_.Believe(answer->header)) return;
  heard_ = Clock::now();
  patience_ = options_.watch_patience;
  if (answer->canceled) {
    if (answer->compacted > 0) return Relist();
    if (answer->reason.find("auth") != std::string::npos ||
        answer->reason.find("permission") != std::string::npos) {
      members_.ForgetToken();
    }
    return Reopen(/*blame=*/true);
  }
  if (answer->created) {
    created_ = true;
    pause_ = {};
    watch_->Next();
    if (expected_ > revision_) AskProgress();
    return Look();
  }
  const bool fragment = answer->fragment;
  const std::int64_t now = answer->header.revision;
  if (fragment || !pieces_.empty()) {
    std::ranges::move(answer->events, std::back_inserter(pieces_));
  } else {
    pieces_ = std::move(answer->events);
  }
  if (fragment) return watch_->Next();
  std::vector<rpc::EtcdEvent> events;
  events.swap(pieces_);
  if (events.empty()) {
    // Nothing happened up to there: by itself after a while, or because it was asked for.
    Advance(now);
  } else {
    OnEvents(std::move(events));
  }
  // What is not asked for waits at the server: a slow feeder costs no memory here.
  if (!closed_ && stream == stream_ && watch_ != nullptr) watch_->Next();
}

void Feeder::OnEvents(std::vector<rpc::EtcdEvent> events) {
  for (auto begin = events.begin(); begin != events.end();) {
    const std::int64_t revision = begin->kv.modified;
    const auto end = std::find_if(begin, events.end(), [revision](const rpc::EtcdEvent& event) {
      return event.kv.modified != revision;
    });
    if (!Publish(begin, end)) return;
    begin = end;
  }
}

bool Feeder::Publish(std::vector<rpc::EtcdEvent>::iterator begin,
                     std::vector<rpc::EtcdEvent>::iterator end) {
  const std::int64_t revision = begin->kv.modified;
  if (revision <= revision_) {
    // Old etcds go back, or say of progress what is not so. What was missed cannot be told.
    Relist();
    return false;
  }
  std::vector<Event> events;
  for (auto event = begin; event != end; ++event) {
    auto key = layout_.Decode(event->kv.key);
    if (!key) continue;
    EntryPtr before = cache_.Find(*key);
    if (event->deleted && before == nullptr) continue;  // the cache began after it was gone
    Entry entry{.key = *std::move(key),
                .value = event->deleted
                             ? before->value
                             : std::make_shared<const std::string>(std::move(event->kv.value)),
                .created = event->deleted ? before->created : Revision{event->kv.created},
                .modified = {revision}};
    own_.OnVersion(entry, event->deleted);
    events.push_back({.entry = std::make_shared<const Entry>(std::move(entry)),
                      .before = std::move(before),
                      .deleted = event->deleted});
  }
  revision_ = revision;
  if (events.empty()) {
    cache_.Advance({revision});
  } else {
    cache_.Publish(events);
    for (const Event& event : events) own_.OnPublished(event.entry);
  }
  own_.OnRevision({revision});
  return true;
}

void Feeder::Advance(std::int64_t revision) {
  if (revision <= revision_ || !members_.tells_progress()) return;
  revision_ = revision;
  cache_.Advance({revision});
  own_.OnRevision({revision});
}

void Feeder::Relist() {
  ++stream_;
  watch_ = nullptr;
  pieces_.clear();
  relisting_ = true;
  ReadPage(std::make_shared<List>(), layout_.root());
}

bool Feeder::Plausible(std::int64_t revision, std::int64_t seen_before) {
  if (revision >= seen_before) return true;
  broken_(base::Unavailable(
      fmt::format("etcd is at revision {}, but {} was seen here: an older state was restored",
                  revision, seen_before)));
  return false;
}

void Feeder::Expect(std::int64_t revision, bool ask) {
  if (revision <= expected_) return;
  if (expected_ <= revision_) behind_since_ = Clock::now();
  expected_ = revision;
  if (ask && revision_ < revision) AskProgress();
  Look();
}

void Feeder::AskProgress() {
  if (watch_ != nullptr && created_ && members_.tells_progress()) watch_->AskProgress();
}

// While something is known to be there that has not come: asks for it, and turns to another member
// when nothing is heard for too long.
void Feeder::Look() {
  if (looking_ || closed_ || (created_ && expected_ <= revision_)) return;
  looking_ = true;
  loop_.After(kAsk, [this] {
    looking_ = false;
    if (closed_) return;
    if (expected_ > revision_) AskProgress();
    if (watch_ != nullptr && Clock::now() - std::max(heard_, behind_since_) > patience_) {
      // A stream that is only slow gets more time with each try.
      const auto patience = std::min(kLongestPatience, patience_ * 2);
      Reopen(/*blame=*/true);
      patience_ = patience;
    }
    Look();
  });
}

void Feeder::Close() {
  closed_ = true;
  ++stream_;
  watch_ = nullptr;
}

}  // namespace dray::store::internal
