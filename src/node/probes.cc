// SPDX-License-Identifier: Apache-2.0
#include "node/probes.h"

#include <algorithm>
#include <utility>

namespace dray::node {
Probe::Probe(Parts parts, Kind kind, ProbeSpec spec, Target target)
    : parts_(std::move(parts)), kind_(kind), spec_(std::move(spec)), target_(std::move(target)) {
  const auto since = parts_.loop.clock().Now() - target_.started_at;
  const auto delay =
      std::max<std::chrono::nanoseconds>(std::chrono::nanoseconds(0), spec_.initial_delay - since);
  timer_ = parts_.loop.After(delay, [this] { Ask(); });
}

Probe::~Probe() = default;

void Probe::Ask() {
  const auto warning = std::make_shared<std::string>();
  const auto back = [this, &loop = parts_.loop, alive = std::weak_ptr(alive_),
                     warning](Status status) {
    loop.Post([this, alive, status = std::move(status), warning] {
      if (!alive.expired()) Answer(status, *warning);
    });
  };
  RunAction(spec_.action, target_.action, spec_.timeout, false, parts_.runtime, parts_.client, back,
            [warning](const std::string& text) { *warning = text; });
}

void Probe::Answer(const Status& status, const std::string& warning) {
  timer_ = parts_.loop.After(spec_.period, [this] { Ask(); });
  const bool ok = status.ok();
  in_a_row_ = ok == last_ok_ ? in_a_row_ + 1 : 1;
  last_ok_ = ok;
  const std::string why(base::Message(status));
  const std::weak_ptr<int> alive = alive_;
  if (!ok) parts_.failed(kind_, why);
  if (ok && !warning.empty()) parts_.warned(kind_, warning);
  if (alive.expired()) return;
  if (in_a_row_ < (ok ? spec_.successes : spec_.failures)) return;
  if (good_ == ok) return;
  good_ = ok;
  parts_.changed(kind_, ok, why);
}

}  // namespace dray::node
