// SPDX-License-Identifier: Apache-2.0
#include "recorded/replay.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace dray::recorded {
namespace {

// Renewed as often as there is time for it, and so are the answers.
bool Repeats(const Entry& entry) { return entry.target.find("/leases") != std::string::npos; }

bool SameRequest(const Entry& a, const Entry& b) {
  return a.method == b.method && a.target == b.target && a.content_type == b.content_type &&
         a.accept == b.accept && a.body == b.body;
}

}  // namespace

class Replay::Stream final : public client::LineStream {
 public:
  Stream(Replay& replay, std::size_t watch) : replay_(replay), watch_(watch) {}
  StatusOr<bool> Next(std::string& line) override {
    auto heard = replay_.Hear(watch_, cancelled_);
    if (!heard) return base::MakeStatus(StatusCode::kCancelled, "the watch was cancelled");
    line = *std::move(heard);
    return true;
  }
  void Cancel() override {
    const base::MutexLock lock(replay_.mutex_);
    cancelled_ = true;
    replay_.changed_.NotifyAll();
  }

 private:
  Replay& replay_;
  const std::size_t watch_;
  bool cancelled_ = false;  // guarded by the replay's lock
};

class Replay::Client final : public client::HttpClient {
 public:
  Client(Replay& replay, client::HttpOptions options)
      : replay_(replay), options_(std::move(options)) {}

  StatusOr<client::HttpResponse> Send(const client::HttpRequest& request) override {
    if (request.method != "GET" && options_.may_write && !options_.may_write()) {
      return base::FailedPrecondition("it may not be sent");
    }
    const auto found = replay_.Ask(RequestEntry(request, false));
    const Entry* const entry = found ? &replay_.transcript_.entries[*found] : nullptr;
    const int status = entry == nullptr ? 0 : entry->status;
    if (options_.on_answer) options_.on_answer(request, status, std::chrono::milliseconds(1));
    if (status == 0)
      return base::MakeStatus(StatusCode::kUnknown, "nobody answered that when it was recorded");
    return client::HttpResponse{.status = status, .body = entry->answer};
  }

  StatusOr<std::shared_ptr<client::LineStream>> Open(const client::HttpRequest& request,
                                                     std::chrono::milliseconds,
                                                     std::chrono::milliseconds) override {
    const auto found = replay_.Ask(RequestEntry(request, true));
    const int status = found ? replay_.transcript_.entries[*found].status : 0;
    if (status != 200) return base::Unavailable("no such watch was recorded");
    return std::shared_ptr<client::LineStream>(std::make_shared<Stream>(replay_, *found));
  }
  void Close() override {}

 private:
  Replay& replay_;
  const client::HttpOptions options_;
};

Replay::Replay(Transcript transcript) : transcript_(std::move(transcript)) {
  const base::MutexLock lock(mutex_);
  done_.resize(transcript_.entries.size());
}

std::unique_ptr<client::HttpClient> Replay::MakeClient(client::HttpOptions options) {
  return std::make_unique<Client>(*this, std::move(options));
}

void Replay::Advance() {
  const auto& entries = transcript_.entries;
  while (next_ < entries.size() && (done_[next_] || Repeats(entries[next_]))) ++next_;
  changed_.NotifyAll();
}

std::optional<std::size_t> Replay::Find(const Entry& request) const {
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < transcript_.entries.size(); ++i) {
    const Entry& entry = transcript_.entries[i];
    if (entry.is_line() || !SameRequest(entry, request)) continue;
    if (!done_[i]) return i;
    last = i;
  }
  return Repeats(request) ? last : std::nullopt;
}

std::string Replay::Closest(const Entry& request) const {
  const auto score = [&](const Entry& entry) {
    std::size_t same = 0;
    while (same < std::min(entry.body.size(), request.body.size()) &&
           entry.body[same] == request.body[same]) {
      ++same;
    }
    return (entry.method == request.method ? 2'000'000u : 0u) +
           (entry.target == request.target ? 1'000'000u : 0u) + same;
  };
  const Entry* best = nullptr;
  std::size_t points = 1;
  for (std::size_t i = 0; i < transcript_.entries.size(); ++i) {
    const Entry& entry = transcript_.entries[i];
    if (entry.is_line() || done_[i] || score(entry) < points) continue;
    best = &entry;
    points = score(entry);
  }
  return best == nullptr ? "nothing that is left" : Shown(*best);
}

std::optional<std::size_t> Replay::Ask(const Entry& request) {
  const base::MutexLock lock(mutex_);
  const auto found = Find(request);
  if (found) {
    done_[*found] = true;
    Advance();
  } else {
    surprises_.push_back(
        fmt::format("{}\n  comes closest to {}", Shown(request), Closest(request)));
    changed_.NotifyAll();
  }
  return found;
}

std::optional<std::string> Replay::Hear(std::size_t watch, const bool& cancelled) {
  const base::MutexLock lock(mutex_);
  while (!cancelled) {
    if (next_ < transcript_.entries.size()) {
      const Entry& entry = transcript_.entries[next_];
      if (entry.is_line() && entry.watch == watch) {
        done_[next_] = true;
        Advance();
        return entry.line;
      }
    }
    changed_.Wait(mutex_);
  }
  return std::nullopt;
}

bool Replay::Await(std::chrono::milliseconds longest) {
  const auto end = std::chrono::steady_clock::now() + longest;
  const base::MutexLock lock(mutex_);
  while (next_ < transcript_.entries.size() && surprises_.empty()) {
    if (!changed_.WaitUntil(mutex_, end)) return false;
  }
  return true;
}

std::vector<std::string> Replay::Surprises() const {
  const base::MutexLock lock(mutex_);
  return surprises_;
}

std::vector<std::string> Replay::Missing() const {
  const base::MutexLock lock(mutex_);
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < transcript_.entries.size(); ++i) {
    const Entry& entry = transcript_.entries[i];
    if (!done_[i] && !entry.is_line() && !Repeats(entry)) missing.push_back(Shown(entry));
  }
  return missing;
}

}  // namespace dray::recorded
