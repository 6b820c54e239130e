// SPDX-License-Identifier: Apache-2.0
#include "container/cri_runtime.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>

#include "base/mutex.h"
#include "cdi/folder.h"
#include "container/internal/cgroups.h"
#include "container/internal/cri_facts.h"
#include "container/internal/cri_info.h"
#include "container/internal/cri_logs.h"
#include "container/internal/cri_stream.h"
#include "container/internal/stream_threads.h"
#include "fmt/format.h"

namespace dray::container {
namespace {

using internal::InfoOf;
using internal::kNameLabel;
using internal::kUidLabel;
using internal::StreamInput;

// Of a sandbox: the control group that was made for it.
constexpr std::string_view kGroupAnnotation = "dray/cgroup";

// What is gone is as it should be.
DoneStatus GoneIsFine(DoneStatus done) {
  return [done = std::move(done)](Status status) {
    done(status.code() == StatusCode::kNotFound ? Status() : std::move(status));
  };
}

class CriRuntime final : public Runtime {
 public:
  CriRuntime(std::unique_ptr<rpc::CriClient> client, CriRuntimeOptions options,
             const base::Clock& clock)
      : options_(std::move(options)),
        client_(std::move(client)),
        cri_(*client_),
        logs_(cri_, {.max_bytes = options_.log_max_bytes, .max_files = options_.log_max_files},
              options_.log_interval, clock) {}

  ~CriRuntime() override {
    // Answers that come from now on begin nothing more.
    stopping_ = true;
    logs_.Stop();
    client_.reset();
    streams_.End();
  }

  void Probe(Done<RuntimeInfo> done) override {
    cri_.Version([this, done = std::move(done)](StatusOr<rpc::CriVersion> version) {
      if (!version.ok()) return done(version.status());
      facts_.Learn(*version);
      if (stopping_) return done(Ending());
      cri_.Status([version = *version, done](const StatusOr<rpc::CriStatus>& status) {
        if (!status.ok()) return done(status.status());
        RuntimeInfo info{.name = version.runtime_name, .version = version.runtime_version};
        for (const rpc::CriCondition& condition : status->conditions) {
          if (condition.status) continue;
          if (condition.type == "RuntimeReady") {
            return done(base::Unavailable(fmt::format("{} is not ready: {}: {}", info.name,
                                                      condition.reason, condition.message)));
          }
          if (condition.type == "NetworkReady") {
            info.network = fmt::format("NetworkReady=false reason:{} message:{}", condition.reason,
                                       condition.message);
          }
        }
        done(info);
      });
    });
  }

  void OnChange(std::function<void()> on_change) override {
    {
      const base::MutexLock lock(mutex_);
      on_change_ = std::move(on_change);
    }
    WatchEvents();
  }

  void List(Done<Inventory> done) override {
    WatchEvents();
    cri_.ListPodSandboxes(
        {}, [this, done = std::move(done)](StatusOr<std::vector<rpc::CriSandbox>> sandboxes) {
          if (!sandboxes.ok()) return done(sandboxes.status());
          if (stopping_) return done(Ending());
          cri_.ListContainers({}, [this, sandboxes = *std::move(sandboxes),
                                   done](StatusOr<std::vector<rpc::CriContainer>> containers) {
            if (!containers.ok()) return done(containers.status());
            if (stopping_) return done(Ending());
            Gather(sandboxes, *containers, done);
          });
        });
  }

  void RunSandbox(const SandboxConfig& config, Done<SandboxInfo> done) override {
    cri_.ListPodSandboxes(
        {{kUidLabel, config.pod.uid}}, [this, config, done = std::move(done)](
                                           const StatusOr<std::vector<rpc::CriSandbox>>& there) {
          if (!there.ok()) return done(there.status());
          if (stopping_) return done(Ending());
          for (const rpc::CriSandbox& one : *there) {
            if (one.metadata.attempt != config.attempt) continue;
            if (one.state == rpc::CriSandboxState::kReady) return TellSandbox(one.id, done);
            // One that began and did not get ready has its name.
            return cri_.RemovePodSandbox(one.id, [this, config, done](const Status& removed) {
              if (!removed.ok()) return done(removed);
              if (stopping_) return done(Ending());
              MakeSandbox(config, done);
            });
          }
          MakeSandbox(config, done);
        });
  }

  void StopSandbox(const std::string& id, DoneStatus done) override {
    cri_.StopPodSandbox(id, GoneIsFine(std::move(done)));
  }

  void RemoveSandbox(const std::string& id, DoneStatus done) override {
    {
      const base::MutexLock lock(mutex_);
      addresses_.erase(id);
    }
    // Gone, also when an answer that said so was lost: then its group may be all that is left.
    const auto then_group = GoneIsFine([this, id, done = std::move(done)](const Status& removed) {
      if (!removed.ok()) return done(removed);
      RemoveGroup(id, done);
    });
    // Containers go with it.
    cri_.StopPodSandbox(id, [this, id, then_group](const Status& stopped) {
      if (!stopped.ok()) return then_group(stopped);
      if (stopping_) return then_group(Ending());
      cri_.RemovePodSandbox(id, then_group);
    });
  }

  void FindImage(const std::string& reference, Done<ImageInfo> done) override {
    cri_.ImageStatus(reference, [this, reference, done = std::move(done)](
                                    const StatusOr<std::optional<rpc::CriImage>>& image) {
      if (!image.ok()) return done(image.status());
      if (image->has_value()) return done(InfoOf(**image));
      if (stopping_) return done(Ending());
      cri_.PullImage(
          reference, std::nullopt, {}, [reference, done](const StatusOr<std::string>& ref) {
            if (!ref.ok()) {
              return done(base::NotFound(fmt::format("image {} cannot be pulled: {}", reference,
                                                     base::Message(ref.status()))));
            }
            done(ImageInfo{.id = *ref, .ref = *ref});
          });
    });
  }

  void Create(const std::string& sandbox_id, const SandboxConfig& sandbox,
              const ContainerConfig& config, Done<std::string> done) override {
    if (!config.stop_signal.empty()) {
      return done(base::FailedPrecondition(
          "lifecycle.stopSignal: this container runtime knows the image's alone"));
    }
    cri_.ListContainers({{kUidLabel, sandbox.pod.uid}, {kNameLabel, config.name}},
                        [this, sandbox_id, sandbox, config, done = std::move(done)](
                            const StatusOr<std::vector<rpc::CriContainer>>& there) {
                          if (!there.ok()) return done(there.status());
                          if (stopping_) return done(Ending());
                          for (const rpc::CriContainer& one : *there) {
                            if (one.sandbox_id == sandbox_id && one.attempt == config.attempt)
                              return done(one.id);
                          }
                          facts_.AppliesCdi(options_.cdi, [this, sandbox_id, sandbox, config,
                                                           done](const StatusOr<bool>& by_runtime) {
                            if (!by_runtime.ok()) return done(by_runtime.status());
                            if (stopping_) return done(Ending());
                            MakeContainer(sandbox_id, sandbox, config, *by_runtime, done);
                          });
                        });
  }

  void Start(const std::string& container_id, DoneStatus done) override {
    cri_.StartContainer(
        container_id, [this, container_id, done = std::move(done)](const Status& started) {
          std::vector<std::string> names;
          {
            const base::MutexLock lock(mutex_);
            if (const auto found = unchecked_.find(container_id); found != unchecked_.end()) {
              if (!checked_) names = found->second;
              unchecked_.erase(found);
            }
          }
          if (!started.ok()) return done(started);
          if (names.empty() || stopping_) return done(Status());
          CheckDevices(container_id, names, done);
        });
  }

  void Stop(const std::string& container_id, std::chrono::seconds grace, DoneStatus done) override {
    cri_.StopContainer(container_id, grace, GoneIsFine(std::move(done)));
  }

  void Remove(const std::string& container_id, DoneStatus done) override {
    {
      const base::MutexLock lock(mutex_);
      known_.erase(container_id);
      unchecked_.erase(container_id);
    }
    cri_.RemoveContainer(container_id, GoneIsFine(std::move(done)));
  }

  void ExecSync(const std::string& container_id, std::vector<std::string> command,
                std::chrono::seconds timeout, Done<ExecResult> done) override {
    cri_.ExecSync(container_id, std::move(command), timeout,
                  [done = std::move(done)](StatusOr<rpc::CriExecResult> result) {
                    if (!result.ok()) return done(result.status());
                    done(ExecResult{.exit_code = result->exit_code,
                                    .out = std::move(result->out),
                                    .err = std::move(result->err)});
                  });
  }

  std::shared_ptr<ExecSession> Exec(const ExecConfig& config, ExecEvents events) override {
    auto input = std::make_shared<StreamInput>(events.room);
    auto connect = [this, config, input,
                    events = std::move(events)](const StatusOr<std::string>& url) {
      if (!url.ok()) return events.done(url.status());
      const bool begun = streams_.Start(input, [config, input, events, url = *url] {
        events.done(
            internal::RunCriStream({.url = url, .tty = config.tty, .stdin_open = config.stdin},
                                   *input, events.out, events.err));
      });
      if (!begun) events.done(Ending());
    };
    if (config.command.empty()) {
      cri_.AttachUrl(config.container_id, config.tty, config.stdin, std::move(connect));
    } else {
      cri_.ExecUrl(config.container_id, config.command, config.tty, config.stdin,
                   std::move(connect));
    }
    return internal::SessionOf(input);
  }

  Abilities abilities() const override { return {.selinux = true, .app_armor_default = true}; }

  void Connect(const std::string& sandbox_id, std::uint16_t port, std::chrono::nanoseconds timeout,
               Done<PortConnection> done) override {
    cri_.PortForwardUrl(
        sandbox_id, port,
        [this, port, timeout, done = std::move(done)](const StatusOr<std::string>& url) {
          if (!url.ok()) return done(url.status());
          auto input = std::make_shared<StreamInput>();
          const bool begun = streams_.Start(input, [url = *url, port, timeout, input, done] {
            internal::ForwardPort({.url = url, .port = port, .timeout = timeout}, *input, done);
          });
          if (!begun) done(Ending());
        });
  }

 private:
  // What List still waits for.
  struct Gathering {
    base::Mutex mutex;
    Inventory inventory ABSL_GUARDED_BY(mutex);
    std::size_t pending ABSL_GUARDED_BY(mutex) = 1;
    Status failed ABSL_GUARDED_BY(mutex);
    Done<Inventory> done;

    void Arrived(const Status& status) {
      Inventory all;
      Status fault;
      {
        const base::MutexLock lock(mutex);
        if (!status.ok() && status.code() != StatusCode::kNotFound) failed = status;
        if (--pending > 0) return;
        all = std::move(inventory);
        fault = failed;
      }
      if (!fault.ok()) return done(fault);
      std::ranges::sort(all.sandboxes, {}, &SandboxInfo::id);
      std::ranges::sort(all.containers, {}, &ContainerInfo::id);
      done(std::move(all));
    }
  };

  static Status Ending() { return base::MakeStatus(StatusCode::kCancelled, "the agent ends"); }

  // Lists tell neither addresses nor how something ended: that is asked for, once for what stays as
  // it is.
  void Gather(const std::vector<rpc::CriSandbox>& sandboxes,
              const std::vector<rpc::CriContainer>& containers, const Done<Inventory>& done) {
    auto all = std::make_shared<Gathering>();
    all->done = done;
    for (const rpc::CriSandbox& sandbox : sandboxes) {
      if (!sandbox.labels.contains(kUidLabel)) continue;
      std::optional<std::vector<std::string>> ips;
      {
        const base::MutexLock lock(mutex_);
        RememberGroup(sandbox);
        const auto known = addresses_.find(sandbox.id);
        if (known != addresses_.end()) ips = known->second;
      }
      const bool ask = !ips && sandbox.state == rpc::CriSandboxState::kReady;
      {
        const base::MutexLock lock(all->mutex);
        if (!ask) {
          all->inventory.sandboxes.push_back(InfoOf(sandbox));
          if (ips) all->inventory.sandboxes.back().ips = *ips;
          continue;
        }
        ++all->pending;
      }
      cri_.PodSandboxStatus(sandbox.id, [this, all](const StatusOr<rpc::CriSandbox>& status) {
        if (status.ok()) {
          Remember(*status);
          const base::MutexLock lock(all->mutex);
          all->inventory.sandboxes.push_back(InfoOf(*status));
        }
        all->Arrived(status.status());
      });
    }
    for (const rpc::CriContainer& container : containers) {
      if (!container.labels.contains(kUidLabel)) continue;
      {
        const base::MutexLock lock(mutex_);
        const auto known = known_.find(container.id);
        if (known != known_.end() && known->second.state == internal::StateOf(container.state)) {
          const base::MutexLock inner(all->mutex);
          all->inventory.containers.push_back(known->second);
          continue;
        }
      }
      {
        const base::MutexLock lock(all->mutex);
        ++all->pending;
      }
      cri_.ContainerStatus(
          container.id, false,
          [this, all,
           sandbox_id = container.sandbox_id](const StatusOr<rpc::CriContainer>& status) {
            if (status.ok()) {
              const ContainerInfo info = InfoOf(*status, sandbox_id);
              if (info.state == ContainerState::kRunning || info.state == ContainerState::kExited) {
                const base::MutexLock lock(mutex_);
                known_.insert_or_assign(info.id, info);
              }
              const base::MutexLock lock(all->mutex);
              all->inventory.containers.push_back(info);
            }
            all->Arrived(status.status());
          });
    }
    {
      // What has been removed is not remembered.
      const base::MutexLock lock(mutex_);
      std::set<std::string> ids;
      for (const rpc::CriContainer& container : containers) ids.insert(container.id);
      std::erase_if(known_, [&](const auto& entry) { return !ids.contains(entry.first); });
    }
    LookAtLogs();
    all->Arrived(Status());
  }

  void LookAtLogs() {
    if (!logs_.Due()) return;
    std::vector<std::pair<std::string, std::string>> running;
    {
      const base::MutexLock lock(mutex_);
      for (const auto& [id, info] : known_) {
        if (info.state == ContainerState::kRunning) running.emplace_back(id, info.log_path);
      }
    }
    logs_.Look(std::move(running));
  }

  void Remember(const rpc::CriSandbox& sandbox) {
    const base::MutexLock lock(mutex_);
    addresses_[sandbox.id] = sandbox.ips;
    RememberGroup(sandbox);
  }
  void RememberGroup(const rpc::CriSandbox& sandbox) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto group = sandbox.annotations.find(std::string(kGroupAnnotation));
    if (group != sandbox.annotations.end()) groups_[sandbox.id] = group->second;
  }

  void MakeSandbox(const SandboxConfig& config, const Done<SandboxInfo>& done) {
    facts_.Cgroups([this, config, done](const StatusOr<rpc::CgroupDriver>& driver) {
      if (!driver.ok()) return done(driver.status());
      if (stopping_) return done(Ending());
      if (const Status made = MakeGroup(*driver, config); !made.ok()) return done(made);
      cri_.RunPodSandbox(SandboxFor(*driver, config),
                         [this, done](const StatusOr<std::string>& id) {
                           if (!id.ok()) return done(id.status());
                           if (stopping_) return done(Ending());
                           TellSandbox(*id, done);
                         });
    });
  }

  static rpc::CriSandboxConfig SandboxFor(rpc::CgroupDriver driver, const SandboxConfig& config) {
    rpc::CriSandboxConfig made = ToCri(config);
    if (HasGroup(driver, config)) {
      made.cgroup_parent = GroupOf(config);
      made.annotations[std::string(kGroupAnnotation)] = made.cgroup_parent;
    } else {
      made.cgroup_parent = internal::CgroupNameFor(driver, made.cgroup_parent);
    }
    return made;
  }

  // Of a sandbox that is gone. It waits for processes that are leaving.
  void RemoveGroup(const std::string& id, const DoneStatus& done) {
    std::string group;
    {
      const base::MutexLock lock(mutex_);
      if (const auto found = groups_.find(id); found != groups_.end()) {
        group = found->second;
        groups_.erase(found);
      }
    }
    if (group.empty()) return done(Status());
    const bool begun = streams_.Start(std::make_shared<StreamInput>(), [group, done] {
      // Another attempt of the same pod may live in it: what is in use stays.
      (void)internal::RemoveCgroup(group);
      done(Status());
    });
    if (!begun) done(Ending());
  }

  // Of a pod that has limits as a whole: a group around it, which is made and removed here.
  static std::string GroupOf(const SandboxConfig& config) {
    return fmt::format("{}/pod{}", config.cgroup_parent.empty() ? "/dray" : config.cgroup_parent,
                       config.pod.uid);
  }
  static bool HasGroup(rpc::CgroupDriver driver, const SandboxConfig& config) {
    return driver == rpc::CgroupDriver::kCgroupfs && !config.limits.none();
  }
  static Status MakeGroup(rpc::CgroupDriver driver, const SandboxConfig& config) {
    if (HasGroup(driver, config)) return internal::LimitCgroup(GroupOf(config), config.limits);
    // What a pod requests is a weight, without which it runs as well.
    if (config.limits.memory_bytes > 0 || config.limits.cpu_quota > 0) {
      return base::FailedPrecondition(
          "spec.resources.limits: limits for a pod as a whole need a container runtime with the "
          "cgroup driver cgroupfs; this one uses systemd");
    }
    return {};
  }

  void TellSandbox(const std::string& id, const Done<SandboxInfo>& done) {
    cri_.PodSandboxStatus(id, [this, done](const StatusOr<rpc::CriSandbox>& status) {
      if (!status.ok()) return done(status.status());
      Remember(*status);
      done(InfoOf(*status));
    });
  }

  void MakeContainer(const std::string& sandbox_id, const SandboxConfig& sandbox,
                     const ContainerConfig& config, bool by_runtime,
                     const Done<std::string>& done) {
    rpc::CriContainerConfig made = ToCri(sandbox, config);
    if (!by_runtime && !config.cdi_devices.empty()) {
      const auto edits = cdi::Load(options_.cdi_folders).Resolve(config.cdi_devices);
      if (!edits.ok()) {
        return done(base::Annotate(edits.status(), "CDI device injection failed"));
      }
      if (const Status inlined = InlineEdits(*edits, made); !inlined.ok()) return done(inlined);
    }
    facts_.Cgroups([this, sandbox_id, sandbox, made, by_runtime, names = config.cdi_devices,
                    done](const StatusOr<rpc::CgroupDriver>& driver) {
      if (!driver.ok()) return done(driver.status());
      if (stopping_) return done(Ending());
      cri_.CreateContainer(sandbox_id, made, SandboxFor(*driver, sandbox),
                           [this, by_runtime, names, done](const StatusOr<std::string>& id) {
                             if (id.ok() && by_runtime && !names.empty()) {
                               const base::MutexLock lock(mutex_);
                               if (!checked_) unchecked_[*id] = names;
                             }
                             done(id);
                           });
    });
  }

  // A runtime that is older than it says, or was told to leave CDI alone, drops devices in silence.
  void CheckDevices(const std::string& id, const std::vector<std::string>& names,
                    const DoneStatus& done) {
    const auto edits = cdi::Load(options_.cdi_folders).Resolve(names);
    if (!edits.ok()) return done(Status());  // the files have gone meanwhile
    cri_.ContainerStatus(
        id, true,
        [this, id, edits = *edits, names, done](const StatusOr<rpc::CriContainer>& status) {
          if (!status.ok() || stopping_) return done(Status());
          const std::string missing = internal::MissingIn(status->info, edits);
          if (missing.empty()) {
            const base::MutexLock lock(mutex_);
            checked_ = true;
            unchecked_.clear();
          }
          if (missing.empty()) return done(Status());
          const Status fault = base::FailedPrecondition(fmt::format(
              "the runtime ignored the CDI device {}: {} is not in the container. Enable CDI "
              "in it, or let dray make the edits (--cdi inline)",
              names.front(), missing));
          cri_.StopContainer(id, std::chrono::seconds(0),
                             [fault, done](const Status&) { done(fault); });
        });
  }

  void WatchEvents() {
    {
      const base::MutexLock lock(mutex_);
      if (watching_ || !on_change_) return;
      watching_ = true;
    }
    cri_.WatchEvents(
        [this](const rpc::CriEvent&) {
          std::function<void()> on_change;
          {
            const base::MutexLock lock(mutex_);
            on_change = on_change_;
          }
          if (on_change) on_change();
        },
        [this](const Status& end) {
          // Without events the agent looks every second; else the stream is opened with the next list.
          const base::MutexLock lock(mutex_);
          watching_ = end.code() == StatusCode::kUnimplemented;
        });
  }

  const CriRuntimeOptions options_;
  std::atomic<bool> stopping_ = false;
  base::Mutex mutex_;
  bool checked_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::vector<std::string>> unchecked_ ABSL_GUARDED_BY(mutex_);
  // Those that run or have ended.
  std::map<std::string, ContainerInfo> known_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::vector<std::string>> addresses_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> groups_ ABSL_GUARDED_BY(mutex_);  // of sandboxes with limits
  std::function<void()> on_change_ ABSL_GUARDED_BY(mutex_);
  bool watching_ ABSL_GUARDED_BY(mutex_) = false;
  internal::StreamThreads streams_;
  std::unique_ptr<rpc::CriClient> client_;
  rpc::CriClient& cri_;
  internal::CriFacts facts_{cri_, stopping_};
  internal::CriLogs logs_;
};

}  // namespace

std::unique_ptr<Runtime> MakeCriRuntime(std::unique_ptr<rpc::CriClient> client,
                                        CriRuntimeOptions options, const base::Clock& clock) {
  return std::make_unique<CriRuntime>(std::move(client), std::move(options), clock);
}

}  // namespace dray::container
