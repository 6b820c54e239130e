// SPDX-License-Identifier: Apache-2.0
#include "ledger/variation.h"

#include <utility>

#include "ledger/internal/holding.h"

namespace dray::ledger {

// What counts in the snapshot that was made last, and what is to.
struct Variation::Entry {
  Holder holder{};
  const internal::Holding* holding = nullptr;
  internal::Holding own;  // of what was added
  bool counts = true;
  bool wanted = true;
};

Variation::Variation(Ledger& ledger) : ledger_(ledger), snapshot_(ledger.current_) {}

Variation::~Variation() {
  for (const auto& entry : added_) ledger_.holders_->Remove(entry->holder);
}

void Variation::TakeOut(std::string_view claim) {
  Holder holder{};
  const internal::Holding* holding = ledger_.HeldBy(claim, holder);
  if (holding == nullptr) return;
  auto& entry = claims_[std::string(claim)];
  if (entry == nullptr) {
    entry = std::make_unique<Entry>();
    entry->holder = holder;
    entry->holding = holding;
  }
  entry->wanted = false;
  changed_.push_back(entry.get());
}

void Variation::PutBack(std::string_view claim) {
  const auto found = claims_.find(claim);
  if (found == claims_.end()) return;
  found->second->wanted = true;
  changed_.push_back(found->second.get());
}

void Variation::Add(std::string_view name, const api::AllocationResult& allocation) {
  auto entry = std::make_unique<Entry>();
  entry->holder = ledger_.holders_->Add(std::string(name));
  entry->own = internal::HoldingOf(allocation, *ledger_.dictionary_);
  entry->holding = &entry->own;
  entry->counts = false;
  changed_.push_back(entry.get());
  added_.push_back(std::move(entry));
}

const Snapshot& Variation::snapshot() {
  std::vector<internal::Step> steps;
  for (Entry* entry : std::exchange(changed_, {})) {
    if (entry->counts == entry->wanted) continue;
    entry->counts = entry->wanted;
    steps.push_back({entry->holder, entry->holding, entry->wanted});
  }
  if (!steps.empty()) internal::Apply(snapshot_.pools_, steps);
  return snapshot_;
}

}  // namespace dray::ledger
