// SPDX-License-Identifier: Apache-2.0
//
// Transactions on their way to being committed together: each is checked against what is stored and
// what the ones before it in the batch are about to store, and gets its revision.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/string_map.h"
#include "store/internal/timeline.h"
#include "store/store.h"

namespace dray::store::internal {

// kInvalidArgument for an empty or repeated key, a put without a value, too many operations.
Status CheckTransaction(const Transaction& transaction);

// One thread, the one that publishes to the timeline.
class Batch {
 public:
  explicit Batch(const Timeline& stored) : stored_(stored), revision_(stored.revision()) {}

  // `transaction` has passed CheckTransaction. With a conflict nothing is added.
  Outcome Add(const Transaction& transaction);

  // What the batch changes, in order.
  const std::vector<Event>& events() const { return events_; }

 private:
  EntryPtr Current(const std::string& key) const;
  EntryPtr Apply(const Operation& operation, EntryPtr before);

  const Timeline& stored_;
  Revision revision_;
  std::vector<Event> events_;
  base::StringMap<EntryPtr> changed_;  // null: deleted
};

}  // namespace dray::store::internal
