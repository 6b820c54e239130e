// SPDX-License-Identifier: Apache-2.0
#include "store/internal/batch.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace dray::store::internal {

using Kind = Operation::Kind;

Status CheckTransaction(const Transaction& transaction) {
  if (transaction.operations.empty()) return base::InvalidArgument("the transaction is empty");
  if (transaction.operations.size() > kMaxOperations) {
    return base::InvalidArgument(fmt::format("the transaction has {} operations, at most {} fit",
                                             transaction.operations.size(), kMaxOperations));
  }
  std::vector<std::string_view> keys;
  keys.reserve(transaction.operations.size());
  for (const Operation& operation : transaction.operations) {
    if (operation.key.empty()) return base::InvalidArgument("a key is empty");
    if (operation.kind == Kind::kPut && !operation.value) {
      return base::InvalidArgument(fmt::format("key \"{}\": a put needs a value", operation.key));
    }
    if (operation.kind == Kind::kCheck && !operation.expected) {
      return base::InvalidArgument(
          fmt::format("key \"{}\": a check needs an expected revision", operation.key));
    }
    keys.push_back(operation.key);
  }
  if (keys.size() == 1) return {};
  std::ranges::sort(keys);
  if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end()) {
    return base::InvalidArgument(fmt::format("key \"{}\" is in the transaction twice", *twice));
  }
  return {};
}

EntryPtr Batch::Find(std::string_view key) const {
  const auto it = changed_.find(key);
  return it != changed_.end() ? it->second.entry : stored_.Find(key);
}

void Batch::Published(const std::vector<Event>& events) {
  for (const Event& event : events) {
    const auto it = changed_.find(event.entry->key);
    // A later change of the same key may still be on its way.
    if (it != changed_.end() && it->second.revision == event.revision()) changed_.erase(it);
  }
}

void Batch::Reset() {
  changed_.clear();
  events_.clear();
  revision_ = stored_.revision();
}

EntryPtr Batch::Apply(const Operation& operation, EntryPtr before) {
  if (operation.kind == Kind::kCheck) return nullptr;
  const bool deleted = operation.kind == Kind::kDelete;
  auto entry = std::make_shared<Entry>(Entry{.key = operation.key,
                                             .value = deleted ? before->value : operation.value,
                                             .created = before ? before->created : revision_,
                                             .modified = revision_});
  if (operation.attach) entry->attachment = operation.attach(*entry);
  changed_[operation.key] = {deleted ? nullptr : entry, revision_};
  events_.push_back({.entry = entry, .before = std::move(before), .deleted = deleted});
  return entry;
}

Outcome Batch::Add(const Transaction& transaction) {
  std::vector<EntryPtr> before;
  before.reserve(transaction.operations.size());
  bool changes = false;
  for (const Operation& operation : transaction.operations) {
    EntryPtr current = Find(operation.key);
    const Revision actual = current ? current->modified : Revision{};
    const bool deletes_nothing = operation.kind == Kind::kDelete && !current;
    if (deletes_nothing || (operation.expected && *operation.expected != actual)) {
      return {.revision = revision_,
              .conflict = Conflict{.key = operation.key, .actual = actual, .entry = current}};
    }
    changes |= operation.kind != Kind::kCheck;
    before.push_back(std::move(current));
  }
  if (changes) ++revision_.value;
  Outcome outcome{.revision = revision_};
  for (std::size_t i = 0; i < before.size(); ++i) {
    outcome.entries.push_back(Apply(transaction.operations[i], std::move(before[i])));
  }
  return outcome;
}

}  // namespace dray::store::internal
