// SPDX-License-Identifier: Apache-2.0
//
// Variation: the ledger as it would be if some claims gave back what they hold, and others had what
// is kept for them. What preemption asks the allocator about.
//
// Nothing of the ledger changes. Claims are taken out and put back by name at no cost; the pools that
// this concerns are copied when the snapshot is asked for, each once.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource_claim.h"
#include "base/string_map.h"
#include "ledger/ledger.h"

namespace dray::ledger {

// One thread, that of the ledger. The ledger outlives it, and does not change meanwhile.
class Variation {
 public:
  explicit Variation(Ledger& ledger);
  ~Variation();
  Variation(const Variation&) = delete;
  Variation& operator=(const Variation&) = delete;

  // The claim has given back what it holds, by its uid (a claim without one: "namespace/name"),
  // whether stored or only reserved. Nothing happens where it holds nothing.
  void TakeOut(std::string_view claim);
  // The opposite.
  void PutBack(std::string_view claim);
  // As if a claim by that name ("namespace/name") had the allocation, whoever else has the devices.
  void Add(std::string_view name, const api::AllocationResult& allocation);

  const Snapshot& snapshot();

 private:
  struct Entry;

  Ledger& ledger_;
  Snapshot snapshot_;
  base::StringMap<std::unique_ptr<Entry>> claims_;  // those that were ever taken out
  std::vector<std::unique_ptr<Entry>> added_;
  std::vector<Entry*> changed_;  // since the last snapshot; may repeat
};

}  // namespace dray::ledger
