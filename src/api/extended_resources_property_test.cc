// SPDX-License-Identifier: Apache-2.0
//
// Property: after any events the index answers as if it had been made from the classes there are.
// The model is a list of classes and a linear search, and shares no code with the index.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "api/extended_resources.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

constexpr int kSequences = 5000;
constexpr int kEventsPerSequence = 40;
constexpr int kClasses = 5;
constexpr int kNames = 3;
constexpr int kTimes = 3;

using Model = std::map<std::string, DeviceClass>;

std::string SearchModel(const Model& model, std::string_view name) {
  const DeviceClass* best = nullptr;
  for (const auto& [class_name, candidate] : model) {
    if ("deviceclass.resource.kubernetes.io/" + class_name == name) return class_name;
    if (candidate.spec.extended_resource_name != name) continue;
    // Classes come in name order, so only a newer one is better.
    if (best == nullptr ||
        *candidate.metadata.creation_timestamp > *best->metadata.creation_timestamp) {
      best = &candidate;
    }
  }
  return best != nullptr ? best->metadata.name : "none";
}

std::string Ask(const ExtendedResourceIndex& index, std::string_view name) {
  const std::string* found = index.FindClass(name);
  return found != nullptr ? *found : "none";
}

class RandomEvents {
 public:
  explicit RandomEvents(unsigned seed) : random_(seed) {}

  void Step() {
    const std::string name = fmt::format("class-{}", Below(kClasses));
    const auto known = model_.find(name);
    if (known == model_.end()) {
      const DeviceClass added = Make(name, Below(kTimes));
      if (Below(4) == 0) index_.OnDelete(added);
      Below(8) == 0 ? index_.OnUpdate(added) : index_.OnAdd(added);
      model_[name] = added;
    } else if (Below(3) == 0) {
      // A delete may carry an older state than the last one seen.
      index_.OnDelete(Below(2) == 0 ? known->second : Make(name, Below(kTimes)));
      model_.erase(known);
    } else {
      // Sometimes deleted and made again between two events: another creation time.
      const bool again = Below(5) == 0;
      DeviceClass updated = Make(name, Below(kTimes));
      if (!again) {
        updated.metadata.creation_timestamp = known->second.metadata.creation_timestamp;
      }
      Below(8) == 0 ? index_.OnAdd(updated) : index_.OnUpdate(updated);
      model_[name] = updated;
    }
  }

  void Check() const {
    ExtendedResourceIndex fresh;
    for (const auto& [name, device_class] : model_) fresh.OnAdd(device_class);
    for (int i = 0; i < kNames; ++i) {
      const std::string name = fmt::format("example.com/resource-{}", i);
      ASSERT_EQ(Ask(index_, name), SearchModel(model_, name)) << name;
      ASSERT_EQ(Ask(fresh, name), SearchModel(model_, name)) << name;
    }
    for (int i = 0; i < kClasses; ++i) {
      const std::string name = fmt::format("class-{}", i);
      const std::string implicit = "deviceclass.resource.kubernetes.io/" + name;
      ASSERT_EQ(Ask(index_, implicit), SearchModel(model_, implicit)) << name;
      const auto known = model_.find(name);
      const std::string* explicit_name = index_.FindExplicitName(name);
      const auto want =
          known == model_.end() ? std::nullopt : known->second.spec.extended_resource_name;
      ASSERT_EQ(explicit_name != nullptr, want.has_value()) << name;
      if (want) {
        ASSERT_EQ(*explicit_name, *want);
      }
    }
  }

 private:
  int Below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

  DeviceClass Make(const std::string& name, int created) {
    DeviceClass made;
    made.metadata.name = name;
    made.metadata.creation_timestamp = base::Time::FromUnix(created);
    const int resource = Below(kNames + 1);
    if (resource < kNames) {
      made.spec.extended_resource_name = fmt::format("example.com/resource-{}", resource);
    }
    return made;
  }

  std::mt19937 random_;
  Model model_;
  ExtendedResourceIndex index_;
};

TEST(ExtendedResourceIndexProperty, EventsGiveTheAnswerOfThePresentClasses) {
  for (unsigned seed = 0; seed < kSequences; ++seed) {
    SCOPED_TRACE(seed);
    RandomEvents events(seed);
    for (int i = 0; i < kEventsPerSequence; ++i) {
      events.Step();
      events.Check();
      if (HasFatalFailure()) return;
    }
  }
}

// Property: while a name is moved along a chain of classes, it is served at every step.
TEST(ExtendedResourceIndexProperty, AMovingNameIsAlwaysServed) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    ExtendedResourceIndex index;
    const auto make = [](int number, bool named, int created) {
      DeviceClass made;
      made.metadata.name = fmt::format("class-{}", number);
      made.metadata.creation_timestamp = base::Time::FromUnix(created);
      if (named) made.spec.extended_resource_name = "example.com/gpu";
      return made;
    };
    int created = 0;
    index.OnAdd(make(0, true, created));
    for (int next = 1; next < 20; ++next) {
      const int before = created;
      created += static_cast<int>(random() % 2);
      index.OnAdd(make(next, true, created));
      ASSERT_NE(index.FindClass("example.com/gpu"), nullptr);
      if (random() % 2 == 0) index.OnUpdate(make(next - 1, false, before));
      ASSERT_NE(index.FindClass("example.com/gpu"), nullptr);
      index.OnDelete(make(next - 1, false, before));
      ASSERT_EQ(*index.FindClass("example.com/gpu"), fmt::format("class-{}", next));
    }
  }
}

}  // namespace
}  // namespace dray::api
