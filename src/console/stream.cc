// SPDX-License-Identifier: Apache-2.0
#include "console/stream.h"

#include <chrono>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "fleet/json.h"

namespace dray::console {
namespace {

constexpr std::chrono::seconds kBeat{2};

std::string ResetText(std::string_view why) {
  fleet::JsonOut out;
  out.BeginMap().Flag("reset", true).Text("message", why).EndMap();
  return out.Take() + "\n";
}

// What the hub and a connection have in common. One line waits at most.
class Waiting final : public Listener {
 public:
  explicit Waiting(std::uint64_t from) : revision_(from) {}

  void Wake(std::function<void()> wake) {
    const base::MutexLock lock(mutex_);
    wake_ = std::move(wake);
  }

  std::optional<std::uint64_t> Wants() const override {
    const base::MutexLock lock(mutex_);
    if (line_ != nullptr || ended_) return std::nullopt;
    return revision_;
  }

  void Tell(std::shared_ptr<const std::string> line, std::uint64_t revision, bool last) override {
    std::function<void()> wake;
    {
      const base::MutexLock lock(mutex_);
      if (ended_) return;
      line_ = std::move(line);
      revision_ = revision;
      ended_ = last;
      wake = wake_;
    }
    if (wake) wake();
  }

  struct Taken {
    std::shared_ptr<const std::string> line;
    std::uint64_t revision = 0;
    bool ended = false;
  };
  Taken Take() {
    const base::MutexLock lock(mutex_);
    return {std::exchange(line_, nullptr), revision_, ended_};
  }

 private:
  mutable base::Mutex mutex_;
  std::function<void()> wake_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const std::string> line_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t revision_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

class Stream final : public apiserver::StreamSource {
 public:
  Stream(Hub& hub, std::shared_ptr<View> view, StreamOptions options)
      : hub_(hub),
        view_(std::move(view)),
        recheck_(std::move(options.recheck)),
        waiting_(std::make_shared<Waiting>(options.from)) {
    view_->Listen(waiting_);
  }

  void Start(std::function<void()> wake) override {
    waiting_->Wake(std::move(wake));
    hub_.Wake();
  }

  State Pull(std::vector<apiserver::Bytes>& out) override {
    const Waiting::Taken taken = waiting_->Take();
    if (taken.line != nullptr) out.push_back(taken.line);
    if (taken.ended) return State::kEnd;
    const auto now = hub_.clock().Monotonic();
    if (last_ && now - *last_ < kBeat) return State::kWait;
    last_ = now;
    if (recheck_) {
      recheck_([waiting = std::weak_ptr(waiting_)](bool may) {
        const auto known = waiting.lock();
        if (may || known == nullptr) return;
        known->Tell(std::make_shared<const std::string>(
                        ResetText("your permissions have changed; request the fleet again")),
                    0, true);
      });
    }
    const Connection connection = hub_.connection();
    fleet::JsonOut beat;
    beat.BeginMap().Text("beat", hub_.clock().Now().ToRfc3339()).Count("rev", taken.revision);
    if (connection.lost) {
      beat.Map("lost").Text("since", connection.since.ToRfc3339());
      beat.Text("message", connection.message).EndMap();
    }
    beat.EndMap();
    out.push_back(std::make_shared<const std::string>(beat.Take() + "\n"));
    return State::kWait;
  }

 private:
  Hub& hub_;
  const std::shared_ptr<View> view_;
  const std::function<void(std::function<void(bool)>)> recheck_;
  const std::shared_ptr<Waiting> waiting_;
  std::optional<std::chrono::nanoseconds> last_;
};

class ResetStream final : public apiserver::StreamSource {
 public:
  explicit ResetStream(std::string_view why)
      : line_(std::make_shared<const std::string>(ResetText(why))) {}
  void Start(std::function<void()> /*wake*/) override {}
  State Pull(std::vector<apiserver::Bytes>& out) override {
    out.push_back(line_);
    return State::kEnd;
  }
  bool Finite() const override { return true; }

 private:
  const apiserver::Bytes line_;
};

}  // namespace

std::unique_ptr<apiserver::StreamSource> MakeStream(Hub& hub, std::shared_ptr<View> view,
                                                    StreamOptions options) {
  return std::make_unique<Stream>(hub, std::move(view), std::move(options));
}

std::unique_ptr<apiserver::StreamSource> MakeResetStream(std::string_view why) {
  return std::make_unique<ResetStream>(why);
}

}  // namespace dray::console
