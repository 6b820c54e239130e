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
#include "logs/log.h"
#include "registry/route.h"

namespace dray::registry {

struct HealthCheck {
  std::string name;
  std::function<Status()> check;  // called from any thread, and often: quick
  // Who asks. With neither of these all three do; with both, /readyz and /healthz.
  bool only_ready = false;  // says nothing about whether the process is alive: /readyz
  // It serves, and a restart would not help, but somebody should look: /healthz.
  bool only_health = false;
};

inline constexpr std::string_view kHealthEndpoints[] = {"healthz", "livez", "readyz"};
// Whether an endpoint asks a check.
bool Asks(std::string_view endpoint, const HealthCheck& check);

struct HealthAnswer {
  int code = 200;
  std::string text;
};

// Thread-safe, as the checks are.
class Health {
 public:
  // What fails is logged, as it is withheld from those who ask.
  explicit Health(std::vector<HealthCheck> checks, logs::Logger log = {})
      : checks_(std::move(checks)), log_(log) {}

  // Of a path such as /readyz or /livez/ping; nothing for one that is not about health. `verbose`
  // and `exclude` are read from the query.
  std::optional<HealthAnswer> Answer(std::string_view path, const Query& query) const;
  const std::vector<HealthCheck>& checks() const { return checks_; }

 private:
  HealthAnswer All(std::string_view endpoint, const Query& query) const;

  const std::vector<HealthCheck> checks_;
  const logs::Logger log_;
};

}  // namespace dray::registry
