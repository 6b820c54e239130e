// SPDX-License-Identifier: Apache-2.0
//
// Child: a process with a fixed command line, that is started, frozen, killed and started again, and
// what it said each time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parts/slow_disk.h"

namespace dray::parts {

struct ChildOptions {
  std::string name;
  std::vector<std::string> command;
  std::string log;  // the file that what it prints is appended to
  // Its syncs are for `SlowDown` to make slow, and only said to be done.
  bool own_disk = false;
};

// How a run ended.
struct Ending {
  int code = 0;           // 128 + the signal that ended it
  bool asked = false;     // it was told to
  std::string last = "";  // what it had said since it was started, the end of it
};

// One thread, which outlives it: the process ends with the thread that has started it.
class Child {
 public:
  explicit Child(ChildOptions options);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child(Child&& other) noexcept;

  const std::string& name() const { return options_.name; }
  const std::string& log() const { return options_.log; }
  void Start();
  // SIGKILL, frozen or not.
  void Kill();
  // SIGTERM. Whether it ends, and when, shows `Ended`.
  void Terminate();
  void Freeze();
  void Thaw();
  bool frozen() const { return frozen_; }
  // How long each sync takes, of a process that has a disk of its own, until it is told otherwise or ends.
  void SlowDown(std::chrono::milliseconds sync);
  bool has_disk() const { return options_.own_disk; }
  bool running() const { return pid_ > 0; }
  int starts() const { return starts_; }

  // Once for each run: how it ended, when it has.
  std::optional<Ending> Ended();
  // What it has said since it was started.
  std::string Said() const;
  bool AwaitSaid(const std::string& text, std::chrono::seconds patience);

 private:
  void Signal(int signal) const;

  const ChildOptions options_;
  pid_t pid_ = 0;
  bool frozen_ = false;
  bool asked_ = false;
  int starts_ = 0;
  std::int64_t said_before_ = 0;  // size of the log when it was started
  std::unique_ptr<SlowDisk> disk_;
};

// A TCP port of loopback that nobody has at this moment, and that no outgoing connection gets.
int PortFor(int start);

}  // namespace dray::parts
