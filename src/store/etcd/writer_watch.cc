// SPDX-License-Identifier: Apache-2.0
//
// What the watch shows of this process's own writes, and how their callers are told.
#include "store/etcd/writer.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace dray::store::internal {
namespace {

using Kind = Operation::Kind;

}  // namespace

void Writer::Watch(const std::vector<PendingPtr>& group) {
  for (const PendingPtr& write : group) {
    write->seen.assign(write->keys.size(), {});
    for (std::size_t i = 0; i < write->keys.size(); ++i) {
      const Operation& operation = write->transaction.operations[i];
      if (operation.kind != Kind::kCheck) writing_[operation.key].push_back({write.get(), i});
    }
  }
}

void Writer::Unwatch(const PendingWrite& write) {
  for (const Operation& operation : write.transaction.operations) {
    const auto it = writing_.find(operation.key);
    if (it == writing_.end()) continue;
    std::erase_if(it->second, [&](const Place& place) { return place.write == &write; });
    if (it->second.empty()) writing_.erase(it);
  }
}

namespace {

bool IsOf(const PendingWrite& write, const Operation& operation, const Entry& entry, bool deleted) {
  if (write.conflict) return false;
  if (write.revision != 0) return write.revision == entry.modified.value;
  // Not answered yet. Who else has written these bytes meanwhile has the same made of them.
  return deleted ? operation.kind == Kind::kDelete
                 : operation.kind == Kind::kPut && *operation.value == *entry.value;
}

}  // namespace

void Writer::OnVersion(Entry& entry, bool deleted) {
  const auto it = writing_.find(entry.key);
  if (it == writing_.end()) return;
  for (const Place& place : it->second) {
    const Operation& operation = place.write->transaction.operations[place.operation];
    if (!IsOf(*place.write, operation, entry, deleted)) continue;
    if (!deleted) entry.value = operation.value;
    if (operation.attach) entry.attachment = operation.attach(entry);
    return;
  }
}

void Writer::OnPublished(const EntryPtr& entry) {
  const auto it = writing_.find(entry->key);
  if (it == writing_.end()) return;
  const EntryPtr now = cache_.Find(entry->key);
  const bool deleted = now == nullptr || now->modified != entry->modified;
  for (const Place& place : it->second) {
    const Operation& operation = place.write->transaction.operations[place.operation];
    if (!IsOf(*place.write, operation, *entry, deleted)) continue;
    place.write->seen[place.operation].push_back(entry);
    return;
  }
}

void Writer::OnRevision(Revision revision) {
  while (!known_.empty() && known_.front()->revision <= revision.value) {
    const PendingPtr write = std::move(known_.front());
    known_.pop_front();
    Finish(write);
  }
  if (fenced_ != 0) Resolve();
  if (closed_ && idle()) std::exchange(closed_, nullptr)();
}

// Nothing was seen of what happened in between: what is there now says what can be said.
void Writer::OnRelist() {
  relisted_ = true;
  for (const PendingPtr& write : in_air_) {
    for (std::size_t i = 0; i < write->keys.size(); ++i) {
      const Operation& operation = write->transaction.operations[i];
      const EntryPtr now = cache_.Find(operation.key);
      if (operation.kind == Kind::kPut && now && now->modified.value > sent_at_ &&
          *now->value == *operation.value) {
        write->seen[i].push_back(now);
      }
    }
  }
}

void Writer::Finish(const PendingPtr& write) {
  Unwatch(*write);
  std::vector<EntryPtr> entries;
  if (!write->conflict) {
    for (std::size_t i = 0; i < write->keys.size(); ++i) entries.push_back(EntryOf(*write, i));
  }
  if (write->parts.empty()) return FinishOne(*write, std::move(entries));
  for (const PendingWrite::Part& part : write->parts) {
    std::vector<EntryPtr> own;
    for (const std::size_t at : part.at) own.push_back(entries[at]);
    FinishOne(*part.write, std::move(own));
  }
}

// What an operation has made.
EntryPtr Writer::EntryOf(const PendingWrite& write, std::size_t index) {
  const Operation& operation = write.transaction.operations[index];
  if (operation.kind == Kind::kCheck) return nullptr;
  const Revision revision{write.revision};
  for (const EntryPtr& seen : write.seen[index]) {
    if (seen->modified == revision) return seen;
  }
  // Its event was not seen, because everything was read anew.
  Entry made{.key = operation.key,
             .value = operation.value ? operation.value : std::make_shared<const std::string>(),
             .created = revision,
             .modified = revision};
  const EntryPtr now = cache_.Find(made.key);
  if (now) made.created = std::min(now->created, made.created);
  if (operation.attach) made.attachment = operation.attach(made);
  return std::make_shared<const Entry>(std::move(made));
}

void Writer::FinishOne(PendingWrite& write, std::vector<EntryPtr> entries) {
  Forget(write);
  Outcome outcome{.revision = {write.revision}};
  if (write.conflict) {
    outcome.conflict = std::move(write.conflict);
    Conflict& conflict = *outcome.conflict;
    const EntryPtr now = cache_.Find(conflict.key);
    if (write.lost) {
      outcome.revision = feeder_->revision();
      conflict.actual = now ? now->modified : Revision{};
      conflict.entry = now;
    }
    // With its attachment, if that is what it was.
    if (now && now->modified == conflict.actual) conflict.entry = now;
    return write.done(std::move(outcome));
  }
  outcome.entries = std::move(entries);
  const auto& operations = write.transaction.operations;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    // What it compared may be what another part of the same request has written.
    if (operations[i].kind == Kind::kCheck) outcome.entries[i] = nullptr;
  }
  write.done(std::move(outcome));
}

// What is there from now on is in the cache, or was not written.
void Writer::Forget(const PendingWrite& write) {
  const base::MutexLock lock(mutex_);
  for (const Operation& operation : write.transaction.operations) {
    const auto found = pending_.find(operation.key);
    if (found != pending_.end() && found->second.write.get() == &write) pending_.erase(found);
  }
}

void Writer::Tell(const std::vector<PendingPtr>& writes, const Status& status) {
  HideFailed(writes);
  for (const PendingPtr& write : writes) {
    write->fate = PendingWrite::Fate::kNot;
    Forget(*write);
    write->done(base::MakeStatus(status.code(), base::Message(status)));
  }
}

}  // namespace dray::store::internal
