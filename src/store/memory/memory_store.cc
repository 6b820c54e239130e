// SPDX-License-Identifier: Apache-2.0
#include "store/memory/memory_store.h"

#include <utility>

#include "base/mutex.h"
#include "store/internal/batch.h"
#include "store/internal/timeline_store.h"

namespace dray::store {
namespace {

class MemoryStore final : public internal::TimelineStore {
 public:
  using TimelineStore::TimelineStore;

  void Commit(Transaction transaction, CommitFn done) override { done(Committed(transaction)); }
  StatusOr<Outcome> Submit(Transaction transaction) override { return Committed(transaction); }
  EntryPtr FindSubmitted(std::string_view key) const override { return Find(key); }
  Status Health() const override { return {}; }

 private:
  StatusOr<Outcome> Committed(const Transaction& transaction) {
    DRAY_RETURN_IF_ERROR(internal::CheckTransaction(transaction));
    const base::MutexLock lock(committing_);
    internal::Batch batch(timeline());
    Outcome outcome = batch.Add(transaction);
    timeline().Publish(batch.TakeEvents());
    return outcome;
  }

  base::Mutex committing_;  // guards no member: one transaction at a time looks and publishes
};

}  // namespace

std::unique_ptr<Store> MakeMemoryStore(HistoryOptions history) {
  return std::make_unique<MemoryStore>(history);
}

}  // namespace dray::store
