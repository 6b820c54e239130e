// SPDX-License-Identifier: Apache-2.0
#include "parts/faults.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace dray::parts {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostAtOnce = 4;

}  // namespace

Faults::Faults(Site& site, const EtcdTruth& truth, std::uint64_t seed)
    : site_(site), truth_(truth), dice_(seed * 64 + 63), next_(Clock::now()) {}

void Faults::Step() {
  const auto now = Clock::now();
  for (Active& active : active_) {
    if (active.during) active.during();
    if (now < active.until) continue;
    if (active.end) active.end();
    site_.Note("over: " + active.what);
  }
  std::erase_if(active_, [&](const Active& active) { return now >= active.until; });
  if (now < next_ || active_.size() >= kMostAtOnce) return;
  next_ = now + milliseconds(dice_.Range(200, 2'500));
  Begin();
}

void Faults::EndAll() {
  for (Active& active : active_) {
    if (active.end) active.end();
  }
  active_.clear();
  site_.Note("no more faults");
}

void Faults::Add(std::string_view sort, std::string what, Active active) {
  ++counts_[std::string(sort)];
  active.what = fmt::format("{} {}", sort, what);
  site_.Note(active.what);
  active_.push_back(std::move(active));
}

bool Faults::MembersAway() const {
  return std::ranges::any_of(active_, [](const Active& one) { return one.majority; });
}

bool Faults::MayTakeMember() { return !MembersAway() || dice_.Chance(0.15); }

// Longer than a lease lasts, now and then.
milliseconds Faults::Time() {
  return milliseconds(dice_.Chance(0.3) ? dice_.Range(4'000, 9'000) : dice_.Range(200, 3'000));
}

void Faults::Begin() {
  auto& children = site_.children();
  if (dice_.Chance(0.12)) {
    Child& member = children[static_cast<std::size_t>(dice_.Range(0, int{kMembers} - 1))];
    if (!member.running() || member.frozen() || !MayTakeMember()) return;
    return Slow(member, Time());
  }
  const std::size_t index =
      static_cast<std::size_t>(dice_.Range(0, static_cast<int>(children.size()) - 1));
  Child& child = children[index];
  const int roll = dice_.Range(0, 99);
  if (roll < 45) {
    if (!child.running() || child.frozen()) return;
    const bool member = Site::IsMember(index);
    if (member && !MayTakeMember()) return;
    if (roll < 20) return Kill(child);
    return Freeze(child, Time());
  }
  if (roll < 92) {
    const milliseconds time(dice_.Range(200, dice_.Chance(0.3) ? 9'000 : 2'000));
    if (roll < 70) return OnWires(dice_.Pick({"server-0 ", "server-1 ", "server-2 "}), time);
    if (roll < 78) {
      if (!MayTakeMember()) return;
      return OnWires(dice_.Pick({"etcd etcd-0", "etcd etcd-1", "etcd etcd-2"}), time);
    }
    if (roll < 84) return OnWires(dice_.Pick({"scheduler-", "controllers-"}), time);
    return OnWires(dice_.Pick({"clients server-0", "clients server-1", "clients server-2"}), time);
  }
  Compact();
}

void Faults::Kill(Child& child) {
  const bool asked = dice_.Chance(0.25);
  asked ? child.Terminate() : child.Kill();
  const bool member = child.name().starts_with("etcd");
  // As long as it takes to be there again.
  Add(asked ? "end" : "kill", child.name(),
      {.until = Clock::now() + seconds(3), .majority = member});
}

void Faults::Freeze(Child& child, Millis time) {
  child.Freeze();
  Add("freeze", fmt::format("{} {} ms", child.name(), time.count()),
      {.until = Clock::now() + time, .majority = child.name().starts_with("etcd"), .end = [&child] {
         child.Thaw();
       }});
}

// Its disk is slow, or, where that cannot be had, all of it: it does something every now and then.
void Faults::Slow(Child& child, Millis time) {
  if (child.has_disk()) {
    // Up to what no leader keeps its followers with.
    const milliseconds sync(dice_.Chance(0.3) ? dice_.Range(500, 3'000) : dice_.Range(20, 300));
    child.SlowDown(sync);
    return Add(
        "slow disk",
        fmt::format("{} {} ms, a sync takes {} ms", child.name(), time.count(), sync.count()),
        {.until = Clock::now() + time, .majority = true, .end = [&child] {
           child.SlowDown(milliseconds(0));
         }});
  }
  Add("slow", fmt::format("{} {} ms", child.name(), time.count()),
      {.until = Clock::now() + time,
       .majority = true,
       .during =
           [this, &child] {
             if (!child.running()) return;
             child.frozen() || dice_.Chance(0.3) ? child.Thaw() : child.Freeze();
           },
       .end = [&child] { child.Thaw(); }});
}

void Faults::OnWires(std::string_view which, Millis time) {
  std::vector<store::TcpProxy*> wires;
  for (const auto& [name, wire] : site_.wires()) {
    if (name.starts_with(which)) wires.push_back(wire.get());
  }
  // One, or all of them.
  if (dice_.Chance(0.6)) wires = {dice_.Pick(wires)};
  const bool member = which.starts_with("etcd");
  const std::string what = fmt::format("{} ({}) {} ms", which, wires.size(), time.count());
  Active active{.until = Clock::now() + time, .majority = member};
  const int roll = dice_.Range(0, 9);
  if (roll < 3) {
    active.until = Clock::now();
    for (store::TcpProxy* wire : wires) wire->Cut();
    return Add("cut", what, std::move(active));
  }
  if (roll < 5) {
    const milliseconds delay(dice_.Range(5, 200));
    for (store::TcpProxy* wire : wires) wire->Delay(delay);
    active.end = [wires] {
      for (store::TcpProxy* wire : wires) wire->Delay(milliseconds(0));
    };
    return Add("delay", what, std::move(active));
  }
  if (roll < 8) {
    for (store::TcpProxy* wire : wires) wire->Freeze(true);
    active.end = [wires] {
      for (store::TcpProxy* wire : wires) wire->Freeze(false);
    };
    return Add("silence", what, std::move(active));
  }
  for (store::TcpProxy* wire : wires) wire->DropAnswers(true);
  active.end = [wires] {
    for (store::TcpProxy* wire : wires) {
      wire->DropAnswers(false);
      // What has lost a piece of a stream cannot go on.
      wire->Cut();
    }
  };
  Add("lost answers", what, std::move(active));
}

// Never what the judges have not read.
void Faults::Compact() {
  const std::int64_t revision = truth_.seen() - dice_.Range(0, 200);
  const std::vector<std::string> members = site_.members();
  if (revision <= 1) return;
  const bool done = parts::Compact(dice_.Pick(members), revision);
  ++counts_[done ? "compaction" : "compaction that was refused"];
  site_.Note(fmt::format("compaction at {}: {}", revision, done));
}

}  // namespace dray::parts
