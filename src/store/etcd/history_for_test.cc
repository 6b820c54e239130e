// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/history_for_test.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "fmt/format.h"

namespace dray::store {
namespace {

using What = ClientCall::What;
using Result = ClientCall::Result;

// A version of a key, or its absence (value empty, revision of the deletion), until the next one.
struct Version {
  std::int64_t from = 0;
  std::int64_t until = INT64_MAX;  // the next one's
  std::int64_t revision = 0;       // 0: not there
};

class Checker {
 public:
  Checker(const std::vector<ClientCall>& calls, const std::vector<TrueChange>& truth)
      : calls_(calls), truth_(truth) {}

  std::vector<std::string> Check() {
    ReadTruth();
    ReadTold();
    for (const ClientCall& call : calls_) CheckOne(call);
    return std::move(faults_);
  }

 private:
  void ReadTruth() {
    for (const TrueChange& change : truth_) {
      std::vector<Version>& versions = versions_[change.key];
      if (versions.empty()) versions.push_back({});
      versions.back().until = change.revision;
      versions.push_back(
          {.from = change.revision, .revision = change.deleted ? 0 : change.revision});
      if (!change.deleted) puts_[change.value].push_back(change.revision);
    }
  }

  // The highest revision that anybody had been told of, by time.
  void ReadTold() {
    std::vector<std::pair<Instant, std::int64_t>> told;
    for (const ClientCall& call : calls_) {
      if (call.result == Result::kDone || call.result == Result::kConflict) {
        told.emplace_back(call.returned, call.revision);
      }
    }
    std::ranges::sort(told);
    std::int64_t highest = 0;
    for (const auto& [when, revision] : told) {
      highest = std::max(highest, revision);
      told_.emplace_back(when, highest);
    }
    for (const ClientCall& call : calls_) {
      if (call.what == What::kPut) called_[call.value] = call.called;
    }
  }
  std::int64_t ToldBefore(Instant when) const {
    const auto it =
        std::ranges::lower_bound(told_, when, {}, &std::pair<Instant, std::int64_t>::first);
    return it == told_.begin() ? 0 : std::prev(it)->second;
  }

  void Fault(const ClientCall& call, std::string_view why) {
    constexpr const char* kWhat[] = {"put", "delete", "read"};
    constexpr const char* kResult[] = {"done", "not done", "unknown", "conflict"};
    faults_.push_back(fmt::format("{} {}={} ({} at {}): {}", kWhat[static_cast<int>(call.what)],
                                  call.key, call.value, kResult[static_cast<int>(call.result)],
                                  call.revision, why));
  }

  void CheckOne(const ClientCall& call) {
    if (call.what == What::kRead || call.result == Result::kConflict) {
      if (call.result == Result::kDone || call.result == Result::kConflict) CheckSeen(call);
      return;
    }
    const auto put = puts_.find(call.value);
    const std::size_t times =
        call.what == What::kPut && put != puts_.end() ? put->second.size() : 0;
    if (times > 1) Fault(call, "happened more than once");
    if (call.result == Result::kNotDone && times > 0) Fault(call, "happened");
    if (call.result != Result::kDone) return;
    if (call.revision <= ToldBefore(call.called)) {
      Fault(call, fmt::format("is before {}, which had been told of before the call",
                              ToldBefore(call.called)));
    }
    if (call.what == What::kPut) {
      if (times == 0 || put->second[0] != call.revision)
        Fault(call, "is not there at that revision");
      return;
    }
    const bool there = std::ranges::any_of(truth_, [&](const TrueChange& change) {
      return change.deleted && change.key == call.key && change.revision == call.revision;
    });
    if (!there) Fault(call, "is not there at that revision");
  }

  void CheckSeen(const ClientCall& call) {
    const std::int64_t least = ToldBefore(call.called);
    const auto found = versions_.find(call.key);
    const std::vector<Version> none = {{}};
    const std::vector<Version>& versions = found == versions_.end() ? none : found->second;
    const bool fits = std::ranges::any_of(versions, [&](const Version& version) {
      return version.revision == call.revision && version.until > least;
    });
    if (!fits) {
      return Fault(call, fmt::format("is not what was there at {} or later", least));
    }
    if (call.revision == 0 || call.what != What::kRead) return;
    const auto value = puts_.find(call.value);
    if (value == puts_.end() || value->second[0] != call.revision) {
      Fault(call, "has a value that is not of that version");
    }
    const auto writer = called_.find(call.value);
    if (writer != called_.end() && writer->second > call.returned) {
      Fault(call, "was read before it was written");
    }
  }

  const std::vector<ClientCall>& calls_;
  const std::vector<TrueChange>& truth_;
  std::map<std::string, std::vector<Version>> versions_;
  std::map<std::string, std::vector<std::int64_t>> puts_;
  std::map<std::string, Instant> called_;
  std::vector<std::pair<Instant, std::int64_t>> told_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> CheckHistory(const std::vector<ClientCall>& calls,
                                      const std::vector<TrueChange>& truth) {
  return Checker(calls, truth).Check();
}

}  // namespace dray::store
