// SPDX-License-Identifier: Apache-2.0
#include "client/internal/reflector.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "fmt/format.h"

namespace dray::client::internal {
namespace {

using Change = api::Change;
using Kind = api::Change::Kind;

// A watch that ends sooner and has told nothing is not worth beginning again at once.
constexpr std::chrono::milliseconds kShortWatch{1'000};

// Bookmarks are a courtesy: kube-apiserver sends none that would say nothing new, and a busy one sends them late. The
// rest of the time is for the answer.
std::chrono::milliseconds AskAgainAfter(std::chrono::milliseconds silence) {
  return silence * 13 / 15;  // 65 s of 75
}

std::string KeyOf(const api::Object& object) {
  return object.metadata().namespace_ + "/" + object.metadata().name;
}

// Revisions are numbers, whatever clients are told about them; 0 if one is not.
std::uint64_t NumberOf(std::string_view revision) {
  std::uint64_t number = 0;
  const char* const end = revision.data() + revision.size();
  const auto [rest, error] = std::from_chars(revision.data(), end, number);
  return error == std::errc() && rest == end ? number : 0;
}

std::uint64_t NumberOf(const api::Object& object) {
  return NumberOf(object.metadata().resource_version);
}

}  // namespace

Reflector::Reflector(const ObjectClient& client, const api::KindInfo& kind, Inbox& inbox,
                     std::size_t feed, const base::Clock& clock, const ReflectorOptions& options)
    : client_(client),
      kind_(kind),
      inbox_(inbox),
      feed_(feed),
      clock_(clock),
      options_(options),
      wake_(options.host->MakeAlarm()) {}

Reflector::~Reflector() {
  Stop();
  running_ = nullptr;
}

void Reflector::Start() {
  Settle(List());
  running_ = options_.host->Start([this] { Run(); });
}

void Reflector::Stop() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
    if (stream_ != nullptr) stream_->Cancel();
  }
  wake_->Ring();
}

bool Reflector::Stopping() {
  const base::MutexLock lock(mutex_);
  return stopping_;
}

void Reflector::Nap(std::chrono::milliseconds time) {
  // Nobody rings but who wants it to end.
  wake_->Sleep(time);
}

void Reflector::Run() {
  std::chrono::milliseconds backoff = options_.first_backoff;
  while (!Stopping()) {
    Status status = Step();
    if (status.ok()) {
      backoff = options_.first_backoff;
      continue;
    }
    const bool nothing = Settle(std::move(status));
    // A kind that the server does not have may come with its next version, a right with its next role.
    Nap(nothing ? options_.absent : backoff);
    backoff = std::min(backoff * 2, options_.longest_backoff);
  }
}

// Not having a kind is no trouble: there are no objects of it. Nor is one that may not be read, where
// whoever watches can do without.
bool Reflector::Settle(Status status) {
  if (status.code() == StatusCode::kNotFound) {
    inbox_.SetAbsent(feed_);
    return true;
  }
  if (status.code() == StatusCode::kPermissionDenied && options_.withheld &&
      options_.withheld(kind_, status)) {
    withheld_ = true;
    // What has been seen of it before stays: it may still be there.
    if (!std::exchange(listed_, true)) inbox_.Put(feed_, {}, 0);
    inbox_.SetAbsent(feed_);
    // Who may list and not watch sees something each time.
    revision_.clear();
    return true;
  }
  // A server that cannot read one object lists none of its kind: nothing of it is followed here, which
  // is more than one object that cannot be seen.
  if (status.code() == StatusCode::kDataLoss) status = base::Unavailable(base::Message(status));
  inbox_.SetTrouble(feed_, std::move(status));
  return false;
}

Status Reflector::Step() { return revision_.empty() ? List() : Follow(); }

Status Reflector::List() {
  auto listing = client_.List(kind_, options_.selection);
  const bool unknown = listing.status().code() == StatusCode::kNotFound;
  const Status status = listing.status();
  if (unknown) {
    listing = ObjectClient::Listing();
  } else if (!listing.ok()) {
    return base::Annotate(status, fmt::format("cannot list {}", kind_.plural));
  }
  // What is new at the first time is what is there; later it happened at some time before now.
  const std::uint64_t at = NumberOf(listing->revision);
  std::vector<Inbox::Item> items;
  const auto tell = [&](Kind kind, const api::Object& object, std::uint64_t revision) {
    items.push_back({revision, {kind, object}});
  };
  std::map<std::string, api::Object> present;
  for (api::Object& object : listing->objects) {
    std::string key = KeyOf(object);
    present.insert_or_assign(std::move(key), std::move(object));
  }
  for (const auto& [key, object] : known_) {
    const auto found = present.find(key);
    const bool same =
        found != present.end() && found->second.metadata().uid == object.metadata().uid;
    if (!same) tell(Kind::kDeleted, object, at);
  }
  for (const auto& [key, object] : present) {
    const auto found = known_.find(key);
    const bool same =
        found != known_.end() && found->second.metadata().uid == object.metadata().uid;
    if (!same) {
      tell(Kind::kAdded, object, listed_ ? NumberOf(object) : 0);
    } else if (found->second.metadata().resource_version != object.metadata().resource_version) {
      tell(Kind::kUpdated, object, NumberOf(object));
    }
  }
  known_ = std::move(present);
  listed_ = true;
  revision_ = std::move(listing->revision);
  inbox_.Put(feed_, std::move(items), at);
  return status;
}

void Reflector::Readable() {
  if (!std::exchange(withheld_, false)) return;
  static_cast<void>(options_.withheld(kind_, Status()));
}

Status Reflector::Follow() {
  const std::chrono::nanoseconds begin = clock_.Monotonic();
  const std::string from = revision_;
  auto opened = client_.Watch(kind_, revision_, options_.watch_for, options_.selection,
                              AskAgainAfter(options_.silence));
  if (opened.status().code() == StatusCode::kOutOfRange ||
      opened.status().code() == StatusCode::kNotFound) {
    revision_.clear();
  }
  if (!opened.ok()) {
    return base::Annotate(opened.status(), fmt::format("cannot watch {}", kind_.plural));
  }
  const std::shared_ptr<LineStream> stream = *std::move(opened);
  {
    const base::MutexLock lock(mutex_);
    if (stopping_) return {};
    stream_ = stream;
  }
  inbox_.SetTrouble(feed_, {});
  Readable();
  std::string line;
  for (;;) {
    const auto more = stream->Next(line);
    if (!more.ok() || !*more) {
      const base::MutexLock lock(mutex_);
      stream_ = nullptr;
      // Nothing has happened, or nothing comes through: whoever is asked again tells which.
      if (more.status().code() == StatusCode::kDeadlineExceeded) return {};
      if (!more.ok())
        return base::Annotate(more.status(), fmt::format("watch of {}", kind_.plural));
      // A server ends the watch of whom it finds slow. It goes on where that one was.
      const bool told = revision_ != from;
      const bool lasted = clock_.Monotonic() - begin >= kShortWatch;
      if (told || lasted) return {};
      return base::Unavailable(fmt::format("the watch of {} ended at once", kind_.plural));
    }
    auto event = client_.ReadEvent(decoder_, kind_, line);
    if (!event.ok()) {
      // Most often the server has forgotten the revision.
      revision_.clear();
      const base::MutexLock lock(mutex_);
      stream_ = nullptr;
      return base::Annotate(event.status(), fmt::format("watch of {}", kind_.plural));
    }
    Take(*std::move(event));
  }
}

void Reflector::Take(ObjectClient::WatchEvent event) {
  using Type = ObjectClient::WatchEvent::Type;
  const std::uint64_t number = NumberOf(event.object);
  revision_ = event.object.metadata().resource_version;
  std::vector<Inbox::Item> items;
  const std::string key = KeyOf(event.object);
  const auto found = event.type == Type::kBookmark ? known_.end() : known_.find(key);
  if (event.type == Type::kDeleted) {
    if (found != known_.end()) {
      known_.erase(found);
      items.push_back({number, {Kind::kDeleted, std::move(event.object)}});
    }
  } else if (event.type != Type::kBookmark) {
    const bool new_here = found == known_.end();
    // Told before: a server may repeat itself when a watch begins again.
    const bool old_news = !new_here && number != 0 && number <= NumberOf(found->second);
    if (!old_news) {
      known_.insert_or_assign(key, event.object);
      items.push_back(
          {number, {new_here ? Kind::kAdded : Kind::kUpdated, std::move(event.object)}});
    }
  }
  inbox_.Put(feed_, std::move(items), number);
}

}  // namespace dray::client::internal
