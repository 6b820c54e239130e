// SPDX-License-Identifier: Apache-2.0
#include "container/none_runtime.h"

#include <charconv>

#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dray::container {
namespace {

using Annotations = std::map<std::string, std::string>;

std::string SandboxId(const SandboxConfig& config) {
  return fmt::format("{}-{}", config.pod.uid, config.attempt);
}

std::string PodName(const PodIdentity& pod) {
  return fmt::format("{}/{}", pod.namespace_, pod.name);
}

// A container's own word counts before its pod's.
std::string_view Find(const Annotations& own, const Annotations& pods, std::string_view key) {
  const std::string name(key);
  if (const auto found = own.find(name); found != own.end()) return found->second;
  if (const auto found = pods.find(name); found != pods.end()) return found->second;
  return {};
}

std::optional<std::chrono::nanoseconds> RunsFor(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto duration = base::ParseGoDuration(text);
  if (!duration.ok() || *duration < std::chrono::nanoseconds(0)) return std::nullopt;
  return *duration;
}

std::int32_t ExitCode(std::string_view text) {
  std::int32_t code = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  return error == std::errc() && end == text.data() + text.size() ? code : 0;
}

constexpr std::int32_t kTerminated = 143;  // 128 + SIGTERM

// The command has ended before anybody could say anything to it.
class EndedSession final : public ExecSession {
 public:
  void Write(std::string) override {}
  bool Full() const override { return false; }
  void CloseInput() override {}
  void Resize(std::uint16_t, std::uint16_t) override {}
};

}  // namespace

template <class T>
void NoneRuntime::Do(const std::string& operation, std::string call, Done<T> done,
                     std::function<StatusOr<T>()> work) {
  StatusOr<T> result = base::Internal("not done");
  {
    const base::MutexLock lock(mutex_);
    // Tests look at them; a node that runs for years does not keep them all.
    constexpr std::size_t kMostCalls = 1u << 16;
    if (calls_.size() == kMostCalls) {
      calls_.erase(calls_.begin(), calls_.begin() + static_cast<std::ptrdiff_t>(kMostCalls / 2));
    }
    calls_.push_back(std::move(call));
    Behaviour& behaviour = behaviours_[operation];
    if (behaviour.held) {
      behaviour.waiting.push_back([this, work = std::move(work), done = std::move(done)] {
        StatusOr<T> late = base::Internal("not done");
        {
          const base::MutexLock inner(mutex_);
          late = work();
        }
        done(std::move(late));
      });
      return;
    }
    if (!behaviour.failures.empty()) {
      result = behaviour.failures.front();
      behaviour.failures.erase(behaviour.failures.begin());
    } else {
      result = work();
    }
  }
  done(std::move(result));
}

void NoneRuntime::DoStatus(const std::string& operation, std::string call, DoneStatus done,
                           std::function<Status()> work) {
  Do<bool>(
      operation, std::move(call),
      [done = std::move(done)](const StatusOr<bool>& result) { done(result.status()); },
      [work = std::move(work)]() -> StatusOr<bool> {
        if (const Status status = work(); !status.ok()) return status;
        return true;
      });
}

void NoneRuntime::Settle() {
  const base::Time now = clock_.Now();
  for (auto& [id, container] : containers_) {
    if (container.info.state != ContainerState::kRunning || !container.runs_for) continue;
    const base::Time end = container.info.started_at + *container.runs_for;
    if (end <= now) EndContainer(container, container.exit_code, end);
  }
}

void NoneRuntime::EndContainer(Container& container, std::int32_t code, base::Time at) {
  container.info.state = ContainerState::kExited;
  container.info.exit_code = code;
  container.info.reason = code == 0 ? "Completed" : "Error";
  container.info.finished_at = at;
}

std::string NoneRuntime::NameOf(const std::string& id) const {
  if (const auto found = containers_.find(id); found != containers_.end()) {
    return fmt::format("{}/{}", PodName(found->second.info.pod), found->second.info.name);
  }
  if (const auto found = sandboxes_.find(id); found != sandboxes_.end()) {
    return PodName(found->second.info.pod);
  }
  return id;
}

void NoneRuntime::Probe(Done<RuntimeInfo> done) {
  Do<RuntimeInfo>("Probe", "Probe", std::move(done), [this] {
    mutex_.AssertHeld();
    return RuntimeInfo{.name = "none", .version = "1", .network = no_network_};
  });
}

void NoneRuntime::List(Done<Inventory> done) {
  Do<Inventory>("List", "List", std::move(done), [this]() -> StatusOr<Inventory> {
    mutex_.AssertHeld();
    Settle();
    Inventory inventory;
    for (const auto& [id, sandbox] : sandboxes_) inventory.sandboxes.push_back(sandbox.info);
    for (const auto& [id, one] : containers_) inventory.containers.push_back(one.info);
    return inventory;
  });
}

void NoneRuntime::OnChange(std::function<void()> on_change) {
  const base::MutexLock lock(mutex_);
  on_change_ = std::move(on_change);
}

void NoneRuntime::RunSandbox(const SandboxConfig& config, Done<SandboxInfo> done) {
  Do<SandboxInfo>("RunSandbox", fmt::format("RunSandbox {}", PodName(config.pod)), std::move(done),
                  [this, config]() -> StatusOr<SandboxInfo> {
                    mutex_.AssertHeld();
                    Sandbox& sandbox = sandboxes_[SandboxId(config)];
                    if (!sandbox.info.ready) {
                      sandbox = {.info = {.id = SandboxId(config),
                                          .pod = config.pod,
                                          .attempt = config.attempt,
                                          .ready = true,
                                          .created_at = clock_.Now(),
                                          .ips = {"127.0.0.1"}},
                                 .config = config};
                    }
                    return sandbox.info;
                  });
}

void NoneRuntime::StopSandbox(const std::string& id, DoneStatus done) {
  std::string call;
  {
    const base::MutexLock lock(mutex_);
    call = fmt::format("StopSandbox {}", NameOf(id));
  }
  DoStatus("StopSandbox", call, std::move(done), [this, id] {
    mutex_.AssertHeld();
    Settle();
    for (auto& [container_id, container] : containers_) {
      if (container.info.sandbox_id == id && container.info.state != ContainerState::kExited) {
        EndContainer(container, kTerminated, clock_.Now());
      }
    }
    if (const auto found = sandboxes_.find(id); found != sandboxes_.end()) {
      found->second.info.ready = false;
    }
    return Status();
  });
}

void NoneRuntime::RemoveSandbox(const std::string& id, DoneStatus done) {
  std::string call;
  {
    const base::MutexLock lock(mutex_);
    call = fmt::format("RemoveSandbox {}", NameOf(id));
  }
  DoStatus("RemoveSandbox", call, std::move(done), [this, id] {
    mutex_.AssertHeld();
    std::erase_if(containers_,
                  [&](const auto& entry) { return entry.second.info.sandbox_id == id; });
    sandboxes_.erase(id);
    return Status();
  });
}

void NoneRuntime::FindImage(const std::string& reference, Done<ImageInfo> done) {
  Do<ImageInfo>("FindImage", fmt::format("FindImage {}", reference), std::move(done),
                [this, reference]() -> StatusOr<ImageInfo> {
                  mutex_.AssertHeld();
                  if (missing_.contains(reference)) {
                    return base::NotFound(fmt::format("image {} is not here", reference));
                  }
                  return ImageInfo{.id = reference, .ref = reference};
                });
}

void NoneRuntime::Create(const std::string& sandbox_id, const SandboxConfig& sandbox,
                         const ContainerConfig& config, Done<std::string> done) {
  Do<std::string>(
      "Create",
      fmt::format("Create {}/{}#{} {}", PodName(sandbox.pod), config.name, config.attempt,
                  fmt::join(config.cdi_devices, ",")),
      std::move(done), [this, sandbox_id, sandbox, config]() -> StatusOr<std::string> {
        mutex_.AssertHeld();
        const auto home = sandboxes_.find(sandbox_id);
        if (home == sandboxes_.end() || !home->second.info.ready) {
          return base::FailedPrecondition(fmt::format("sandbox {} is not ready", sandbox_id));
        }
        std::string id = fmt::format("{}-{}-{}", sandbox_id, config.name, config.attempt);
        if (containers_.contains(id)) return id;
        Container& made = containers_[id];
        made.config = config;
        made.runs_for = RunsFor(Find(config.annotations, sandbox.annotations, kRunsForAnnotation));
        made.exit_code =
            ExitCode(Find(config.annotations, sandbox.annotations, kExitCodeAnnotation));
        made.info = {.id = id,
                     .sandbox_id = sandbox_id,
                     .pod = sandbox.pod,
                     .name = config.name,
                     .attempt = config.attempt,
                     .state = ContainerState::kCreated,
                     .created_at = clock_.Now(),
                     .image = config.image,
                     .image_id = config.image,
                     .log_path = fmt::format("{}/{}", sandbox.log_directory, config.log_path),
                     .annotations = config.annotations};
        return id;
      });
}

void NoneRuntime::Start(const std::string& container_id, DoneStatus done) {
  std::string call;
  {
    const base::MutexLock lock(mutex_);
    call = fmt::format("Start {}", NameOf(container_id));
  }
  DoStatus("Start", call, std::move(done), [this, container_id] {
    mutex_.AssertHeld();
    const auto found = containers_.find(container_id);
    if (found == containers_.end()) {
      return base::NotFound(fmt::format("there is no container {}", container_id));
    }
    ContainerInfo& info = found->second.info;
    if (info.state == ContainerState::kExited) {
      return base::FailedPrecondition(fmt::format("container {} has ended", container_id));
    }
    if (info.state == ContainerState::kCreated) {
      info.state = ContainerState::kRunning;
      info.started_at = clock_.Now();
    }
    return Status();
  });
}

void NoneRuntime::Stop(const std::string& container_id, std::chrono::seconds grace,
                       DoneStatus done) {
  std::string call;
  {
    const base::MutexLock lock(mutex_);
    call = fmt::format("Stop {} {}s", NameOf(container_id), grace.count());
  }
  DoStatus("Stop", call, std::move(done), [this, container_id] {
    mutex_.AssertHeld();
    Settle();
    const auto found = containers_.find(container_id);
    if (found != containers_.end() && found->second.info.state != ContainerState::kExited) {
      EndContainer(found->second, kTerminated, clock_.Now());
    }
    return Status();
  });
}

void NoneRuntime::Remove(const std::string& container_id, DoneStatus done) {
  std::string call;
  {
    const base::MutexLock lock(mutex_);
    call = fmt::format("Remove {}", NameOf(container_id));
  }
  DoStatus("Remove", call, std::move(done), [this, container_id] {
    mutex_.AssertHeld();
    containers_.erase(container_id);
    return Status();
  });
}

StatusOr<ExecResult> NoneRuntime::RunExec(const std::string& id,
                                          const std::vector<std::string>& command) {
  OnExec on_exec;
  ContainerConfig config;
  {
    const base::MutexLock lock(mutex_);
    Settle();
    const auto found = containers_.find(id);
    if (found == containers_.end() || found->second.info.state != ContainerState::kRunning) {
      return base::FailedPrecondition(fmt::format("container {} is not running", id));
    }
    config = found->second.config;
    on_exec = on_exec_;
  }
  return on_exec ? on_exec(config, command) : ExecResult{};
}

void NoneRuntime::ExecSync(const std::string& container_id, std::vector<std::string> command,
                           std::chrono::seconds /*timeout*/, Done<ExecResult> done) {
  // The command may call us, so that it is not run under the lock.
  DoStatus(
      "ExecSync", fmt::format("ExecSync {} {}", container_id, fmt::join(command, " ")),
      [this, container_id, command, done = std::move(done)](const Status& status) {
        done(status.ok() ? RunExec(container_id, command) : StatusOr<ExecResult>(status));
      },
      [] { return Status(); });
}

std::shared_ptr<ExecSession> NoneRuntime::Exec(const ExecConfig& config, ExecEvents events) {
  auto result = RunExec(config.container_id, config.command);
  if (!result.ok()) {
    events.done(result.status());
    return nullptr;
  }
  if (!result->out.empty() && events.out) events.out(std::move(result->out));
  if (!result->err.empty() && events.err) events.err(std::move(result->err));
  events.done(result->exit_code);
  return std::make_shared<EndedSession>();
}

void NoneRuntime::SetNoNetwork(std::string why) {
  const base::MutexLock lock(mutex_);
  no_network_ = std::move(why);
}

void NoneRuntime::Fail(const std::string& operation, Status status, int times) {
  const base::MutexLock lock(mutex_);
  std::vector<Status>& failures = behaviours_[operation].failures;
  failures.insert(failures.end(), static_cast<std::size_t>(times), status);
}

void NoneRuntime::Hold(const std::string& operation) {
  const base::MutexLock lock(mutex_);
  behaviours_[operation].held = true;
}

void NoneRuntime::LetGo(const std::string& operation) {
  std::vector<std::function<void()>> waiting;
  {
    const base::MutexLock lock(mutex_);
    Behaviour& behaviour = behaviours_[operation];
    behaviour.held = false;
    waiting.swap(behaviour.waiting);
  }
  for (const auto& call : waiting) call();
}

void NoneRuntime::End(std::string_view pod_uid, std::string_view container,
                      std::int32_t exit_code) {
  std::function<void()> on_change;
  {
    const base::MutexLock lock(mutex_);
    for (auto& [id, one] : containers_) {
      if (one.info.pod.uid == pod_uid && one.info.name == container &&
          one.info.state == ContainerState::kRunning) {
        EndContainer(one, exit_code, clock_.Now());
      }
    }
    on_change = on_change_;
  }
  if (on_change) on_change();
}

void NoneRuntime::SetMissingImages(std::set<std::string> references) {
  const base::MutexLock lock(mutex_);
  missing_ = std::move(references);
}

void NoneRuntime::SetExec(OnExec on_exec) {
  const base::MutexLock lock(mutex_);
  on_exec_ = std::move(on_exec);
}

void NoneRuntime::ForgetSandbox(std::string_view pod_uid) {
  const base::MutexLock lock(mutex_);
  std::erase_if(sandboxes_,
                [&](const auto& entry) { return entry.second.info.pod.uid == pod_uid; });
  std::erase_if(containers_,
                [&](const auto& entry) { return entry.second.info.pod.uid == pod_uid; });
}

std::vector<std::string> NoneRuntime::Calls() const {
  const base::MutexLock lock(mutex_);
  return calls_;
}

std::optional<ContainerConfig> NoneRuntime::ConfigOf(std::string_view pod_uid,
                                                     std::string_view container) const {
  const base::MutexLock lock(mutex_);
  const Container* latest = nullptr;
  for (const auto& [id, one] : containers_) {
    if (one.info.pod.uid != pod_uid || one.info.name != container) continue;
    if (latest == nullptr || latest->info.attempt < one.info.attempt) latest = &one;
  }
  if (latest == nullptr) return std::nullopt;
  return latest->config;
}

}  // namespace dray::container
