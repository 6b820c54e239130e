// SPDX-License-Identifier: Apache-2.0
//
// The queue against a slow model of the same rules: a list of pods that is searched for everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/queue.h"

namespace dray::scheduler {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr QueueOptions kOptions = {
    .initial_backoff = seconds(1), .max_backoff = seconds(6), .unschedulable_timeout = seconds(20)};

struct ModelPod {
  enum class State { kActive, kBackoff, kUnschedulable, kGated, kCycle };
  std::string key;
  std::string uid;
  std::int32_t priority = 0;
  std::string image;
  State state = State::kActive;
  int attempts = 0;
  std::uint64_t order = 0;
  nanoseconds retry_at{0};
  nanoseconds timeout_at{0};
  bool gated = false;
  bool helped = false;  // while in a cycle
};

class Model {
 public:
  using State = ModelPod::State;

  void Put(const ModelPod& pod, bool gated, nanoseconds now) {
    ModelPod* found = Find(pod.key);
    if (found != nullptr && found->uid != pod.uid) {
      Remove(pod.key);
      found = nullptr;
    }
    if (found == nullptr) {
      ModelPod added = pod;
      added.gated = gated;
      added.state = gated ? State::kGated : State::kActive;
      added.order = ++orders_;
      pods_.push_back(added);
      return;
    }
    const bool helps = found->image != pod.image;
    found->priority = pod.priority;
    found->image = pod.image;
    found->gated = gated;
    if (found->state == State::kCycle) {
      found->helped = found->helped || helps;
    } else if (gated) {
      found->state = State::kGated;
    } else if (found->state != State::kUnschedulable || helps) {
      found->state = found->retry_at > now ? State::kBackoff : State::kActive;
    }
  }
  void Remove(const std::string& key) {
    std::erase_if(pods_, [&](const ModelPod& pod) { return pod.key == key; });
  }
  ModelPod* Pop() {
    ModelPod* best = nullptr;
    for (ModelPod& pod : pods_) {
      if (pod.state != State::kActive) continue;
      if (best == nullptr || pod.priority > best->priority ||
          (pod.priority == best->priority && pod.order < best->order)) {
        best = &pod;
      }
    }
    if (best == nullptr) return nullptr;
    best->state = State::kCycle;
    best->helped = false;
    ++best->attempts;
    return best;
  }
  void Back(const std::string& key, bool refused, bool retry, nanoseconds now) {
    ModelPod* pod = Find(key);
    pod->order = ++orders_;
    nanoseconds backoff = kOptions.initial_backoff;
    for (int i = 1; i < pod->attempts; ++i) backoff = std::min(backoff * 2, kOptions.max_backoff);
    pod->retry_at = now + backoff;
    pod->timeout_at = now + kOptions.unschedulable_timeout;
    pod->state = pod->gated                          ? State::kGated
                 : refused && !retry && !pod->helped ? State::kUnschedulable
                                                     : State::kBackoff;
  }
  std::size_t Wake(const std::string& suffix, nanoseconds now) {
    std::size_t woken = 0;
    for (ModelPod& pod : pods_) {
      if (pod.state == State::kCycle) pod.helped = true;
      if (pod.state != State::kUnschedulable || !pod.key.ends_with(suffix)) continue;
      pod.state = pod.retry_at > now ? State::kBackoff : State::kActive;
      ++woken;
    }
    return woken;
  }
  void Tick(nanoseconds now) {
    for (ModelPod& pod : pods_) {
      if (pod.state == State::kUnschedulable && pod.timeout_at <= now) pod.state = State::kBackoff;
      if (pod.state == State::kBackoff && pod.retry_at <= now) pod.state = State::kActive;
    }
  }
  std::optional<nanoseconds> NextDue() const {
    std::optional<nanoseconds> next;
    for (const ModelPod& pod : pods_) {
      if (pod.state != State::kBackoff && pod.state != State::kUnschedulable) continue;
      const nanoseconds due = pod.state == State::kBackoff ? pod.retry_at : pod.timeout_at;
      if (!next || due < *next) next = due;
    }
    return next;
  }
  std::size_t Count(State state) const {
    return static_cast<std::size_t>(std::ranges::count(pods_, state, &ModelPod::state));
  }
  ModelPod* Find(const std::string& key) {
    const auto it = std::ranges::find(pods_, key, &ModelPod::key);
    return it == pods_.end() ? nullptr : &*it;
  }

 private:
  std::vector<ModelPod> pods_;
  std::uint64_t orders_ = 0;
};

std::shared_ptr<const PodInfo> ToInfo(const ModelPod& model) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.name = model.key;
  pod->metadata.uid = model.uid;
  pod->spec.containers.push_back({.name = "main", .image = model.image});
  auto info = std::make_shared<PodInfo>();
  info->pod = std::move(pod);
  info->key = model.key;
  info->priority = model.priority;
  return info;
}

// One queue and its model, driven by the same random steps.
class Pair {
 public:
  explicit Pair(unsigned seed) : random_(seed) {}

  void Step() {
    switch (Pick(9)) {
      case 0:
      case 1:
        return Put();
      case 2:
        return Remove();
      case 3:
      case 4:
        return Pop();
      case 5:
      case 6:
        return Back();
      case 7:
        return Wake();
      default:
        return Advance();
    }
  }

  void ExpectEqual() {
    using State = ModelPod::State;
    EXPECT_EQ(queue_.size(QueueName::kActive), model_.Count(State::kActive));
    EXPECT_EQ(queue_.size(QueueName::kBackoff), model_.Count(State::kBackoff));
    EXPECT_EQ(queue_.size(QueueName::kUnschedulable), model_.Count(State::kUnschedulable));
    EXPECT_EQ(queue_.size(QueueName::kGated), model_.Count(State::kGated));
    EXPECT_EQ(queue_.NextDue(), model_.NextDue());
  }

 private:
  int Pick(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  std::string Key() { return "pod-" + std::to_string(Pick(8)); }

  void Put() {
    const ModelPod pod{.key = Key(),
                       .uid = Pick(8) == 0 ? "2" : "1",
                       .priority = Pick(3),
                       .image = std::to_string(Pick(2))};
    const bool gated = Pick(6) == 0;
    // A pod that has been replaced is no longer in anybody's hands.
    const ModelPod* before = model_.Find(pod.key);
    if (before != nullptr && before->uid != pod.uid) stale_.push_back(Take(pod.key));
    queue_.Put(ToInfo(pod), gated);
    model_.Put(pod, gated, clock_.Monotonic());
  }
  void Remove() {
    const std::string key = Key();
    stale_.push_back(Take(key));
    queue_.Remove(key);
    model_.Remove(key);
  }
  void Pop() {
    auto pod = queue_.Pop();
    const ModelPod* wanted = model_.Pop();
    ASSERT_EQ(pod.has_value(), wanted != nullptr);
    if (!pod) return;
    EXPECT_EQ(pod->pod->key, wanted->key);
    EXPECT_EQ(pod->attempts, static_cast<std::uint32_t>(wanted->attempts));
    hands_[pod->pod->key] = *std::move(pod);
  }
  void Back() {
    // Whoever comes back with a pod that is gone changes nothing.
    if (!stale_.empty() && stale_.back()) queue_.Back(*stale_.back(), {"Fit"}, false);
    if (!stale_.empty()) stale_.pop_back();
    if (hands_.empty()) return;
    auto it = hands_.begin();
    std::advance(it, Pick(static_cast<int>(hands_.size())));
    const std::string key = it->first;
    if (Pick(4) == 0) {
      queue_.Done(key);
      model_.Remove(key);
    } else {
      const bool refused = Pick(5) != 0;
      const bool retry = Pick(5) == 0;
      queue_.Back(std::move(it->second),
                  refused ? std::vector<std::string>{"Fit"} : std::vector<std::string>(), retry);
      model_.Back(key, refused, retry, clock_.Monotonic());
    }
    hands_.erase(it);
  }
  void Wake() {
    const std::string suffix = std::to_string(Pick(8));
    const std::size_t woken =
        queue_.WakeIf([&](const QueuedPod& pod) { return pod.pod->key.ends_with(suffix); });
    EXPECT_EQ(woken, model_.Wake(suffix, clock_.Monotonic()));
  }
  void Advance() {
    clock_.Advance(std::chrono::milliseconds(Pick(4'000)));
    queue_.Tick();
    model_.Tick(clock_.Monotonic());
  }
  std::optional<QueuedPod> Take(const std::string& key) {
    const auto it = hands_.find(key);
    if (it == hands_.end()) return std::nullopt;
    auto pod = std::move(it->second);
    hands_.erase(it);
    return pod;
  }

  std::mt19937 random_;
  base::ManualClock clock_;
  Queue queue_{clock_, kOptions};
  Model model_;
  std::map<std::string, QueuedPod> hands_;
  std::vector<std::optional<QueuedPod>> stale_;
};

TEST(QueueProperty, AgreesWithAListThatIsSearched) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Pair pair(seed);
    for (int i = 0; i < 400 && !::testing::Test::HasFailure(); ++i) {
      pair.Step();
      pair.ExpectEqual();
    }
    if (::testing::Test::HasFailure()) return;
  }
}

// Between two pods of one namespace comes one of every other that has waited all that time, and those of one
// namespace come in their order.
TEST(QueueFairness, NobodyIsServedTwiceWhileAnotherWaits) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  base::ManualClock clock;
  Queue queue(clock, kOptions);
  std::map<std::string, std::vector<std::string>> waiting;  // by namespace
  std::map<std::string, std::set<std::string>> since;       // served since the namespace's last pod
  int number = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 2 == 0 && number - step < 200) {
      ModelPod pod{.key = std::to_string(number++), .uid = "1"};
      auto info = std::make_shared<PodInfo>(*ToInfo(pod));
      auto with_namespace = std::make_shared<api::Pod>(*info->pod);
      with_namespace->metadata.namespace_ = std::string(1, static_cast<char>('a' + random() % 5));
      waiting[with_namespace->metadata.namespace_].push_back(pod.key);
      info->pod = std::move(with_namespace);
      queue.Put(std::move(info), false);
      continue;
    }
    const auto popped = queue.Pop();
    if (!popped) continue;
    const std::string space = popped->pod->pod->metadata.namespace_;
    ASSERT_EQ(popped->pod->key, waiting[space].front());
    waiting[space].erase(waiting[space].begin());
    // Whoever was there at this namespace's last turn and is still there has had one since.
    for (const std::string& other : since[space]) {
      ASSERT_TRUE(waiting[other].empty()) << other << " still waits, and " << space << " is served";
    }
    since[space].clear();
    for (auto& [other, pods] : waiting) {
      if (other != space && !pods.empty()) since[space].insert(other);
      if (other != space) since[other].erase(space);
    }
    queue.Done(popped->pod->key);
  }
}

}  // namespace
}  // namespace dray::scheduler
