// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <condition_variable>
#include <mutex>
#include <utility>

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
    std::mutex mutex;
    std::condition_variable done;
    std::optional<StatusOr<Outcome>> outcome;
  };
  // Shared: the committing thread may still be unlocking when this one returns.
  const auto waiting = std::make_shared<Waiting>();
  Commit(std::move(transaction), [waiting](StatusOr<Outcome> outcome) {
    const std::lock_guard lock(waiting->mutex);
    waiting->outcome = std::move(outcome);
    waiting->done.notify_one();
  });
  std::unique_lock lock(waiting->mutex);
  waiting->done.wait(lock, [&] { return waiting->outcome.has_value(); });
  return *std::move(waiting->outcome);
}

}  // namespace dray::store
