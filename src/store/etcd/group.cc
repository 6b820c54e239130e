// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/group.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "base/status.h"
#include "fmt/format.h"

namespace dray::store::internal {
namespace {

using Kind = Operation::Kind;
using What = rpc::EtcdCompare::What;

// Tags, lengths and numbers around the keys of an operation: its compare, its write, its range.
constexpr std::size_t kAround = 96;
constexpr std::size_t kAroundGroup = 256;

std::optional<rpc::EtcdCompare> CompareOf(const Operation& operation, const std::string& key) {
  if (operation.expected) {
    // Deleting what must not be there is a conflict, whatever is there.
    const bool never = operation.kind == Kind::kDelete && *operation.expected == Revision{};
    return rpc::EtcdCompare{.key = key, .number = never ? -1 : operation.expected->value};
  }
  if (operation.kind != Kind::kDelete) return std::nullopt;
  return rpc::EtcdCompare{.key = key, .what = What::kCreated, .greater = true, .number = 0};
}

void AddTo(rpc::EtcdTransaction& request, const PendingWrite& write, const LeaseIds& leases) {
  const auto& operations = write.transaction.operations;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const std::string& key = write.keys[i];
    if (auto compare = CompareOf(operations[i], key)) {
      request.compares.push_back(*std::move(compare));
    }
    if (operations[i].kind == Kind::kPut) {
      const auto lease = leases.find(operations[i].ttl);
      request.success.push_back({rpc::EtcdPut{.key = key,
                                              .value = operations[i].value,
                                              .lease = lease == leases.end() ? 0 : lease->second}});
    } else if (operations[i].kind == Kind::kDelete) {
      request.success.push_back({rpc::EtcdDelete{.key = key}});
    }
    request.failure.push_back({rpc::EtcdRange{.key = key}});
  }
}

// `answers` are the ranges of all its keys.
void ReadConflict(rpc::EtcdOperationAnswer* answers, PendingWrite& write) {
  const auto& operations = write.transaction.operations;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    auto& kvs = answers[i].kvs;
    const Revision actual{kvs.empty() ? 0 : kvs[0].modified};
    const bool deletes_nothing = operations[i].kind == Kind::kDelete && kvs.empty();
    if (!deletes_nothing && (!operations[i].expected || *operations[i].expected == actual)) {
      continue;
    }
    write.conflict = Conflict{.key = operations[i].key, .actual = actual};
    if (!kvs.empty()) {
      write.conflict->entry = std::make_shared<const Entry>(
          Entry{.key = operations[i].key,
                .value = std::make_shared<const std::string>(std::move(kvs[0].value)),
                .created = {kvs[0].created},
                .modified = actual});
    }
    return;
  }
}

}  // namespace

std::size_t BytesOf(const PendingWrite& write) {
  std::size_t bytes = kAroundGroup;
  for (std::size_t i = 0; i < write.keys.size(); ++i) {
    const auto& value = write.transaction.operations[i].value;
    bytes += 3 * write.keys[i].size() + (value ? value->size() : 0) + kAround;
  }
  return bytes;
}

Status CheckSize(const PendingWrite& write, const RequestLimits& limits) {
  const auto& operations = write.transaction.operations;
  // One compare is the fence's.
  if (operations.size() > limits.operations - 1) {
    return base::InvalidArgument(
        fmt::format("the transaction has {} operations, at most {} fit: etcd takes {} in a request "
                    "(--max-txn-ops)",
                    operations.size(), limits.operations - 1, limits.operations));
  }
  if (write.bytes <= limits.bytes) return {};
  const auto largest = std::ranges::max_element(operations, {}, [](const Operation& operation) {
    return operation.value ? operation.value->size() : 0;
  });
  return base::InvalidArgument(fmt::format(
      "the transaction has {} bytes (key \"{}\": {}), etcd takes {} in a request "
      "(--max-request-bytes)",
      write.bytes, largest->key, largest->value ? largest->value->size() : 0, limits.bytes));
}

namespace {

std::size_t IndexOf(const PendingWrite& write, std::string_view key) {
  const auto it = std::ranges::find(write.keys, key);
  return static_cast<std::size_t>(it - write.keys.begin());
}

// The transactions that go together so far, and which keys they have.
class Grouping {
 public:
  Grouping(const RequestLimits& limits, bool one) : limits_(limits), one_(one) {}

  enum class Fit : std::uint8_t { kTaken, kNotNow, kLost };
  Fit Add(const PendingPtr& write) {
    if (!Resolve(*write)) return Fit::kLost;
    if (units_.empty()) {
      if (IsBehind(*write)) {
        DRAY_BUG("a transaction is taken before one that was handed over before it");
        Lose(*write, 0, {});
        return Fit::kLost;
      }
      Take(write);
      return Fit::kTaken;
    }
    if (one_ || bytes_ + write->bytes > limits_.group_bytes) return Fit::kNotNow;
    const bool fits = IsBehind(*write) ? Join(write) : TakeIfApart(write);
    return fits ? Fit::kTaken : Fit::kNotNow;
  }

  std::vector<PendingPtr> TakeUnits() { return std::move(units_); }

 private:
  // Who writes a key.
  struct Place {
    std::size_t unit;
    std::size_t operation;
    const PendingWrite* last;
  };

  static bool IsBehind(const PendingWrite& write) {
    return std::ranges::any_of(write.behind, [](const PendingPtr& one) { return one != nullptr; });
  }

  static void Lose(PendingWrite& write, std::size_t operation, Revision revision) {
    write.lost = true;
    write.conflict = Conflict{.key = write.transaction.operations[operation].key};
    write.revision = revision.value;
    write.fate = PendingWrite::Fate::kNot;
  }

  // What is known by now of those that it is behind. False: its conflict is certain.
  static bool Resolve(PendingWrite& write) {
    for (std::size_t i = 0; i < write.behind.size(); ++i) {
      PendingPtr& before = write.behind[i];
      if (before == nullptr || before->fate == PendingWrite::Fate::kOpen) continue;
      const std::size_t operation = IndexOf(*before, write.keys[i]);
      const bool covered = !before->covered.empty() && before->covered[operation];
      if (before->fate == PendingWrite::Fate::kNot || covered) {
        Lose(write, i, {before->revision});
        return false;
      }
      write.transaction.operations[i].expected = Revision{before->revision};
      before = nullptr;
    }
    return true;
  }

  bool TakeIfApart(const PendingPtr& write) {
    const auto& operations = write->transaction.operations;
    // Nested transactions have the operations that the outer one leaves, which has the mark, too.
    if (units_.size() + 2 + std::max(largest_, operations.size()) > limits_.operations)
      return false;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const std::string_view key = write->keys[i];
      if (written_.contains(key)) return false;
      if (operations[i].kind != Kind::kCheck && compared_.contains(key)) return false;
    }
    Take(write);
    return true;
  }

  void Take(const PendingPtr& write) {
    const auto& operations = write->transaction.operations;
    for (std::size_t i = 0; i < operations.size(); ++i) Use(*write, i, units_.size(), i);
    bytes_ += write->bytes;
    largest_ = std::max(largest_, operations.size());
    units_.push_back(write);
  }

  void Use(const PendingWrite& write, std::size_t i, std::size_t unit, std::size_t operation) {
    const Operation& one = write.transaction.operations[i];
    if (one.kind == Kind::kCheck) {
      compared_.emplace(write.keys[i], Place{unit, operation, nullptr});
      return;
    }
    written_.insert_or_assign(write.keys[i], Place{unit, operation, &write});
    if (one.expected) compared_.emplace(write.keys[i], Place{unit, operation, nullptr});
  }

  // Makes it one with the unit that writes what it expects, if that is one, and if what else it has
  // is apart from all others.
  bool Join(const PendingPtr& write) {
    std::optional<std::size_t> unit;
    for (std::size_t i = 0; i < write->behind.size(); ++i) {
      if (write->behind[i] == nullptr) continue;
      const auto place = written_.find(write->keys[i]);
      if (place == written_.end() || place->second.last != write->behind[i].get()) return false;
      if (write->transaction.operations[i].kind == Kind::kDelete) return false;
      if (unit && *unit != place->second.unit) return false;
      unit = place->second.unit;
    }
    std::size_t more = 0;
    for (std::size_t i = 0; i < write->keys.size(); ++i) {
      if (write->behind[i] != nullptr) continue;
      if (written_.contains(write->keys[i])) return false;
      const auto place = compared_.find(write->keys[i]);
      const Operation& operation = write->transaction.operations[i];
      if (place == compared_.end()) {
        ++more;
        continue;
      }
      if (operation.kind != Kind::kCheck) return false;
      const std::size_t same = CompareIn(*units_[*unit], place->second, *unit, write->keys[i]);
      if (same == units_[*unit]->keys.size()) {
        ++more;
      } else if (units_[*unit]->transaction.operations[same].expected != operation.expected) {
        return false;
      }
    }
    const std::size_t size = units_[*unit]->transaction.operations.size() + more;
    // Alone it is not nested: one operation more is the mark.
    const std::size_t around = units_.size() == 1 ? 1 : units_.size() + 1;
    if (around + std::max(largest_, size) > limits_.operations) return false;
    Merge(write, *unit);
    return true;
  }

  // Which operation of a unit compares a key that `place` compares; as many as it has if none does.
  static std::size_t CompareIn(const PendingWrite& whole, const Place& place, std::size_t unit,
                               std::string_view key) {
    return place.unit == unit ? place.operation : IndexOf(whole, key);
  }

  void Merge(const PendingPtr& write, std::size_t unit) {
    if (units_[unit]->parts.empty()) units_[unit] = OfOnePart(units_[unit]);
    PendingWrite& whole = *units_[unit];
    auto& operations = whole.transaction.operations;
    PendingWrite::Part part{.write = write};
    for (std::size_t i = 0; i < write->keys.size(); ++i) {
      const Operation& operation = write->transaction.operations[i];
      const auto& places = write->behind[i] != nullptr ? written_ : compared_;
      const auto place = places.find(write->keys[i]);
      const std::size_t at = place == places.end()
                                 ? operations.size()
                                 : CompareIn(whole, place->second, unit, write->keys[i]);
      if (at < operations.size()) {
        part.at.push_back(at);
        if (operation.kind != Kind::kPut) continue;
        operations[at].value = operation.value;
        operations[at].attach = operation.attach;
        operations[at].ttl = operation.ttl;
        written_.at(write->keys[i]).last = write.get();
        continue;
      }
      part.at.push_back(operations.size());
      Use(*write, i, unit, operations.size());
      operations.push_back(operation);
      whole.keys.push_back(write->keys[i]);
    }
    whole.bytes += write->bytes;
    whole.parts.push_back(std::move(part));
    bytes_ += write->bytes;
    largest_ = std::max(largest_, operations.size());
  }

  static PendingPtr OfOnePart(const PendingPtr& write) {
    auto whole = std::make_shared<PendingWrite>();
    whole->transaction = write->transaction;
    whole->keys = write->keys;
    whole->bytes = write->bytes;
    PendingWrite::Part part{.write = write};
    for (std::size_t i = 0; i < write->keys.size(); ++i) part.at.push_back(i);
    whole->parts.push_back(std::move(part));
    return whole;
  }

  const RequestLimits& limits_;
  const bool one_;
  std::vector<PendingPtr> units_;
  // Keys are those of transactions that stay where they are.
  absl::flat_hash_map<std::string_view, Place> written_;
  absl::flat_hash_map<std::string_view, Place> compared_;
  std::size_t bytes_ = 0;
  std::size_t largest_ = 0;
};

}  // namespace

Group TakeGroup(std::deque<PendingPtr>& queue, const RequestLimits& limits, bool one) {
  Grouping grouping(limits, one);
  Group group;
  while (!queue.empty()) {
    const Grouping::Fit fit = grouping.Add(queue.front());
    if (fit == Grouping::Fit::kNotNow) break;
    if (fit == Grouping::Fit::kLost) group.lost.push_back(queue.front());
    queue.pop_front();
  }
  group.writes = grouping.TakeUnits();
  return group;
}

std::vector<PendingPtr> PartsOf(const std::vector<PendingPtr>& group) {
  std::vector<PendingPtr> all;
  for (const PendingPtr& write : group) {
    if (write->parts.empty()) all.push_back(write);
    for (const PendingWrite::Part& part : write->parts) all.push_back(part.write);
  }
  return all;
}

std::map<std::chrono::seconds, std::size_t> TtlsOf(const std::vector<PendingPtr>& group) {
  std::map<std::chrono::seconds, std::size_t> ttls;
  for (const PendingPtr& write : group) {
    for (const Operation& operation : write->transaction.operations) {
      if (operation.ttl.count() > 0) ++ttls[operation.ttl];
    }
  }
  return ttls;
}

namespace {

// Who only compares uses no revision.
bool IsMarked(const std::vector<PendingPtr>& group, const Fence& fence) {
  return !fence.mark.empty() && std::ranges::any_of(group, [](const PendingPtr& write) {
    return std::ranges::any_of(write->transaction.operations, [](const Operation& operation) {
      return operation.kind != Kind::kCheck;
    });
  });
}

}  // namespace

rpc::EtcdTransaction MakeRequest(const std::vector<PendingPtr>& group, const Fence& fence,
                                 const LeaseIds& leases) {
  rpc::EtcdTransaction request;
  request.compares.push_back({.key = fence.key, .number = fence.revision});
  request.failure.push_back({rpc::EtcdRange{.key = fence.key}});
  if (group.size() == 1) {
    AddTo(request, *group[0], leases);
  } else {
    for (const PendingPtr& write : group) {
      rpc::EtcdTransaction nested;
      AddTo(nested, *write, leases);
      request.success.push_back({std::move(nested)});
    }
  }
  if (IsMarked(group, fence)) {
    request.success.push_back(
        {rpc::EtcdPut{.key = fence.key, .value = std::make_shared<const std::string>(fence.mark)}});
  }
  return request;
}

bool ReadAnswer(rpc::EtcdTransactionAnswer answer, Fence& fence, std::vector<PendingPtr>& group) {
  const std::int64_t revision = answer.header.revision;
  for (const PendingPtr& write : group) write->revision = revision;
  if (answer.succeeded && IsMarked(group, fence)) fence.revision = revision;
  if (group.size() == 1) {
    if (answer.succeeded) return true;
    const auto& kvs = answer.answers[0].kvs;
    const std::int64_t there = kvs.empty() ? 0 : kvs[0].modified;
    if (there != std::exchange(fence.revision, there)) return false;
    ReadConflict(answer.answers.data() + 1, *group[0]);
    return true;
  }
  if (!answer.succeeded) {
    const auto& kvs = answer.answers[0].kvs;
    fence.revision = kvs.empty() ? 0 : kvs[0].modified;
    return false;
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    rpc::EtcdTransactionAnswer& nested = answer.answers[i].transaction;
    if (!nested.succeeded) ReadConflict(nested.answers.data(), *group[i]);
  }
  return true;
}

void Settle(PendingWrite& write) {
  using Fate = PendingWrite::Fate;
  write.fate = write.conflict ? Fate::kNot : Fate::kWritten;
  if (write.conflict) return;
  std::vector<bool> later(write.keys.size(), false);
  for (auto part = write.parts.rbegin(); part != write.parts.rend(); ++part) {
    PendingWrite& one = *part->write;
    one.fate = Fate::kWritten;
    one.revision = write.revision;
    one.covered.assign(one.keys.size(), false);
    for (std::size_t i = 0; i < one.keys.size(); ++i) {
      if (one.transaction.operations[i].kind == Kind::kCheck) continue;
      one.covered[i] = later[part->at[i]];
      later[part->at[i]] = true;
    }
  }
}

Blamed BlamePart(PendingWrite& write) {
  std::size_t wrong = 0;
  while (write.transaction.operations[wrong].key != write.conflict->key) ++wrong;
  Blamed blamed;
  for (const PendingWrite::Part& part : write.parts) {
    if (blamed.write == nullptr && std::ranges::find(part.at, wrong) != part.at.end()) {
      blamed.write = part.write;
      blamed.write->revision = write.revision;
      blamed.write->conflict = std::move(write.conflict);
      blamed.write->fate = PendingWrite::Fate::kNot;
    } else {
      blamed.others.push_back(part.write);
    }
  }
  return blamed;
}

bool WasWritten(const PendingWrite& write, std::int64_t revision) {
  bool writes = false;
  for (std::size_t i = 0; i < write.keys.size(); ++i) {
    if (write.transaction.operations[i].kind == Kind::kCheck) continue;
    writes = true;
    const bool seen = std::ranges::any_of(write.seen[i], [revision](const EntryPtr& entry) {
      return entry->modified.value == revision;
    });
    if (!seen) return false;
  }
  return writes;
}

}  // namespace dray::store::internal
