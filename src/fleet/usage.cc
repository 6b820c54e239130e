// SPDX-License-Identifier: Apache-2.0
#include "fleet/usage.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "api/pod.h"
#include "api/resource_claim.h"
#include "fleet/json.h"

namespace dray::fleet {
namespace {

constexpr std::int64_t kRecent = 600;
constexpr std::size_t kMostClasses = 64;

// How many devices of each class the most claims ask for at once.
std::map<std::string, std::int64_t> TypicalCounts(const Fleet& fleet) {
  std::map<std::string, std::map<std::int64_t, std::size_t>> asked;
  for (const auto& [key, claim] : fleet.claims()) {
    if (!claim.object || key.first == kHidden) continue;
    std::map<std::string, std::int64_t> counts;
    for (const auto& request : claim.object->As<api::ResourceClaim>()->spec.devices.requests) {
      if (request.exactly.has_value()) {
        counts[request.exactly->device_class_name] +=
            std::max<std::int64_t>(request.exactly->count, 1);
      } else if (!request.first_available.empty()) {
        counts[request.first_available.front().device_class_name] +=
            std::max<std::int64_t>(request.first_available.front().count, 1);
      }
    }
    for (const auto& [name, count] : counts) ++asked[name][count];
  }
  std::map<std::string, std::int64_t> typical;
  for (const auto& [name, counts] : asked) {
    typical[name] =
        std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; })->first;
  }
  return typical;
}

std::optional<base::Time> BoundAt(const api::Pod& pod) {
  for (const api::PodCondition& condition : pod.status.conditions) {
    if (condition.type == "PodScheduled" && condition.status == "True") {
      return condition.last_transition_time;
    }
  }
  return std::nullopt;
}

void MeasurePods(const Fleet& fleet, base::Time now, UsageSample& sample) {
  std::vector<double> waits;
  for (const auto& [key, pod] : fleet.pods()) {
    if (!pod.object) continue;
    const auto& stored = *pod.object->As<api::Pod>();
    const auto& created = stored.metadata.creation_timestamp;
    if (pod.pending) {
      ++sample.pending;
      if (!created) continue;
      const std::int64_t waited = std::max<std::int64_t>(now.seconds() - created->seconds(), 0);
      sample.oldest = std::max(sample.oldest, waited);
      waits.push_back(static_cast<double>(waited));
      continue;
    }
    if (stored.spec.node_name.empty()) continue;
    if (stored.status.phase != "Succeeded" && stored.status.phase != "Failed") ++sample.running;
    const auto bound = BoundAt(stored);
    if (!created || !bound || now.seconds() - bound->seconds() > kRecent) continue;
    waits.push_back(
        static_cast<double>(std::max<std::int64_t>(bound->seconds() - created->seconds(), 0)));
  }
  if (waits.empty()) return;
  std::ranges::sort(waits);
  const auto at = [&](double share) {
    const auto place = static_cast<std::size_t>(share * static_cast<double>(waits.size()));
    return waits[std::min(place, waits.size() - 1)];
  };
  sample.wait_p50 = at(0.5);
  sample.wait_p99 = at(0.99);
}

}  // namespace

UsageSample Measure(const Fleet& fleet, base::Time now) {
  UsageSample sample{.at = now.seconds()};
  MeasurePods(fleet, now, sample);
  struct Sums {
    std::int64_t devices = 0;
    double used = 0;
    std::int64_t blocked = 0;
    std::map<std::int32_t, std::pair<std::int64_t, double>> free;  // by node: whole ones, parts
  };
  std::vector<Sums> sums(fleet.classes().size());
  for (const Device& device : fleet.devices()) {
    if (device.slice == nullptr || device.state == State::kRemoved) continue;
    for (const std::uint32_t number : fleet.shapes()[device.shape].classes) {
      Sums& sum = sums[number];
      ++sum.devices;
      const bool away = (device.marks & (kTainted | kUnhealthy)) != 0;
      switch (device.state) {
        case State::kHeld:
          sum.used += 1;
          break;
        case State::kShared:
          sum.used += device.fill / 100.0;
          sum.free[device.node].second += 1 - device.fill / 100.0;
          break;
        case State::kFree:
          if (away) {
            ++sum.blocked;
          } else {
            ++sum.free[device.node].first;
          }
          break;
        default:
          ++sum.blocked;
      }
    }
  }
  const auto typical = TypicalCounts(fleet);
  for (std::size_t i = 0; i < std::min(sums.size(), kMostClasses); ++i) {
    ClassSample entry{.name = fleet.classes()[i],
                      .devices = sums[i].devices,
                      .used = sums[i].used,
                      .blocked = sums[i].blocked};
    const auto count = typical.find(entry.name);
    if (count != typical.end()) entry.typical_count = count->second;
    double free = 0;
    double servable = 0;
    for (const auto& [node, of] : sums[i].free) {
      free += static_cast<double>(of.first) + of.second;
      servable +=
          of.second + static_cast<double>(of.first / entry.typical_count * entry.typical_count);
    }
    if (free > 0) entry.fragmentation = 1 - servable / free;
    sample.classes.push_back(std::move(entry));
  }
  return sample;
}

bool History::Due(base::Time now) const {
  return fine_.empty() || now.seconds() >= fine_.back().at + kFine ||
         now.seconds() < fine_.back().at;
}

void History::Add(UsageSample sample) {
  // A clock that was set back begins anew: times only grow.
  while (!fine_.empty() && fine_.back().at >= sample.at) fine_.pop_back();
  while (!coarse_.empty() && coarse_.back().at >= sample.at) coarse_.pop_back();
  if (coarse_.empty() || sample.at >= coarse_.back().at + kCoarse) coarse_.push_back(sample);
  fine_.push_back(std::move(sample));
  if (fine_.size() > kMostFine) fine_.pop_front();
  if (coarse_.size() > kMostCoarse) coarse_.pop_front();
}

std::optional<std::string> History::Json(std::string_view range, base::Time now) const {
  struct Range {
    std::string_view name;
    std::int64_t seconds;
    bool fine;
  };
  constexpr Range kRanges[] = {
      {"1h", 3600, true}, {"6h", 21'600, false}, {"24h", 86'400, false}, {"7d", 604'800, false}};
  const auto* const wanted = std::ranges::find(kRanges, range.empty() ? "1h" : range, &Range::name);
  if (wanted == std::end(kRanges)) return std::nullopt;
  std::vector<const UsageSample*> samples;
  for (const UsageSample& sample : wanted->fine ? fine_ : coarse_) {
    if (sample.at >= now.seconds() - wanted->seconds) samples.push_back(&sample);
  }
  JsonOut out;
  out.BeginMap().Text("since", since_.ToRfc3339());
  out.Count("step", wanted->fine ? kFine : kCoarse);
  const auto column = [&](std::string_view key, const auto& value) {
    out.List(key);
    for (const UsageSample* sample : samples) value(*sample);
    out.EndList();
  };
  const auto maybe = [&](const std::optional<double>& value) {
    value ? out.Real(*value, 1) : out.Null();
  };
  column("times", [&](const UsageSample& s) { out.Number(s.at); });
  column("pending", [&](const UsageSample& s) { out.Number(s.pending); });
  column("oldest", [&](const UsageSample& s) { out.Number(s.oldest); });
  column("waitP50", [&](const UsageSample& s) { maybe(s.wait_p50); });
  column("waitP99", [&](const UsageSample& s) { maybe(s.wait_p99); });
  column("running", [&](const UsageSample& s) { out.Number(s.running); });
  std::set<std::string> names;
  std::map<std::string, std::int64_t> typical;
  for (const UsageSample* sample : samples) {
    for (const ClassSample& entry : sample->classes) {
      names.insert(entry.name);
      typical[entry.name] = entry.typical_count;
    }
  }
  out.List("classes");
  for (const std::string& name : names) {
    out.BeginMap().Text("name", name);
    const auto of = [&](std::string_view key, const auto& value) {
      column(key, [&](const UsageSample& s) {
        const auto it = std::ranges::lower_bound(s.classes, name, {}, &ClassSample::name);
        if (it == s.classes.end() || it->name != name) {
          out.Null();
        } else {
          value(*it);
        }
      });
    };
    of("devices", [&](const ClassSample& c) { out.Number(c.devices); });
    of("used", [&](const ClassSample& c) { out.Real(c.used, 2); });
    of("blocked", [&](const ClassSample& c) { out.Number(c.blocked); });
    of("utilisation", [&](const ClassSample& c) {
      const double usable = static_cast<double>(c.devices - c.blocked);
      usable > 0 ? out.Real(c.used / usable) : out.Real(0);
    });
    of("fragmentation", [&](const ClassSample& c) { out.Real(c.fragmentation); });
    out.Count("typicalCount", typical[name]).EndMap();
  }
  out.EndList().EndMap();
  return out.Take();
}

}  // namespace dray::fleet
