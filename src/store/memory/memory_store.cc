// SPDX-License-Identifier: Apache-2.0
#include "store/memory/memory_store.h"

#include <functional>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"
#include "store/internal/batch.h"
#include "store/log.h"

namespace dray::store {
namespace {

// Everything is durable at once, as far as it ever is.
class MemoryLog final : public Log, public EarlyWrites {
 public:
  Status Open(internal::Timeline& cache) override {
    cache_ = &cache;
    return {};
  }
  void Write(Transaction transaction, CommitFn done) override { done(Written(transaction)); }
  void Latest(std::function<void(StatusOr<Revision>)> done) override { done(cache_->revision()); }
  EarlyWrites* early() override { return this; }
  Status Health() const override { return {}; }

  StatusOr<Outcome> Submit(Transaction transaction) override { return Written(transaction); }
  EntryPtr Find(std::string_view key) const override { return cache_->Find(key); }

 private:
  StatusOr<Outcome> Written(const Transaction& transaction) {
    DRAY_RETURN_IF_ERROR(internal::CheckTransaction(transaction));
    const base::MutexLock lock(writing_);
    internal::Batch batch(*cache_);
    Outcome outcome = batch.Add(transaction);
    cache_->Publish(batch.TakeEvents());
    return outcome;
  }

  internal::Timeline* cache_ = nullptr;
  base::Mutex writing_;  // guards no member: one transaction at a time looks and publishes
};

}  // namespace

std::unique_ptr<Store> MakeMemoryStore(HistoryOptions history) {
  auto store = MakeStore(std::make_unique<MemoryLog>(), history);
  DRAY_CHECK(store.ok(), "there is nothing to be read");
  return *std::move(store);
}

}  // namespace dray::store
