// SPDX-License-Identifier: Apache-2.0
//
// ConsoleHandler: the console over HTTP, without a socket: its page, and docs/console-api.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/authorization.h"
#include "apiserver/http.h"
#include "base/mutex.h"
#include "console/desk.h"
#include "console/door.h"
#include "console/hub.h"
#include "console/simulations.h"
#include "threads/task_queue.h"

namespace dray::console {

struct HandlerOptions {
  DoorOptions door;
  std::string version;  // of the program
  // Local mode, for people.
  std::string cluster;
  std::string server;
  std::string user;
  std::string namespace_ = "default";
  // Served mode: who may read what; outlives the handler. Null: local mode, where whoever has the
  // token sees all that the kubeconfig does.
  const api::Authorizer* authorizer = nullptr;
  // Served mode: whoever answers what is not below /console. Outlives the handler.
  apiserver::Handler* next = nullptr;
  std::chrono::milliseconds patience{10'000};  // for a plan, an explanation, an expression
};

// Thread-safe.
class ConsoleHandler final : public apiserver::Handler {
 public:
  // Both outlive it.
  ConsoleHandler(Hub& hub, Desk& desk, HandlerOptions options);
  // Waits for what is under way.
  ~ConsoleHandler() override;

  void Handle(apiserver::Request request, std::shared_ptr<apiserver::Responder> responder) override;

 private:
  struct Asked;
  using AskedPtr = std::shared_ptr<Asked>;
  using Body = std::string;

  bool served() const { return options_.authorizer != nullptr; }
  Rights RightsOf(const apiserver::User& user) const;
  void Route(const AskedPtr& asked);
  void Get(const AskedPtr& asked, std::string_view what);
  void Post(const AskedPtr& asked, std::string_view what);
  void Stream(const AskedPtr& asked);
  void Claim(const AskedPtr& asked);
  void Cel(const AskedPtr& asked);
  void Ask(const AskedPtr& asked, bool plan);
  std::string InfoJson(const Asked& asked) const;
  // One at a time of each user and sort of work, on a thread for such.
  void Heavy(const AskedPtr& asked, std::string_view sort, std::size_t most,
             std::function<void()> work);
  bool MayRead(const apiserver::User& user, const api::KindInfo& kind,
               std::string_view namespace_) const;

  Hub& hub_;
  Desk& desk_;
  const HandlerOptions options_;
  Door door_;
  Simulations simulations_;
  mutable base::Mutex mutex_;
  // By user and sort of work, how many are under way.
  std::map<std::pair<std::string, std::string>, std::size_t> busy_ ABSL_GUARDED_BY(mutex_);
  // What somebody may, for some seconds.
  struct Known {
    Rights rights;
    std::chrono::nanoseconds until{0};
  };
  mutable std::map<std::string, Known> rights_ ABSL_GUARDED_BY(mutex_);
  // Last: they end first. What is quick does not wait for what is not.
  threads::TaskQueue quick_{2};
  threads::TaskQueue heavy_{2};
};

}  // namespace dray::console
