// SPDX-License-Identifier: Apache-2.0
#include "system/wire.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "fmt/format.h"

namespace dray::system {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// How long something that is late is on its way. Less than what lies between the moment from which
// a scheduler does not write any more and the one at which another may: nobody could tell an older
// request from a newer one without the server's help (README.md, "What is assumed").
constexpr Nanos kLatest = milliseconds(4000);

Status Cancelled() { return base::MakeStatus(StatusCode::kCancelled, "the client was closed"); }

}  // namespace

// A request on its way, and who waits for it.
struct Wire::Call {
  explicit Call(Kernel& kernel) : wait(kernel) {}
  Sent sent;
  apiserver::User user;
  std::string content_type;
  Kernel::Wait wait;
  bool arrived = false;
  bool broken = false;
  bool answered = false;
  client::HttpResponse response;
  std::shared_ptr<Stream> stream;  // the answer is one
  Nanos longest{0};                // of a stream
  Nanos silence{0};                // likewise
};

class Wire::Stream final : public client::LineStream {
 public:
  Stream(Kernel& kernel, Nanos deadline, Nanos silence)
      : wait_(kernel),
        kernel_(kernel),
        deadline_(deadline),
        silence_(silence),
        heard_(kernel.now()) {}

  StatusOr<bool> Next(std::string& line) override {
    for (;;) {
      if (cancelled_) return Cancelled();
      if (!lines_.empty()) {
        line = std::move(lines_.front());
        lines_.pop_front();
        return true;
      }
      if (broken_) return base::Unavailable("the connection is broken");
      if (ended_) return false;
      const Nanos end = std::min(deadline_, heard_ + silence_);
      if (kernel_.now() >= end) return base::Unavailable("nothing came for too long");
      wait_.Until(end);
    }
  }
  void Cancel() override {
    cancelled_ = true;
    wait_.Wake();
  }

  void Put(std::string line) {
    lines_.push_back(std::move(line));
    heard_ = kernel_.now();
    wait_.Wake();
  }
  void Break() {
    broken_ = true;
    wait_.Wake();
  }
  void End() {
    ended_ = true;
    wait_.Wake();
  }

 private:
  Kernel::Wait wait_;
  Kernel& kernel_;
  const Nanos deadline_;
  const Nanos silence_;
  Nanos heard_;  // when something last came
  std::deque<std::string> lines_;
  bool cancelled_ = false;
  bool broken_ = false;
  bool ended_ = false;
};

// The server's end of a stream.
struct Wire::Feed {
  std::unique_ptr<apiserver::StreamSource> source;  // null: it is over
  std::weak_ptr<Stream> client;
  Sent sent;
  Nanos last{0};  // when the last line arrives
  std::optional<Nanos> pulls_at;
  std::optional<milliseconds> tick;
  std::string text;  // of a line that has begun
  bool frozen = false;
};

class Wire::Answering final : public apiserver::Responder {
 public:
  Answering(Wire& wire, std::shared_ptr<Call> call, std::uint64_t epoch)
      : wire_(wire), call_(std::move(call)), epoch_(epoch) {}

  void Send(apiserver::Response response) override {
    if (wire_.epoch_ != epoch_ || call_->answered) return;
    Stage& stage = wire_.stage_;
    if (response.stream != nullptr) return wire_.BeginFeed(call_, std::move(response));
    if (stage.Chance(stage.faults.lost_answer)) {
      stage.Count("answer lost");
      return wire_.Break(call_);
    }
    client::HttpResponse answer{.status = response.status};
    if (response.body != nullptr) answer.body = *response.body;
    stage.kernel.After(wire_.Latency(),
                       [&wire = wire_, call = call_, answer = std::move(answer)]() mutable {
                         if (call->broken || call->answered || wire.IsFrozen(call->sent)) return;
                         call->answered = true;
                         call->response = std::move(answer);
                         call->wait.Wake();
                       });
  }

 private:
  Wire& wire_;
  const std::shared_ptr<Call> call_;
  const std::uint64_t epoch_;
};

class Wire::Client final : public client::HttpClient {
 public:
  Client(Wire& wire, std::string who, const Process& process, apiserver::User user,
         client::HttpOptions options)
      : wire_(wire),
        who_(std::move(who)),
        process_(process),
        user_(std::move(user)),
        options_(std::move(options)) {}

  StatusOr<client::HttpResponse> Send(const client::HttpRequest& request) override {
    auto answer = SendOnce(request);
    Stage& stage = wire_.stage_;
    const bool changes = request.method != "GET";
    // As the real one does: what was sent over a connection that broke is sent again if that does
    // no harm.
    const bool again = !answer.ok() && answer.status().code() == StatusCode::kUnknown &&
                       request.method != "POST" && stage.Chance(0.5);
    if (again) {
      stage.Count("sent again");
      auto second = SendOnce(request);
      // The first may have been done, whatever kept the second from being sent.
      if (second.ok() || second.status().code() == StatusCode::kUnknown) return second;
      return Unknown(base::Message(second.status()));
    }
    if (!answer.ok() && !changes && answer.status().code() == StatusCode::kUnknown) {
      return base::Unavailable(base::Message(answer.status()));
    }
    return answer;
  }

  StatusOr<std::shared_ptr<client::LineStream>> Open(const client::HttpRequest& request,
                                                     milliseconds longest,
                                                     milliseconds silence) override {
    if (Dead()) return Cancelled();
    if (!wire_.connected()) return Refused();
    auto call = MakeCall(request);
    call->longest = longest;
    call->silence = silence;
    wire_.Deliver(call);
    Wait(*call);
    if (!call->answered) return base::Unavailable("the connection is broken");
    if (call->stream != nullptr) return std::shared_ptr<client::LineStream>(call->stream);
    return client::FailureOf(call->response);
  }

  void Close() override { closed_ = true; }

 private:
  bool Dead() const { return closed_ || process_.killed(); }
  Status Refused() {
    wire_.stage_.kernel.Sleep(milliseconds(1));
    return base::Unavailable("connection refused");
  }
  Status Unknown(std::string_view why) const {
    // What this is about when the fault is planted: nobody can tell it from a refusal any more.
    if (wire_.stage_.planted.unknown_is_failure) return base::Unavailable(why);
    return base::MakeStatus(StatusCode::kUnknown,
                            fmt::format("it is not known what the server did: {}", why));
  }

  std::shared_ptr<Call> MakeCall(const client::HttpRequest& request) {
    auto call = std::make_shared<Call>(wire_.stage_.kernel);
    call->sent = {.who = who_,
                  .method = request.method,
                  .target = request.target,
                  .body = request.body,
                  .at = wire_.stage_.kernel.now()};
    call->user = user_;
    call->content_type = request.content_type;
    return call;
  }

  void Wait(Call& call) {
    Kernel& kernel = wire_.stage_.kernel;
    const Nanos end = kernel.now() + options_.request_timeout;
    while (!call.answered && !call.broken && kernel.now() < end && !Dead()) {
      // The dead are woken by nobody here; they look around now and then.
      call.wait.Until(std::min(end, kernel.now() + seconds(1)));
    }
    // An answer that comes later is for nobody.
    if (!call.answered) call.broken = true;
  }

  StatusOr<client::HttpResponse> SendOnce(const client::HttpRequest& request) {
    if (Dead()) return Cancelled();
    Stage& stage = wire_.stage_;
    if (!wire_.connected()) return Refused();
    stage.kernel.Sleep(stage.Between(Nanos(0), milliseconds(1)));  // to connect
    if (Dead()) return Cancelled();
    if (request.method != "GET" && options_.may_write && !options_.may_write()) {
      return base::FailedPrecondition("not sent: this is not the leader any more");
    }
    auto call = MakeCall(request);
    wire_.Deliver(call);
    if (stage.Chance(stage.faults.doubled) && request.method != "POST") {
      // The second copy may overtake the first; the answer is the second's.
      stage.Count("doubled");
      auto second = MakeCall(request);
      call->broken = true;
      call = second;
      wire_.Deliver(call);
    }
    Wait(*call);
    if (call->answered) {
      if (wire_.on_answer) wire_.on_answer(call->sent, call->response.status, call->response.body);
      return std::move(call->response);
    }
    if (Dead()) return Cancelled();
    return Unknown(call->broken ? "the connection is broken" : "no answer came");
  }

  Wire& wire_;
  const std::string who_;
  const Process& process_;
  const apiserver::User user_;
  const client::HttpOptions options_;
  bool closed_ = false;
};

Wire::~Wire() = default;

std::unique_ptr<client::HttpClient> Wire::MakeClient(std::string who, const Process& process,
                                                     apiserver::User user,
                                                     client::HttpOptions options) {
  return std::make_unique<Client>(*this, std::move(who), process, std::move(user),
                                  std::move(options));
}

void Wire::Connect(apiserver::Handler* handler) {
  ++epoch_;
  handler_ = handler;
  // Whatever the server before was asked is not answered any more.
  for (const auto& weak : std::exchange(calls_, {})) {
    if (const auto call = weak.lock()) Break(call);
  }
  for (const auto& feed : std::exchange(feeds_, {})) {
    feed->source = nullptr;
    if (const auto client = feed->client.lock()) {
      stage_.kernel.After(milliseconds(1), [client] { client->Break(); });
    }
  }
}

void Wire::Freeze(const std::string& who, Nanos until, bool leases_only) {
  std::erase_if(frozen_, [&](const Frozen& each) { return each.until < stage_.kernel.now(); });
  frozen_.push_back({who, until, leases_only});
}

bool Wire::IsFrozen(const Sent& sent) const {
  return std::ranges::any_of(frozen_, [&](const Frozen& each) {
    const bool meant = !each.leases_only || sent.target.find("/leases") != std::string::npos;
    return each.who == sent.who && meant && each.until > stage_.kernel.now();
  });
}

Nanos Wire::Latency() {
  if (stage_.Chance(stage_.faults.late)) {
    stage_.Count("late");
    return stage_.Between(milliseconds(10), kLatest);
  }
  return stage_.Between(std::chrono::microseconds(100), milliseconds(3));
}

void Wire::Deliver(const std::shared_ptr<Call>& call) {
  if (IsFrozen(call->sent)) {
    stage_.Count("frozen");
    return;  // and nobody ever hears of it
  }
  if (stage_.Chance(stage_.faults.lost_request)) {
    stage_.Count("request lost");
    stage_.kernel.After(Latency(), [this, call] { Break(call); });
    return;
  }
  stage_.kernel.After(Latency(), [this, call, epoch = epoch_] {
    if (epoch != epoch_ || handler_ == nullptr) return Break(call);
    Arrive(call);
  });
}

void Wire::Arrive(const std::shared_ptr<Call>& call) {
  if (on_arrival && call->sent.method != "GET") on_arrival(call->sent);
  std::erase_if(calls_, [](const auto& weak) { return weak.expired(); });
  calls_.push_back(call);
  apiserver::Request request;
  request.method = call->sent.method;
  const std::size_t question = call->sent.target.find('?');
  request.path = call->sent.target.substr(0, question);
  if (question != std::string::npos) request.query = call->sent.target.substr(question + 1);
  request.headers.Add("Accept", "application/json");
  if (request.method != "GET") request.headers.Add("Content-Type", call->content_type);
  request.body = call->sent.body;
  request.user = call->user;
  handler_->Handle(std::move(request), std::make_shared<Answering>(*this, call, epoch_));
}

void Wire::Break(const std::shared_ptr<Call>& call) {
  if (call->answered || call->broken) return;
  call->broken = true;
  call->wait.Wake();
}

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
