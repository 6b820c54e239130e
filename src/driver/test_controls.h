// SPDX-License-Identifier: Apache-2.0
//
// TestControls: a driver that fails, hangs and counts when it is told to, line by line on a socket.
// What tests of agents need, and people who want to see what happens when a driver is in trouble.
//
//   fail prepare 3        the next three calls fail (also: unprepare, info, register); 0: none
//   block unprepare       calls wait until they are let go
//   unblock unprepare
//   health pool/device Unhealthy text
//   calls                 what was called so far, a line each
//   prepared              UIDs of the claims that are prepared
//
// Every line is answered by lines and then "ok", or by "error: text".
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "rpc/plugin_server.h"

namespace dray::driver {

struct TestHooks {
  // Unknown devices are an error.
  std::function<Status(const std::string& pool, const std::string& device, rpc::Health health,
                       const std::string& message)>
      set_health;
  std::function<std::set<std::string>()> prepared;
};

// Stands between an agent and a driver. Thread-safe.
class TestControls final : public rpc::PluginHandler {
 public:
  // The clock outlives it.
  TestControls(const base::Clock& clock, TestHooks hooks)
      : clock_(clock), hooks_(std::move(hooks)) {}
  // Whom calls are handed on to; set before the first one.
  void SetInner(rpc::PluginHandler& inner) { inner_ = &inner; }
  // Nobody waits any more.
  void Release();

  // The answer to a line, with its line breaks.
  std::string Command(std::string_view line);

  StatusOr<rpc::PrepareAnswer> Prepare(const std::vector<rpc::ClaimName>& claims) override;
  StatusOr<rpc::UnprepareAnswer> Unprepare(const std::vector<rpc::ClaimName>& claims) override;
  Status WatchHealth(std::shared_ptr<rpc::HealthReports> reports) override;
  StatusOr<rpc::PluginInfo> Info() override;
  Status Registered(bool registered, const std::string& error) override;

 private:
  struct Rule {
    int failures = 0;
    bool blocked = false;
  };
  Status Enter(const std::string& call, std::string_view about);
  Status Obey(std::string_view line, std::string& answer);
  Status SetHealth(const std::vector<std::string_view>& words, std::string_view line);

  const base::Clock& clock_;
  const TestHooks hooks_;
  rpc::PluginHandler* inner_ = nullptr;
  base::Mutex mutex_;
  base::CondVar changed_;
  std::map<std::string, Rule, std::less<>> rules_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> calls_ ABSL_GUARDED_BY(mutex_);
  bool released_ ABSL_GUARDED_BY(mutex_) = false;
};

// Serves the commands on a unix socket until it is destroyed.
class ControlSocket {
 public:
  virtual ~ControlSocket() = default;
};
StatusOr<std::unique_ptr<ControlSocket>> ServeControls(const std::string& path,
                                                       TestControls& controls);

}  // namespace dray::driver
