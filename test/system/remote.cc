// SPDX-License-Identifier: Apache-2.0
#include "system/remote.h"

#include <utility>

#include "registry/roles.h"
#include "system/server.h"
#include "system/truth.h"

namespace dray::system {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

}  // namespace

// The process's clock. Planted: it stands still while an answer about the lease is waited for, as
// if whether one leads were known by a flag that is set when the answer has come.
class Remote::StandingClock final : public base::Clock {
 public:
  StandingClock(const Process& process, bool planted) : process_(process), planted_(planted) {}
  base::Time Now() const override { return process_.Now(); }
  Nanos Monotonic() const override { return stands_ ? *stands_ : process_.Monotonic(); }

  // What the election's requests go through.
  class Http final : public client::HttpClient {
   public:
    Http(std::unique_ptr<client::HttpClient> inner, StandingClock& clock)
        : inner_(std::move(inner)), clock_(clock) {}
    StatusOr<client::HttpResponse> Send(const client::HttpRequest& request) override {
      clock_.stands_ = clock_.process_.Monotonic();
      auto response = inner_->Send(request);
      clock_.stands_.reset();
      return response;
    }
    StatusOr<std::shared_ptr<client::LineStream>> Open(const client::HttpRequest& request,
                                                       milliseconds longest,
                                                       milliseconds silence) override {
      return inner_->Open(request, longest, silence);
    }
    void Close() override { inner_->Close(); }

   private:
    const std::unique_ptr<client::HttpClient> inner_;
    StandingClock& clock_;
  };
  bool planted() const { return planted_; }

 private:
  const Process& process_;
  const bool planted_;
  std::optional<Nanos> stands_;
};

Remote::Remote(Stage& stage, Wire& wire, std::string name)
    : stage_(stage),
      wire_(wire),
      name_(std::move(name)),
      keeper_(stage.kernel),
      alarm_(keeper_.MakeAlarm()) {
  running_ = keeper_.Start([this] { Live(); });
}

Remote::~Remote() {
  ending_ = true;
  alarm_->Ring();
  running_ = nullptr;
}

void Remote::Kill() {
  if (process_ == nullptr) return;
  stage_.Count("scheduler killed");
  stage_.Trace(name_, "is killed");
  process_->Kill();
  killed_ = true;
  alarm_->Ring();
}

void Remote::Restart() {
  if (scheduler_ == nullptr || killed_) return;
  stage_.Count("scheduler told to end");
  stage_.Trace(name_, "is told to end");
  told_to_end_ = true;
  alarm_->Ring();
}

void Remote::StandStill(Nanos until) {
  if (process_ == nullptr || process_->killed()) return;
  stage_.Count("scheduler stands still");
  stage_.Trace(name_, "stands still");
  process_->StandStill(until);
}

void Remote::SetWrong(Nanos by) {
  if (process_ != nullptr) process_->SetWrong(by);
}

void Remote::Live() {
  while (!ending_) {
    if (scheduler_ == nullptr) Start();
    alarm_->Sleep(milliseconds(500));
    const bool lost = scheduler_ != nullptr && !scheduler_->Health().ok();
    if (lost) {
      stage_.Count("lease lost");
      stage_.Trace(name_, "has lost the lease");
    }
    const bool told = std::exchange(told_to_end_, false);
    if (std::exchange(killed_, false) || lost || told) {
      // It has lost it, and ends by itself, or as it was told to; or it is dead, and this only tidies up.
      scheduler_ = nullptr;
      clock_ = nullptr;
      process_ = nullptr;
      if (!ending_) alarm_->Sleep(stage_.Between(milliseconds(50), seconds(2)));
    }
  }
  scheduler_ = nullptr;
}

void Remote::Start() {
  process_ = std::make_unique<Process>(stage_.kernel);
  clock_ = std::make_unique<StandingClock>(*process_, stage_.planted.leads_while_waiting);
  plane::RemoteSchedulerOptions options;
  options.gates = Gates();
  options.config = ConfigOf(stage_);
  options.config.parallelism = 1;
  options.lease.name = "kube-scheduler";  // the judge looks on
  options.identity = name_;
  options.writers = 4;
  options.host = process_.get();
  options.random = &stage_.random;
  options.connect =
      [this](client::HttpOptions http) -> StatusOr<std::unique_ptr<client::HttpClient>> {
    // Requests of the election are those without a guard: they are what leading is about.
    const bool election = !http.may_write;
    const bool stands = election && clock_->planted();
    if (stands) http.request_timeout = seconds(60);
    auto made = wire_.MakeClient(name_, *process_,
                                 {.name = std::string(registry::kSchedulerUser),
                                  .groups = {std::string(apiserver::kAuthenticated)}},
                                 std::move(http));
    if (!stands) return made;
    return std::unique_ptr<client::HttpClient>(
        std::make_unique<StandingClock::Http>(std::move(made), *clock_));
  };
  options.between = [this](api::Cluster& cluster) {
    return std::make_unique<Truth>(cluster, stage_, *clock_, Truth::Where::kFar);
  };
  auto started = plane::RemoteScheduler::Start(std::move(options), *clock_);
  if (started.ok()) {
    scheduler_ = *std::move(started);
    stage_.Trace(name_, "starts");
  }
}

}  // namespace dray::system
