// SPDX-License-Identifier: Apache-2.0
#include "parts/etcd_truth.h"

#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "store/etcd/plain_etcd_for_test.h"

namespace dray::parts {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

// Beside everything of dray's.
constexpr const char* kMark = "/parts/mark";
constexpr seconds kQuiet{3};

// Answers of a watch, from the thread that brings them to the one that waits.
class Answers {
 public:
  void Add(StatusOr<rpc::EtcdWatchAnswer> answer) {
    const base::MutexLock lock(mutex_);
    all_.push_back(std::move(answer));
    there_.NotifyOne();
  }
  std::optional<StatusOr<rpc::EtcdWatchAnswer>> Next(milliseconds patience) {
    const auto deadline = Clock::now() + patience;
    const base::MutexLock lock(mutex_);
    while (all_.empty() && there_.WaitUntil(mutex_, deadline)) {
    }
    if (all_.empty()) return std::nullopt;
    auto first = std::move(all_.front());
    all_.pop_front();
    return first;
  }

 private:
  base::Mutex mutex_;
  base::CondVar there_;
  std::deque<StatusOr<rpc::EtcdWatchAnswer>> all_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

EtcdTruth::EtcdTruth(std::vector<std::string> members, std::string prefix,
                     std::function<void(const StoredRevision&)> tell)
    : members_(std::move(members)), prefix_(std::move(prefix)), tell_(std::move(tell)) {
  thread_ = std::thread([this] { Follow(); });
}

EtcdTruth::~EtcdTruth() {
  stop_ = true;
  thread_.join();
}

std::string EtcdTruth::failure() const {
  const base::MutexLock lock(mutex_);
  return failure_;
}

void EtcdTruth::Follow() {
  for (std::size_t i = 0; !stop_ && failure().empty(); ++i) {
    FollowOne(members_[i % members_.size()]);
    if (!stop_) std::this_thread::sleep_for(milliseconds(50));
  }
}

void EtcdTruth::FollowOne(const std::string& member) {
  const auto connection = rpc::ConnectEtcd({.address = member}, {});
  const auto answers = std::make_shared<Answers>();
  // Everything, so that every revision shows how far this is.
  const std::string all(1, '\0');
  const auto watch = connection->Watch({.key = all, .end = all, .start = seen_ + 1},
                                       [answers](auto answer) { answers->Add(std::move(answer)); });
  Clock::time_point heard = Clock::now();
  std::vector<rpc::EtcdEvent> whole;
  while (!stop_) {
    const auto answer = answers->Next(milliseconds(500));
    if (!answer) {
      // A member that is frozen says nothing, and one that has no leader neither.
      if (Clock::now() - heard > kQuiet) return;
      continue;
    }
    heard = Clock::now();
    if (!answer->ok()) return;
    if ((*answer)->canceled) {
      const base::MutexLock lock(mutex_);
      if ((*answer)->compacted != 0) failure_ = "etcd has forgotten what was not read yet";
      return;
    }
    whole.insert(whole.end(), (*answer)->events.begin(), (*answer)->events.end());
    // A large answer comes in pieces, which may part what is of one revision.
    if (!(*answer)->fragment) Take(std::exchange(whole, {}));
    watch->Next();
  }
}

void EtcdTruth::Take(const std::vector<rpc::EtcdEvent>& events) {
  const std::string below = prefix_ + "/";
  StoredRevision now;
  const auto tell = [&] {
    if (!now.changes.empty()) tell_(now);
    if (now.revision > 0) seen_ = now.revision;
    now = {};
  };
  for (const rpc::EtcdEvent& event : events) {
    if (event.kv.modified <= seen_) continue;
    if (event.kv.modified != now.revision) tell();
    now.revision = event.kv.modified;
    if (!event.kv.key.starts_with(below)) continue;
    now.changes.push_back({.key = event.kv.key.substr(prefix_.size()),
                           .value = event.kv.value,
                           .deleted = event.deleted});
  }
  tell();
}

bool EtcdTruth::AwaitAll(seconds patience) {
  const auto deadline = Clock::now() + patience;
  std::int64_t marked = 0;
  for (std::size_t i = 0; Clock::now() < deadline; ++i) {
    if (marked == 0) {
      store::PlainEtcd plain(members_[i % members_.size()]);
      marked = plain.Put(kMark, "here");
    }
    if (marked != 0 && seen_ >= marked) return true;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return false;
}

bool Compact(const std::string& member, std::int64_t revision) {
  const auto connection = rpc::ConnectEtcd({.address = member}, {});
  const auto answered = std::make_shared<std::promise<bool>>();
  connection->Compact(revision, seconds(1),
                      [answered](const auto& answer) { answered->set_value(answer.ok()); });
  return answered->get_future().get();
}

}  // namespace dray::parts
