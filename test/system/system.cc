// SPDX-License-Identifier: Apache-2.0
#include "system/system.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "api/kinds.h"
#include "api/pod.h"
#include "base/check.h"
#include "client/object_client.h"
#include "fmt/format.h"
#include "store/manual/manual_store.h"
#include "system/judge.h"
#include "system/remote.h"
#include "system/server.h"
#include "system/users.h"
#include "system/wire.h"

namespace dray::system {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kUsers = 3;
// Longer than any backoff, lease and silence, and shorter than the five minutes after which everybody who
// waits is tried again, whatever has happened: that would hide who was forgotten.
constexpr Nanos kCalm = seconds(170);
// Whoever gets room at the very end, as from a pod that has run for minutes, waits for as long as a back-off takes, and
// others for them.
constexpr Nanos kBackOff = seconds(15);
constexpr Nanos kMostCalm = kCalm + seconds(90);
// No object of any kind.
constexpr const char* kUnreadable = R"({"spec":{"replicas":"many"},"metadata":7})";
// What happens in a run that does not end.
constexpr std::uint64_t kMostEvents = 3'000'000;

class System {
 public:
  explicit System(const RunOptions& options)
      : profile_(options.profile != nullptr ? *options.profile : ProfileOf(options.seed)),
        stage_(options.seed),
        wire_(stage_),
        judge_(stage_) {
    stage_.planted = options.planted;
    stage_.history = profile_.history;
    stage_.tracing = options.trace;
    stage_.groups = profile_.groups;
    stage_.rich = profile_.rich;
    stage_.overlapping = profile_.overlapping;
    town_.changes_devices = profile_.changes_devices;
    town_.groups = profile_.groups;
    town_.rich = profile_.rich;
    wire_.on_arrival = [this](const Sent& sent) { judge_.OnArrival(sent); };
    wire_.on_answer = [this](const Sent& sent, int status, const std::string& body) {
      judge_.OnAnswer(sent, status, body);
    };
    wire_.on_sending = [this](const std::string& who, const std::string& target) {
      if (target.find("/leases/") == std::string::npos) return;
      if (!stage_.Chance(stage_.faults.stands_still_at_lease)) return;
      for (const auto& remote : remotes_) {
        if (remote->name() == who && remote->leading()) StandStill(*remote);
      }
    };
    stage_.on_reserved = [this](const api::Pod& pod) { DeleteNow(pod.metadata); };
  }

  RunReport Run() {
    stage_.kernel.Spawn([this] { Direct(); });
    while (!done_ && stage_.kernel.Step()) {
      judge_.Look();
      if (stage_.kernel.events() > kMostEvents) {
        stage_.Find("it does not come to an end");
        break;
      }
    }
    // What is in the middle of something cannot be taken apart from here.
    if (!done_) Abandon();
    return {.profile = profile_.name,
            .findings = stage_.findings,
            .counts = stage_.counts,
            .events = stage_.kernel.events(),
            .hash = stage_.hash,
            .time = stage_.kernel.now()};
  }

 private:
  void Direct() {
    StartServer();
    for (int i = 0; i < kUsers; ++i) {
      users_.push_back(std::make_unique<User>(stage_, wire_, town_, i));
    }
    users_.front()->SetUp();
    for (int i = 0; i < profile_.remote_schedulers; ++i) {
      remotes_.push_back(std::make_unique<Remote>(stage_, wire_, fmt::format("scheduler-{}", i)));
    }
    stage_.faults = profile_.faults;
    for (const auto& user : users_) user->Start(milliseconds(700));
    BeginFaults();
    stage_.kernel.Sleep(profile_.time);
    stage_.faults = {};
    for (const auto& user : users_) user->Stop();
    Heal();
    const Nanos healed = stage_.kernel.now();
    stage_.calm_since = healed;
    stage_.kernel.Sleep(kCalm);
    while (stage_.kernel.now() - judge_.changed() < kBackOff &&
           stage_.kernel.now() - healed < kMostCalm) {
      stage_.kernel.Sleep(seconds(1));
    }
    if (server_ == nullptr) {
      stage_.Find("the server is away in the end");
    } else {
      judge_.Settled(*server_);
      for (const auto& remote : remotes_) {
        judge_.SettledDoubts(remote->name(), remote->in_doubt());
        judge_.SettledSight(remote->name(), remote->Blind());
      }
    }
    End();
  }

  void Abandon() {
    judge_.Leave();
    static_cast<void>(server_.release());
    for (auto& user : users_) static_cast<void>(user.release());
    for (auto& remote : remotes_) static_cast<void>(remote.release());
  }

  void End() {
    users_.clear();
    remotes_.clear();
    judge_.Look();
    judge_.Leave();
    wire_.Connect(nullptr);
    server_ = nullptr;
    done_ = true;
  }

  // Somebody who passes by.
  void DeleteNow(const api::ObjectMeta& pod) {
    stage_.Count("deleted when reserved");
    stage_.kernel.Spawn([this, pod] {
      Process process(stage_.kernel);
      const auto http =
          wire_.MakeClient("passer-by", process, {.name = "admin", .groups = {"system:masters"}},
                           {.request_timeout = seconds(20)});
      const client::ObjectClient client(*http, "user");
      static_cast<void>(client.Delete(*api::FindKind("v1", "Pod"), pod.namespace_, pod.name,
                                      stage_.dice.Chance(0.5) ? pod.uid : std::string()));
    });
    if (!stage_.dice.Chance(0.3)) return;
    stage_.kernel.After(stage_.Between(milliseconds(0), milliseconds(20)), [this] {
      if (done_) return;
      if (stage_.faults.kill_every > Nanos(0)) KillServer();
      for (const auto& remote : remotes_) {
        if (stage_.faults.kill_scheduler_every > Nanos(0) && remote->leading()) remote->Kill();
      }
    });
  }

  // In a fiber of whoever looks after the process.
  void StartServer() {
    server_ = std::make_unique<Server>(stage_, disk_, profile_.remote_schedulers == 0,
                                       [this] { KillServer(); });
    judge_.Attend(*server_);
    wire_.Connect(server_.get());
    stage_.Trace("server", "starts");
  }

  void KillServer() {
    if (server_ == nullptr || std::exchange(restarting_, true)) return;
    stage_.Count("server killed");
    stage_.Trace("server", "is killed");
    judge_.Look();
    judge_.Leave();
    wire_.Connect(nullptr);
    server_->Kill();
    stage_.kernel.Spawn([this] {
      server_ = nullptr;
      stage_.kernel.Sleep(stage_.Between(milliseconds(5), milliseconds(1500)));
      if (stage_.Chance(stage_.faults.unreadable)) LeaveUnreadable();
      StartServer();
      restarting_ = false;
    });
  }

  // As another version of the program could: some object is not what it was. And what an older one
  // could not read the next one mostly can.
  void LeaveUnreadable() {
    if (stage_.dice.Chance(0.5)) Restore();
    // Half of the time something that owns others.
    const std::string_view wanted =
        stage_.dice.Chance(0.5) ? stage_.dice.Pick({"/replicasets/", "/deployments/", "/jobs/"})
                                : stage_.dice.Pick({"/pods/", "/resourceclaims/", "/deviceclasses/",
                                                    "/resourceslices/"});
    std::vector<std::pair<std::string, std::string>> all;
    for (const auto& [key, value] : disk_.entries()) {
      if (key.find(wanted) != key.npos && value != kUnreadable) all.emplace_back(key, value);
    }
    if (all.empty()) return;
    const auto& [key, value] = stage_.dice.Pick(all);
    stage_.Count("made unreadable");
    stage_.Trace("disk", fmt::format("{} cannot be read", key));
    unreadable_[key] = value;
    disk_.Plant(key, kUnreadable);
  }

  // While no server is there.
  void Restore() {
    const auto entries = disk_.entries();
    for (const auto& [key, value] : std::exchange(unreadable_, {})) {
      const auto found = entries.find(key);
      if (found == entries.end() || found->second != kUnreadable) continue;
      stage_.Trace("disk", fmt::format("{} can be read again", key));
      disk_.Plant(key, value);
    }
  }

  // The server is brought up once more with what can be read.
  void Heal() {
    while (restarting_) stage_.kernel.Sleep(milliseconds(50));
    if (unreadable_.empty()) return;
    restarting_ = true;
    judge_.Look();
    judge_.Leave();
    wire_.Connect(nullptr);
    server_ = nullptr;
    Restore();
    StartServer();
    restarting_ = false;
  }

  // Again and again, until nothing goes wrong any more.
  void Every(Nanos Faults::*often, std::function<void()> happen) {
    if (stage_.faults.*often == Nanos(0)) return;
    stage_.kernel.After(stage_.About(stage_.faults.*often), [this, often, happen] {
      if (done_ || stage_.faults.*often == Nanos(0)) return;
      happen();
      Every(often, happen);
    });
  }

  void StandStill(Remote& remote) {
    remote.StandStill(stage_.kernel.now() + stage_.Between(seconds(1), seconds(40)));
  }

  void BeginFaults() {
    Every(&Faults::kill_every, [this] { KillServer(); });
    Every(&Faults::clock_jump_every, [this] {
      stage_.Count("clock jumps");
      if (server_ != nullptr) {
        server_->process().SetWrong(seconds(stage_.dice.Range(-3600, 3600)));
      }
      if (!remotes_.empty()) {
        stage_.dice.Pick(remotes_)->SetWrong(seconds(stage_.dice.Range(-3600, 3600)));
      }
    });
    Every(&Faults::freeze_every, [this] {
      std::string who = fmt::format("user-{}", stage_.dice.Range(0, kUsers - 1));
      if (!remotes_.empty() && stage_.dice.Chance(0.5)) who = stage_.dice.Pick(remotes_)->name();
      wire_.Freeze(who, stage_.kernel.now() + stage_.Between(seconds(1), seconds(30)), false);
    });
    Every(&Faults::kill_scheduler_every, [this] {
      if (!remotes_.empty()) stage_.dice.Pick(remotes_)->Kill();
    });
    Every(&Faults::end_scheduler_every, [this] {
      if (!remotes_.empty()) stage_.dice.Pick(remotes_)->Restart();
    });
    Every(&Faults::stand_still_every, [this] {
      if (!remotes_.empty()) StandStill(*stage_.dice.Pick(remotes_));
    });
    Every(&Faults::lease_black_hole_every, [this] {
      for (const auto& remote : remotes_) {
        if (!remote->leading()) continue;
        stage_.Count("lease black-holed");
        wire_.Freeze(remote->name(), stage_.kernel.now() + stage_.Between(seconds(5), seconds(60)),
                     true);
      }
    });
  }

  const Profile& profile_;
  Stage stage_;
  store::ManualDisk disk_;
  Wire wire_;
  Judge judge_;
  Town town_;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<User>> users_;
  std::vector<std::unique_ptr<Remote>> remotes_;
  std::map<std::string, std::string> unreadable_;  // what was there, by key
  bool restarting_ = false;
  bool done_ = false;
};

}  // namespace

RunReport Simulate(const RunOptions& options) { return System(options).Run(); }

}  // namespace dray::system
