// SPDX-License-Identifier: Apache-2.0
#include "system/wire.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "system/wire_impl.h"

namespace dray::system {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

}  // namespace

class Wire::Answering final : public apiserver::Responder {
 public:
  Answering(Wire& wire, std::shared_ptr<Call> call, std::uint64_t epoch)
      : wire_(wire), call_(std::move(call)), epoch_(epoch) {}

  void Send(apiserver::Response response) override {
    if (wire_.epoch_ != epoch_ || call_->answered) return;
    Stage& stage = wire_.stage_;
    if (response.stream != nullptr && call_->opens) {
      return wire_.BeginFeed(call_, std::move(response));
    }
    if (stage.Chance(stage.faults.lost_answer)) {
      stage.Count("answer lost");
      return wire_.Break(call_);
    }
    if (response.stream != nullptr) return wire_.BeginLong(call_, std::move(response));
    client::HttpResponse answer{.status = response.status};
    if (response.body != nullptr) answer.body = *response.body;
    wire_.Answer(call_, wire_.Latency(), std::move(answer));
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
    call->opens = true;
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
    if (wire_.on_sending) wire_.on_sending(who_, request.target);
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

void Wire::Answer(const std::shared_ptr<Call>& call, Nanos latency, client::HttpResponse answer) {
  stage_.kernel.After(latency, [this, call, answer = std::move(answer)]() mutable {
    if (call->broken || call->answered || IsFrozen(call->sent)) return;
    call->answered = true;
    call->response = std::move(answer);
    call->wait.Wake();
  });
}

void Wire::Break(const std::shared_ptr<Call>& call) {
  if (call->answered || call->broken) return;
  call->broken = true;
  call->wait.Wake();
}

}  // namespace dray::system
