// SPDX-License-Identifier: Apache-2.0
//
// NoneRuntime: a runtime that runs nothing and says it does. For hollow nodes, and for tests, which
// hold its strings: what fails, what hangs, how containers end.
//
// Annotations of a container, or of its sandbox, say how it lives, as for hollow nodes:
//   dray/runs-for: 90s     it ends after that time (a Go duration); else it runs until it is stopped
//   dray/exit-code: "1"    with this code
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "container/runtime.h"

namespace dray::container {

inline constexpr std::string_view kRunsForAnnotation = "dray/runs-for";
inline constexpr std::string_view kExitCodeAnnotation = "dray/exit-code";

// Calls back before a call returns, but for operations that are held. Time is the clock's, looked at
// when somebody lists; so one thread and a ManualClock make everything repeatable. Thread-safe.
class NoneRuntime final : public Runtime {
 public:
  // The clock outlives it.
  explicit NoneRuntime(const base::Clock& clock) : clock_(clock) {}

  void Probe(Done<RuntimeInfo> done) override;
  void List(Done<Inventory> done) override;
  void OnChange(std::function<void()> on_change) override;
  void RunSandbox(const SandboxConfig& config, Done<SandboxInfo> done) override;
  void StopSandbox(const std::string& id, DoneStatus done) override;
  void RemoveSandbox(const std::string& id, DoneStatus done) override;
  void FindImage(const std::string& reference, Done<ImageInfo> done) override;
  void Create(const std::string& sandbox_id, const SandboxConfig& sandbox,
              const ContainerConfig& config, Done<std::string> done) override;
  void Start(const std::string& container_id, DoneStatus done) override;
  // Takes no grace: whoever does not exist has nothing to save.
  void Stop(const std::string& container_id, std::chrono::seconds grace, DoneStatus done) override;
  void Remove(const std::string& container_id, DoneStatus done) override;
  void ExecSync(const std::string& container_id, std::vector<std::string> command,
                std::chrono::seconds timeout, Done<ExecResult> done) override;
  std::shared_ptr<ExecSession> Exec(const ExecConfig& config, ExecEvents events) override;
  Abilities abilities() const override { return {.selinux = true, .app_armor_default = true}; }
  // Nobody runs as root here.
  bool ChecksUser() const override { return true; }

  // -- The strings. Operations are named as the functions above: "RunSandbox", "Create", ...

  // The next `times` calls of the operation fail with this and do nothing.
  void Fail(const std::string& operation, Status status, int times = 1);
  // Calls of the operation wait from now on, undone, until they are let go.
  void Hold(const std::string& operation);
  void LetGo(const std::string& operation);
  // The container's process ends now; tells the listener.
  void End(std::string_view pod_uid, std::string_view container, std::int32_t exit_code);
  // References that FindImage does not find.
  void SetMissingImages(std::set<std::string> references);
  // Why pods have no network of their own; empty: they have.
  void SetNoNetwork(std::string why);
  // Answers ExecSync and Exec; without one every command ends with 0 and says nothing.
  using OnExec = std::function<ExecResult(const ContainerConfig&, const std::vector<std::string>&)>;
  void SetExec(OnExec on_exec);
  // As if the machine had lost it: gone from the list.
  void ForgetSandbox(std::string_view pod_uid);

  // What was called, in order: "RunSandbox ns/pod", "Create ns/pod/container#0 cdi1,cdi2", ...
  std::vector<std::string> Calls() const;
  // How the latest container of that name was to be made.
  std::optional<ContainerConfig> ConfigOf(std::string_view pod_uid,
                                          std::string_view container) const;

 private:
  struct Container {
    ContainerInfo info;
    ContainerConfig config;
    std::optional<std::chrono::nanoseconds> runs_for;
    std::int32_t exit_code = 0;
  };
  struct Sandbox {
    SandboxInfo info;
    SandboxConfig config;
  };
  struct Behaviour {
    std::vector<Status> failures;
    bool held = false;
    std::vector<std::function<void()>> waiting;
  };

  // Does `work` under the lock, now or when it is let go, and tells `done` without the lock.
  template <class T>
  void Do(const std::string& operation, std::string call, Done<T> done,
          std::function<StatusOr<T>()> work);
  void DoStatus(const std::string& operation, std::string call, DoneStatus done,
                std::function<Status()> work);
  // What has ended by itself since somebody looked has ended.
  void Settle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndContainer(Container& container, std::int32_t code, base::Time at)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string NameOf(const std::string& id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<ExecResult> RunExec(const std::string& id, const std::vector<std::string>& command)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const base::Clock& clock_;
  mutable base::Mutex mutex_;
  std::map<std::string, Sandbox, std::less<>> sandboxes_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Container, std::less<>> containers_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Behaviour, std::less<>> behaviours_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> calls_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> missing_ ABSL_GUARDED_BY(mutex_);
  std::string no_network_ ABSL_GUARDED_BY(mutex_);
  OnExec on_exec_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> on_change_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::container
