// SPDX-License-Identifier: Apache-2.0
//
// Wire: answers that come bit by bit.
#include <algorithm>
#include <utility>

#include "system/wire_impl.h"

namespace dray::system {
namespace {

using std::chrono::milliseconds;

}  // namespace

void Wire::BeginFeed(const std::shared_ptr<Call>& call, apiserver::Response response) {
  auto stream =
      std::make_shared<Stream>(stage_.kernel, call->sent.at + call->longest, call->silence);
  auto feed = std::make_shared<Feed>();
  feed->source = std::move(response.stream);
  feed->client = stream;
  feed->sent = call->sent;
  feed->tick = response.tick;
  feeds_.push_back(feed);
  const Nanos latency = Latency();
  feed->last = stage_.kernel.now() + latency;
  stage_.kernel.After(latency, [call, stream] {
    if (call->broken) return;
    call->answered = true;
    call->response.status = 200;
    call->stream = stream;
    call->wait.Wake();
  });
  const std::weak_ptr<Feed> weak = feed;
  feed->source->Start([this, weak] {
    if (const auto woken = weak.lock()) Wake(woken, std::chrono::microseconds(100));
  });
  Wake(feed, Nanos(0));
  const Faults& faults = stage_.faults;
  if (faults.watch_cut_every > Nanos(0)) {
    stage_.kernel.After(stage_.About(faults.watch_cut_every), [this, weak] {
      const auto cut = weak.lock();
      if (cut == nullptr || cut->source == nullptr || stage_.faults.watch_cut_every == Nanos(0)) {
        return;
      }
      stage_.Count("watch cut");
      if (const auto client = cut->client.lock()) client->Break();
      End(cut);
    });
  }
  if (faults.watch_frozen_every > Nanos(0)) {
    stage_.kernel.After(stage_.About(faults.watch_frozen_every), [this, weak] {
      const auto frozen = weak.lock();
      if (frozen == nullptr || frozen->source == nullptr ||
          stage_.faults.watch_frozen_every == Nanos(0)) {
        return;
      }
      stage_.Count("watch frozen");
      frozen->frozen = true;
    });
  }
}

// A list that is made as it is read. Whoever asked waits for its end, as a client does.
void Wire::BeginLong(const std::shared_ptr<Call>& call, apiserver::Response response) {
  stage_.Count("long answer");
  auto feed = std::make_shared<Feed>();
  feed->source = std::move(response.stream);
  feed->sent = call->sent;
  feed->whole = call;
  feed->status = response.status;
  feeds_.push_back(feed);
  const std::weak_ptr<Feed> weak = feed;
  feed->source->Start([this, weak] {
    if (const auto woken = weak.lock()) Wake(woken, std::chrono::microseconds(100));
  });
  Wake(feed, Nanos(0));
}

// One piece of it. Others come in between: the server may be killed before the next.
void Wire::PullLong(const std::shared_ptr<Feed>& feed) {
  std::vector<apiserver::Bytes> out;
  const auto state = feed->source->Pull(out);
  for (const apiserver::Bytes& piece : out) feed->text += *piece;
  if (state == apiserver::StreamSource::State::kMore) {
    return Wake(feed, stage_.Between(std::chrono::microseconds(50), milliseconds(1)));
  }
  if (state == apiserver::StreamSource::State::kWait) return;
  Answer(feed->whole, Latency(), {.status = feed->status, .body = std::move(feed->text)});
  End(feed);
}

void Wire::End(const std::shared_ptr<Feed>& feed) {
  feed->source = nullptr;
  std::erase(feeds_, feed);
}

void Wire::Wake(const std::shared_ptr<Feed>& feed, Nanos delay) {
  const Nanos when = stage_.kernel.now() + delay;
  if (feed->pulls_at && *feed->pulls_at <= when) return;
  feed->pulls_at = when;
  stage_.kernel.At(when, [this, feed, when] {
    if (feed->pulls_at != when) return;
    feed->pulls_at.reset();
    Pull(feed);
  });
}

void Wire::Pull(const std::shared_ptr<Feed>& feed) {
  if (feed->source == nullptr) return;
  if (feed->whole != nullptr) return PullLong(feed);
  const auto client = feed->client.lock();
  if (client == nullptr) return End(feed);
  std::vector<apiserver::Bytes> out;
  const auto state = feed->source->Pull(out);
  const bool silent = feed->frozen || IsFrozen(feed->sent);
  // A line may come in several pieces.
  for (const apiserver::Bytes& piece : out) feed->text += *piece;
  std::size_t begin = 0;
  for (std::size_t end = feed->text.find('\n'); end != std::string::npos;
       end = feed->text.find('\n', begin)) {
    std::string line = feed->text.substr(begin, end - begin);
    begin = end + 1;
    Nanos latency = stage_.Between(std::chrono::microseconds(100), milliseconds(2));
    if (stage_.Chance(stage_.faults.watch_late)) {
      stage_.Count("watch late");
      latency = stage_.Between(milliseconds(10), kLatest);
    }
    feed->last = std::max(feed->last, stage_.kernel.now() + latency);
    if (silent) {
      // What is lost on a connection is not made good: it never says anything again.
      feed->frozen = true;
      continue;
    }
    stage_.kernel.At(feed->last, [client, feed, line = std::move(line)]() mutable {
      if (!feed->frozen) client->Put(std::move(line));
    });
  }
  feed->text.erase(0, begin);
  switch (state) {
    case apiserver::StreamSource::State::kMore:
      return Wake(feed, Nanos(0));
    case apiserver::StreamSource::State::kWait:
      if (feed->tick) Wake(feed, *feed->tick);
      return;
    case apiserver::StreamSource::State::kEnd:
      if (!feed->frozen) stage_.kernel.At(feed->last, [client] { client->End(); });
      return End(feed);
  }
}

}  // namespace dray::system
