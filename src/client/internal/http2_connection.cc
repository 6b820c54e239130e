// SPDX-License-Identifier: Apache-2.0
#include "client/internal/http2_connection.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "fmt/format.h"
#include "threads/system_host.h"

namespace dray::client::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kReadSize = 32u << 10;
// As much is gathered before it is sent.
constexpr std::size_t kGatherSize = 64u << 10;
// So often somebody sends what others have, before it is the thread's turn.
constexpr int kFlushes = 16;
constexpr int kReads = 4;

Status Broken(std::string_view why) {
  return base::Unavailable(fmt::format("the connection failed: {}", why));
}

std::string Seconds(milliseconds time) {
  return fmt::format("{} s", static_cast<double>(time.count()) / 1e3);
}

}  // namespace

std::shared_ptr<Http2Connection> Http2Connection::Start(std::unique_ptr<Socket> socket,
                                                        std::uint64_t version,
                                                        const Http2Options& options) {
  std::shared_ptr<Http2Connection> connection(
      new Http2Connection(std::move(socket), version, options));
  {
    const base::MutexLock lock(connection->mutex_);
    // The server may have spoken in the same breath as it shook hands.
    connection->Take({});
    if (connection->wake_ < 0) connection->FailLocked(Broken("too many files are open"));
    connection->Flush();
  }
  // Not by a pointer that keeps it alive: it is waited for when it is destroyed.
  connection->running_ = threads::TheSystemHost().Start([raw = connection.get()] { raw->Run(); });
  return connection;
}

Http2Connection::Http2Connection(std::unique_ptr<Socket> socket, std::uint64_t version,
                                 const Http2Options& options)
    : socket_(std::move(socket)),
      version_(version),
      options_(options),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      session_(options.limits),
      buffer_(kReadSize),
      heard_(steady_clock::now()),
      idle_since_(heard_) {}

Http2Connection::~Http2Connection() {
  Fail(base::MakeStatus(StatusCode::kCancelled, "the connection is not needed any more"));
  running_ = nullptr;
  if (wake_ >= 0) ::close(wake_);
}

bool Http2Connection::Usable() const {
  const base::MutexLock lock(mutex_);
  return !over_ && !retired_ && !session_.leaving();
}

bool Http2Connection::Reserve(bool anyway) {
  const base::MutexLock lock(mutex_);
  if (over_ || retired_ || session_.leaving()) return false;
  // Those that nobody waits for any more count as long as the server may work on them.
  const std::size_t taken = std::max(reserved_, session_.open());
  if (!anyway && taken >= session_.limit()) return false;
  ++reserved_;
  return true;
}

void Http2Connection::Release() {
  const base::MutexLock lock(mutex_);
  End(0);
}

void Http2Connection::Fail(Status why) {
  const base::MutexLock lock(mutex_);
  FailLocked(std::move(why));
}

void Http2Connection::FailLocked(Status why) {
  if (std::exchange(over_, true)) return;
  failure_ = std::move(why);
  for (const auto& [id, waiter] : waiters_) waiter->news.NotifyAll();
  socket_->Interrupt();
  WakeThread();
}

void Http2Connection::EndLocked() {
  ended_ = !over_;
  FailLocked(Broken("the server has ended it"));
}

void Http2Connection::WakeThread() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(wake_, &one, sizeof(one)));
}

int Http2Connection::LookAfter() {
  const Deadline now = steady_clock::now();
  // What nobody waits for need not be there.
  if (session_.open() == 0 && reserved_ == 0) {
    pinged_.reset();
    if (retired_ || session_.leaving() || now - idle_since_ >= options_.max_idle) {
      FailLocked(Broken("it is not needed any more"));
      return 0;
    }
  } else if (pinged_ && heard_ < *pinged_ && now - *pinged_ >= options_.ping_timeout) {
    FailLocked(Broken(
        fmt::format("the server has not answered a ping for {}", Seconds(options_.ping_timeout))));
    return 0;
  } else if (pinged_ && heard_ >= *pinged_) {
    pinged_.reset();
  }
  if (!pinged_ && session_.open() > 0 && now - heard_ >= options_.ping_after) {
    session_.Ping();
    pinged_ = now;
    Flush();
  }
  const Deadline next = pinged_ ? *pinged_ + options_.ping_timeout
                                : now + std::min(options_.ping_after, options_.max_idle);
  const auto left = std::chrono::duration_cast<milliseconds>(next - now);
  return static_cast<int>(std::clamp<std::int64_t>(left.count() + 1, 1, 60'000));
}

void Http2Connection::Run() {
  for (;;) {
    std::array<pollfd, 2> polled{};
    int timeout = 0;
    {
      const base::MutexLock lock(mutex_);
      if (!over_) timeout = LookAfter();
      if (over_) return;
      const short events = want_write_ ? POLLIN | POLLOUT : POLLIN;
      polled = {{{.fd = socket_->fd(), .events = events}, {.fd = wake_, .events = POLLIN}}};
    }
    if (::poll(polled.data(), polled.size(), timeout) < 0 && errno != EINTR) {
      return Fail(Broken(std::generic_category().message(errno)));
    }
    if (polled[1].revents != 0) {
      std::uint64_t count = 0;
      static_cast<void>(!::read(wake_, &count, sizeof(count)));
    }
    if ((polled[0].revents & POLLOUT) != 0) {
      const base::MutexLock lock(mutex_);
      want_write_ = false;
      Flush();
    }
    if ((polled[0].revents & ~POLLOUT) != 0) {
      const base::MutexLock lock(mutex_);
      Read();
      if (!over_) Flush();
    }
  }
}

void Http2Connection::Read() {
  // A server that never stops lets others have the lock now and then.
  for (int left = kReads; left > 0 && !over_; --left) {
    const ssize_t read = ::recv(socket_->fd(), buffer_.data(), buffer_.size(), 0);
    if (read > 0) {
      Take({buffer_.data(), static_cast<std::size_t>(read)});
      if (static_cast<std::size_t>(read) < buffer_.size()) return;
    } else if (read == 0) {
      EndLocked();
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      FailLocked(Broken(std::generic_category().message(errno)));
    }
  }
}

void Http2Connection::Take(std::string_view wire) {
  received_.clear();
  const bool goes_on = socket_->Unseal(wire, received_, wire_);
  if (!received_.empty()) heard_ = steady_clock::now();
  const bool understood = session_.Receive(received_);
  for (const std::int32_t id : session_.TakeNews()) {
    if (const auto found = waiters_.find(id); found != waiters_.end()) {
      found->second->news.NotifyAll();
    }
  }
  if (!understood) return FailLocked(Broken("the server does not keep to HTTP/2"));
  if (!goes_on) EndLocked();
}

void Http2Connection::Flush() {
  // Who flushes looks again before it stops.
  if (std::exchange(flushing_, true)) return;
  std::string sending;
  for (int left = kFlushes; !over_ && !want_write_; --left) {
    plain_.clear();
    const bool goes_on = wire_.size() >= kGatherSize || session_.Produce(plain_, kGatherSize);
    if (!plain_.empty() && !socket_->Seal(plain_, wire_)) {
      FailLocked(Broken("TLS has ended"));
      break;
    }
    if (!goes_on) {
      FailLocked(Broken("the server does not keep to HTTP/2"));
      break;
    }
    if (wire_.empty()) {
      if (session_.over()) EndLocked();
      break;
    }
    if (left == 0) {
      want_write_ = true;
      WakeThread();
      break;
    }
    sending.clear();
    std::swap(sending, wire_);
    mutex_.Unlock();
    const ssize_t sent = ::send(socket_->fd(), sending.data(), sending.size(), MSG_NOSIGNAL);
    const int error = errno;
    mutex_.Lock();
    // What others have sealed meanwhile comes after it.
    const bool later = sent < 0 && (error == EAGAIN || error == EINTR);
    if (sent < 0 && !later) {
      FailLocked(Broken(std::generic_category().message(error)));
      break;
    }
    const std::size_t done = sent < 0 ? 0 : static_cast<std::size_t>(sent);
    if (done < sending.size()) {
      wire_.insert(0, sending, done);
      want_write_ = true;
      WakeThread();
    }
  }
  flushing_ = false;
}

bool Http2Connection::Wait(Waiter& waiter, Deadline until) {
  return waiter.news.WaitUntil(mutex_, until);
}

std::int32_t Http2Connection::Begin(const HeadFields& head, const std::string& body, bool streaming,
                                    std::size_t max_bytes, const std::function<bool()>& may_send,
                                    Waiter& waiter) {
  // The server may have ended it, or said that it will: then this is for another connection.
  if (!over_) Read();
  const std::int32_t id = over_ ? 0 : session_.Submit(head, body, streaming, max_bytes, may_send);
  if (id != 0) waiters_[id] = &waiter;
  return id;
}

void Http2Connection::End(std::int32_t id) {
  if (reserved_ > 0) --reserved_;
  waiters_.erase(id);
  session_.Drop(id);
  if (session_.open() == 0 && reserved_ == 0) idle_since_ = steady_clock::now();
  if (over_) return;
  Flush();
  // The thread ends what is not needed any more.
  if (reserved_ == 0 && (retired_ || session_.leaving())) WakeThread();
}

Http2Connection::Outcome Http2Connection::OutcomeOf(Http2Exchange* exchange, Deadline begun) {
  using Kind = Outcome::Kind;
  if (exchange == nullptr) {
    return {.kind = Kind::kNotProcessed,
            .status = over_ ? failure_ : Broken("the server takes no more requests on it")};
  }
  if (exchange->whole) {
    return {.kind = Kind::kAnswered,
            .response = {exchange->status, std::move(exchange->body), exchange->retry_after}};
  }
  if (exchange->over) {
    const Kind kind = exchange->wants_http1 ? Kind::kWantsHttp1
                      : exchange->refused   ? Kind::kNotProcessed
                                            : Kind::kFailed;
    // Not that of the connection: what was wrong with one answer says nothing of others.
    return {.kind = kind, .status = base::Unavailable(exchange->fault)};
  }
  if (over_) {
    // Some of it may be on its way, unless none has been written.
    const bool cancelled = failure_.code() == StatusCode::kCancelled;
    return {.kind = cancelled           ? Kind::kFailed
                    : exchange->written ? Kind::kBroken
                                        : Kind::kNotProcessed,
            .status = failure_};
  }
  // Its time is over. If nothing at all was heard meanwhile, others should not be sent the same way.
  const Status late = base::Unavailable("the request timed out: no whole answer came in time");
  if (heard_ > begun) return {.kind = Kind::kFailed, .status = late};
  retired_ = true;
  // Those who have more patience need not wait as long as they would.
  if (!pinged_) {
    session_.Ping();
    pinged_ = steady_clock::now();
    Flush();
    WakeThread();
  }
  return {.kind = Kind::kBroken, .status = late};
}

Http2Connection::Outcome Http2Connection::Exchange(const HeadFields& head, const std::string& body,
                                                   Deadline deadline, std::size_t max_bytes,
                                                   const std::function<bool()>& may_send) {
  Waiter waiter;
  const base::MutexLock lock(mutex_);
  const Deadline begun = steady_clock::now();
  const std::int32_t id = Begin(head, body, /*streaming=*/false, max_bytes, may_send, waiter);
  if (id != 0) {
    Flush();
    // Others may have flushed, and the answer may be there.
    for (;;) {
      const Http2Exchange* exchange = session_.Find(id);
      if (exchange->over || over_ || !Wait(waiter, deadline)) break;
    }
  }
  Outcome outcome = OutcomeOf(id == 0 ? nullptr : session_.Find(id), begun);
  End(id);
  return outcome;
}

// A response that goes on. One thread, but for Cancel.
class Http2Connection::Lines final : public LineStream {
 public:
  Lines(std::shared_ptr<Http2Connection> connection, std::int32_t id,
        std::unique_ptr<Waiter> waiter, Deadline end, milliseconds silence)
      : connection_(std::move(connection)),
        id_(id),
        waiter_(std::move(waiter)),
        end_(end),
        silence_(silence) {}
  ~Lines() override {
    const base::MutexLock lock(connection_->mutex_);
    connection_->End(id_);
  }

  StatusOr<bool> Next(std::string& line) override {
    const std::size_t max_line = connection_->options_.max_line_bytes;
    for (;;) {
      const std::size_t end = text_.find('\n', searched_);
      if (end != std::string::npos) {
        line.assign(text_, taken_, end - taken_);
        taken_ = end + 1;
        searched_ = taken_;
        return true;
      }
      // What was handed out makes room for what comes.
      text_.erase(0, taken_);
      taken_ = 0;
      searched_ = text_.size();
      if (text_.size() > max_line) {
        return base::InvalidArgument(
            fmt::format("a line of a watch must have at most {} bytes", max_line));
      }
      DRAY_ASSIGN_OR_RETURN(const bool more, AwaitMore());
      if (!more) return false;
    }
  }

  void Cancel() override {
    const base::MutexLock lock(connection_->mutex_);
    cancelled_ = true;
    waiter_->news.NotifyAll();
  }

 private:
  StatusOr<bool> AwaitMore() {
    const Deadline silent = steady_clock::now() + silence_;
    const base::MutexLock lock(connection_->mutex_);
    for (;;) {
      if (cancelled_) return base::MakeStatus(StatusCode::kCancelled, "the stream was cancelled");
      Http2Exchange& exchange = *connection_->session_.Find(id_);
      if (!exchange.body.empty()) {
        text_ += connection_->session_.Take(id_);
        // What makes room for more is small: it goes with whatever is sent next, or now.
        connection_->Flush();
        return true;
      }
      // A server that ends, one that is ended, and one that takes the stream back: begin again.
      if (exchange.over) return false;
      if (connection_->over_) {
        if (connection_->ended_) return false;
        return connection_->failure_;
      }
      if (connection_->Wait(*waiter_, std::min(end_, silent))) continue;
      if (!exchange.body.empty() || exchange.over) continue;
      if (steady_clock::now() < std::min(end_, silent)) continue;
      if (silent < end_) {
        return base::MakeStatus(
            StatusCode::kDeadlineExceeded,
            fmt::format("the server has said nothing for {}", Seconds(silence_)));
      }
      return Broken("Connection timed out");
    }
  }

  const std::shared_ptr<Http2Connection> connection_;
  const std::int32_t id_;
  const std::unique_ptr<Waiter> waiter_;
  const Deadline end_;
  const milliseconds silence_;
  bool cancelled_ = false;  // by the connection's lock
  std::string text_;
  std::size_t taken_ = 0;     // of the text
  std::size_t searched_ = 0;  // no line ends before this
};

Http2Connection::Opened Http2Connection::Open(const HeadFields& head, Deadline head_until,
                                              Deadline end, milliseconds silence,
                                              std::size_t max_bytes) {
  auto waiter = std::make_unique<Waiter>();
  const base::MutexLock lock(mutex_);
  const Deadline begun = steady_clock::now();
  const std::int32_t id = Begin(head, {}, /*streaming=*/true, max_bytes, nullptr, *waiter);
  std::string refusal;
  if (id != 0) {
    Flush();
    for (;;) {
      const Http2Exchange* exchange = session_.Find(id);
      if (exchange->head_done && exchange->status == 200) {
        return {.outcome = {.kind = Outcome::Kind::kAnswered},
                .stream = std::make_shared<Lines>(shared_from_this(), id, std::move(waiter), end,
                                                  silence)};
      }
      if (const std::string piece = session_.Take(id); !piece.empty()) {
        refusal += piece;
        if (refusal.size() > max_bytes) break;
        // The room that there is now is told; somebody else may have the lock meanwhile.
        Flush();
        continue;
      }
      if (exchange->over || over_) break;
      if (!Wait(*waiter, head_until)) break;
    }
  }
  Http2Exchange* exchange = id == 0 ? nullptr : session_.Find(id);
  Opened opened{.outcome = OutcomeOf(exchange, begun)};
  opened.outcome.response.body = std::move(refusal);
  End(id);
  return opened;
}

}  // namespace dray::client::internal
