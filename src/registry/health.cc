// SPDX-License-Identifier: Apache-2.0
#include "registry/health.h"

#include <algorithm>
#include <set>

#include "fmt/format.h"

namespace dray::registry {

bool Asks(std::string_view endpoint, const HealthCheck& check) {
  if (!check.only_health && !check.only_ready) return true;
  return (check.only_health && endpoint == "healthz") || (check.only_ready && endpoint == "readyz");
}

std::optional<HealthAnswer> Health::Answer(std::string_view path, const Query& query) const {
  for (const std::string_view endpoint : kHealthEndpoints) {
    if (!path.substr(1).starts_with(endpoint)) continue;
    std::string_view rest = path.substr(1 + endpoint.size());
    if (rest.empty()) return All(endpoint, query);
    if (!rest.starts_with('/')) continue;
    rest.remove_prefix(1);
    for (const HealthCheck& check : checks_) {
      if (check.name != rest || !Asks(endpoint, check)) continue;
      const Status state = check.check();
      if (state.ok()) return HealthAnswer{200, "ok"};
      return HealthAnswer{500, fmt::format("internal server error: {}\n", base::Message(state))};
    }
  }
  return std::nullopt;
}

HealthAnswer Health::All(std::string_view endpoint, const Query& query) const {
  std::set<std::string, std::less<>> excluded;
  for (const std::string& name : query.All("exclude")) excluded.insert(name);
  bool failed = false;
  std::string lines;
  for (const HealthCheck& check : checks_) {
    if (!Asks(endpoint, check)) continue;
    if (excluded.erase(check.name) > 0) {
      lines += fmt::format("[+]{} excluded: ok\n", check.name);
    } else if (const Status state = check.check(); state.ok()) {
      lines += fmt::format("[+]{} ok\n", check.name);
    } else {
      log_.Warning("Health check failed",
                   {{"endpoint", endpoint}, {"check", check.name}, {"reason", state}});
      // Anybody may ask; why it failed is for the path of the check, and for logs.
      failed = true;
      lines += fmt::format("[-]{} failed: reason withheld\n", check.name);
    }
  }
  if (!excluded.empty()) {
    std::string names;
    for (const std::string& name : excluded) {
      names += fmt::format("{}\"{}\"", names.empty() ? "" : ",", name);
    }
    lines += fmt::format("warn: some health checks cannot be excluded: no matches for {}\n", names);
  }
  if (failed) return {500, fmt::format("{}{} check failed\n", lines, endpoint)};
  if (!query.Has("verbose")) return {200, "ok"};
  return {200, fmt::format("{}{} check passed\n", lines, endpoint)};
}

}  // namespace dray::registry
