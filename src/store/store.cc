// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <utility>

#include "base/mutex.h"

namespace dray::store {

Transaction& Transaction::Put(std::string key, std::string value, std::optional<Revision> expected,
                              AttachFn attach) {
  operations.push_back({.kind = Operation::Kind::kPut,
                        .key = std::move(key),
                        .value = std::make_shared<const std::string>(std::move(value)),
                        .expected = expected,
                        .attach = std::move(attach)});
  return *this;
}

Transaction& Transaction::Delete(std::string key, std::optional<Revision> expected,
                                 AttachFn attach) {
  operations.push_back({.kind = Operation::Kind::kDelete,
                        .key = std::move(key),
                        .expected = expected,
                        .attach = std::move(attach)});
  return *this;
}

Transaction& Transaction::Check(std::string key, Revision expected) {
  operations.push_back(
      {.kind = Operation::Kind::kCheck, .key = std::move(key), .expected = expected});
  return *this;
}

StatusOr<Outcome> Store::CommitAndWait(Transaction transaction) {
  struct Waiting {
    base::Mutex mutex;
    base::CondVar done;
    std::optional<StatusOr<Outcome>> outcome ABSL_GUARDED_BY(mutex);
  };
  // Shared: the committing thread may still be unlocking when this one returns.
  const auto waiting = std::make_shared<Waiting>();
  Commit(std::move(transaction), [waiting](StatusOr<Outcome> outcome) {
    const base::MutexLock lock(waiting->mutex);
    waiting->outcome = std::move(outcome);
    waiting->done.NotifyOne();
  });
  const base::MutexLock lock(waiting->mutex);
  while (!waiting->outcome.has_value()) waiting->done.Wait(waiting->mutex);
  return *std::move(waiting->outcome);
}

}  // namespace dray::store
