// SPDX-License-Identifier: Apache-2.0
#include "threads/system_host.h"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/mutex.h"

namespace dray::threads {
namespace {

class ThreadAlarm final : public base::Alarm {
 public:
  void Ring() override {
    {
      const base::MutexLock lock(mutex_);
      rung_ = true;
    }
    wake_.NotifyAll();
  }
  void Sleep(std::optional<std::chrono::nanoseconds> longest) override {
    const base::MutexLock lock(mutex_);
    if (longest) {
      const auto until = std::chrono::steady_clock::now() + *longest;
      while (!rung_ && wake_.WaitUntil(mutex_, until)) {
      }
    } else {
      while (!rung_) wake_.Wait(mutex_);
    }
    rung_ = false;
  }

 private:
  base::Mutex mutex_;
  base::CondVar wake_;
  bool rung_ ABSL_GUARDED_BY(mutex_) = false;
};

class RunningThread final : public base::Running {
 public:
  explicit RunningThread(std::function<void()> run) : thread_(std::move(run)) {}
  ~RunningThread() override { thread_.join(); }

 private:
  std::thread thread_;
};

}  // namespace

std::unique_ptr<base::Alarm> SystemHost::MakeAlarm() { return std::make_unique<ThreadAlarm>(); }

std::unique_ptr<base::Running> SystemHost::Start(std::function<void()> run) {
  return std::make_unique<RunningThread>(std::move(run));
}

base::Host& TheSystemHost() {
  static SystemHost host;
  return host;
}

}  // namespace dray::threads
