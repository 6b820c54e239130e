// SPDX-License-Identifier: Apache-2.0
//
// SlowDisk: the disk of a process, as slow as a test likes. The process runs on, answers and is connected;
// what it wants to have on its disk takes its time, as on one that others wear out. The kernel asks here before
// each fsync and fdatasync (seccomp_unotify(2)). They are only said to be done: what a kill can lose is what a
// process had not written, and power does not fail here.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace dray::parts {

class SlowDisk {
 public:
  // Whether there can be one: the kernel, or who runs this in a container, may not have it.
  static bool CanBe();

  SlowDisk();
  ~SlowDisk();
  SlowDisk(const SlowDisk&) = delete;
  SlowDisk& operator=(const SlowDisk&) = delete;

  // In the new process, between fork and exec: takes no memory and no lock.
  void InChild() const;
  // In this one, after the fork. False: the other one could not be had.
  bool InParent();
  // How long each sync takes from now on, those that wait included.
  void Delay(std::chrono::milliseconds delay) { delay_ms_ = delay.count(); }

 private:
  void Serve() const;

  int ours_ = -1;  // of a pair of sockets
  int theirs_ = -1;
  int listener_ = -1;  // where the kernel asks
  std::atomic<std::int64_t> delay_ms_ = 0;
  std::atomic<bool> over_ = false;
  std::thread serving_;
};

}  // namespace dray::parts
