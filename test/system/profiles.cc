// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "fmt/format.h"
#include "system/system.h"

namespace dray::system {

using std::chrono::seconds;

// Less than happens while a connection is frozen, more than before anybody looks.
constexpr std::size_t kShortHistory = 300;

const std::vector<Profile>& Profiles() {
  static const std::vector<Profile> profiles = [] {
    std::vector<Profile> all;
    all.push_back({.name = "calm"});
    Faults crashes{.kill_every = seconds(8), .kill_at_write = 0.001, .deleted_when_reserved = 0.15};
    all.push_back({.name = "crashes", .faults = crashes});
    Faults wire{.lost_request = 0.03, .lost_answer = 0.06, .doubled = 0.05, .late = 0.05};
    wire.freeze_every = seconds(20);
    wire.deleted_when_reserved = 0.1;
    all.push_back({.name = "wire", .faults = wire});
    Faults disk{.kill_every = seconds(25), .disk_full = 0.004, .disk_broken = 0.002};
    all.push_back({.name = "disk", .faults = disk});
    Faults versions{.kill_every = seconds(7), .unreadable = 0.8};
    versions.clock_jump_every = seconds(10);
    all.push_back({.name = "versions", .faults = versions});
    Faults everything = wire;
    everything.kill_every = seconds(15);
    everything.kill_at_write = 0.0005;
    everything.disk_full = 0.001;
    everything.disk_broken = 0.0005;
    everything.unreadable = 0.3;
    everything.clock_jump_every = seconds(20);
    all.push_back({.name = "everything",
                   .faults = everything,
                   .changes_devices = true,
                   .history = kShortHistory});
    all.push_back({.name = "remote", .remote_schedulers = 2});
    Faults remote = wire;
    remote.watch_late = 0.01;
    remote.watch_cut_every = seconds(20);
    remote.watch_frozen_every = seconds(60);
    all.push_back({.name = "remote wire",
                   .faults = remote,
                   .remote_schedulers = 2,
                   .history = kShortHistory});
    // Who writes learns late what has become of it, from both sides.
    Faults answers{.lost_answer = 0.2, .watch_late = 0.2, .deleted_when_reserved = 0.1};
    all.push_back({.name = "lost answers", .faults = answers, .remote_schedulers = 2});
    Faults leases{.lost_answer = 0.02, .kill_scheduler_every = seconds(25)};
    leases.deleted_when_reserved = 0.15;
    leases.lease_black_hole_every = seconds(25);
    leases.clock_jump_every = seconds(10);
    all.push_back({.name = "leases",
                   .faults = leases,
                   .remote_schedulers = 3,
                   .time = std::chrono::seconds(80)});
    Faults remote_everything = everything;
    remote_everything.watch_late = 0.005;
    remote_everything.watch_cut_every = seconds(40);
    remote_everything.watch_frozen_every = seconds(120);
    remote_everything.kill_scheduler_every = seconds(40);
    remote_everything.lease_black_hole_every = seconds(60);
    all.push_back({.name = "remote everything",
                   .faults = remote_everything,
                   .remote_schedulers = 2,
                   .changes_devices = true,
                   .history = kShortHistory,
                   .time = std::chrono::seconds(80)});
    // Pods come in groups, and who is more important sends others away.
    all.push_back({.name = "groups", .groups = true});
    all.push_back({.name = "groups, crashes", .faults = crashes, .groups = true});
    all.push_back(
        {.name = "groups, remote wire", .faults = wire, .remote_schedulers = 2, .groups = true});
    // Each write is waited for, as on a store that servers share, and so they overlap.
    all.push_back({.name = "waits", .overlapping = true});
    Faults waits = crashes;
    waits.lost_answer = 0.05;
    waits.disk_full = 0.001;
    all.push_back({.name = "waits, crashes", .faults = waits, .overlapping = true});
    // A leader that stands still, or ends as it is told to, while others wait for its turn.
    Faults turns{.lost_answer = 0.02, .late = 0.01};
    turns.end_scheduler_every = seconds(20);
    turns.stand_still_every = seconds(20);
    turns.stands_still_at_lease = 0.02;
    turns.deleted_when_reserved = 0.05;
    all.push_back({.name = "turns",
                   .faults = turns,
                   .remote_schedulers = 3,
                   .groups = true,
                   .time = std::chrono::seconds(100)});
    // Everything that there is beside each other.
    all.push_back({.name = "rich", .groups = true, .rich = true});
    all.push_back({.name = "rich, crashes", .faults = crashes, .groups = true, .rich = true});
    Faults rich = wire;
    rich.end_scheduler_every = seconds(40);
    all.push_back({.name = "rich, remote wire",
                   .faults = rich,
                   .remote_schedulers = 2,
                   .groups = true,
                   .rich = true});
    return all;
  }();
  return profiles;
}

const Profile& ProfileOf(std::uint64_t seed) { return Profiles()[seed % Profiles().size()]; }

const Profile* FindProfile(std::string_view name) {
  const auto found = std::ranges::find(Profiles(), name, &Profile::name);
  return found == Profiles().end() ? nullptr : &*found;
}

std::string Replay(std::uint64_t seed) {
  return fmt::format(
      "DRAY_SEED={0} DRAY_INSTANCES=1 build/release/bin/system_test "
      "--gtest_filter=System.NothingIsLostGivenTwiceOrToldWrong\n"
      "build/release/bin/system_soak --first {0} --seeds 1 --trace",
      seed);
}

}  // namespace dray::system
