// SPDX-License-Identifier: Apache-2.0
//
// Host: where things run beside each other and wait for each other. At the edge it is the machine
// with its threads (threads/system_host.h); a simulation has one thread and its own time.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

namespace dray::base {

// Something to sleep on.
class Alarm {
 public:
  virtual ~Alarm() = default;
  // Whoever sleeps wakes up; if nobody does, the next one does not fall asleep. Any thread.
  virtual void Ring() = 0;
  // Until it has rung since the last sleep, or the time is over; without a time, however long that
  // is. One sleeper at a time.
  virtual void Sleep(std::optional<std::chrono::nanoseconds> longest = std::nullopt) = 0;
};

// Something that runs. Destroying it waits for its end.
class Running {
 public:
  virtual ~Running() = default;
};

// Thread-safe.
class Host {
 public:
  virtual ~Host() = default;
  virtual std::unique_ptr<Alarm> MakeAlarm() = 0;
  // Runs it beside the caller, at once or soon.
  virtual std::unique_ptr<Running> Start(std::function<void()> run) = 0;
};

}  // namespace dray::base
