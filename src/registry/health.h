// SPDX-License-Identifier: Apache-2.0
//
// Health: what /healthz, /livez and /readyz answer, as kube-apiserver does: one check after the
// other, each with a path of its own.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "registry/route.h"

namespace dray::registry {

struct HealthCheck {
  std::string name;
  std::function<Status()> check;  // called from any thread, and often: quick
  bool only_ready = false;        // says nothing about whether the process is alive
  // For /healthz alone: it serves, and a restart would not help, but somebody should look.
  bool only_health = false;
};

struct HealthAnswer {
  int code = 200;
  std::string text;
};

// Thread-safe, as the checks are.
class Health {
 public:
  explicit Health(std::vector<HealthCheck> checks) : checks_(std::move(checks)) {}

  // Of a path such as /readyz or /livez/ping; nothing for one that is not about health. `verbose`
  // and `exclude` are read from the query.
  std::optional<HealthAnswer> Answer(std::string_view path, const Query& query) const;

 private:
  HealthAnswer All(std::string_view endpoint, const Query& query) const;

  const std::vector<HealthCheck> checks_;
};

}  // namespace dray::registry
