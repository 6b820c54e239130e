// SPDX-License-Identifier: Apache-2.0
#include "parts/records.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "fmt/format.h"

namespace dray::parts {
namespace {

constexpr std::string_view kKinds[] = {"write", "delete", "read"};
constexpr std::string_view kOutcomes[] = {"done", "not done", "unknown"};

}  // namespace

StoredJudges::StoredJudges(const std::string& folder) : file_(folder + "/stored.log") {}

void StoredJudges::On(const StoredRevision& revision) {
  for (const StoredChange& change : revision.changes) {
    if (bytes_ > kMostBytes) break;
    const std::string line = fmt::format("{} {} {}\n", revision.revision, change.key,
                                         change.deleted ? "deleted" : change.value);
    bytes_ += line.size();
    file_ << line;
  }
  registers_.On(revision);
  devices_.On(revision);
  bindings_.On(revision);
  quotas_.On(revision);
}

Complaints StoredJudges::complaints() const {
  Complaints all;
  for (const Judge* judge :
       std::initializer_list<const Judge*>{&registers_, &devices_, &bindings_, &quotas_}) {
    all.insert(all.end(), judge->complaints().begin(), judge->complaints().end());
  }
  return all;
}

Counted CountOperations(const std::vector<Operation>& operations) {
  Counted counted;
  std::vector<Moment> done;
  for (const Operation& operation : operations) {
    if (operation.name == "last") continue;  // everything is over then
    if (operation.kind == Operation::Kind::kRead) {
      ++counted.reads;
    } else if (operation.outcome == Operation::Outcome::kDone) {
      ++counted.done;
      done.push_back(operation.ended);
    } else if (operation.outcome == Operation::Outcome::kNotDone) {
      ++counted.not_done;
    } else {
      ++counted.unknown;
    }
  }
  std::ranges::sort(done);
  for (std::size_t i = 1; i < done.size(); ++i) {
    counted.longest_pause = std::max(counted.longest_pause,
                                     std::chrono::duration<double>(done[i] - done[i - 1]).count());
  }
  return counted;
}

void WriteHistories(const std::string& folder, const Truth& truth,
                    const std::vector<std::unique_ptr<RegisterClient>>& clients,
                    const std::vector<std::unique_ptr<WatchClient>>& watchers) {
  std::ofstream changes(folder + "/registers.tsv");
  for (const auto& [name, all] : truth) {
    for (const Change& change : all) {
      changes << fmt::format("{}\t{}\t{}\n", name, change.revision,
                             change.value.value_or("(deleted)"));
    }
  }
  std::ofstream operations(folder + "/operations.tsv");
  const auto seconds = [](Moment moment) {
    return std::chrono::duration<double>(moment.time_since_epoch()).count();
  };
  operations << "name\tbegan\tended\tclient\tkind\toutcome\trevision\tvalue\n";
  for (const auto& client : clients) {
    for (const Operation& one : client->operations()) {
      operations << fmt::format("{}\t{:.4f}\t{:.4f}\t{}\t{}\t{}\t{}\t{}\n", one.name,
                                seconds(one.began), seconds(one.ended), one.client,
                                kKinds[static_cast<std::size_t>(one.kind)],
                                kOutcomes[static_cast<std::size_t>(one.outcome)], one.revision,
                                one.value.empty() ? one.seen : one.value);
    }
  }
  std::ofstream watches(folder + "/watches.tsv");
  for (const auto& watcher : watchers) {
    for (const Watched& chain : watcher->chains()) {
      watches << fmt::format("{}\tfrom {}\tcomplete up to {}\n", chain.client, chain.from,
                             chain.complete);
      for (const Shown& shown : chain.events) {
        watches << fmt::format("{}\t{}\t{}\t{}\t{}{}\n", chain.client, shown.revision, shown.type,
                               shown.name, shown.value,
                               chain.resumed.contains(shown.revision) ? "\tresumed here" : "");
      }
    }
  }
}

}  // namespace dray::parts
