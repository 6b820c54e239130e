// SPDX-License-Identifier: Apache-2.0
#include "container/cri_runtime.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "api/document.h"
#include "base/mutex.h"
#include "cdi/folder.h"
#include "fmt/format.h"

namespace dray::container {
namespace {

constexpr char kUidLabel[] = "io.kubernetes.pod.uid";
constexpr char kNameLabel[] = "io.kubernetes.container.name";

base::Time TimeOf(std::int64_t nanos) { return base::Time::FromUnix(0, nanos); }

PodIdentity PodOf(const rpc::CriMap& labels) {
  const auto get = [&](const char* key) {
    const auto found = labels.find(key);
    return found == labels.end() ? std::string() : found->second;
  };
  return {.namespace_ = get("io.kubernetes.pod.namespace"),
          .name = get("io.kubernetes.pod.name"),
          .uid = get(kUidLabel)};
}

SandboxInfo InfoOf(const rpc::CriSandbox& sandbox) {
  return {.id = sandbox.id,
          .pod = PodOf(sandbox.labels),
          .attempt = sandbox.metadata.attempt,
          .ready = sandbox.state == rpc::CriSandboxState::kReady,
          .created_at = TimeOf(sandbox.created_at),
          .ips = sandbox.ips};
}

ContainerState StateOf(rpc::CriContainerState state) {
  switch (state) {
    case rpc::CriContainerState::kCreated:
      return ContainerState::kCreated;
    case rpc::CriContainerState::kRunning:
      return ContainerState::kRunning;
    case rpc::CriContainerState::kExited:
      return ContainerState::kExited;
    case rpc::CriContainerState::kUnknown:
      break;
  }
  return ContainerState::kUnknown;
}

ContainerInfo InfoOf(const rpc::CriContainer& container, const std::string& sandbox_id) {
  const auto name = container.labels.find(kNameLabel);
  return {.id = container.id,
          .sandbox_id = sandbox_id,
          .pod = PodOf(container.labels),
          .name = name == container.labels.end() ? container.name : name->second,
          .attempt = container.attempt,
          .state = StateOf(container.state),
          .created_at = TimeOf(container.created_at),
          .started_at = TimeOf(container.started_at),
          .finished_at = TimeOf(container.finished_at),
          .exit_code = container.exit_code,
          .reason = container.reason,
          .message = container.message,
          .image = container.image,
          .image_id = container.image_ref,
          .log_path = container.log_path,
          .annotations = {container.annotations.begin(), container.annotations.end()}};
}

// What is gone is as it should be.
DoneStatus GoneIsFine(DoneStatus done) {
  return [done = std::move(done)](Status status) {
    done(status.code() == StatusCode::kNotFound ? Status() : std::move(status));
  };
}

const api::DocumentNode* Child(const api::DocumentNode* node, std::string_view key) {
  const api::Member* member = node == nullptr ? nullptr : node->Find(key);
  return member == nullptr ? nullptr : &member->value;
}

bool ListHas(const api::DocumentNode* list, std::string_view field, const std::string& value) {
  if (list == nullptr) return false;
  return std::ranges::any_of(list->items, [&](const api::DocumentNode& item) {
    const api::DocumentNode* found = field.empty() ? &item : Child(&item, field);
    return found != nullptr && found->text == value;
  });
}

// What of the edits the OCI configuration in a verbose status lacks; empty: nothing, or the runtime
// does not show it.
std::string MissingIn(const rpc::CriMap& info, const cdi::ContainerEdits& edits) {
  const auto text = info.find("info");
  if (text == info.end()) return "";
  std::vector<api::Diagnostic> faults;
  const api::DocumentNode root = api::ParseJson(text->second, faults);
  const api::DocumentNode* spec = Child(&root, "runtimeSpec");
  if (!faults.empty() || spec == nullptr) return "";
  const api::DocumentNode* env = Child(Child(spec, "process"), "env");
  for (const std::string& variable : edits.env) {
    if (!ListHas(env, "", variable)) return variable;
  }
  const api::DocumentNode* devices = Child(Child(spec, "linux"), "devices");
  for (const cdi::DeviceNode& node : edits.device_nodes) {
    if (!ListHas(devices, "path", node.path)) return node.path;
  }
  for (const cdi::Mount& mount : edits.mounts) {
    if (!ListHas(Child(spec, "mounts"), "destination", mount.container_path)) {
      return mount.container_path;
    }
  }
  return "";
}

// The command has ended by the time that somebody could say something to it.
class EndedSession final : public ExecSession {
 public:
  void Write(std::string) override {}
  bool Full() const override { return false; }
  void CloseInput() override {}
  void Resize(std::uint16_t, std::uint16_t) override {}
};

class CriRuntime final : public Runtime {
 public:
  CriRuntime(std::unique_ptr<rpc::CriClient> client, CriRuntimeOptions options)
      : options_(std::move(options)), client_(std::move(client)), cri_(*client_) {}

  ~CriRuntime() override {
    // Answers that come from now on begin nothing more.
    stopping_ = true;
    client_.reset();
  }

  void Probe(Done<RuntimeInfo> done) override {
    cri_.Version([this, done = std::move(done)](StatusOr<rpc::CriVersion> version) {
      if (!version.ok()) return done(version.status());
      Learn(*version);
      if (stopping_) return done(Ending());
      const RuntimeInfo info{.name = version->runtime_name, .version = version->runtime_version};
      cri_.Status([info, done](const StatusOr<std::vector<rpc::CriCondition>>& conditions) {
        if (!conditions.ok()) return done(conditions.status());
        for (const rpc::CriCondition& condition : *conditions) {
          if (condition.type == "RuntimeReady" && !condition.status) {
            return done(base::Unavailable(fmt::format("{} is not ready: {}: {}", info.name,
                                                      condition.reason, condition.message)));
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
    // Containers go with it.
    cri_.StopPodSandbox(id, [this, id, done = std::move(done)](const Status& stopped) {
      if (stopped.code() == StatusCode::kNotFound) return done(Status());
      if (!stopped.ok()) return done(stopped);
      if (stopping_) return done(Ending());
      cri_.RemovePodSandbox(id, GoneIsFine(done));
    });
  }

  void FindImage(const std::string& reference, Done<ImageInfo> done) override {
    cri_.ImageStatus(reference, [this, reference, done = std::move(done)](
                                    const StatusOr<std::optional<rpc::CriImage>>& image) {
      if (!image.ok()) return done(image.status());
      if (image->has_value()) return done(Named(**image));
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
    cri_.ListContainers(
        {{kUidLabel, sandbox.pod.uid}, {kNameLabel, config.name}},
        [this, sandbox_id, sandbox, config,
         done = std::move(done)](const StatusOr<std::vector<rpc::CriContainer>>& there) {
          if (!there.ok()) return done(there.status());
          if (stopping_) return done(Ending());
          for (const rpc::CriContainer& one : *there) {
            if (one.sandbox_id == sandbox_id && one.attempt == config.attempt) return done(one.id);
          }
          WithCdiMode([this, sandbox_id, sandbox, config, done](const StatusOr<bool>& by_runtime) {
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
      ended_.erase(container_id);
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
    if (config.tty || config.stdin || config.command.empty()) {
      events.done(base::MakeStatus(
          StatusCode::kUnimplemented,
          "commands with input or a terminal, and attaching, work with the runtime runc only"));
      return nullptr;
    }
    cri_.ExecSync(config.container_id, config.command, std::chrono::seconds(0),
                  [events = std::move(events)](StatusOr<rpc::CriExecResult> result) {
                    if (!result.ok()) return events.done(result.status());
                    if (!result->out.empty() && events.out) events.out(std::move(result->out));
                    if (!result->err.empty() && events.err) events.err(std::move(result->err));
                    events.done(result->exit_code);
                  });
    return std::make_shared<EndedSession>();
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

  static ImageInfo Named(const rpc::CriImage& image) {
    return {.id = image.id,
            .ref = image.repo_digests.empty() ? image.id : image.repo_digests.front()};
  }

  // Lists tell neither addresses nor how something ended: that is asked for, once for what stays.
  void Gather(const std::vector<rpc::CriSandbox>& sandboxes,
              const std::vector<rpc::CriContainer>& containers, const Done<Inventory>& done) {
    auto all = std::make_shared<Gathering>();
    all->done = done;
    for (const rpc::CriSandbox& sandbox : sandboxes) {
      if (!sandbox.labels.contains(kUidLabel)) continue;
      std::optional<std::vector<std::string>> ips;
      {
        const base::MutexLock lock(mutex_);
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
        const auto known = ended_.find(container.id);
        if (known != ended_.end()) {
          const base::MutexLock inner(all->mutex);
          all->inventory.containers.push_back(known->second);
          continue;
        }
      }
      {
        const base::MutexLock lock(all->mutex);
        ++all->pending;
      }
      cri_.ContainerStatus(container.id, false,
                           [this, all, sandbox_id = container.sandbox_id](
                               const StatusOr<rpc::CriContainer>& status) {
                             if (status.ok()) {
                               const ContainerInfo info = InfoOf(*status, sandbox_id);
                               if (info.state == ContainerState::kExited) {
                                 const base::MutexLock lock(mutex_);
                                 ended_.insert_or_assign(info.id, info);
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
      std::erase_if(ended_, [&](const auto& entry) { return !ids.contains(entry.first); });
    }
    all->Arrived(Status());
  }

  void Remember(const rpc::CriSandbox& sandbox) {
    const base::MutexLock lock(mutex_);
    addresses_[sandbox.id] = sandbox.ips;
  }

  void MakeSandbox(const SandboxConfig& config, const Done<SandboxInfo>& done) {
    cri_.RunPodSandbox(ToCri(config), [this, done](const StatusOr<std::string>& id) {
      if (!id.ok()) return done(id.status());
      if (stopping_) return done(Ending());
      TellSandbox(*id, done);
    });
  }

  void TellSandbox(const std::string& id, const Done<SandboxInfo>& done) {
    cri_.PodSandboxStatus(id, [this, done](const StatusOr<rpc::CriSandbox>& status) {
      if (!status.ok()) return done(status.status());
      Remember(*status);
      done(InfoOf(*status));
    });
  }

  void Learn(const rpc::CriVersion& version) {
    const base::MutexLock lock(mutex_);
    version_ = version;
  }

  // Whether names go to the runtime.
  void WithCdiMode(std::function<void(StatusOr<bool>)> then) {
    if (options_.cdi != CdiMode::kAuto) return then(options_.cdi == CdiMode::kRuntime);
    std::optional<rpc::CriVersion> known;
    {
      const base::MutexLock lock(mutex_);
      known = version_;
    }
    if (known) return then(AppliesCdi(known->runtime_name, known->runtime_version));
    cri_.Version([this, then = std::move(then)](const StatusOr<rpc::CriVersion>& version) {
      if (!version.ok()) return then(version.status());
      Learn(*version);
      then(AppliesCdi(version->runtime_name, version->runtime_version));
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
    cri_.CreateContainer(
        sandbox_id, made, ToCri(sandbox),
        [this, by_runtime, names = config.cdi_devices, done](const StatusOr<std::string>& id) {
          if (id.ok() && by_runtime && !names.empty()) {
            const base::MutexLock lock(mutex_);
            if (!checked_) unchecked_[*id] = names;
          }
          done(id);
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
          const std::string missing = MissingIn(status->info, edits);
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
  std::optional<rpc::CriVersion> version_ ABSL_GUARDED_BY(mutex_);
  bool checked_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::vector<std::string>> unchecked_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, ContainerInfo> ended_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::vector<std::string>> addresses_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> on_change_ ABSL_GUARDED_BY(mutex_);
  bool watching_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<rpc::CriClient> client_;
  rpc::CriClient& cri_;
};

}  // namespace

std::unique_ptr<Runtime> MakeCriRuntime(std::unique_ptr<rpc::CriClient> client,
                                        CriRuntimeOptions options) {
  return std::make_unique<CriRuntime>(std::move(client), std::move(options));
}

}  // namespace dray::container
