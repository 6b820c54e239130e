// SPDX-License-Identifier: Apache-2.0
//
// ProcessDoor: the port of a process that runs beside the API server.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "apiserver/server.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/status.h"
#include "client/http_client.h"
#include "logs/log.h"
#include "metrics/registry.h"
#include "plane/internal/reviews.h"
#include "plane/serving.h"
#include "registry/health.h"
#include "threads/system_host.h"
#include "threads/task_queue.h"

namespace dray::plane::internal {

// What is behind it. All outlive it.
struct ProcessPages {
  const registry::Health* health = nullptr;
  const metrics::Registry* metrics = nullptr;
  std::string config;  // JSON, for /configz
};

// Serves from Start until it is destroyed. /healthz, /livez and /readyz with the paths below them,
// /metrics and /configz. Thread-safe.
class ProcessDoor final : public apiserver::Handler {
 public:
  // The clients are to ask the API server with; they, clock and pages outlive it. kInvalidArgument:
  // the certificate cannot be used. kUnavailable: somebody else has the port.
  static StatusOr<std::unique_ptr<ProcessDoor>> Start(const ServingOptions& options,
                                                      ProcessPages pages,
                                                      client::HttpClient& authentication,
                                                      client::HttpClient& authorization,
                                                      const base::Clock& clock, logs::Logger log);
  ~ProcessDoor() override;

  std::string url() const { return server_->url(); }
  std::uint16_t port() const { return server_->port(); }

  void Handle(apiserver::Request request, std::shared_ptr<apiserver::Responder> responder) override;

 private:
  ProcessDoor(const ServingOptions& options, ProcessPages pages, client::HttpClient& authentication,
              client::HttpClient& authorization, const base::Clock& clock, logs::Logger log);
  Status Open(const ServingOptions& options, client::HttpClient& authentication,
              const base::Clock& clock);
  // Until the end: the certificate as it is in its files.
  void Reload(const std::function<StatusOr<apiserver::KeyPair>()>& reload,
              std::chrono::milliseconds every, apiserver::KeyPair shown);
  bool AnybodyMay(std::string_view path) const;
  // Who asks, and whether he may. Waits for the API server.
  Status Admit(const apiserver::Request& request);
  apiserver::Response Answer(const apiserver::Request& request) const;

  const std::vector<std::string> always_allow_;
  const ProcessPages pages_;
  const logs::Logger log_;
  Reviews reviews_;
  const apiserver::Authenticator authenticator_ = apiserver::Authenticator::LeavingTokens();
  threads::TaskQueue asking_{2};
  std::unique_ptr<apiserver::Server> server_;
  std::atomic<bool> ending_ = false;
  const std::unique_ptr<base::Alarm> end_ = threads::TheSystemHost().MakeAlarm();
  std::unique_ptr<base::Running> reloading_;
};

}  // namespace dray::plane::internal
