// SPDX-License-Identifier: Apache-2.0
#include "parts/history.h"

#include <algorithm>
#include <string_view>

#include "fmt/format.h"

namespace dray::parts {
namespace {

using Kind = Operation::Kind;
using Outcome = Operation::Outcome;

class Checker {
 public:
  Checker(const std::string& name, const std::vector<Change>& changes,
          std::vector<const Operation*> operations)
      : name_(name), changes_(changes), operations_(std::move(operations)) {}

  std::vector<std::string> Check() {
    Orders();
    for (const Operation* operation : operations_) {
      if (operation->kind == Kind::kWrite) Write(*operation);
      if (operation->kind == Kind::kRead) Read(*operation);
      if (operation->kind == Kind::kDelete) Delete(*operation);
    }
    Made();
    RealTime();
    return std::move(found_);
  }

 private:
  // What an operation says of the order: it was at, or saw, a state that began at `revision`.
  struct Said {
    const Operation* operation;
    std::int64_t revision;
  };

  void Complain(const Operation& operation, std::string_view what) {
    constexpr std::string_view kKinds[] = {"write", "delete", "read"};
    found_.push_back(fmt::format("{}: {} of {} (value \"{}\", revision {}): {}", name_,
                                 kKinds[static_cast<std::size_t>(operation.kind)], operation.client,
                                 operation.value.empty() ? operation.seen : operation.value,
                                 operation.revision, what));
  }

  const Change* At(std::int64_t revision) const {
    const auto it = std::ranges::lower_bound(changes_, revision, {}, &Change::revision);
    return it == changes_.end() || it->revision != revision ? nullptr : &*it;
  }
  std::size_t TimesMade(const std::string& value) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(changes_, [&](const Change& c) { return c.value == value; }));
  }

  void Orders() {
    for (std::size_t i = 1; i < changes_.size(); ++i) {
      if (changes_[i - 1].revision < changes_[i].revision) continue;
      found_.push_back(fmt::format("{}: the watch told revision {} after {}", name_,
                                   changes_[i].revision, changes_[i - 1].revision));
    }
  }

  void Write(const Operation& write) {
    const std::size_t times = TimesMade(write.value);
    if (times > 1) Complain(write, "was done more than once");
    if (write.outcome == Outcome::kNotDone && times > 0)
      Complain(write, "is there, and was refused");
    if (write.outcome != Outcome::kDone) return;
    const Change* change = At(write.revision);
    if (change == nullptr || change->value != write.value) {
      return Complain(write, "was acknowledged, and is not there");
    }
    said_.push_back({&write, write.revision});
  }

  void Read(const Operation& read) {
    if (read.outcome != Outcome::kDone) return;
    if (read.revision != 0) {
      const Change* change = At(read.revision);
      if (change == nullptr || change->value != read.seen) {
        return Complain(read, "saw what never was");
      }
      return said_.push_back({&read, read.revision});
    }
    absent_.push_back(&read);
  }

  void Delete(const Operation& deletion) {
    if (deletion.outcome == Outcome::kDone) ++deletions_done_;
    if (deletion.outcome == Outcome::kUnknown) ++deletions_open_;
  }

  // Nothing is there that nobody has asked for, and each deletion is somebody's.
  void Made() {
    std::size_t deletions = 0;
    for (const Change& change : changes_) {
      if (!change.value) {
        ++deletions;
        continue;
      }
      const bool asked = std::ranges::any_of(operations_, [&](const Operation* operation) {
        return operation->kind == Kind::kWrite && operation->value == *change.value;
      });
      if (!asked) {
        found_.push_back(fmt::format("{}: nobody has asked for \"{}\" at revision {}", name_,
                                     *change.value, change.revision));
      }
    }
    if (deletions < deletions_done_ || deletions > deletions_done_ + deletions_open_) {
      found_.push_back(
          fmt::format("{}: deleted {} times, {} deletions were acknowledged and {} are open", name_,
                      deletions, deletions_done_, deletions_open_));
    }
  }

  // What ended before another began is not after it; and nothing is seen before it was asked for.
  void RealTime() {
    std::ranges::sort(said_, {}, [](const Said& said) { return said.operation->ended; });
    // The highest revision that anybody had been told of by then.
    std::vector<std::int64_t> highest;
    for (const Said& said : said_) {
      highest.push_back(std::max(said.revision, highest.empty() ? 0 : highest.back()));
    }
    const auto known = [&](Moment moment) -> std::int64_t {
      const auto it = std::ranges::lower_bound(
          said_, moment, {}, [](const Said& said) { return said.operation->ended; });
      const auto before = static_cast<std::size_t>(it - said_.begin());
      return before == 0 ? 0 : highest[before - 1];
    };
    for (const Said& said : said_) {
      const std::int64_t floor = known(said.operation->began);
      const bool write = said.operation->kind == Kind::kWrite;
      if (write ? said.revision <= floor : said.revision < floor) {
        Complain(*said.operation,
                 fmt::format("is older than revision {}, which was known when it began", floor));
      }
      if (!write) FromTheFuture(*said.operation);
    }
    for (const Operation* read : absent_) Absent(*read, known(read->began));
  }

  void FromTheFuture(const Operation& read) {
    for (const Operation* operation : operations_) {
      if (operation->kind != Kind::kWrite || operation->value != read.seen) continue;
      if (operation->began > read.ended) Complain(read, "saw what nobody had asked for yet");
    }
  }

  // There must be a time without it, not over by what was known when the read began, and begun by
  // somebody who had asked for it when it ended.
  void Absent(const Operation& read, std::int64_t floor) {
    const auto open_by = [&](Moment moment) {
      return std::ranges::any_of(operations_, [&](const Operation* operation) {
        return operation->kind == Kind::kDelete && operation->outcome != Outcome::kNotDone &&
               operation->began <= moment;
      });
    };
    std::int64_t from = 0;
    bool there = false;
    for (const Change& change : changes_) {
      if (change.value && !there) {
        // Without it from `from` to here.
        if (change.revision > floor && (from == 0 || open_by(read.ended))) return;
        there = true;
      } else if (!change.value) {
        from = change.revision;
        there = false;
      }
    }
    if (!there && (from == 0 || open_by(read.ended))) return;
    Complain(read,
             fmt::format("found nothing, though revision {} was known and there was one", floor));
  }

  const std::string& name_;
  const std::vector<Change>& changes_;
  const std::vector<const Operation*> operations_;
  std::vector<Said> said_;
  std::vector<const Operation*> absent_;
  std::size_t deletions_done_ = 0;
  std::size_t deletions_open_ = 0;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> Contradictions(const std::vector<Operation>& operations,
                                        const Truth& truth) {
  std::map<std::string, std::vector<const Operation*>> by_name;
  for (const Operation& operation : operations) by_name[operation.name].push_back(&operation);
  for (const auto& [name, changes] : truth) by_name[name];
  static const std::vector<Change> kNone;
  std::vector<std::string> all;
  for (auto& [name, some] : by_name) {
    const auto it = truth.find(name);
    Checker checker(name, it == truth.end() ? kNone : it->second, std::move(some));
    for (std::string& found : checker.Check()) all.push_back(std::move(found));
  }
  return all;
}

}  // namespace dray::parts
