// SPDX-License-Identifier: Apache-2.0
//
// Transactions on their way to the disk: each is checked against what is stored and what the ones
// before it are about to store, and gets its revision.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/string_map.h"
#include "store/internal/timeline.h"
#include "store/store.h"

namespace dray::store::internal {

// kInvalidArgument for an empty or repeated key, a put without a value, too many operations.
Status CheckTransaction(const Transaction& transaction);

// Thread-compatible. Whoever publishes to the timeline calls Published afterwards.
class Batch {
 public:
  explicit Batch(const Timeline& stored) : stored_(stored), revision_(stored.revision()) {}

  // `transaction` has passed CheckTransaction. With a conflict nothing is added.
  Outcome Add(const Transaction& transaction);
  // As if all that was added were stored.
  EntryPtr Find(std::string_view key) const;

  // What was added since the last call, in order.
  std::vector<Event> TakeEvents() { return std::exchange(events_, {}); }
  // These are in the timeline now.
  void Published(const std::vector<Event>& events);
  // Nothing of what was added will be.
  void Reset();

 private:
  EntryPtr Apply(const Operation& operation, EntryPtr before);

  const Timeline& stored_;
  Revision revision_;
  std::vector<Event> events_;
  struct Change {
    EntryPtr entry;  // null: deleted
    Revision revision;
  };
  base::StringMap<Change> changed_;
};

}  // namespace dray::store::internal
