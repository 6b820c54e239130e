// SPDX-License-Identifier: Apache-2.0
//
// What there is of sandboxes and containers on this machine, and the steps that make and remove them.
// Everything waits; nothing is kept in memory, so that it is as true after a crash as before.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "container/internal/process.h"
#include "container/internal/state_files.h"
#include "container/runc_runtime.h"
#include "container/runtime.h"
#include "image/store.h"

namespace dray::container::internal {

// Thread-compatible: one operation per sandbox or container at a time; listing at any time.
class RuncHome {
 public:
  RuncHome(const RuncOptions& options, image::Store& store, const base::Clock& clock)
      : options_(options), store_(store), clock_(clock) {}

  // Makes the folders, and removes leftovers.
  Status Open();
  StatusOr<RuntimeInfo> Probe() const;
  StatusOr<Inventory> List();

  static std::string SandboxId(const PodIdentity& pod, std::uint32_t attempt);
  static std::string ContainerId(std::string_view sandbox_id, std::string_view name,
                                 std::uint32_t attempt);

  StatusOr<SandboxInfo> RunSandbox(const SandboxConfig& config);
  // Its containers have ended.
  Status EndSandbox(const std::string& id);
  Status RemoveSandbox(const std::string& id);
  // Its network namespace.
  StatusOr<files::Fd> NetworkOf(const std::string& id) const;
  StatusOr<std::vector<std::string>> ContainersOf(const std::string& sandbox_id) const;

  StatusOr<std::string> Create(const std::string& sandbox_id, const SandboxConfig& sandbox,
                               const ContainerConfig& config);
  Status Start(const std::string& id);
  // False: it does not run (any more), or never did.
  bool Lives(const std::string& id);
  bool WasStarted(const std::string& id) const;
  // The signal that asks it to end; pod and image may have their own.
  Status AskToEnd(const std::string& id);
  // All of its processes.
  Status Kill(const std::string& id);
  // Whatever it does.
  Status Remove(const std::string& id);

  std::string ContainerFolder(std::string_view id) const;
  std::string ExitsFolder() const { return options_.root + "/exits"; }
  const RuncOptions& options() const { return options_; }
  const base::Clock& clock() const { return clock_; }
  std::vector<std::string> Runc(std::vector<std::string> args) const;

 private:
  std::string SandboxFolder(std::string_view id) const;
  std::string ExitFile(std::string_view id) const;
  std::string RuncFolder(std::string_view id) const;
  StatusOr<ContainerInfo> InfoOf(const std::string& id);
  SandboxInfo InfoOf(const SandboxRecord& record) const;
  bool SandboxLives(const std::string& id) const;
  std::optional<ExitRecord> ExitOf(const std::string& id);
  Status Sweep();
  Status CleanUp(const std::string& id);
  Status EndPause(const std::string& id);
  Status MountRoot(const std::string& folder, const std::string& image) const;
  // Starts it in the folder, with the lock, and waits for its word.
  Status StartShim(const std::string& kind, const std::string& folder, const std::string& lock);
  // What runc does to the container. An agent that is killed leaves it at work: whoever comes next
  // waits for its end.
  Status RunRunc(const std::string& id, std::vector<std::string> args) const;
  std::string LockOf(std::string_view id) const;

  const RuncOptions options_;
  image::Store& store_;
  const base::Clock& clock_;
};

}  // namespace dray::container::internal
