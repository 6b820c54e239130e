// SPDX-License-Identifier: Apache-2.0
//
// What a run has recorded: everything that was stored, judged as it comes; sums for people; files for whoever
// has to find out why a run failed.
#pragma once

#include <cstddef>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "parts/clients.h"
#include "parts/judges.h"

namespace dray::parts {

// All judges of what is stored. One thread at a time.
class StoredJudges {
 public:
  // Writes everything into a file in the folder, too.
  explicit StoredJudges(const std::string& folder);

  void On(const StoredRevision& revision);
  Complaints complaints() const;
  const RegisterTruth& registers() const { return registers_; }
  const DeviceJudge& devices() const { return devices_; }
  const BindingJudge& bindings() const { return bindings_; }
  const QuotaJudge& quotas() const { return quotas_; }

 private:
  static constexpr std::size_t kMostBytes = 400u << 20;
  std::ofstream file_;
  std::size_t bytes_ = 0;
  RegisterTruth registers_{kRegisters};
  DeviceJudge devices_;
  BindingJudge bindings_;
  QuotaJudge quotas_;
};

struct Counted {
  std::size_t reads = 0;
  std::size_t done = 0;  // writes and deletions
  std::size_t not_done = 0;
  std::size_t unknown = 0;
  double longest_pause = 0;  // seconds in which nobody was told that something was written
};
Counted CountOperations(const std::vector<Operation>& operations);

// registers.tsv: each change. operations.tsv: each request and its answer. watches.tsv: what watchers saw.
void WriteHistories(const std::string& folder, const Truth& truth,
                    const std::vector<std::unique_ptr<RegisterClient>>& clients,
                    const std::vector<std::unique_ptr<WatchClient>>& watchers);

}  // namespace dray::parts
