// SPDX-License-Identifier: Apache-2.0
//
// A cluster that a test tells, a desk that says what it was asked, and requests to a console
// without a socket.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/document.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "console/handler.h"
#include "console/hub.h"
#include "console/source.h"
#include "fmt/format.h"

namespace dray::console {

class SourceForTest final : public Source {
 public:
  template <typename T>
  void Put(T object) {
    Tell({api::Change::Kind::kAdded, api::Object::Of(std::move(object))});
  }
  template <typename T>
  void Remove(T object) {
    Tell({api::Change::Kind::kDeleted, api::Object::Of(std::move(object))});
  }
  void Tell(api::Change change) {
    std::function<void()> wake;
    {
      const base::MutexLock lock(mutex_);
      changes_.push_back(std::move(change));
      wake = wake_;
    }
    if (wake) wake();
  }
  void SetStale(Status stale) {
    std::function<void()> wake;
    {
      const base::MutexLock lock(mutex_);
      stale_ = std::move(stale);
      wake = wake_;
    }
    if (wake) wake();
  }
  void Withhold(const api::KindInfo& kind) {
    const base::MutexLock lock(mutex_);
    missing_.push_back({&kind, fmt::format("{} is forbidden", kind.plural)});
  }

  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> /*kinds*/,
                                          std::function<void()> wake) override {
    const base::MutexLock lock(mutex_);
    wake_ = std::move(wake);
    return std::make_unique<Watching>(*this);
  }
  bool Wakes() const override { return true; }
  std::vector<MissingKind> Missing() const override {
    const base::MutexLock lock(mutex_);
    return missing_;
  }
  std::string ResourceVersion() const override { return "v1"; }
  StatusOr<std::vector<api::Event>> Events(std::string_view, std::string_view,
                                           std::string_view) const override {
    return std::vector<api::Event>();
  }
  void Close() override {}

 private:
  class Watching final : public api::ObjectWatch {
   public:
    explicit Watching(SourceForTest& source) : source_(source) {}
    std::optional<api::Change> Next() override {
      const base::MutexLock lock(source_.mutex_);
      if (source_.changes_.empty()) return std::nullopt;
      api::Change change = std::move(source_.changes_.front());
      source_.changes_.pop_front();
      return change;
    }
    Status Stale() const override {
      const base::MutexLock lock(source_.mutex_);
      return source_.stale_;
    }

   private:
    SourceForTest& source_;
  };

  mutable base::Mutex mutex_;
  std::deque<api::Change> changes_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> wake_ ABSL_GUARDED_BY(mutex_);
  Status stale_ ABSL_GUARDED_BY(mutex_);
  std::vector<MissingKind> missing_ ABSL_GUARDED_BY(mutex_);
};

// Says how many objects it was shown, and waits as long as it is told to.
class DeskForTest final : public Desk {
 public:
  std::span<const api::KindInfo* const> Kinds() const override { return {}; }
  Answer Plan(const PlanRequest& request, Scene scene) override {
    while (held && !scene.expired()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::string names;
    for (const api::Object& object : scene.objects) {
      names += fmt::format("{}/{} ", object.metadata().namespace_, object.metadata().name);
    }
    return {.json = fmt::format(R"({{"objects":{},"names":"{}","policy":"{}"}})",
                                scene.objects.size(), names, request.policy)};
  }
  Answer Explain(const ExplainRequest&, Scene) override { return {.json = "{}"}; }
  Answer Scalable(Scene) override { return {.json = "{}"}; }
  Answer Scenarios() override { return {.json = R"({"scenarios":[]})"}; }
  Answer Simulate(const SimulationRequest& request,
                  const std::function<void(const Started&)>& started,
                  const std::function<void(const SimulationProgress&)>& progress,
                  const std::function<bool()>& cancelled) override {
    started({.title = "T", .seed = request.seed.value_or(7), .policy = "first-fit"});
    progress({.share = 0.5, .seconds = 10});
    while (held && !cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return {.json = R"({"pods":1})"};
  }
  std::atomic<bool> held = false;
};

// Waits for the answer, however it comes.
class ResponderForTest final : public apiserver::Responder {
 public:
  void Send(apiserver::Response response) override {
    const base::MutexLock lock(mutex_);
    response_ = std::move(response);
    sent_.NotifyAll();
  }
  apiserver::Response Take() {
    const base::MutexLock lock(mutex_);
    while (!response_) sent_.Wait(mutex_);
    return *std::move(response_);
  }

 private:
  base::Mutex mutex_;
  base::CondVar sent_;
  std::optional<apiserver::Response> response_ ABSL_GUARDED_BY(mutex_);
};

inline apiserver::Request GetOf(std::string_view path, std::string_view query = "") {
  apiserver::Request request;
  request.method = "GET";
  request.path = path;
  request.query = query;
  request.headers.Add("Host", "127.0.0.1:8080");
  request.headers.Add("X-Dray-Console", "1");
  return request;
}
inline apiserver::Request PostOf(std::string_view path, std::string_view body) {
  apiserver::Request request = GetOf(path);
  request.method = "POST";
  request.headers.Add("Content-Type", "application/json");
  request.body = body;
  return request;
}

inline apiserver::Response AskOf(apiserver::Handler& handler, apiserver::Request request) {
  const auto responder = std::make_shared<ResponderForTest>();
  handler.Handle(std::move(request), responder);
  return responder->Take();
}

inline std::string BodyOf(const apiserver::Response& response) {
  return response.body == nullptr ? "" : *response.body;
}

inline api::DocumentNode JsonOf(const std::string& text) {
  std::vector<api::Diagnostic> diagnostics;
  return api::ParseJson(text, diagnostics);
}

}  // namespace dray::console
