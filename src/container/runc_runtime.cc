// SPDX-License-Identifier: Apache-2.0
//
// The runtime's threads: workers that do what waits (internal/runc_home.h), one that watches for
// containers that end, and one for each command that runs in a container.
#include "container/runc_runtime.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <thread>

#include "base/mutex.h"
#include "container/internal/cgroups.h"
#include "container/internal/exec_stream.h"
#include "container/internal/pod_network.h"
#include "container/internal/runc_home.h"
#include "container/internal/stream_threads.h"
#include "fmt/format.h"
#include "threads/task_queue.h"

namespace dray::container {
namespace {

using internal::RuncHome;
using internal::StreamInput;
using std::chrono::milliseconds;
using SteadyTime = std::chrono::steady_clock::time_point;

// Looked at again without being told, for shims that die without a word.
constexpr milliseconds kLook{1000};
// How often it is looked where nobody tells of containers that end.
constexpr milliseconds kLookForEnds{200};
constexpr std::chrono::seconds kDeathTime{30};
// How often it is looked whether the disk is full of images that nobody uses.
constexpr std::chrono::minutes kCollect{5};
constexpr std::size_t kMostExecOutput = 16 << 20;

// Work on one sandbox or container at a time.
class Keys {
 public:
  base::Mutex& Of(const std::string& id) {
    return stripes_[std::hash<std::string>()(id) % stripes_.size()];
  }

 private:
  std::array<base::Mutex, 61> stripes_;
};

class RuncRuntime final : public Runtime {
 public:
  RuncRuntime(const RuncOptions& options, image::Store& store, const base::Clock& clock)
      : home_(options, store, clock), store_(store), workers_(options.workers) {}

  ~RuncRuntime() override {
    stopping_ = true;
    Wake();
    if (watcher_.joinable()) watcher_.join();
    looks_.Stop();
    images_.Stop();
    workers_.Stop();
    streams_.End();
    std::map<std::string, Ending> endings;
    {
      const base::MutexLock lock(mutex_);
      endings.swap(endings_);
    }
    // The parent of all pods' groups, if nothing is left in it.
    for (const std::string& folder : internal::CgroupFolders(home_.options().cgroup_parent)) {
      (void)::rmdir(folder.c_str());
    }
    for (auto& [id, ending] : endings) {
      for (const DoneStatus& done : ending.done) {
        done(base::MakeStatus(StatusCode::kCancelled, "the agent ends"));
      }
    }
  }

  Status Open() {
    DRAY_RETURN_IF_ERROR(home_.Open());
    wake_ = files::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_.valid()) return files::Failed("open", "an eventfd", errno);
    // A machine has 128 of these for all processes of a user, unless it is told otherwise.
    if (home_.options().inotify) {
      inotify_ = files::Fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
      if (inotify_.valid() &&
          ::inotify_add_watch(inotify_.get(), home_.ExitsFolder().c_str(), IN_MOVED_TO) < 0) {
        inotify_.Reset();
      }
    }
    watcher_ = std::thread([this] { Watch(); });
    return {};
  }

  void Probe(Done<RuntimeInfo> done) override {
    looks_.Post([this, done = std::move(done)] { done(home_.Probe()); });
  }

  void List(Done<Inventory> done) override {
    looks_.Post([this, done = std::move(done)] { done(home_.List()); });
  }

  void OnChange(std::function<void()> on_change) override {
    const base::MutexLock lock(mutex_);
    on_change_ = std::move(on_change);
  }

  void RunSandbox(const SandboxConfig& config, Done<SandboxInfo> done) override {
    workers_.Post([this, config, done = std::move(done)] {
      StatusOr<SandboxInfo> info = base::Internal("not done");
      {
        const base::MutexLock lock(keys_.Of(RuncHome::SandboxId(config.pod, config.attempt)));
        info = home_.RunSandbox(config);
      }
      done(std::move(info));
    });
  }

  void StopSandbox(const std::string& id, DoneStatus done) override {
    workers_.Post([this, id, done = std::move(done)] { done(EndSandbox(id)); });
  }

  void RemoveSandbox(const std::string& id, DoneStatus done) override {
    workers_.Post([this, id, done = std::move(done)] { done(DropSandbox(id)); });
  }

  void FindImage(const std::string& reference, Done<ImageInfo> done) override {
    images_.Post([this, reference, done = std::move(done)] {
      const auto image = store_.Find(reference);
      if (!image.ok()) return done(image.status());
      done(ImageInfo{.id = image->id, .ref = image->Ref()});
    });
  }

  void Create(const std::string& sandbox_id, const SandboxConfig& sandbox,
              const ContainerConfig& config, Done<std::string> done) override {
    workers_.Post([this, sandbox_id, sandbox, config, done = std::move(done)] {
      StatusOr<std::string> id = base::Internal("not done");
      {
        const base::MutexLock lock(
            keys_.Of(RuncHome::ContainerId(sandbox_id, config.name, config.attempt)));
        id = home_.Create(sandbox_id, sandbox, config);
      }
      done(std::move(id));
    });
  }

  void Start(const std::string& container_id, DoneStatus done) override {
    workers_.Post([this, container_id, done = std::move(done)] {
      Status status;
      {
        const base::MutexLock lock(keys_.Of(container_id));
        status = home_.Start(container_id);
      }
      done(status);
    });
  }

  void Stop(const std::string& container_id, std::chrono::seconds grace, DoneStatus done) override {
    workers_.Post([this, container_id, grace, done = std::move(done)]() mutable {
      {
        const base::MutexLock lock(keys_.Of(container_id));
        // One that was never started does not hear of it.
        const bool kill = grace.count() <= 0 || !home_.WasStarted(container_id);
        (void)(kill ? home_.Kill(container_id) : home_.AskToEnd(container_id));
        if (kill) grace = std::chrono::seconds(0);
      }
      {
        const base::MutexLock lock(mutex_);
        const SteadyTime now = std::chrono::steady_clock::now();
        const auto [entry, is_new] = endings_.try_emplace(container_id);
        Ending& ending = entry->second;
        // Who asks again may want it sooner, never later.
        if (is_new || now + grace < ending.kill_at) ending.kill_at = now + grace;
        if (grace.count() <= 0) ending.killed = true;
        ending.give_up_at = ending.kill_at + kDeathTime;
        ending.done.push_back(std::move(done));
      }
      Wake();
    });
  }

  void Remove(const std::string& container_id, DoneStatus done) override {
    workers_.Post([this, container_id, done = std::move(done)] {
      Status status;
      {
        const base::MutexLock lock(keys_.Of(container_id));
        status = home_.Remove(container_id);
      }
      done(status);
    });
  }

  void ExecSync(const std::string& container_id, std::vector<std::string> command,
                std::chrono::seconds timeout, Done<ExecResult> done) override {
    auto input = std::make_shared<StreamInput>();
    streams_.Start(input, [this, container_id, command = std::move(command), timeout, input,
                           done = std::move(done)] {
      ExecResult result;
      const auto into = [](std::string& text) {
        return [&text](std::string bytes) {
          if (text.size() < kMostExecOutput) text += bytes;
        };
      };
      internal::ExecCall call = CallFor(container_id, command);
      if (timeout.count() > 0) call.timeout = timeout;
      const auto code = Running(container_id)
                            ? internal::RunExec(call, *input, into(result.out), into(result.err))
                            : StatusOr<std::int32_t>(NotRunning(container_id));
      if (!code.ok()) return done(code.status());
      result.exit_code = *code;
      done(std::move(result));
    });
  }

  std::shared_ptr<ExecSession> Exec(const ExecConfig& config, ExecEvents events) override {
    auto input = std::make_shared<StreamInput>(events.room);
    streams_.Start(input, [this, config, input, events = std::move(events)] {
      if (!Running(config.container_id)) return events.done(NotRunning(config.container_id));
      if (config.command.empty()) {
        return events.done(internal::RunAttach(home_.ContainerFolder(config.container_id), *input,
                                               events.out, events.err));
      }
      internal::ExecCall call = CallFor(config.container_id, config.command);
      call.tty = config.tty;
      call.stdin_open = config.stdin;
      events.done(internal::RunExec(call, *input, events.out, events.err));
    });
    return internal::SessionOf(input);
  }

  bool ChecksUser() const override { return true; }

  void Connect(const std::string& sandbox_id, std::uint16_t port, std::chrono::nanoseconds timeout,
               Done<PortConnection> done) override {
    // On a thread of its own, since it goes into another network for a moment.
    streams_.Start(std::make_shared<StreamInput>(),
                   [this, sandbox_id, port, timeout, done = std::move(done)] {
                     const auto network = home_.NetworkOf(sandbox_id);
                     if (!network.ok()) return done(network.status());
                     auto socket = internal::ConnectIn(*network, port, timeout);
                     if (!socket.ok()) return done(socket.status());
                     done(PortConnection{.socket = *std::move(socket)});
                   });
  }

 private:
  // A container that is asked to end.
  struct Ending {
    SteadyTime kill_at;
    SteadyTime give_up_at;
    bool killed = false;
    std::vector<DoneStatus> done;
  };
  void Wake() {
    const std::uint64_t one = 1;
    if (wake_.valid()) (void)!::write(wake_.get(), &one, sizeof(one));
  }

  bool Running(const std::string& id) { return home_.Lives(id) && home_.WasStarted(id); }
  static Status NotRunning(const std::string& id) {
    return base::FailedPrecondition(fmt::format("container {} is not running", id));
  }

  internal::ExecCall CallFor(const std::string& id, const std::vector<std::string>& command) {
    return {.runc = home_.Runc({"exec"}),
            .container_id = id,
            .command = command,
            .pid_file = fmt::format("{}/exec-{}.pid", home_.ContainerFolder(id), execs_++)};
  }

  Status EndSandbox(const std::string& id) {
    DRAY_ASSIGN_OR_RETURN(const auto containers, home_.ContainersOf(id));
    for (const std::string& container : containers) {
      const base::MutexLock lock(keys_.Of(container));
      DRAY_RETURN_IF_ERROR(home_.Kill(container));
    }
    const SteadyTime give_up = std::chrono::steady_clock::now() + kDeathTime;
    for (const std::string& container : containers) {
      while (home_.Lives(container)) {
        if (std::chrono::steady_clock::now() > give_up) {
          return base::Unavailable(fmt::format("container {} does not end", container));
        }
        std::this_thread::sleep_for(milliseconds(5));
      }
    }
    const base::MutexLock lock(keys_.Of(id));
    return home_.EndSandbox(id);
  }

  Status DropSandbox(const std::string& id) {
    DRAY_RETURN_IF_ERROR(EndSandbox(id));
    DRAY_ASSIGN_OR_RETURN(const auto containers, home_.ContainersOf(id));
    for (const std::string& container : containers) {
      const base::MutexLock lock(keys_.Of(container));
      DRAY_RETURN_IF_ERROR(home_.Remove(container));
    }
    const base::MutexLock lock(keys_.Of(id));
    return home_.RemoveSandbox(id);
  }

  void Watch() {
    while (!stopping_) {
      pollfd polled[2] = {{wake_.get(), POLLIN, 0},
                          {inotify_.valid() ? inotify_.get() : -1, POLLIN, 0}};
      (void)::poll(polled, 2, static_cast<int>(UntilNext().count()));
      std::uint64_t woken = 0;
      (void)!::read(wake_.get(), &woken, sizeof(woken));
      bool changed = false;
      alignas(inotify_event) char events[4096];
      while (inotify_.valid() && ::read(inotify_.get(), events, sizeof(events)) > 0) changed = true;
      if (!inotify_.valid()) {
        std::vector<std::string> ends = files::NamesIn(home_.ExitsFolder()).value_or(ends_);
        changed = ends != ends_;
        ends_ = std::move(ends);
      }
      if (stopping_) return;
      TendEndings();
      CollectImages();
      if (!changed) continue;
      std::function<void()> on_change;
      {
        const base::MutexLock lock(mutex_);
        on_change = on_change_;
      }
      if (on_change) on_change();
    }
  }

  void CollectImages() {
    const SteadyTime now = std::chrono::steady_clock::now();
    if (now < collect_at_) return;
    collect_at_ = now + kCollect;
    images_.Post([this] { (void)store_.Collect({}, home_.clock().Now()); });
  }

  milliseconds UntilNext() {
    const base::MutexLock lock(mutex_);
    milliseconds wait = endings_.empty() ? milliseconds(60'000) : kLook;
    if (!inotify_.valid()) wait = kLookForEnds;
    const SteadyTime now = std::chrono::steady_clock::now();
    for (const auto& [id, ending] : endings_) {
      if (ending.killed) continue;
      const auto left = std::chrono::duration_cast<milliseconds>(ending.kill_at - now);
      wait = std::clamp(left + milliseconds(1), milliseconds(1), wait);
    }
    return wait;
  }

  void TendEndings() {
    std::vector<std::pair<DoneStatus, Status>> over;
    std::vector<std::string> ids;
    {
      const base::MutexLock lock(mutex_);
      for (const auto& [id, ending] : endings_) ids.push_back(id);
    }
    for (const std::string& id : ids) {
      const bool lives = home_.Lives(id);
      const SteadyTime now = std::chrono::steady_clock::now();
      bool kill = false;
      {
        const base::MutexLock lock(mutex_);
        const auto found = endings_.find(id);
        if (found == endings_.end()) continue;
        Ending& ending = found->second;
        const bool give_up = now >= ending.give_up_at;
        if (!lives || give_up) {
          const Status status =
              lives ? base::Unavailable(fmt::format("container {} does not end", id)) : Status();
          for (DoneStatus& done : ending.done) over.emplace_back(std::move(done), status);
          endings_.erase(found);
        } else if (!ending.killed && now >= ending.kill_at) {
          ending.killed = true;
          kill = true;
        }
      }
      if (kill) {
        workers_.Post([this, id] {
          const base::MutexLock lock(keys_.Of(id));
          (void)home_.Kill(id);
        });
      }
    }
    for (const auto& [done, status] : over) done(status);
  }

  RuncHome home_;
  image::Store& store_;
  Keys keys_;
  threads::TaskQueue workers_;
  // Not behind others: what runs is asked every second, and an image may take minutes to be unpacked.
  threads::TaskQueue looks_{1};
  threads::TaskQueue images_{1};
  std::atomic<bool> stopping_ = false;
  std::atomic<std::uint64_t> execs_ = 0;
  SteadyTime collect_at_ = std::chrono::steady_clock::now() + kCollect;  // the watcher's alone
  files::Fd wake_;
  files::Fd inotify_;              // invalid: it is looked now and then
  std::vector<std::string> ends_;  // then: files of containers that have ended. The watcher's alone
  std::thread watcher_;
  base::Mutex mutex_;
  std::function<void()> on_change_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Ending> endings_ ABSL_GUARDED_BY(mutex_);
  internal::StreamThreads streams_;
};

}  // namespace

StatusOr<std::unique_ptr<Runtime>> OpenRuncRuntime(const RuncOptions& options, image::Store& store,
                                                   const base::Clock& clock) {
  auto runtime = std::make_unique<RuncRuntime>(options, store, clock);
  DRAY_RETURN_IF_ERROR(runtime->Open());
  return std::unique_ptr<Runtime>(std::move(runtime));
}

}  // namespace dray::container
