// SPDX-License-Identifier: Apache-2.0
#include "system/stage.h"

#include <cmath>

#include "fmt/format.h"

namespace dray::system {

void Stage::Find(std::string text) {
  Trace("FOUND", text);
  findings.push_back(
      fmt::format("at {:.3f} s: {}", std::chrono::duration<double>(kernel.now()).count(), text));
}

void Stage::Trace(std::string_view who, std::string_view what) {
  const auto add = [this](std::string_view text) {
    for (const char c : text) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
  };
  add(who);
  add(what);
  hash = (hash ^ static_cast<std::uint64_t>(kernel.now().count())) * 0x100000001b3U;
  if (!tracing) return;
  fmt::print("{:12.6f} {:10} {}\n", std::chrono::duration<double>(kernel.now()).count(), who, what);
}

Nanos Stage::About(Nanos mean) {
  // Exponential by thousandths, so that no machine rounds differently.
  const int draw = dice.Range(1, 999);
  double times = -std::log(static_cast<double>(draw) / 1000.0);
  times = std::min(3.0, std::max(0.1, std::round(times * 1000.0) / 1000.0));
  return Nanos(static_cast<std::int64_t>(static_cast<double>(mean.count()) * times));
}

Nanos Stage::Between(Nanos least, Nanos most) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(most - least).count();
  return least + std::chrono::microseconds(dice.Range(0, static_cast<int>(micros)));
}

}  // namespace dray::system
