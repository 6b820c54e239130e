// SPDX-License-Identifier: Apache-2.0
//
// EventQueue: what is going to happen, in order of time; what happens at the same time, in the
// order in which it was put in.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace dray::simulator {

// One thread.
class EventQueue {
 public:
  using Time = std::chrono::nanoseconds;

  void At(Time time, std::function<void()> event) {
    events_.emplace(std::pair(time, next_++), std::move(event));
  }
  bool empty() const { return events_.empty(); }
  std::optional<Time> Next() const {
    if (events_.empty()) return std::nullopt;
    return events_.begin()->first.first;
  }
  // Takes out the first one if its time has come; null: none has.
  std::function<void()> TakeDue(Time now) {
    if (events_.empty() || events_.begin()->first.first > now) return nullptr;
    return std::move(events_.extract(events_.begin()).mapped());
  }

 private:
  std::map<std::pair<Time, std::uint64_t>, std::function<void()>> events_;
  std::uint64_t next_ = 0;
};

}  // namespace dray::simulator
