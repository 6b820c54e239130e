// SPDX-License-Identifier: Apache-2.0
//
// Remote: a process that is `dray scheduler`, and who starts it again when it has ended.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "plane/remote_scheduler.h"
#include "system/stage.h"
#include "system/wire.h"

namespace dray::system {

// Made and destroyed by a fiber.
class Remote {
 public:
  // All outlive it. Starts at once, and again whenever it has ended.
  Remote(Stage& stage, Wire& wire, std::string name);
  // Ends as a process does that is told to.
  ~Remote();

  void Kill();
  // As a process that is told to: what it has in hand is finished, and it is started again.
  void Restart();
  void StandStill(Nanos until);
  const std::string& name() const { return name_; }
  bool leading() const { return scheduler_ != nullptr && scheduler_->leading(); }
  // Pods of which it does not know whether what it wrote has happened.
  std::size_t in_doubt() const {
    return scheduler_ == nullptr ? 0 : scheduler_->statistics().in_doubt;
  }
  // Not OK: it leads, and something keeps it from seeing what happens.
  Status Blind() const { return leading() ? scheduler_->Connection() : Status(); }
  void SetWrong(Nanos by);

 private:
  class StandingClock;

  void Live();
  void Start();

  Stage& stage_;
  Wire& wire_;
  const std::string name_;
  Process keeper_;  // whoever starts it
  std::unique_ptr<base::Alarm> alarm_;
  bool ending_ = false;
  bool killed_ = false;
  bool told_to_end_ = false;
  std::unique_ptr<Process> process_;
  std::unique_ptr<StandingClock> clock_;
  std::unique_ptr<plane::RemoteScheduler> scheduler_;
  std::unique_ptr<base::Running> running_;
};

}  // namespace dray::system
